// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// An argument of format(): a number, a character, or a view of text that the caller owns.
class FormatArgument {
 public:
  enum class Kind { boolean, character, signed_integer, unsigned_integer, real, text };

  FormatArgument(bool value) noexcept : kind_(Kind::boolean), signed_(value ? 1 : 0) {}           // NOLINT
  FormatArgument(char value) noexcept : kind_(Kind::character), signed_(value) {}                 // NOLINT
  FormatArgument(double value) noexcept : kind_(Kind::real), real_(value) {}                      // NOLINT
  FormatArgument(std::string_view value) noexcept : kind_(Kind::text), text_(value) {}            // NOLINT
  FormatArgument(const std::string& value) noexcept : FormatArgument(std::string_view(value)) {}  // NOLINT
  FormatArgument(const char* value) noexcept : FormatArgument(std::string_view(value)) {}         // NOLINT
  template <class Integer, std::enable_if_t<std::is_integral_v<Integer>, int> = 0>
  FormatArgument(Integer value) noexcept : FormatArgument(value, std::is_signed<Integer>()) {}  // NOLINT

  Kind kind() const noexcept { return kind_; }
  long long signed_integer() const noexcept { return signed_; }
  unsigned long long unsigned_integer() const noexcept { return unsigned_; }
  double real() const noexcept { return real_; }
  std::string_view text() const noexcept { return text_; }

 private:
  template <class Integer>
  FormatArgument(Integer value, std::true_type) noexcept : kind_(Kind::signed_integer), signed_(value) {}
  template <class Integer>
  FormatArgument(Integer value, std::false_type) noexcept : kind_(Kind::unsigned_integer), unsigned_(value) {}

  Kind kind_;
  union {
    long long signed_;
    unsigned long long unsigned_;
    double real_;
    std::string_view text_;
  };
};

/// Formats as fmt::format() does. Only format.cpp includes fmt, in its own namespace: callers compile quickly, and
/// programs may link any version of fmt. Throws fmt's format_error for an invalid pattern, and std::bad_alloc. Any
/// thread. Exported for the separate exporter libraries.
TAKT_EXPORT std::string format_arguments(std::string_view pattern, const FormatArgument* arguments, std::size_t count);
/// Formats and writes to `file`. Throws std::system_error if the write fails.
void print_arguments(std::FILE* file, std::string_view pattern, const FormatArgument* arguments, std::size_t count);

template <class... Arguments>
std::string format(std::string_view pattern, const Arguments&... arguments) {
  const FormatArgument list[] = {FormatArgument(arguments)..., FormatArgument(false)};
  return format_arguments(pattern, list, sizeof...(arguments));
}

template <class... Arguments>
void print(std::FILE* file, std::string_view pattern, const Arguments&... arguments) {
  const FormatArgument list[] = {FormatArgument(arguments)..., FormatArgument(false)};
  print_arguments(file, pattern, list, sizeof...(arguments));
}

}  // namespace detail
TAKT_END_NAMESPACE
