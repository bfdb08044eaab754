// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A text put together without memory: a fault has to be told where there is none, and by functions that cannot throw.
/// What is beyond 2 kB is cut off, as report_fault() does.
class Words {
 public:
  /// \param parts texts and whole numbers.
  template <class... Parts>
  explicit Words(const Parts&... parts) noexcept {
    (add(parts), ...);
  }

  operator std::string_view() const noexcept { return {text_, size_}; }  // NOLINT(google-explicit-constructor)

 private:
  void add(std::string_view part) noexcept {
    const std::size_t count = std::min(part.size(), sizeof text_ - size_);
    if (count == 0) { return; }  // nothing may be nowhere
    std::memcpy(text_ + size_, part.data(), count);
    size_ += count;
  }
  template <class Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
  void add(Number number) noexcept {
    char digits[24];
    const char* const end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    add(std::string_view(digits, static_cast<std::size_t>(end - digits)));
  }

  char text_[2048 + 64];
  std::size_t size_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
