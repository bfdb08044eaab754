// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE

/// A timestamp on a backend's time line, in the backend's own numbering. Held until it is released.
using Mark = std::uint64_t;

/// Result for the time between two timestamps.
struct Elapsed {
  /// State of the result.
  enum class State : std::uint8_t {
    ready,    ///< `ns` is valid
    pending,  ///< not yet: ask again
    failed,   ///< never available
    missed    ///< a later replay of the same graph may have overwritten it
  };
  State state = State::pending;
  std::int64_t ns = 0;  ///< 0 or more; valid only if state is ready

  static constexpr Elapsed ready(std::int64_t ns) noexcept { return {State::ready, ns}; }
  static constexpr Elapsed pending() noexcept { return {State::pending, 0}; }
  static constexpr Elapsed failed() noexcept { return {State::failed, 0}; }
  static constexpr Elapsed missed() noexcept { return {State::missed, 0}; }
};

// For backend authors; training code needs none of this.

/// A device's description of itself in reports. Texts are not owned and live as long as the process.
struct DeviceReport {
  /// Spans that were not timed, for one cause.
  struct Skips {
    const char* what = nullptr;  ///< stable identifier such as "skipped_capturing"; nullptr ends the list
    std::uint64_t count = 0;
  };
  static constexpr unsigned kSkips = 16;

  const char* unavailable = nullptr;  ///< reason why no stream span can be timed; nullptr: they can
  const char* caveat = nullptr;       ///< limits of its figures; nullptr: none
  Skips skips[kSkips];                ///< spans that were not timed, by cause
};

/// State that a device keeps during a batch of queries from one thread, to avoid repeated work. Takt creates one per
/// batch and returns it at the end; its use is up to the device.
struct Queries {
  bool started = false;
  int mode = 0;
  const void* context = nullptr;
  const void* stream = nullptr;
  bool visiting = false;  ///< a thread without a context was lent one
};

/// Place of a timestamp on its device's time line (docs/decisions/0014).
struct DevicePlace {
  const void* line = nullptr;  ///< the time line: those of two devices have no common origin
  double ns = 0;               ///< since the origin of the line
  double error_ns = 0;         ///< rounding error of `ns`
};

/// A type-erased Backend (docs/backends.md) for a recorder; made by device_ops (takt/backend.hpp). All functions but
/// report() are called on recording threads; they must not block, throw, or change the application's view of the
/// device. Static storage.
struct DeviceOps {
  const char* name;
  /// Results of one stream resolve in the order of its timestamps, so only the oldest must be polled.
  bool in_order;
  /// Records a timestamp on the queue of `handle`; false if impossible (the region is then not timed there).
  bool (*mark)(void* handle, Mark& mark) noexcept;
  /// Adds a reference: one more release() follows for `mark`, which ends one region and starts the next.
  void (*retain)(void* handle, Mark mark) noexcept;
  Elapsed (*elapsed)(void* handle, Mark begin, Mark end) noexcept;
  void (*release)(void* handle, Mark mark) noexcept;
  /// Describes all streams of this kind; nullptr: no report. Called on the background thread, or on any thread that
  /// takes a snapshot.
  DeviceReport (*report)() noexcept = nullptr;
  /// Offers each new timestamp as a reference for others, while a time line is recorded. Called on the thread that
  /// recorded it.
  void (*offer)(void* handle, Mark mark) noexcept = nullptr;
  /// Locates a reached timestamp on its device's time line; false if that is impossible now. nullptr: the device has no
  /// time line. Never waits.
  bool (*locate)(void* handle, Mark mark, DevicePlace& place) noexcept = nullptr;
  /// elapsed() as part of a batch of queries of this thread, which ends with end_queries(). Both or neither.
  Elapsed (*ask)(void* handle, Mark begin, Mark end, Queries& queries) noexcept = nullptr;
  void (*end_queries)(void* handle, Queries& queries) noexcept = nullptr;
  /// Adds a timestamp to the graph that `handle` is being captured into; each replay records it again, until its
  /// release(). False if impossible. On such a device, elapsed() of a timestamp and itself shows if it was reached, and
  /// any of its handles works for any timestamp. nullptr: never.
  bool (*graph_mark)(void* handle, Mark& mark) noexcept = nullptr;
  /// Waits until the device reaches `mark`; only for trials and measurements. False if impossible.
  bool (*wait)(void* handle, Mark mark) noexcept = nullptr;
  /// mark(), for a device that limits timestamps in flight (max_in_flight()). \param begin the region's start on the
  /// same handle, not released yet; nullptr: this is a start, and the result is also false if the ends of this region
  /// and its parents might exceed the limit. A nullptr in the table: use mark().
  bool (*mark_bounded)(void* handle, Mark& mark, const Mark* begin) noexcept = nullptr;
};

/// Returns the maximum number of timestamps in flight on one stream, over all threads: queued, and not known to be
/// reached (SessionOptions::gpu_records). A device whose full queue blocks the host records no more than this. Any
/// thread.
TAKT_EXPORT std::uint32_t max_in_flight() noexcept;

// Parts of a Backend that a Timer needs to know. takt/backend.hpp defines a Backend.

struct Queries;

/// Detects the parts of the contract in takt/backend.hpp that type B has.
template <class B>
class BackendTraits {
  template <class T>
  using HasMark = std::is_same<bool, decltype(std::declval<T&>().mark(std::declval<Mark&>()))>;
  template <class T>
  using HasRetain = std::is_void<decltype(std::declval<T&>().retain(Mark{}))>;
  template <class T>
  using HasElapsed = std::is_same<Elapsed, decltype(std::declval<T&>().elapsed(Mark{}, Mark{}))>;
  template <class T>
  using HasRelease = std::is_void<decltype(std::declval<T&>().release(Mark{}))>;
  template <class T>
  using HasNames = std::bool_constant<(T::name != nullptr) && (T::immediate || !T::immediate)>;
  template <class T>
  using IsInOrder = std::bool_constant<T::in_order>;
  template <class T>
  using HasHostNs = std::is_same<std::uint64_t, decltype(std::declval<T&>().host_ns())>;
  template <class T>
  using HasQueries =
      std::is_same<Elapsed, decltype(std::declval<T&>().end_queries(std::declval<Queries&>()),
                                     std::declval<T&>().elapsed(Mark{}, Mark{}, std::declval<Queries&>()))>;

  template <template <class> class Check, class T, class = void>
  struct Passes : std::false_type {};
  template <template <class> class Check, class T>
  struct Passes<Check, T, std::void_t<Check<T>>> : Check<T> {};

 public:
  static constexpr bool has_mark = Passes<HasMark, B>::value;
  static constexpr bool has_retain = Passes<HasRetain, B>::value;
  static constexpr bool has_elapsed = Passes<HasElapsed, B>::value;
  static constexpr bool has_release = Passes<HasRelease, B>::value;
  static constexpr bool has_names = Passes<HasNames, B>::value;
  static constexpr bool has_host_ns = Passes<HasHostNs, B>::value;
  static constexpr bool has_queries = Passes<HasQueries, B>::value;
  static constexpr bool in_order = Passes<IsInOrder, B>::value;
  static constexpr bool is_backend =
      has_mark && has_retain && has_elapsed && has_release && has_names && std::is_copy_constructible_v<B>;
};

/// True if B has the required parts of a Backend.
template <class B>
inline constexpr bool is_backend = BackendTraits<B>::is_backend;

namespace detail {

/// Reports one readable line for each missing part.
template <class B>
constexpr void require_backend() noexcept {
  static_assert(BackendTraits<B>::has_names,
                "takt: a Backend needs `static constexpr const char* name` and `static constexpr bool immediate`");
  static_assert(BackendTraits<B>::has_mark, "takt: a Backend needs `bool mark(takt::Mark&) noexcept`");
  static_assert(BackendTraits<B>::has_retain, "takt: a Backend needs `void retain(takt::Mark) noexcept`");
  static_assert(BackendTraits<B>::has_elapsed,
                "takt: a Backend needs `takt::Elapsed elapsed(takt::Mark, takt::Mark) noexcept`");
  static_assert(BackendTraits<B>::has_release, "takt: a Backend needs `void release(takt::Mark) noexcept`");
  static_assert(std::is_copy_constructible_v<B>, "takt: a Backend is a value that can be copied");
}

}  // namespace detail

// For backend authors; training code needs none of this.

/// A Backend is a clock whose readings may take a while. It is a cheap copyable value with
///
///     static constexpr const char* name;                            // for reports
///     static constexpr bool immediate;                              // elapsed() is never pending
///     bool mark(Mark& mark) noexcept;                               // takes a reading; false if impossible
///     void retain(Mark mark) noexcept;                              // one more release() will follow
///     Elapsed elapsed(Mark begin, Mark end) noexcept;               // ready, pending or failed; never waits
///     void release(Mark mark) noexcept;                             // the reading is no longer needed
///
/// and optionally, for Timers and Scopes,
///
///     static constexpr bool in_order = true;                        // results of a stream resolve in order
///     Elapsed elapsed(Mark begin, Mark end, Queries&) noexcept;     // as part of a batch of queries, and
///     void end_queries(Queries&) noexcept;                          // the end of the batch; both or neither
///
/// for Timers
///
///     std::uint64_t host_ns() noexcept;                             // it is a monotonic host clock itself
///
/// and for Scopes, as in DeviceOps,
///
///     static DeviceReport report() noexcept;                        // its description in reports
///     bool locate(Mark mark, DevicePlace& place) noexcept;          // place of a ready timestamp on a time line
///     void offer(Mark mark) noexcept;                               // with locate(): a reference for other timestamps
///     bool graph_mark(Mark& mark) noexcept;                         // a timestamp of a graph that is being captured
///     bool wait(Mark mark) noexcept;                                // only for trials and measurements
///     bool mark_bounded(Mark& mark, const Mark* begin) noexcept;    // mark(), if timestamps in flight are limited
///
/// A timestamp is released once for mark() and once for each retain(). Any thread may call any function.
/// docs/backends.md explains how to write one; takt/testing/conformance.hpp tests it.
template <class B>
class DeviceTraits {
  template <class T>
  using HasReport = std::is_same<DeviceReport, decltype(T::report())>;
  template <class T>
  using HasLocate = std::is_same<bool, decltype(std::declval<T&>().locate(Mark{}, std::declval<DevicePlace&>()))>;
  template <class T>
  using HasOffer = std::is_void<decltype(std::declval<T&>().offer(Mark{}))>;
  template <class T>
  using HasGraphMark = std::is_same<bool, decltype(std::declval<T&>().graph_mark(std::declval<Mark&>()))>;
  template <class T>
  using HasWait = std::is_same<bool, decltype(std::declval<T&>().wait(Mark{}))>;
  template <class T>
  using HasMarkBounded = std::is_same<bool, decltype(std::declval<T&>().mark_bounded(std::declval<Mark&>(), {}))>;

  template <template <class> class Check, class T, class = void>
  struct Passes : std::false_type {};
  template <template <class> class Check, class T>
  struct Passes<Check, T, std::void_t<Check<T>>> : Check<T> {};

 public:
  static constexpr bool has_report = Passes<HasReport, B>::value;
  static constexpr bool has_locate = Passes<HasLocate, B>::value;
  static constexpr bool has_offer = Passes<HasOffer, B>::value;
  static constexpr bool has_graph_mark = Passes<HasGraphMark, B>::value;
  static constexpr bool has_wait = Passes<HasWait, B>::value;
  static constexpr bool has_mark_bounded = Passes<HasMarkBounded, B>::value;
};

namespace detail {

/// Returns the Backend of a handle, constructed from a pointer or a reference to the device.
template <class B, class Device>
B backend_of(void* handle) noexcept {
  if constexpr (std::is_constructible_v<B, Device*>) {
    return B(static_cast<Device*>(handle));
  } else {
    return B(*static_cast<Device*>(handle));
  }
}

template <class B, class Device>
constexpr void add_extras(DeviceOps& ops) noexcept {
  using Extra = DeviceTraits<B>;
  if constexpr (Extra::has_report) { ops.report = &B::report; }
  if constexpr (Extra::has_offer) {
    ops.offer = [](void* handle, Mark mark) noexcept { backend_of<B, Device>(handle).offer(mark); };
  }
  if constexpr (Extra::has_locate) {
    ops.locate = [](void* handle, Mark mark, DevicePlace& place) noexcept {
      return backend_of<B, Device>(handle).locate(mark, place);
    };
  }
  if constexpr (Extra::has_graph_mark) {
    ops.graph_mark = [](void* handle, Mark& mark) noexcept { return backend_of<B, Device>(handle).graph_mark(mark); };
  }
  if constexpr (Extra::has_wait) {
    ops.wait = [](void* handle, Mark mark) noexcept { return backend_of<B, Device>(handle).wait(mark); };
  }
  if constexpr (Extra::has_mark_bounded) {
    ops.mark_bounded = [](void* handle, Mark& mark, const Mark* begin) noexcept {
      return backend_of<B, Device>(handle).mark_bounded(mark, begin);
    };
  }
}

template <class B, class Device>
constexpr DeviceOps device_ops_of() noexcept {
  using Traits = BackendTraits<B>;
  DeviceOps ops{
      B::name,
      Traits::in_order,
      [](void* handle, Mark& mark) noexcept { return backend_of<B, Device>(handle).mark(mark); },
      [](void* handle, Mark mark) noexcept { backend_of<B, Device>(handle).retain(mark); },
      [](void* handle, Mark begin, Mark end) noexcept { return backend_of<B, Device>(handle).elapsed(begin, end); },
      [](void* handle, Mark mark) noexcept { backend_of<B, Device>(handle).release(mark); }};
  if constexpr (Traits::has_queries) {
    ops.ask = [](void* handle, Mark begin, Mark end, Queries& queries) noexcept {
      return backend_of<B, Device>(handle).elapsed(begin, end, queries);
    };
    ops.end_queries = [](void* handle, Queries& queries) noexcept {
      backend_of<B, Device>(handle).end_queries(queries);
    };
  }
  add_extras<B, Device>(ops);
  return ops;
}

}  // namespace detail

/// The DeviceOps of a Backend that is constructed from a `Device*` or a `Device&`, with all optional parts it has. For
/// StreamTraits; the handle of a StreamRef is then a `Device*`.
template <class B, class Device>
inline constexpr DeviceOps device_ops = detail::device_ops_of<B, Device>();

TAKT_END_NAMESPACE
