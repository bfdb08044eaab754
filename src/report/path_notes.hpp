// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Appends what the figures of single paths do not contain, or contain beside what one expects. A statement a line,
/// printable. Any thread.
void add_path_notes(const Snapshot& snapshot, std::vector<std::string>& lines);

}  // namespace detail
TAKT_END_NAMESPACE
