// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <string_view>
#include <type_traits>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A text as a function of Takt's takes it: what converts to std::string_view, and a null pointer, such as
/// std::getenv() returns, of which no std::string_view may be made. Points to the caller's text.
class TextArgument {
 public:
  constexpr TextArgument(const char* text) noexcept  // NOLINT(google-explicit-constructor)
      : is_null_(text == nullptr), view_(text == nullptr ? std::string_view() : std::string_view(text)) {}
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view> &&
                                          !std::is_convertible_v<const S&, const char*>,
                                      int> = 0>
  constexpr TextArgument(const S& text) noexcept : view_(text) {}  // NOLINT(google-explicit-constructor)

  constexpr bool is_null() const noexcept { return is_null_; }
  /// Empty where it is a null pointer.
  constexpr std::string_view view() const noexcept { return view_; }

 private:
  bool is_null_ = false;
  std::string_view view_;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
