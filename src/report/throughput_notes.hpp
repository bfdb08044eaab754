// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Appends what is to be said below the table of one series of steps: its rate and how well that is known, what lies
/// between its Batches, what is left out. A statement a line, printable. Any thread.
void add_throughput(const Snapshot& snapshot, const Series& series, std::vector<std::string>& lines);

/// The same of several ranks: one rate a Batch path, of all of them.
void add_job_throughput(const Snapshot& snapshot, std::vector<std::string>& lines);

}  // namespace detail
TAKT_END_NAMESPACE
