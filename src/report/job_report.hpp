// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_heat.hpp"
#include "ranks/rank_record.hpp"

#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One a Batch path that has a throughput on some rank. `sum` is of several ranks, and paths are its own. Any thread.
std::vector<JobThroughput> job_throughputs(const Snapshot& sum);

/// What several ranks of one run say together.
struct JobReport {
  Snapshot sum;       ///< their totals, path by path, and findings; its rank is -1
  RankRecord record;  ///< how the totals of ranks lie beside each other
  RankComparison comparison;
  std::vector<std::string> warnings;  ///< lines below the table
  RankHeat heat;                      ///< how busy they are, and when; for the page of the run
};

/// The page of a job: who makes whom wait, the table over ranks, rates, and what the figures do not contain.
std::string format_job(const JobReport& job, int width, bool color);

/// How well the ranks are used, and what is not known of that: a statement a line.
std::vector<std::string> job_lines(const JobReport& job);

/// What share of the time of all ranks a path took: of the wall time of the job, times its ranks. 0 to 1 for what one
/// thread of each rank did; 0 where there was no time.
double share_of_job(const RankRecord& record, const RankPath& path) noexcept;

/// The paths of the sum as a tree by names alone: of those that differ in kind, and so have one record, the first.
std::vector<std::uint32_t> paths_by_name(const Snapshot& sum);

/// The path's record; nullptr: none.
const RankPath* find_path(const RankRecord& record, const Snapshot& sum, std::uint32_t path);

/// The figures of a record and of the ranks that are in it, in their order. Paths come in the order of `first`, the
/// snapshot of one of these; behind them those that this rank has not. Any thread.
std::shared_ptr<const Job> job_of(RankRecord record, const std::vector<GatheredRank>& ranks, const Snapshot& first,
                                  std::uint32_t world_size, std::vector<std::uint32_t> missing);

/// The page of the job that the snapshot, of one of its ranks, was given. REQUIRES: snapshot.job.
JobReport report_of_job(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
