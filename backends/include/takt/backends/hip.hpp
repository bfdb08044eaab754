// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

struct ihipStream_t;  // hipStream_t points to it

TAKT_BEGIN_NAMESPACE

/// Times by HIP events on a stream of the application's. Link takt::hip; nothing of HIP is needed to build, and without
/// its runtime at run time only the host is timed, which the report says. Never synchronises, makes no context, leaves
/// the runtime's last error and captures alone. docs/gpu.md tells what a span is. Any thread.
class TAKT_EXPORT HipBackend {
 public:
  static constexpr const char* name = "hip";
  static constexpr bool immediate = false;
  static constexpr bool in_order = true;

  /// \param stream not owned; must not be destroyed inside a region. 0 is the default stream as this translation unit
  /// is
  ///        compiled: the legacy one, or with HIP_API_PER_THREAD_DEFAULT_STREAM that of the calling thread.
  template <class Streams = detail::DefaultStreams>
  HipBackend(ihipStream_t* stream, Streams = {}) noexcept  // NOLINT(google-explicit-constructor)
      : stream_(stream == nullptr ? default_stream(std::is_same_v<Streams, detail::PerThreadStreams>)
                : reinterpret_cast<std::uintptr_t>(stream) == kLegacy ? nullptr
                                                                      : stream) {}

  bool mark(Mark& mark) noexcept;
  void retain(Mark mark) noexcept;
  Elapsed elapsed(Mark begin, Mark end) noexcept;
  Elapsed elapsed(Mark begin, Mark end, Queries& queries) noexcept;
  void end_queries(Queries& queries) noexcept;
  void release(Mark mark) noexcept;
  /// Why nothing is timed, and what was skipped, in this process.
  static DeviceReport report() noexcept;
  StreamRef ref() const noexcept;

 private:
  /// hipStreamLegacy, which is stream 0. Some calls of HIP since 6.2 take it for an address, and crash.
  static constexpr std::uintptr_t kLegacy = 1;
  /// hipStreamPerThread; the legacy one has no other name in HIP before 6.
  static ihipStream_t* default_stream(bool per_thread) noexcept {
    return reinterpret_cast<ihipStream_t*>(std::uintptr_t{per_thread ? 2U : 0U});
  }

  ihipStream_t* stream_;
};

static_assert(is_backend<HipBackend>);

/// A Scope takes a backend, for the stream that it was made for.
template <>
struct StreamTraits<HipBackend> {
  static StreamRef ref(const HipBackend& backend) noexcept { return backend.ref(); }
};

/// A Scope takes a hipStream_t.
template <>
struct StreamTraits<ihipStream_t*> {
  template <class Streams = detail::DefaultStreams>
  static StreamRef ref(ihipStream_t* stream, Streams streams = {}) noexcept {
    return HipBackend(stream, streams).ref();
  }
};

TAKT_END_NAMESPACE
