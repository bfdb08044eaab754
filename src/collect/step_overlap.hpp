// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exposed.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <limits>
#include <map>
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
  /// From here on all of its work stood in the queue of the stream, which did nothing else until the end. Before, the
  /// stream may have stood idle, as the host was late.
  std::int64_t queued_ns = kNever;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
};

/// What is known of a device around the spans of a step.
struct Surroundings {
  static constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::min();
  struct Stream {
    std::int64_t known_until_ns;           ///< what the thread of the step put there later may run from here on
    bool computes;                         ///< something other than communication, IO and waits was there
    std::int64_t known_from_ns = kAlways;  ///< work of an earlier step that no span tells of may run until then
  };
  std::vector<PlacedSpan> others;  ///< of other steps and threads: what did something then, waits and frames left out
  std::int64_t known_from_ns = kAlways;     ///< `others` holds all that ran since then
  std::map<std::uint32_t, Stream> streams;  ///< that the thread of the step has used lately
  /// Until then no later step had anything submitted.
  std::int64_t alone_until_ns = kAlways;
  /// Until then other steps have told when the device was idle. overlap_of() moves it on.
  std::int64_t idle_told_until_ns = kAlways;
};

/// What lies between two events beside the work: what an event takes, and what the times of both may be off by.
constexpr std::int64_t kBetweenEventsNs = 10'000;

/// What the spans of one step on one device say of overlap, by the union of intervals. On each stream the innermost
/// span tells the kind; one of Kind::other is of the kind that it lies in, and where it lies in none, it may be
/// computing. A span holds the work of its region, and tells when it ran only from queued_ns on: what is called `least`
/// is what that leaves certain, where it is known what the streams that compute did. Reorders `spans`, which are at
/// least one.
Overlap overlap_of(std::vector<PlacedSpan>& spans, Surroundings& around);

/// Adds up what steps say. The time line is that of `sum`.
void add_overlap(Overlap& sum, const Overlap& one) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
