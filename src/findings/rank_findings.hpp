// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/finding.hpp>

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What stands out on one rank.
struct RankFindings {
  int rank = 0;
  std::vector<Finding> findings;
};

/// Findings of ranks as those of their job: what several ranks have, in the same region, is one finding, by the rank
/// whose cost is in the middle, and says on which ranks. \param of so many ranks. In the order of conclusions_of().
/// Any thread.
std::vector<Finding> findings_of_ranks(const std::vector<RankFindings>& ranks, std::size_t of);

/// Mistakes that make figures wrong, then what costs most. Any thread.
void sort_findings(std::vector<Finding>& findings);

}  // namespace detail
TAKT_END_NAMESPACE
