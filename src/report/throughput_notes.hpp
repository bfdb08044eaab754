// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Appends what is to be said below the table of each Batch path, of all threads and ranks together: its rate and how
/// well that is known, what lies between its Batches, what is left out. A statement a line, printable. Any thread.
void add_throughputs(const Snapshot& snapshot, std::vector<std::string>& lines);

}  // namespace detail
TAKT_END_NAMESPACE
