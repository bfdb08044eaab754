// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/finding.hpp>
#include <takt/snapshot.hpp>

#include <memory>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the figures of a run say, and what they do not tell.
struct Conclusions {
  std::vector<Finding> findings;
  std::vector<Abstention> abstentions;
};

/// What stands out in the run of one process: mistakes that make its figures wrong, then what costs most; empty where
/// nothing does. Rules that rest on steps need `run.history`. docs/findings.md has the rules. Any thread.
Conclusions conclusions_of(const Snapshot& run);

/// Puts into the run what its figures say. \param history of its steps; nullptr: there is none. Any thread.
void conclude(Snapshot& run, std::shared_ptr<const StepHistory> history);

}  // namespace detail
TAKT_END_NAMESPACE
