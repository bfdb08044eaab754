// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>
#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

namespace detail {
struct RankRecord;
}

/// How a time lies over the ranks that have it.
struct OverRanks {
  std::uint64_t ranks = 0;  ///< that have it
  double mean_ns = 0;
  double stdev_ns = 0;  ///< of a sample; 0 below two ranks
  std::uint64_t min_ns = 0;
  std::uint32_t min_rank = 0;  ///< of equal ones the lowest
  std::uint64_t max_ns = 0;
  std::uint32_t max_rank = 0;
  double imbalance = 0;  ///< max / mean - 1
};

/// One place in the call tree over the ranks of a job.
struct JobPath {
  std::string name;                             ///< of the key
  std::uint32_t parent = PathStats::kNoParent;  ///< index into Job::paths, always smaller than the own one
  std::uint32_t depth = 0;                      ///< 0 at the top
  Kind kind = Kind::other;
  Summary host;            ///< of all calls of all ranks
  Summary device;          ///< stream spans; n() == 0 where there are none
  OverRanks host_total;    ///< of the ranks' totals
  OverRanks device_total;  ///< ranks == 0 where there are no stream spans
  double share = 0;        ///< of the wall time of the slowest rank times the ranks, 0 to 1 where one thread works
};

/// The figures of a job as takt::mpi::reduce() has brought them to rank 0. A value.
struct Job {
  std::uint32_t world_size = 1;
  std::vector<std::uint32_t> missing;                ///< ranks that are not in the figures, ascending
  OverRanks wall;                                    ///< how long the ranks had run
  std::vector<JobPath> paths;                        ///< parents before children, each tree whole before the next
  std::shared_ptr<const detail::RankRecord> record;  ///< what Takt's own table is made of

  /// "Epoch/Batch/Forward". One thread at a time.
  std::string path_name(std::uint32_t path) const {
    const JobPath& here = paths[path];
    return here.parent == PathStats::kNoParent ? here.name : path_name(here.parent) + "/" + here.name;
  }
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
