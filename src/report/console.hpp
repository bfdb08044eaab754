// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// "Takt: digits, run digits-1, rank 0 of 4, took 9.40 s".
std::string title_of(const Snapshot& snapshot);

/// Every path after its parent and before the parent's next child; children in the order given. Any thread.
std::vector<std::uint32_t> tree_order(const Snapshot& snapshot);

/// Of one rank among several, in front of all else: that it speaks for itself, and how to see all. Printable.
std::vector<std::string> one_of_many_lines(const Snapshot& snapshot);

/// The sentences of the first three, and where the others are. Printable, a statement a line. Any thread.
std::vector<std::string> finding_lines(const std::vector<Finding>& findings);

/// Whether there is one of these. Any thread.
bool reports(const std::vector<Finding>& findings, std::string_view what);

}  // namespace detail
TAKT_END_NAMESPACE
