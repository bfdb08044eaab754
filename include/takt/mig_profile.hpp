// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// A slice into which MIG (Multi-Instance GPU) cuts a device.
struct MigSlice {
  std::string_view profile;        ///< as NVIDIA names it, such as "1g.5gb"
  std::uint64_t memory_bytes = 0;  ///< what is in it has to need less
};

/// A device that MIG cuts into slices. Texts live as long as the process.
struct MigDevice {
  std::string_view name;         ///< such as "A100-40GB"
  std::vector<MigSlice> slices;  ///< the smallest first, one of each size of memory
  std::string_view source;       ///< where the figures come from
};

/// All devices that mig_profile() knows. Any thread.
TAKT_EXPORT const std::vector<MigDevice>& mig_devices();

/// The smallest slice of a device with room for what needs `bytes` of memory on the whole device, which is an upper
/// bound of what it needs on a slice; "none" where no slice has. What needs exactly as much as a slice has takes the
/// next larger one. docs/models.md tells the rule. Any thread.
/// \param bytes 1 or more.
/// \param device a name of mig_devices(), in whatever case.
/// \throws takt::Error for 0 bytes, and for a device that is not known; it names those that are.
TAKT_EXPORT std::string mig_profile(std::uint64_t bytes, std::string_view device = "A100-40GB");

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
