// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/models.hpp>

#include "base/text.hpp"
#include "base/threads.hpp"
#include "measure/mig_slices.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kDippm = "DIPPM, equation 2; NVIDIA MIG User Guide, Supported MIG Profiles, A100";
constexpr const char* kA100 = "NVIDIA MIG User Guide, Supported MIG Profiles, A100";
constexpr const char* kH100 = "NVIDIA MIG User Guide, Supported MIG Profiles, H100";
constexpr const char* kH200 =
    "NVIDIA MIG User Guide, Supported MIG Profiles, H200; memory of the two smallest slices as listed by nvidia-smi "
    "mig -lgip "
    "(github.com/NVIDIA/mig-parted/issues/120)";

std::vector<MigDevice> known_devices() {
  constexpr const char* kSources[] = {kDippm, kA100, kH100, kH200};
  std::vector<MigDevice> devices;
  devices.reserve(kMigTables.size());
  for (const MigTable& each : kMigTables) {
    devices.push_back({each.name, {each.slices.begin(), each.slices.end()}, kSources[devices.size()]});
  }
  return devices;
}

bool is_same_device(std::string_view one, std::string_view other) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

const MigDevice& find_device(std::string_view name) {
  std::string known;
  for (const MigDevice& each : mig_devices()) {
    if (is_same_device(each.name, name)) { return each; }
    known.append(known.empty() ? "" : ", ").append(each.name);
  }
  throw Error("takt: mig_profile(): unknown device \"" + fit(printable(name), 60) + "\"; known devices: " + known);
}

}  // namespace
}  // namespace detail

const std::vector<MigDevice>& mig_devices() { return detail::made_once<detail::known_devices>(); }

std::string mig_profile(std::uint64_t bytes, std::string_view device) {
  const MigDevice& found = detail::find_device(device);
  if (bytes == 0) { throw Error("takt: mig_profile() got 0 bytes; pass the measured or predicted memory"); }
  for (const MigSlice& slice : found.slices) {
    if (bytes < slice.memory_bytes) { return std::string(slice.profile); }
  }
  return "none";
}

TAKT_END_NAMESPACE
