// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstddef>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Collects the figures of Epochs from metrics, among which the end of each Epoch has logged them. Not thread-safe.
class EpochTable {
 public:
  static constexpr std::size_t kMaxEpochs = 1'000;
  static constexpr std::size_t kMaxMetrics = 64;

  /// Takes metrics in the order of their sequence numbers. Returns the number of Epochs that they complete.
  std::size_t add(const std::vector<Metric>& metrics);
  const std::vector<EpochStats>& epochs() const noexcept { return epochs_; }
  std::uint64_t left_out() const noexcept { return left_out_; }
  /// Writes both into a snapshot.
  void fill(Snapshot& snapshot) const;

 private:
  EpochStats next_;
  std::vector<EpochStats> epochs_;
  std::uint64_t left_out_ = 0;
};

/// Returns "12.3 s, 512 steps, 12 340 samples/s, loss 0.31".
std::string epoch_text(const EpochStats& epoch, const std::string& unit);
/// Returns the file epochs.csv: a line for each Epoch, a column for each metric.
std::string epochs_csv(const std::vector<EpochStats>& epochs);

}  // namespace detail
TAKT_END_NAMESPACE
