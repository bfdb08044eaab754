// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/histogram.hpp>
#include <takt/summary.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A total in ns, and the rank that has it.
struct RankTotal {
  static constexpr std::uint32_t kNobody = 0xFFFFFFFF;

  std::uint64_t ns = 0;
  std::uint32_t rank = kNobody;
};

/// How the totals of ranks lie beside each other, in integers. One without ranks is the identity of merge_into(), which
/// is commutative and associative: any order and any tree give the same bits. A value; one thread at a time.
struct RankSpread {
  std::uint64_t ranks = 0;  ///< that have a total
  Wide sum_ns = 0;          ///< of a job's ranks, 64 bits may not hold it: 100 000 ranks pass them in two days
  Wide squares = 0;         ///< in ns squared; stays at 2^128 - 1 rather than wrap
  RankTotal least{~std::uint64_t{0}};
  RankTotal most;
  Histogram totals_us;  ///< one count a rank, in us: in ns a run of more than 19.5 h would have no place

  double mean_ns() const noexcept;
  /// Sample standard deviation over ranks in ns; 0 below two of them.
  double stdev_ns() const noexcept;
  /// Largest over mean, less one; 0 where nothing was measured.
  double imbalance() const noexcept;
};

/// Under which value a total stands in RankSpread::totals_us.
constexpr std::uint64_t histogram_value(std::uint64_t total_ns) noexcept { return total_ns / 1000; }
/// Adds the total of one rank. Of equal totals the one of the lower rank is told.
void add_rank(RankSpread& spread, std::uint32_t rank, std::uint64_t total_ns) noexcept;
/// Adds all that `from` holds.
void merge_into(RankSpread& spread, const RankSpread& from) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
