// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a file of /proc or /sys says, which the kernel makes as it is read: the first 4 KiB of it. Needs no memory.
class KernelFile {
 public:
  /// Where it cannot be read it has no text, and error() says why.
  explicit KernelFile(const char* path) noexcept;

  std::string_view text() const noexcept { return {text_, size_}; }
  int error() const noexcept { return error_; }  ///< an errno; 0: it was read
  /// The number that the text begins with. False: there is none.
  bool number(std::uint64_t& value) const noexcept;
  /// The number behind `name`, which begins a line. False: there is none.
  bool number_of(std::string_view name, std::uint64_t& value) const noexcept;

 private:
  char text_[4096];
  std::size_t size_ = 0;
  int error_ = 0;
};

/// The number at the start of `text`, behind blanks, which goes from it. False: there is none.
bool take_number(std::string_view& text, std::uint64_t& value) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
