// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

/// How far predictions lie from what was measured. A value.
struct PredictionError {
  std::size_t n = 0;  ///< predictions
  double mape = 0;    ///< mean absolute percentage error, as a share: 0.979 is 97.9 %
  /// 95 % interval of the mean error of predictions like these, by Student's t; only from three on.
  bool has_interval = false;
  double low = 0;  ///< 0 or more
  double high = 0;
};

/// The mean of |predicted - measured| / measured. Any thread.
/// \param predicted one for each of `measured`, at the same place; finite.
/// \param measured finite, and above 0: nothing can be told in parts of 0.
/// \throws takt::Error for none, for other numbers, and where there are more of one than of the other; it names the
///         place.
TAKT_EXPORT PredictionError prediction_error(const std::vector<double>& predicted, const std::vector<double>& measured);

TAKT_END_NAMESPACE
