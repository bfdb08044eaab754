// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/stream.hpp>

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

// What a device is to Takt: for those who make a Backend. Training code needs none of it.

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

/// What a device remembers between several questions that one thread asks it one after the other, so that it need not
/// do everything for each of them. Takt makes a new one for each such series, and hands it back at the end; the device
/// fills it as it likes.
struct Queries {
  bool started = false;
  int mode = 0;
  const void* context = nullptr;
  const void* stream = nullptr;
  bool visiting = false;  ///< a thread without a context has been lent one
};

/// Where a mark lies on the time line of its device (docs/decisions/0014).
struct DevicePlace {
  const void* line = nullptr;  ///< which time line: those of two devices have no common origin
  double ns = 0;               ///< since the origin of the line
  double error_ns = 0;         ///< by which `ns` may be off for want of digits
};

/// A Backend (docs/backends.md) without its type, as a recorder needs it; device_ops (takt/backend.hpp) makes one. All
/// functions but report() are called on threads that record; they must not block, throw, or change what the application
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
  /// While a time line is recorded: says of each mark, on the thread that has just made it, that others may be measured
  /// from it.
  void (*offer)(void* handle, Mark mark) noexcept = nullptr;
  /// Where a mark that has been reached lies on the time line of its device; false where that cannot be told now.
  /// nullptr: the device has no time line. Never waits.
  bool (*locate)(void* handle, Mark mark, DevicePlace& place) noexcept = nullptr;
  /// elapsed() as one of several questions that this thread asks one after the other; then end_queries(). Both or
  /// neither.
  Elapsed (*ask)(void* handle, Mark begin, Mark end, Queries& queries) noexcept = nullptr;
  void (*end_queries)(void* handle, Queries& queries) noexcept = nullptr;
  /// Puts a mark into the graph that `handle` is being captured into: each replay sets it again, until its release().
  /// False where that cannot be done. For such a device elapsed() of a mark and itself tells truly whether the mark has
  /// been reached, and any of its handles serves for any mark. nullptr: never.
  bool (*graph_mark)(void* handle, Mark& mark) noexcept = nullptr;
  /// Waits until the device has come to `mark`: for trials and measurements alone, which do. False where it cannot be
  /// done.
  bool (*wait)(void* handle, Mark mark) noexcept = nullptr;
  /// mark(), for a device that bounds how many marks are in flight (max_in_flight()). `begins`: false also where the
  /// end of the region, and those of the regions around it, might find no room. nullptr: mark() does as well.
  bool (*mark_bounded)(void* handle, Mark& mark, bool begins) noexcept = nullptr;
};

/// How many marks may be in flight on one stream, from all threads: on its queue, and not known to have been reached
/// (SessionOptions::gpu_records). A device whose queue holds up the host when it is full makes no more than these. Any
/// thread.
TAKT_EXPORT std::uint32_t max_in_flight() noexcept;

// What a type has of a Backend, as far as a Timer has to know. takt/backend.hpp says what a Backend is.

struct Queries;

/// Which parts of the contract in takt/backend.hpp the type B has.
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

/// Whether B has what every Backend needs.
template <class B>
inline constexpr bool is_backend = BackendTraits<B>::is_backend;

namespace detail {

/// One readable line for each thing a type lacks.
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

// The door of those who make a Backend. Training code needs none of it.

/// A Backend is a clock whose readings may take a while. It is a cheap copyable value with
///
///     static constexpr const char* name;                            // for reports
///     static constexpr bool immediate;                              // elapsed() is never pending
///     bool mark(Mark& mark) noexcept;                               // takes a reading; false where it cannot
///     void retain(Mark mark) noexcept;                              // one more release() will come
///     Elapsed elapsed(Mark begin, Mark end) noexcept;               // ready, pending or failed; never waits
///     void release(Mark mark) noexcept;                             // the reading is not needed any more
///
/// and may have, for Timers and Scopes,
///
///     static constexpr bool in_order = true;                        // results of a stream come as its marks did
///     Elapsed elapsed(Mark begin, Mark end, Questions&) noexcept;   // as one of several questions, and
///     void end_queries(Questions&) noexcept;                      // the end of these; both or neither
///
/// for Timers
///
///     std::uint64_t host_ns() noexcept;                             // it is a monotonic host clock itself
///
/// and for Scopes, each as DeviceOps says,
///
///     static DeviceReport report() noexcept;                        // what reports say of it
///     bool locate(Mark mark, DevicePlace& place) noexcept;          // where a mark that is ready lies on a time line
///     void offer(Mark mark) noexcept;                               // with it: others may be measured from this mark
///     bool graph_mark(Mark& mark) noexcept;                         // a mark of a graph that is being captured
///     bool wait(Mark mark) noexcept;                                // for trials and measurements alone
///     bool mark_bounded(Mark& mark, bool begins) noexcept;          // mark(), where marks in flight are bounded
///
/// A mark is released once for the mark() and once for each retain(). Any thread may call any of them.
/// docs/backends.md tells how to write one; takt/testing/conformance.hpp proves it.
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

/// The Backend that a handle stands for: made of a pointer to the device, or of a reference to it.
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
    ops.mark_bounded = [](void* handle, Mark& mark, bool begins) noexcept {
      return backend_of<B, Device>(handle).mark_bounded(mark, begins);
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

/// The DeviceOps of a Backend that is made from a `Device*` or a `Device&`, with whatever of the contract the Backend
/// has. For StreamTraits; a StreamRef's handle is then a `Device*`.
template <class B, class Device>
inline constexpr DeviceOps device_ops = detail::device_ops_of<B, Device>();

TAKT_END_NAMESPACE
