// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A name without control characters and of at most 200 bytes; put together without memory. One that is cut, between
/// code points, ends in '_' and eight hexadecimal digits, a hash of all of it.
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

/// The same as a text of its own. \throws std::bad_alloc
std::string repaired_name(std::string_view name);
/// Whether it is another one when it is repaired.
bool needs_repair(std::string_view name) noexcept;
/// Reports a name that is repaired, without memory. Any thread, without a lock that an error handler may need.
/// \param what has the name: "key", "metric".
void tell_repaired(const char* cause, const char* what, std::string_view name) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
