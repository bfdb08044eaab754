// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/models.hpp>
#include <takt/sample.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Devices that MIG divides; libtakt and takt::models use the same table.
struct MigTable {
  std::string_view name;           ///< model and GB, "A100-40GB"
  std::array<MigSlice, 4> slices;  ///< 1g, 2g, 3g, 7g
};

inline constexpr std::uint64_t kGigabyte = 1'000'000'000;
// nvidia-smi reports less memory for the two smallest slices of an H200 than their names say: 16 and 32.25 GiB.
inline constexpr std::array<MigTable, 4> kMigTables = {{
    {"A100-40GB",
     {{{"1g.5gb", 5 * kGigabyte},
       {"2g.10gb", 10 * kGigabyte},
       {"3g.20gb", 20 * kGigabyte},
       {"7g.40gb", 40 * kGigabyte}}}},
    {"A100-80GB",
     {{{"1g.10gb", 10 * kGigabyte},
       {"2g.20gb", 20 * kGigabyte},
       {"3g.40gb", 40 * kGigabyte},
       {"7g.80gb", 80 * kGigabyte}}}},
    {"H100-80GB",
     {{{"1g.10gb", 10 * kGigabyte},
       {"2g.20gb", 20 * kGigabyte},
       {"3g.40gb", 40 * kGigabyte},
       {"7g.80gb", 80 * kGigabyte}}}},
    {"H200-141GB",
     {{{"1g.18gb", std::uint64_t{16} << 30U},
       {"2g.35gb", std::uint64_t{129} << 28U},
       {"3g.71gb", 71 * kGigabyte},
       {"7g.141gb", 141 * kGigabyte}}}},
}};

/// A need for memory on one device.
struct MigFit {
  const MigTable* device;
  std::string_view profile;                     ///< smallest slice that fits, or "none"
  std::array<std::optional<double>, 4> shares;  ///< of each slice's memory; empty if the slice is too small
};

/// Returns the fit of `bytes` on a device of kMigTables; empty for other names and unknown bytes. Any thread.
std::optional<MigFit> mig_fit(std::optional<std::int64_t> bytes, std::string_view device);

/// Formats "fits 1g.5gb of A100-40GB: 64.0 % of 1g.5gb, 32.0 % of 2g.10gb". Any thread.
std::string mig_text(const MigFit& fit);

/// Returns the device of kMigTables whose memory was measured, by its model and total memory; empty: none.
/// \param memory_of name of a sensor. If it names none ("allocator"), all sampled devices must be of one kind.
std::string_view mig_device_of(const std::vector<Sensor>& sensors, std::string_view memory_of) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
