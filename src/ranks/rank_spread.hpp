// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/histogram.hpp>
#include <takt/summary.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A total in ns, and its rank.
struct RankTotal {
  static constexpr std::uint32_t kNobody = 0xFFFFFFFF;

  std::uint64_t ns = 0;
  std::uint32_t rank = kNobody;
};

/// Distribution of totals over ranks, in integers. An empty one is the identity of merge_into(), which is commutative
/// and associative: any order and any tree give the same bits. Value type; not thread-safe.
struct RankSpread {
  std::uint64_t ranks = 0;  ///< number of ranks with a total
  Wide sum_ns = 0;          ///< 128 bits: 100,000 ranks exceed 64 bits in two days
  Wide squares = 0;         ///< in ns squared; saturates at 2^128 - 1
  RankTotal min{~std::uint64_t{0}};
  RankTotal max;
  Histogram totals_us;  ///< one count per rank, in us: in ns, runs of more than 19.5 h would not fit

  double mean_ns() const noexcept;
  /// Sample standard deviation over ranks, in ns; 0 for fewer than two ranks.
  double stdev_ns() const noexcept;
  /// Maximum over mean, minus one; 0 if nothing was measured.
  double imbalance() const noexcept;
};

/// Converts a total to the unit of RankSpread::totals_us.
constexpr std::uint64_t histogram_value(std::uint64_t total_ns) noexcept { return total_ns / 1000; }
/// Adds the total of one rank. For equal totals, min and max name the lower rank.
void add_rank(RankSpread& spread, std::uint32_t rank, std::uint64_t total_ns) noexcept;
/// Adds all data of `from`.
void merge_into(RankSpread& spread, const RankSpread& from) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
