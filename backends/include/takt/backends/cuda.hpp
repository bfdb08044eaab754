// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

struct CUstream_st;  // cudaStream_t and CUstream point to it

TAKT_BEGIN_NAMESPACE

/// Times with CUDA events on an application's stream. Link takt::cuda. Building needs nothing of CUDA; without a
/// driver, only the host is timed and the report says so. Never synchronizes, creates no context, and preserves the
/// runtime's last error and captures. docs/gpu.md defines a span. Any thread.
class TAKT_EXPORT CudaBackend {
 public:
  static constexpr const char* name = "cuda";
  static constexpr bool immediate = false;
  static constexpr bool in_order = true;

  /// \param stream not owned; must not be destroyed inside a region. 0 is the default stream of this translation unit:
  ///         the legacy one, or with CUDA_API_PER_THREAD_DEFAULT_STREAM that of the calling thread.
  template <class Streams = detail::DefaultStreams>
  CudaBackend(CUstream_st* stream, Streams = {}) noexcept  // NOLINT(google-explicit-constructor)
      : stream_(stream != nullptr ? stream : default_stream(std::is_same_v<Streams, detail::PerThreadStreams>)) {}

  bool mark(Mark& mark) noexcept;
  void retain(Mark mark) noexcept;
  Elapsed elapsed(Mark begin, Mark end) noexcept;
  Elapsed elapsed(Mark begin, Mark end, Queries& queries) noexcept;
  void end_queries(Queries& queries) noexcept;
  void release(Mark mark) noexcept;
  /// Returns the reason if nothing is timed, and the skipped spans, in this process.
  static DeviceReport report() noexcept;
  StreamRef ref() const noexcept;

 private:
  /// cudaStreamPerThread or cudaStreamLegacy.
  static CUstream_st* default_stream(bool per_thread) noexcept {
    return reinterpret_cast<CUstream_st*>(std::uintptr_t{per_thread ? 2U : 1U});
  }

  CUstream_st* stream_;
};

static_assert(is_backend<CudaBackend>);

/// Lets a Scope take a backend, as its stream.
template <>
struct StreamTraits<CudaBackend> {
  static StreamRef ref(const CudaBackend& backend) noexcept { return backend.ref(); }
};

/// Lets a Scope take a cudaStream_t or a CUstream.
template <>
struct StreamTraits<CUstream_st*> {
  template <class Streams = detail::DefaultStreams>
  static StreamRef ref(CUstream_st* stream, Streams streams = {}) noexcept {
    return CudaBackend(stream, streams).ref();
  }
};

TAKT_END_NAMESPACE
