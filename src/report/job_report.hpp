// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/rank_heat.hpp"
#include "ranks/rank_record.hpp"

#include <takt/exporters/console.hpp>
#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns one per Batch path that has a throughput on some rank. `sum` is of several ranks; paths refer to it. Any
/// thread.
std::vector<JobThroughput> job_throughputs(const Snapshot& sum);

/// Combined figures of several ranks of one run.
struct JobReport {
  Snapshot sum;       ///< totals by path, and findings; its rank is -1
  RankRecord record;  ///< distribution of totals over ranks
  RankComparison comparison;
  std::vector<std::string> warnings;  ///< lines below the table
  RankHeat heat;                      ///< busy times over ranks and steps, for the run page
};

/// Formats a job: rank verdicts, the table over ranks, rates, and limitations of the figures.
std::string format_job(const JobReport& job, const TableForm& form);
/// Returns the names that TableForm::columns knows, of tables of a job.
std::vector<std::string> job_columns();

/// Returns how well the ranks are used, with limitations: one statement per line.
std::vector<std::string> job_lines(const JobReport& job);

/// Returns the path's share of the time of all ranks (wall time of the job times its ranks). 0 to 1 for one thread per
/// rank; 0 if there was no time.
double share_of_job(const RankRecord& record, const RankPath& path) noexcept;

/// Returns the paths of the sum as a tree by name. Of paths that differ only in kind, which share a record, the first.
std::vector<std::uint32_t> paths_by_name(const Snapshot& sum);

/// Returns the path's record; nullptr if there is none.
const RankPath* find_path(const RankRecord& record, const Snapshot& sum, std::uint32_t path);

/// Adds a series with a throughput, on a new thread, to a snapshot of several ranks.
Series& add_job_series(Snapshot& sum, std::uint32_t path, const std::string& thread, const Throughput& throughput);

/// Builds the job's report from a snapshot of one of its ranks. REQUIRES: snapshot.job.
JobReport report_of_job(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
