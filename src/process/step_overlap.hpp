// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A span on its device's time line.
struct PlacedSpan {
  std::uint32_t stream = 0;
  Kind kind = Kind::other;
  bool is_frame = false;  ///< span of a Batch or an Epoch: contains a step, and has no kind of activity
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Exposed::For waits_for = Exposed::For::nothing;
};

/// Computes the overlap of one step on one device from the union of intervals. On each stream the innermost span
/// determines the kind; one of Kind::other takes the kind of the span around it. Reorders `spans`, which must not be
/// empty.
Overlap overlap_of(std::vector<PlacedSpan>& spans);

/// Adds up overlaps of steps. The result keeps the time line of `sum`.
void add_overlap(Overlap& sum, const Overlap& one) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
