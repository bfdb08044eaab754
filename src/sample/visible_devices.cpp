// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/visible_devices.hpp"

#include <algorithm>
#include <charconv>

TAKT_BEGIN_NAMESPACE
namespace detail {

VisibleDevices VisibleDevices::of(const char* value) {
  constexpr std::size_t kMost = 64;
  VisibleDevices devices;
  if (value == nullptr) { return devices; }
  devices.all = false;
  std::string_view left = value;
  while (!left.empty() && devices.entries.size() < kMost) {
    const std::size_t comma = std::min(left.find(','), left.size());
    std::string_view entry = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    while (!entry.empty() && entry.front() == ' ') { entry.remove_prefix(1); }
    while (!entry.empty() && entry.back() == ' ') { entry.remove_suffix(1); }
    devices.entries.emplace_back(entry);
  }
  return devices;
}

bool VisibleDevices::has_numbers() const noexcept {
  std::size_t index = 0;
  return std::any_of(entries.begin(), entries.end(),
                     [&](const std::string& each) { return parse_device_index(each, index); });
}

bool parse_device_index(std::string_view entry, std::size_t& index) noexcept {
  const char* const end = entry.data() + entry.size();
  const auto [at, error] = std::from_chars(entry.data(), end, index);
  return !entry.empty() && error == std::errc() && at == end;
}

}  // namespace detail
TAKT_END_NAMESPACE
