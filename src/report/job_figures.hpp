// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_record.hpp"

#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Builds the figures of a record and its ranks, in their order. Paths are in the order of `first`, a snapshot of one
/// rank, followed by paths that this rank lacks. Any thread.
std::shared_ptr<const Job> job_of(RankRecord record, const std::vector<GatheredRank>& ranks, const Snapshot& first,
                                  std::uint32_t world_size, std::vector<std::uint32_t> missing);

}  // namespace detail
TAKT_END_NAMESPACE
