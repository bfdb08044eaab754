// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Paths of a job that trackers are told of: each has six metrics, and six more where it is timed on a stream.
constexpr std::size_t kMostJobPaths = 16;

/// Figures over ranks whose metrics have the same beginning.
struct JobMetrics {
  std::string stem;                                    ///< "total/ranks/time/Epoch/Batch"
  std::vector<std::pair<const char*, double>> values;  ///< by what is behind it: "/mean_s"
};

/// What trackers get of a job, the same number of metrics however many ranks there are: of the job itself, and of the
/// paths in which its ranks spent most. No two stems are the same. Layout of names: docs/mlflow.md. Any thread.
std::vector<JobMetrics> job_metrics(const Job& job);

/// Of what these metrics are: "4 of 4", "61 of 64; missing: 5, 7, 9; the longest 16 of 40 paths". Who makes whom wait
/// stands below that, a line each. Any thread.
std::string job_text(const Job& job);

}  // namespace detail
TAKT_END_NAMESPACE
