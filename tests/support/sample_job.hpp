// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace takt_test {

/// Returns statistics of equally spaced totals of `ranks` ranks; rank 0 has the minimum.
inline takt::OverRanks over_ranks(std::uint32_t ranks, double min_s, double max_s) {
  const double mean_s = (min_s + max_s) / 2;
  takt::OverRanks over;
  over.ranks = ranks;
  over.mean_ns = mean_s * 1e9;
  over.min_ns = static_cast<std::uint64_t>(min_s * 1e9);
  over.max_ns = static_cast<std::uint64_t>(max_s * 1e9);
  over.max_rank = ranks - 1;
  over.imbalance = max_s / mean_s - 1;
  return over;
}

/// Returns a job with a region "Batch" and the regions inside it. \param inner names, each with the minimum total of a
/// rank in s.
inline takt::Job sample_job(std::uint32_t ranks, const std::vector<std::pair<std::string, double>>& inner) {
  takt::Job job;
  job.world_size = ranks;
  job.wall = over_ranks(ranks, 1000, 1000);
  job.paths.resize(1);
  job.paths[0].name = "Batch";
  job.paths[0].host_total = over_ranks(ranks, 900, 900);
  for (const auto& [name, min_s] : inner) {
    takt::JobPath path;
    path.name = name;
    path.parent = 0;
    path.depth = 1;
    path.host_total = over_ranks(ranks, min_s, min_s * 1.25);
    job.paths.push_back(path);
  }
  return job;
}

/// The same with a few regions.
inline std::shared_ptr<const takt::Job> shared_job(std::uint32_t ranks, std::vector<std::uint32_t> missing = {}) {
  takt::Job job = sample_job(ranks, {{"Forward", 8}, {"ns::f<int>", 2}});
  job.world_size += static_cast<std::uint32_t>(missing.size());
  job.missing = std::move(missing);
  return std::make_shared<const takt::Job>(std::move(job));
}

}  // namespace takt_test
