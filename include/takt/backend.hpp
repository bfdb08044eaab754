// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The door of those who make a Backend. Training code needs none of it.

#include <takt/config.hpp>
#include <takt/detail/backend_traits.hpp>
#include <takt/device.hpp>
#include <takt/elapsed.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

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
///     void end_questions(Questions&) noexcept;                      // the end of these; both or neither
///
/// for Timers
///
///     std::uint64_t host_ns() noexcept;                             // it is a monotonic host clock itself
///
/// and for Scopes, each as DeviceOps (takt/device.hpp) says,
///
///     static DeviceReport report() noexcept;                        // what reports say of it
///     bool locate(Mark mark, DevicePlace& place) noexcept;          // where a mark that is ready lies on a time line
///     void offer(Mark mark) noexcept;                               // with it: others may be measured from this mark
///     bool graph_mark(Mark& mark) noexcept;                         // a mark of a graph that is being captured
///     bool wait(Mark mark) noexcept;                                // for trials and measurements alone
///     bool mark_bounded(Mark& mark, bool begins) noexcept;          // mark(), where marks in flight are bounded
///
/// A mark is released once for the mark() and once for each retain(). Any thread may call any of them.
/// docs/backends.md tells how to write one; takt/conformance.hpp proves it.
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
  if constexpr (Traits::has_questions) {
    ops.ask = [](void* handle, Mark begin, Mark end, Questions& questions) noexcept {
      return backend_of<B, Device>(handle).elapsed(begin, end, questions);
    };
    ops.end_questions = [](void* handle, Questions& questions) noexcept {
      backend_of<B, Device>(handle).end_questions(questions);
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

#include <takt/detail/macros_end.hpp>
