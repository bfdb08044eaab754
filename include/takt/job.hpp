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

/// What Takt's own table of a job is made of. Opaque: defined in Takt's own sources only.
struct RankRecord;

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
  std::string name;                 ///< of the key
  std::uint32_t parent = kNoIndex;  ///< index into Job::paths, always smaller than the own one; kNoIndex at the top
  std::uint32_t depth = 0;          ///< 0 at the top
  Kind kind = Kind::other;
  Summary host;            ///< of all calls of all ranks
  Summary device;          ///< stream spans; n() == 0 where there are none
  OverRanks host_total;    ///< of the ranks' totals
  OverRanks device_total;  ///< ranks == 0 where there are no stream spans
  double share = 0;        ///< of the wall time of the slowest rank times the ranks, 0 to 1 where one thread works
};

/// How well a job uses its ranks, by the names and definitions of POP: 0 to 1 each.
struct JobEfficiency {
  double load_balance = 0;   ///< mean over largest busy time of ranks
  double communication = 0;  ///< largest busy time over the time of the job
  double parallel = 0;       ///< their product
};

/// What share of its steps a stage of a pipeline waits: its bubble.
struct StageWait {
  int stage = 0;
  std::uint64_t ranks = 0;
  double share = 0;
};

/// The stages of a pipeline, ascending: ranks in the groups "stage". Empty where there are fewer than two.
struct Pipeline {
  std::vector<StageWait> stages;
  std::optional<unsigned> micro_batches;  ///< of a step, by the parameter "micro_batches", if all ranks tell the same
  std::optional<double> ideal;  ///< the share that each stage waits if all take equally long; with `micro_batches`
};

/// What the steps of ranks say beside each other. docs/ranks.md has the rules. A value.
struct RankComparison {
  std::vector<Finding> findings;  ///< who makes whom wait: one a group of ranks, those with the highest cost first
  std::optional<JobEfficiency> efficiency;  ///< with steps that took time, and that tell where ranks wait
  Pipeline pipeline;
  std::uint64_t steps = 0;        ///< that all of this rests on: those that all compared ranks have
  std::uint64_t one_step_in = 1;  ///< about one step in so many is among them
  std::uint64_t left_out = 0;     ///< ranks that are not compared: they have no steps where the others have most
  std::uint64_t unexposed = 0;    ///< steps in which it is not known of all ranks for how long their streams waited
};

/// What the ranks of a job do together at one Batch path: items of all over the time of the slowest, which the others
/// wait for. Of several threads of a rank that take Batches there, its time is that in which any of them did.
struct JobThroughput {
  std::uint32_t path = 0;    ///< of the Batch, index into Job::paths
  std::uint64_t series = 0;  ///< that have a throughput
  std::string slowest;       ///< "rank 1, main": whose time it is; of several threads that with most
  Throughput throughput;     ///< of all; steps, windows and the width of the interval are those of the slowest rank
};

/// The figures of a job as takt::mpi::reduce() has brought them to rank 0. A value.
struct Job {
  std::uint32_t world_size = 1;
  std::vector<std::uint32_t> missing;        ///< ranks that are not in the figures, ascending
  OverRanks wall;                            ///< how long the ranks had run
  std::vector<JobPath> paths;                ///< parents before children, each tree whole before the next
  std::vector<JobThroughput> throughput;     ///< one a Batch path that has one on some rank
  RankComparison comparison;                 ///< of the ranks that are in the figures
  std::shared_ptr<const RankRecord> record;  ///< what Takt's own table is made of

  /// As Snapshot::path_name().
  std::string path_name(std::uint32_t path) const {
    const JobPath& here = paths[path];
    std::string name = here.parent == kNoIndex ? std::string() : path_name(here.parent) + "/";
    detail::append_key(name, here.name);
    return name;
  }
};

TAKT_END_NAMESPACE
