// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_json.hpp"

#include <takt/job.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// null where no rank has it.
JsonText over_ranks_json(const OverRanks& over) {
  if (over.ranks == 0) { return {}; }
  return {{"ranks", over.ranks},       {"mean_ns", over.mean_ns},    {"min_ns", over.min_ns},
          {"min_rank", over.min_rank}, {"max_ns", over.max_ns},      {"max_rank", over.max_rank},
          {"stdev_ns", over.stdev_ns}, {"imbalance", over.imbalance}};
}

JsonText job_path_json(const Job& job, std::uint32_t index) {
  const JobPath& path = job.paths[index];
  return {{"path", job.path_name(index)},
          {"kind", to_string(path.kind)},
          {"n", path.host.n()},
          {"total", over_ranks_json(path.host_total)},
          {"device_total", over_ranks_json(path.device_total)},
          {"share", path.share}};
}

}  // namespace

JsonText job_json(const Snapshot& snapshot) {
  if (snapshot.job == nullptr) { return {}; }
  const Job& job = *snapshot.job;
  JsonText missing = JsonText::array();
  for (const std::uint32_t rank : job.missing) { missing.push_back(rank); }
  JsonText paths = JsonText::array();
  for (std::uint32_t index = 0; index < job.paths.size(); ++index) { paths.push_back(job_path_json(job, index)); }
  return {{"ranks", job.wall.ranks},
          {"world_size", job.world_size},
          {"missing_ranks", missing},
          {"wall", over_ranks_json(job.wall)},
          {"paths", paths}};
}

}  // namespace detail
TAKT_END_NAMESPACE
