// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Some consecutive points of a metric.
struct MetricBlock {
  std::uint64_t points = 0;
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  double sum = 0;
  double least = 0;
  double most = 0;
};

/// The points of one metric of the program's, in bounded memory: blocks of consecutive points, twice as many a block
/// whenever there is no more room. A value; one thread at a time.
class MetricHistory {
 public:
  static constexpr std::size_t kMostBlocks = 512;

  void add(const Metric& metric);

  const std::vector<MetricBlock>& blocks() const noexcept { return blocks_; }
  std::uint64_t points() const noexcept { return points_; }
  /// Points that are no number, or infinite: in no block.
  std::uint64_t not_finite() const noexcept { return not_finite_; }
  /// The newest finite value.
  double last() const noexcept { return last_; }

 private:
  void halve();

  std::vector<MetricBlock> blocks_;
  std::uint64_t stride_ = 1;
  std::uint64_t points_ = 0;
  std::uint64_t not_finite_ = 0;
  double last_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
