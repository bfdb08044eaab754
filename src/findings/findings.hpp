// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/finding.hpp>
#include <takt/snapshot.hpp>

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What stands out in the run of one process, what costs most first; empty where nothing does. Rules that rest on steps
/// need `run.history`. docs/findings.md has the rules. Any thread.
std::vector<Finding> findings_of(const Snapshot& run);

}  // namespace detail
TAKT_END_NAMESPACE
