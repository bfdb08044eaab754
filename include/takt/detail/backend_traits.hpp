// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What a type has of a Backend, as far as a Timer has to know. takt/backend.hpp says what a Backend is.

#include <takt/config.hpp>
#include <takt/elapsed.hpp>

#include <cstdint>
#include <type_traits>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

struct Questions;

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
  using HasQuestions =
      std::is_same<Elapsed, decltype(std::declval<T&>().end_questions(std::declval<Questions&>()),
                                     std::declval<T&>().elapsed(Mark{}, Mark{}, std::declval<Questions&>()))>;

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
  static constexpr bool has_questions = Passes<HasQuestions, B>::value;
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
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
