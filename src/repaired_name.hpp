// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A name without control characters and of at most 200 bytes, cut between code points; put together without memory.
class RepairedName {
 public:
  static constexpr std::size_t kMostBytes = 200;

  explicit RepairedName(std::string_view name) noexcept;

  const char* c_str() const noexcept { return text_; }
  operator std::string_view() const noexcept { return {text_, size_}; }  // NOLINT(google-explicit-constructor)

 private:
  char text_[kMostBytes + 1];
  std::size_t size_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
