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
  /// Whether there is a time.
  enum class State : std::uint8_t {
    ready,    ///< `ns` is it
    pending,  ///< not yet: ask again
    failed,   ///< there will be none
    missed    ///< a later replay of the same graph may have written over it
  };
  State state = State::pending;
  std::int64_t ns = 0;  ///< 0 or more; only where state is ready

  static constexpr Elapsed ready(std::int64_t ns) noexcept { return {State::ready, ns}; }
  static constexpr Elapsed pending() noexcept { return {State::pending, 0}; }
  static constexpr Elapsed failed() noexcept { return {State::failed, 0}; }
  static constexpr Elapsed missed() noexcept { return {State::missed, 0}; }
};

/// What a device tells a report about itself. Texts are not owned, and live as long as the process.
struct DeviceReport {
  /// Spans that were not timed for one cause.
  struct Skips {
    const char* what = nullptr;  ///< stable identifier such as "skipped_capturing"; nullptr ends the list
    std::uint64_t count = 0;
  };
  static constexpr unsigned kSkips = 16;

  const char* unavailable = nullptr;  ///< why no stream span can be timed; nullptr: they can
  const char* caveat = nullptr;       ///< what its figures have to be read with; nullptr: nothing special
  Skips skips[kSkips];                ///< spans that were not timed, by cause
};

/// What a device remembers between questions that are asked in a row, so that it need not do everything for each of them. A
/// new one is made for each row, and handed back at its end.
struct Look {
  bool begun = false;
  int mode = 0;
  const void* context = nullptr;
  bool foreign = false;   ///< on a thread of Takt's own, which has no context
  bool visiting = false;  ///< such a thread has been lent one
};

/// Where a mark lies on the time line of its device (docs/decisions/0014).
struct DevicePlace {
  const void* line = nullptr;  ///< which time line: those of two devices have no common origin
  double ns = 0;               ///< since the origin of the line
  double error_ns = 0;         ///< by which `ns` may be off for want of digits
};

/// What a recorder needs of a device: a Backend (docs/backends.md) without its type. All functions but report() are called on
/// threads that record, and where may_poll says so on one of Takt's own; they must not block, throw, or change what the application
/// sees of the device. Static storage.
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
  /// While a time line is recorded: says of each mark, on the thread that has just made it, that others may be measured from it.
  void (*offer)(void* handle, Mark mark) noexcept = nullptr;
  /// Where a mark that has been reached lies on the time line of its device; false where that cannot be told now. nullptr: the
  /// device has no time line. Never waits.
  bool (*locate)(void* handle, Mark mark, DevicePlace& place) noexcept = nullptr;
  /// The same as elapsed(), of one of several that are asked for in a row on this thread; then looked(). Both or neither.
  Elapsed (*look)(void* handle, Mark begin, Mark end, Look& look) noexcept = nullptr;
  void (*looked)(void* handle, Look& look) noexcept = nullptr;
  /// Puts a mark into the graph that `handle` is being captured into: each replay sets it anew, until its release(). False where
  /// that cannot be done. For such a device elapsed() of a mark and itself tells truly whether the mark has been reached, and
  /// any of its handles serves for any mark. nullptr: never.
  bool (*graph_mark)(void* handle, Mark& mark) noexcept = nullptr;
  /// Waits until the device has come to `mark`. Called only where the program has asked for that. False where it cannot be done.
  bool (*wait)(void* handle, Mark mark) noexcept = nullptr;
  /// Whether a thread of Takt's own may ask as well, by look(), Look::foreign and locate() before looked(); nullptr: no.
  bool (*may_poll)() noexcept = nullptr;
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
/// does so for its streams; where 0 is a stream, with a second parameter for detail::DefaultStreams. (A trait and not an
/// overloaded function: the stream of CUDA is a pointer to a type of the global namespace, where argument-dependent look-up
/// finds nothing of Takt's.)
template <class S, class = void>
struct StreamTraits {};

/// A StreamRef is its own.
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
