// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE

/// A point on a backend's time line, by the backend's own numbering. A mark is held until it is released.
using Mark = std::uint64_t;

/// What a backend can say about the time between two marks.
struct Elapsed {
  enum class State : std::uint8_t { ready, pending, failed };
  State state = State::pending;
  std::int64_t ns = 0;  ///< 0 or more; only where state is ready

  static constexpr Elapsed ready(std::int64_t ns) noexcept { return {State::ready, ns}; }
  static constexpr Elapsed pending() noexcept { return {State::pending, 0}; }
  static constexpr Elapsed failed() noexcept { return {State::failed, 0}; }
};

/// What a device tells a report about itself. Texts are not owned, and live as long as the process.
struct DeviceReport {
  struct Skips {
    const char* what = nullptr;  ///< stable identifier such as "skipped_capturing"; nullptr ends the list
    std::uint64_t count = 0;
  };
  static constexpr unsigned kSkips = 9;

  const char* unavailable = nullptr;  ///< why no stream span can be timed; nullptr: they can
  const char* caveat = nullptr;       ///< what its figures have to be read with; nullptr: nothing special
  Skips skips[kSkips];                ///< spans that were not timed, by cause
};

/// What a recorder needs of a device: a Backend (docs/backends.md) without its type. All functions but report() are called on
/// threads that record, must not block, throw, or change what the application sees of the device. Static storage.
struct DeviceOps {
  const char* name;
  /// Results of one stream come in the order of its marks, so that only the oldest one needs to be looked at.
  bool in_order;
  /// Puts a mark on the queue of `handle`; false where that cannot be done (the region is then not timed there).
  bool (*mark)(void* handle, Mark& mark) noexcept;
  /// One more release() will come for `mark`: it ends one region and begins the next.
  void (*retain)(void* handle, Mark mark) noexcept;
  Elapsed (*elapsed)(void* handle, Mark begin, Mark end) noexcept;
  void (*release)(void* handle, Mark mark) noexcept;
  /// For all streams of this kind; nullptr: nothing to say. Background thread, or any thread that takes a snapshot.
  DeviceReport (*report)() noexcept = nullptr;
};

/// A queue of work on a device, as Scope takes it. Not owned: device and handle must outlive the results that are pending.
struct StreamRef {
  const DeviceOps* ops = nullptr;  ///< nullptr: no device, host time only
  void* handle = nullptr;

  friend constexpr bool operator==(const StreamRef& a, const StreamRef& b) noexcept {
    return a.ops == b.ops && a.handle == b.handle;
  }
};

namespace detail {

/// What the default stream of a GPU's runtime is in this translation unit. A type, which functions that depend on it take as a
/// template argument: translation units with different answers then have different functions, and can be linked together.
struct LegacyStreams {};
struct PerThreadStreams {};
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(HIP_API_PER_THREAD_DEFAULT_STREAM)
using DefaultStreams = PerThreadStreams;
#else
using DefaultStreams = LegacyStreams;
#endif

}  // namespace detail

/// How a type of stream becomes a StreamRef: specialise it with `static StreamRef ref(const S&) noexcept`. A backend's header
/// does so for its streams; where 0 is a stream, with a second parameter for detail::DefaultStreams. (A trait and not an overloaded function: the stream of CUDA is a pointer to a type of the
/// global namespace, where argument-dependent look-up finds nothing of Takt's.)
template <class S, class = void>
struct StreamTraits {};

template <>
struct StreamTraits<StreamRef> {
  static StreamRef ref(const StreamRef& stream) noexcept { return stream; }
};

namespace detail {

template <class S, class = void>
struct HasStreamRef : std::false_type {};
template <class S>
struct HasStreamRef<S, std::void_t<decltype(StreamTraits<S>::ref(std::declval<const S&>()))>> : std::true_type {};

template <class S, class Streams, class = void>
struct KnowsDefault : std::false_type {};
template <class S, class Streams>
struct KnowsDefault<S, Streams, std::void_t<decltype(StreamTraits<S>::ref(std::declval<const S&>(), Streams{}))>>
    : std::true_type {};

template <class S, class Streams>
StreamRef stream_ref(const S& stream) noexcept {
  static_assert(HasStreamRef<S>::value,
                "takt: this type is not a known stream. Include the backend's header (for example "
                "<takt/backends/manual.hpp>) or specialise takt::StreamTraits for it.");
  if constexpr (KnowsDefault<S, Streams>::value) {
    return StreamTraits<S>::ref(stream, Streams{});
  } else if constexpr (HasStreamRef<S>::value) {
    return StreamTraits<S>::ref(stream);
  } else {
    return {};
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
