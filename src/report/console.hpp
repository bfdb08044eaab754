// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/console.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns "Takt: digits, run digits-1, rank 0 of 4, took 9.40 s".
std::string title_of(const Snapshot& snapshot);

/// Returns every path after its parent and before the parent's next child; children in the given order. Any thread.
std::vector<std::uint32_t> tree_order(const Snapshot& snapshot);

/// Returns a notice for the top if this is one of several ranks: the figures are of this rank only, and how to see all.
/// Printable.
std::vector<std::string> one_of_many_lines(const Snapshot& snapshot);

/// Returns the sentences of the first `max` findings, a line each, and how many more there are. Printable. Any thread.
std::vector<std::string> finding_lines(const std::vector<Finding>& findings, std::size_t max);

/// Returns the names in TableForm::columns, spaces in place of underscores.
std::vector<std::string> names_in(std::string_view list);
/// Returns the names that TableForm::columns knows, of tables of one rank.
std::vector<std::string> table_columns();

/// Returns true if a finding of this kind exists. Any thread.
bool reports(const std::vector<Finding>& findings, std::string_view what);

}  // namespace detail
TAKT_END_NAMESPACE
