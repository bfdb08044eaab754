// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <type_traits>

namespace takt_test {

/// A type as it is passed to a function: an enumeration of the size of an int is one.
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

/// Whether a member of a table of Takt's and a vendor's function can stand for each other.
template <class Table, class Ours, class Vendors>
constexpr bool same_prototype(Ours Table::*, Vendors) noexcept {
  return std::is_same_v<Ours, typename Prototype<Vendors>::Type>;
}
/// The same of what is looked up when it is first asked for.
template <class Ours, class Vendors>
constexpr bool same_prototype(Ours* (*)() noexcept, Vendors) noexcept {
  return std::is_same_v<Ours*, typename Prototype<Vendors>::Type>;
}

}  // namespace takt_test
