// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A stream span on the time line of its device.
struct PlacedSpan {
  std::uint32_t stream = 0;
  Kind kind = Kind::other;
  bool is_frame = false;  ///< of a Batch or an Epoch: it holds a step, and says nothing of what is done in it
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  Exposed::For waits_for = Exposed::For::nothing;
};

/// What the spans of one step on one device say, by the union of intervals. On each stream the innermost span tells the
/// kind; one of Kind::other is of the kind that it lies in. Reorders `spans`, which are at least one.
Overlap overlap_of(std::vector<PlacedSpan>& spans);

/// Adds up what steps say. The time line is that of `sum`.
void add_overlap(Overlap& sum, const Overlap& one) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
