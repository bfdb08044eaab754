// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/models.hpp>

#include "base/text.hpp"
#include "base/threads.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::uint64_t kGigabyte = 1'000'000'000;

// nvidia-smi reports less memory for these two than their names say.
constexpr std::uint64_t k16GiB = std::uint64_t{16} << 30U;
constexpr std::uint64_t k32GiBAndAQuarter = std::uint64_t{129} << 28U;

constexpr const char* kDippm = "DIPPM, equation 2; NVIDIA MIG User Guide, Supported MIG Profiles, A100";
constexpr const char* kA100 = "NVIDIA MIG User Guide, Supported MIG Profiles, A100";
constexpr const char* kH100 = "NVIDIA MIG User Guide, Supported MIG Profiles, H100";
constexpr const char* kH200 =
    "NVIDIA MIG User Guide, Supported MIG Profiles, H200; memory of the two smallest slices as listed by nvidia-smi "
    "mig "
    "-lgip "
    "(github.com/NVIDIA/mig-parted/issues/120)";

std::vector<MigDevice> known_devices() {
  const std::vector<MigSlice> of_80 = {{"1g.10gb", 10 * kGigabyte},
                                       {"2g.20gb", 20 * kGigabyte},
                                       {"3g.40gb", 40 * kGigabyte},
                                       {"7g.80gb", 80 * kGigabyte}};
  return {{"A100-40GB",
           {{"1g.5gb", 5 * kGigabyte},
            {"2g.10gb", 10 * kGigabyte},
            {"3g.20gb", 20 * kGigabyte},
            {"7g.40gb", 40 * kGigabyte}},
           kDippm},
          {"A100-80GB", of_80, kA100},
          {"H100-80GB", of_80, kH100},
          {"H200-141GB",
           {{"1g.18gb", k16GiB},
            {"2g.35gb", k32GiBAndAQuarter},
            {"3g.71gb", 71 * kGigabyte},
            {"7g.141gb", 141 * kGigabyte}},
           kH200}};
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
