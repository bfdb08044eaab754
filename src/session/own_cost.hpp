// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one region costs the thread that times it, in ns, folding included; measured once, in about 0.1 ms. Any thread.
double region_cost_ns() noexcept;
/// The same of one that every() passes over.
double skipped_cost_ns() noexcept;

/// What the end of a Batch costs beside that, in ns: cutting off its events, and the row with its columns.
struct RowCost {
  double row_ns = 0;
  double column_ns = 0;
};
/// Measured once, in about 0.1 ms. Any thread.
const RowCost& row_cost() noexcept;

/// Takt's own cost so far, in ns: regions and rows of a snapshot by what one costs, and the processor time of the
/// threads that Takt has started. Any thread.
std::int64_t overhead_ns(const Snapshot& snapshot) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
