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

/// A slice of a MIG (Multi-Instance GPU) device.
struct MigSlice {
  std::string_view profile;        ///< NVIDIA's name, such as "1g.5gb"
  std::uint64_t memory_bytes = 0;  ///< a workload must need less than this
};

/// A device that MIG cuts into slices. Texts live as long as the process.
struct MigDevice {
  std::string_view name;         ///< such as "A100-40GB"
  std::vector<MigSlice> slices;  ///< smallest first, one of each memory size
  std::string_view source;       ///< source of the figures
};

/// Returns all devices that mig_profile() knows. Any thread.
TAKT_EXPORT const std::vector<MigDevice>& mig_devices();

/// Returns the smallest slice of a device for a workload that needs `bytes` of memory on the whole device, or "none".
/// This need is an upper bound of the need on a slice. A slice must have more than `bytes`; an equal one is too small.
/// docs/models.md explains the rule. Any thread.
/// \param bytes 1 or more.
/// \param device a name from mig_devices(), case-insensitive.
/// \throws takt::Error for 0 bytes, and for an unknown device; the message names the known ones.
TAKT_EXPORT std::string mig_profile(std::uint64_t bytes, std::string_view device = "A100-40GB");

/// Error of predictions against measurements. A value.
struct PredictionError {
  std::size_t n = 0;  ///< number of predictions
  double mape = 0;    ///< mean absolute percentage error, as a share: 0.979 is 97.9 %
  /// 95 % interval of the mean error of predictions like these, by Student's t; needs three predictions.
  bool has_interval = false;
  double low = 0;  ///< 0 or more
  double high = 0;
};

/// Returns the mean of |predicted - measured| / measured. Any thread.
/// \param predicted one finite value for each of `measured`, in the same order.
/// \param measured finite values above 0, because a share of 0 is undefined.
/// \throws takt::Error if both are empty, if their sizes differ, and for other numbers; the message names the position.
TAKT_EXPORT PredictionError prediction_error(const std::vector<double>& predicted, const std::vector<double>& measured);

TAKT_END_NAMESPACE
