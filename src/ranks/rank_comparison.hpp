// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_steps.hpp"

#include <takt/config.hpp>
#include <takt/histogram.hpp>
#include <takt/job.hpp>
#include <takt/summary.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Compares the ranks of a job by the steps that were kept of each. Files and messages give the same of the same steps,
/// as long as ranks come in the same order. Any thread.
RankComparison compare_ranks(const std::vector<RankOfJob>& ranks);

/// By how much a rank is busier than the others of its group: in each window its median busy time, divided by the
/// median of the others' medians, less one.
struct RankExcess {
  double mean = 0;              ///< over windows
  double standard_error = 0;    ///< of the mean
  std::size_t positive = 0;     ///< windows in which it is above 0
  double others_deviation = 0;  ///< 1.4826 x MAD of the other ranks' mean excesses
  bool slow = false;            ///< busier than noise makes one, and lastingly
};

/// The ranks, by their places, that are compared with each other, in the order in which groups come first.
std::vector<std::vector<std::size_t>> groups_of(const StepTimes& times);

/// The excess of each of `group`, in its order. A rank is slow if its mean excess is above 3 %, above 6 standard errors
/// and, from 8 ranks on, above 4 x 1.4826 x MAD of the others' excesses, and positive in 8 of 10 windows. REQUIRES: two
/// ranks or more, and kMinComparedSteps.
std::vector<RankExcess> excesses_of(const StepTimes& times, const std::vector<std::size_t>& group);

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
  RankTotal min{~std::uint64_t{0}};
  RankTotal max;
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

/// What a group of ranks waits for whoever is slowest in each step.
struct Imbalance {
  double ns = 0;                  ///< sum over steps of the largest busy time less the median one
  double noise_ns = 0;            ///< about what that would be if ranks differed by noise alone, and it were lognormal
  double busy_ns = 0;             ///< sum over steps of the median busy time
  double job_ns = 0;              ///< StepTimes::job_ns()
  std::size_t slowest = 0;        ///< place of the rank that is slowest in most steps
  std::size_t slowest_steps = 0;  ///< in so many

  /// By more than noise explains.
  bool exceeds_noise() const noexcept;
};

/// Of the ranks at these places. REQUIRES: two ranks or more, and kMinComparedSteps.
Imbalance imbalance_of(const StepTimes& times, const std::vector<std::size_t>& group);

}  // namespace detail
TAKT_END_NAMESPACE
