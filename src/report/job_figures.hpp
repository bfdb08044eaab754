// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>

#include "ranks/gathered_rank.hpp"
#include "ranks/rank_record.hpp"
#include "report/job_report.hpp"

#include <cstdint>
#include <memory>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The figures of a record and of the ranks that are in it, in their order. Paths come in the order of `first`, the
/// snapshot of one of these; behind them those that this rank has not. Any thread.
std::shared_ptr<const Job> job_of(RankRecord record, const std::vector<GatheredRank>& ranks, const Snapshot& first,
                                  std::uint32_t world_size, std::vector<std::uint32_t> missing);

/// The page of the job that the snapshot, of one of its ranks, was given. REQUIRES: snapshot.job.
JobReport report_of_job(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
