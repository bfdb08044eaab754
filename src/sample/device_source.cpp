// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/device_source.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

VisibleDevices VisibleDevices::of(const char* value) {
  constexpr std::size_t kMax = 64;
  VisibleDevices devices;
  if (value == nullptr) { return devices; }
  devices.all = false;
  std::string_view left = value;
  while (!left.empty() && devices.entries.size() < kMax) {
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

std::vector<Quantity> DeviceSource::add_device(const std::vector<Quantity>& may) {
  Asked asked;
  for (const Quantity each : may) {
    std::int64_t value = 0;
    if (ask(asked_.size(), each, value) == Answer::reported) { asked.quantities.push_back(each); }
  }
  std::vector<Quantity> reports = asked.quantities;
  if (!reports.empty()) { asked_.push_back(std::move(asked)); }
  return reports;
}

void DeviceSource::read(const NowNs& now, std::vector<Reading>& readings) {
  for (std::size_t device = 0; device < asked_.size(); ++device) {
    if (!asked_[device].lost) { readings.push_back(read(device, now)); }
  }
}

Reading DeviceSource::read(std::size_t device, const NowNs& now) {
  Asked& asked = asked_[device];
  Reading reading;
  reading.sensor = static_cast<std::uint32_t>(device);
  reading.values.assign(asked.quantities.size(), Sample::kAbsent);
  bool any = false;
  // The first value is the energy, whose time must be exact.
  const std::int64_t begin_ns = now();
  reading.time_ns = begin_ns;
  for (std::size_t place = 0; place < reading.values.size() && !asked.lost; ++place) {
    std::int64_t value = 0;
    const Answer answer = ask(device, asked.quantities[place], value);
    if (place == 0) { reading.time_ns = begin_ns + (now() - begin_ns) / 2; }
    if (answer == Answer::reported) { reading.values[place] = value; }
    any = any || answer == Answer::reported;
    asked.lost = answer == Answer::gone;
  }
  asked.failures = any ? 0 : asked.failures + 1;
  asked.lost = asked.lost || asked.failures >= kMaxFailures;
  if (asked.lost) {
    reading.values.clear();
    reading.lost = trouble();
  }
  return reading;
}

}  // namespace detail
TAKT_END_NAMESPACE
