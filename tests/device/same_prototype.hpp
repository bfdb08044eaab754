// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

namespace takt_test {

/// A type as passed to a function: an enumeration of the size of int counts as int.
template <class T, class = void>
struct Passed {
  using Type = T;
};
template <class T>
struct Passed<T, std::enable_if_t<std::is_enum_v<T>>> {
  static_assert(sizeof(T) == sizeof(int));
  using Type = int;
};
template <class T>
struct Passed<T*> {
  using Type = typename Passed<T>::Type*;
};

template <class F>
struct Prototype;
template <class Result, class... Arguments>
struct Prototype<Result (*)(Arguments...)> {
  using Type = typename Passed<Result>::Type (*)(typename Passed<Arguments>::Type...);
};

/// True if a member of Takt's table and a vendor's function are interchangeable.
template <class Table, class Ours, class Vendors>
constexpr bool same_prototype(Ours Table::*, Vendors) noexcept {
  return std::is_same_v<Ours, typename Prototype<Vendors>::Type>;
}
/// The same for functions that are looked up at first use.
template <class Ours, class Vendors>
constexpr bool same_prototype(Ours* (*)() noexcept, Vendors) noexcept {
  return std::is_same_v<Ours*, typename Prototype<Vendors>::Type>;
}

}  // namespace takt_test
