// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>
#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// Data of Takt's own table of a job. Opaque: defined only in Takt's sources.
struct RankRecord;

/// Distribution of a time over the ranks that have it.
struct OverRanks {
  std::uint64_t ranks = 0;  ///< number of ranks that have it
  double mean_ns = 0;
  double stdev_ns = 0;  ///< sample standard deviation; 0 below two ranks
  std::uint64_t min_ns = 0;
  std::uint32_t min_rank = 0;  ///< the lowest of equal ones
  std::uint64_t max_ns = 0;
  std::uint32_t max_rank = 0;
  double imbalance = 0;  ///< max / mean - 1
};

/// One place in the call tree over the ranks of a job.
struct JobPath {
  std::string name;                 ///< key name
  std::uint32_t parent = kNoIndex;  ///< index into Job::paths, always smaller than its own; kNoIndex at the top
  std::uint32_t depth = 0;          ///< 0 at the top
  Kind kind = Kind::other;
  Summary host;            ///< all calls of all ranks
  Summary device;          ///< stream spans; n() == 0 if none
  OverRanks host_total;    ///< distribution of the ranks' totals
  OverRanks device_total;  ///< ranks == 0 without stream spans
  double share = 0;        ///< share of (wall time of the slowest rank) x ranks; 0 to 1 if one thread works
};

/// Efficiency of a job by the names and definitions of POP: 0 to 1 each.
struct JobEfficiency {
  double load_balance = 0;   ///< mean / maximum busy time of ranks
  double communication = 0;  ///< maximum busy time / time of the job
  double parallel = 0;       ///< product of the two
};

/// Share of its steps that a pipeline stage waits: its bubble.
struct StageWait {
  int stage = 0;
  std::uint64_t ranks = 0;
  double share = 0;
};

/// The stages of a pipeline, ascending: ranks in the groups "stage". Empty with fewer than two.
struct Pipeline {
  std::vector<StageWait> stages;
  std::optional<unsigned> micro_batches;  ///< per step, from the parameter "micro_batches", if all ranks agree
  std::optional<double> ideal;  ///< share that each stage waits if all take equally long; needs `micro_batches`
};

/// Comparison of the ranks' steps. docs/ranks.md has the rules. A value.
struct RankComparison {
  std::vector<Finding> findings;  ///< which ranks make others wait: one per group of ranks, highest cost first
  std::optional<JobEfficiency> efficiency;  ///< needs steps that took time and that show when ranks wait
  Pipeline pipeline;
  std::uint64_t steps = 0;        ///< steps compared: those that all compared ranks have
  std::uint64_t one_step_in = 1;  ///< about one step in this many is compared
  std::uint64_t left_out = 0;     ///< ranks not compared: they lack most of the others' steps
  std::uint64_t unexposed = 0;    ///< steps in which some rank's stream waits are unknown
};

/// Joint throughput of the ranks at one Batch path: items of all ranks over the time of the slowest one. If several
/// threads of a rank run Batches there, its time is that in which any of them did.
struct JobThroughput {
  std::uint32_t path = 0;    ///< index into Job::paths of the Batch
  std::uint64_t series = 0;  ///< number of series that have a throughput
  std::string slowest;       ///< thread that sets the time, such as "rank 1, main"; the longest of several
  Throughput throughput;     ///< joint throughput; steps, windows and interval width are those of the slowest rank
};

/// Figures of a job, as takt::mpi::reduce() brings them to rank 0. A value.
struct Job {
  std::uint32_t world_size = 1;
  std::vector<std::uint32_t> missing;        ///< ranks missing from the figures, ascending
  OverRanks wall;                            ///< run time of the ranks
  std::vector<JobPath> paths;                ///< parents before children, each tree whole before the next
  std::vector<JobThroughput> throughput;     ///< one per Batch path that has a throughput on some rank
  RankComparison comparison;                 ///< comparison of the ranks in the figures
  std::shared_ptr<const RankRecord> record;  ///< data of Takt's own table

  /// Same as Snapshot::path_name().
  std::string path_name(std::uint32_t path) const {
    const JobPath& here = paths[path];
    std::string name = here.parent == kNoIndex ? std::string() : path_name(here.parent) + "/";
    detail::append_key(name, here.name);
    return name;
  }
};

TAKT_END_NAMESPACE
