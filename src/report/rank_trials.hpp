// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Trials of one rank.
struct RankTrials {
  int rank = 0;
  std::string host;
  TrialResults results;
};

/// Formats a line for each rank, with its rates; of more than 32 ranks, the slowest by FULL, else SYNTHETIC, else IO.
/// Any thread.
/// \param width in columns.
std::string format_rank_trials(const std::vector<RankTrials>& ranks, int width, bool color);

}  // namespace detail
TAKT_END_NAMESPACE
