// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/stream.hpp>

#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE

/// A Backend is a clock whose readings may take a while. It is a cheap copyable value with
///
///     static constexpr const char* name;                            // for reports
///     static constexpr bool immediate;                              // elapsed() is never pending
///     bool mark(Mark& mark) noexcept;                               // takes a reading; false where that cannot be done
///     void retain(Mark mark) noexcept;                              // one more release() will come
///     Elapsed elapsed(Mark begin, Mark end) noexcept;               // ready, pending or failed; never waits
///     void release(Mark mark) noexcept;                             // the reading is not needed any more
///
/// and may have
///
///     std::uint64_t host_ns() noexcept;                             // it is a monotonic host clock itself: Timer uses that
///     static constexpr bool in_order = true;                        // results of a stream come in the order of its marks
///     static DeviceReport report() noexcept;                        // what reports say of it
///     Elapsed elapsed(Mark begin, Mark end, Look& look) noexcept;   // the same, of several in a row; then
///     void looked(Look& look) noexcept;
///     bool locate(Mark mark, DevicePlace& place) noexcept;          // where a mark that is ready lies on a time line
///     void offer(Mark mark) noexcept;                               // with it: others may be measured from this mark
///
/// A mark is released once for the mark() and once for each retain(). Any thread may call any of them.
/// docs/backends.md tells how to write one; takt/conformance.hpp proves it.
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
  using HasReport = std::is_same<DeviceReport, decltype(T::report())>;
  template <class T>
  using HasLocate = std::is_same<bool, decltype(std::declval<T&>().locate(Mark{}, std::declval<DevicePlace&>()))>;
  template <class T>
  using HasOffer = std::is_void<decltype(std::declval<T&>().offer(Mark{}))>;
  template <class T>
  using HasHostNs = std::is_same<std::uint64_t, decltype(std::declval<T&>().host_ns())>;

  template <class T>
  using HasLook = std::is_same<Elapsed, decltype(std::declval<T&>().looked(std::declval<Look&>()),
                                                 std::declval<T&>().elapsed(Mark{}, Mark{}, std::declval<Look&>()))>;

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
  static constexpr bool has_report = Passes<HasReport, B>::value;
  static constexpr bool has_look = Passes<HasLook, B>::value;
  static constexpr bool has_locate = Passes<HasLocate, B>::value;
  static constexpr bool has_offer = Passes<HasOffer, B>::value;
  static constexpr bool in_order = Passes<IsInOrder, B>::value;
  static constexpr bool is_backend =
      has_mark && has_retain && has_elapsed && has_release && has_names && std::is_copy_constructible_v<B>;
};

/// Whether B has what every Backend needs.
template <class B>
inline constexpr bool is_backend = BackendTraits<B>::is_backend;

namespace detail {

template <class B>
constexpr auto report_of() noexcept -> DeviceReport (*)() noexcept {
  if constexpr (BackendTraits<B>::has_report) {
    return &B::report;
  } else {
    return nullptr;
  }
}

template <class B, class Device>
constexpr auto offer_of() noexcept -> void (*)(void*, Mark) noexcept {
  if constexpr (BackendTraits<B>::has_offer) {
    return [](void* device, Mark mark) noexcept { B(*static_cast<Device*>(device)).offer(mark); };
  } else {
    return nullptr;
  }
}

template <class B, class Device>
constexpr auto locate_of() noexcept -> bool (*)(void*, Mark, DevicePlace&) noexcept {
  if constexpr (BackendTraits<B>::has_locate) {
    return [](void* device, Mark mark, DevicePlace& place) noexcept {
      return B(*static_cast<Device*>(device)).locate(mark, place);
    };
  } else {
    return nullptr;
  }
}

}  // namespace detail

/// The DeviceOps of a Backend that is made from a `Device&`, for StreamTraits; a StreamRef's handle is then a `Device*`.
template <class B, class Device>
inline constexpr DeviceOps device_ops{
    B::name,
    BackendTraits<B>::in_order,
    [](void* device, Mark& mark) noexcept { return B(*static_cast<Device*>(device)).mark(mark); },
    [](void* device, Mark mark) noexcept { B(*static_cast<Device*>(device)).retain(mark); },
    [](void* device, Mark begin, Mark end) noexcept { return B(*static_cast<Device*>(device)).elapsed(begin, end); },
    [](void* device, Mark mark) noexcept { B(*static_cast<Device*>(device)).release(mark); },
    detail::report_of<B>(),
    detail::offer_of<B, Device>(),
    detail::locate_of<B, Device>()};

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
TAKT_END_NAMESPACE
