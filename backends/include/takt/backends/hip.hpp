// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

struct ihipStream_t;  // hipStream_t points to it

TAKT_BEGIN_NAMESPACE

/// Times with HIP events on an application's stream. Link takt::hip. Building needs nothing of HIP; without its
/// runtime, only the host is timed and the report says so. Never synchronizes, creates no context, and preserves the
/// runtime's last error and captures. docs/gpu.md defines a span. Any thread.
class TAKT_EXPORT HipBackend {
 public:
  static constexpr const char* name = "hip";
  static constexpr bool immediate = false;
  static constexpr bool in_order = true;

  /// \param stream not owned; must not be destroyed inside a region. 0 is the default stream of this translation unit:
  ///         the legacy one, or with HIP_API_PER_THREAD_DEFAULT_STREAM that of the calling thread.
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
  /// Returns the reason if nothing is timed, and the skipped spans, in this process.
  static DeviceReport report() noexcept;
  StreamRef ref() const noexcept;

 private:
  /// hipStreamLegacy, same as stream 0. Since 6.2 some HIP calls treat it as an address and crash.
  static constexpr std::uintptr_t kLegacy = 1;
  /// hipStreamPerThread; before HIP 6 the legacy stream has no other name.
  static ihipStream_t* default_stream(bool per_thread) noexcept {
    return reinterpret_cast<ihipStream_t*>(std::uintptr_t{per_thread ? 2U : 0U});
  }

  ihipStream_t* stream_;
};

static_assert(is_backend<HipBackend>);

/// Lets a Scope take a backend, as its stream.
template <>
struct StreamTraits<HipBackend> {
  static StreamRef ref(const HipBackend& backend) noexcept { return backend.ref(); }
};

/// Lets a Scope take a hipStream_t.
template <>
struct StreamTraits<ihipStream_t*> {
  template <class Streams = detail::DefaultStreams>
  static StreamRef ref(ihipStream_t* stream, Streams streams = {}) noexcept {
    return HipBackend(stream, streams).ref();
  }
};

TAKT_END_NAMESPACE
