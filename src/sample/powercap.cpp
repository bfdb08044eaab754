// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/powercap.hpp"

#include "sample/kernel_file.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// More than a machine has packages.
constexpr unsigned kMostZones = 64;

}  // namespace

Powercap::Powercap(const std::string& folder) {
  if (::access(folder.c_str(), F_OK) != 0) {
    missing_ = "there is no " + folder;
    return;
  }
  // Zones at the top are numbered without a break. Those below them are parts of packages; another driver
  // (intel-rapl-mmio) tells of the same packages again.
  for (unsigned number = 0; number < kMostZones; ++number) {
    const std::string zone = folder + "/intel-rapl:" + std::to_string(number);
    if (::access(zone.c_str(), F_OK) != 0) { break; }
    add(zone);
  }
  if (zones_.empty() && missing_.empty()) { missing_ = "no processor tells its energy in " + folder; }
  if (!missing_.empty()) { zones_.clear(); }  // a part would pass for the whole
}

/// A zone of another kind, such as that of the whole machine ("psys"), which has the packages in it, is passed over.
void Powercap::add(const std::string& folder) {
  const KernelFile name((folder + "/name").c_str());
  if (name.text().substr(0, 8) != "package-") { return; }
  std::uint64_t range = 0;
  KernelFile((folder + "/max_energy_range_uj").c_str()).number(range);
  const std::string file = folder + "/energy_uj";
  const KernelFile energy(file.c_str());
  std::uint64_t reading = 0;
  if (energy.number(reading)) {
    zones_.push_back({file, CounterSum(range)});
    return;
  }
  const int why = energy.error();
  missing_ = file + (why == EACCES || why == EPERM ? " is for root alone; who may change that makes it readable"
                                                   : " cannot be read: " + std::system_category().message(why));
}

bool Powercap::energy(std::int64_t& microjoules) {
  std::uint64_t sum = 0;
  for (Zone& zone : zones_) {
    std::uint64_t reading = 0;
    if (!KernelFile(zone.file.c_str()).number(reading)) { return false; }
    sum += zone.sum.add(reading);
  }
  microjoules = static_cast<std::int64_t>(sum);
  return !zones_.empty();
}

}  // namespace detail
TAKT_END_NAMESPACE
