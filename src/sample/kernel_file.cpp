// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/kernel_file.hpp"

#include <takt/detail/not_cancelled.hpp>

#include "base/descriptor.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

KernelFile::KernelFile(const char* path) noexcept {
  const NotCancelled whole;
  const Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    error_ = errno;
    return;
  }
  ssize_t count = 0;
  do {
    count = ::read(file.number(), text_ + size_, sizeof text_ - size_);
    size_ += count > 0 ? static_cast<std::size_t>(count) : 0;
  } while (size_ < sizeof text_ && (count > 0 || (count < 0 && errno == EINTR)));
  if (count < 0) {
    error_ = errno;
    size_ = 0;
  }
}

bool take_number(std::string_view& text, std::uint64_t& value) noexcept {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) { return false; }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool KernelFile::number(std::uint64_t& value) const noexcept {
  std::string_view left = text();
  return take_number(left, value);
}

bool KernelFile::number_of(std::string_view name, std::uint64_t& value) const noexcept {
  for (std::string_view left = text(); !left.empty();) {
    if (left.substr(0, name.size()) == name) {
      left.remove_prefix(name.size());
      return take_number(left, value);
    }
    left.remove_prefix(std::min(left.find('\n'), left.size() - 1) + 1);
  }
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE
