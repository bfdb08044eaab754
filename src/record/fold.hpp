// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>
#include <takt/detail/notices.hpp>
#include <takt/detail/tree.hpp>

#include "record/clock.hpp"
#include "record/event_run.hpp"
#include "record/tree_state.hpp"

#include <array>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Recorded events of a thread that are not folded yet, with the state needed to fold them elsewhere.
struct Unfolded {
  std::uint64_t last_ticks = 0;
  std::uint64_t position = 0;  ///< number of the first event since the thread's start
  ClockSource source = ClockSource::counter;
  std::uint32_t place = 0;  ///< arena index of the first event
  std::uint32_t count = 0;
  std::array<Event, kBlockEvents> event{};
  Tree::State state;
  Notices::List ended;  ///< regions ended by other threads

  EventRun run() const noexcept { return {event.data(), count, place, position}; }
};

/// Adds the events of one thread to `tree`: the only code that interprets them. Owns neither argument.
class Fold {
 public:
  /// \param converter positioned at the event before the first; afterwards at the last one.
  Fold(Tree& tree, ClockConverter& converter) noexcept : tree_(tree), converter_(converter) {}

  /// Folds events of at most one block.
  void add(const EventRun& run) noexcept;
  /// Folds for a reader, including regions that other threads ended between these events.
  void add(const Unfolded& unfolded) noexcept;
  /// Folds events with timestamps of a clock that is no longer trusted: regions that begin here are not timed.
  void add_untrusted(const EventRun& run) noexcept;
  /// Returns the place in `run` at which a region ended by another thread ends: after all events with earlier
  /// timestamps, and after its own begin if both have the same timestamp. Placed before its start, it would stay open
  /// forever.
  std::uint32_t place_of_end(const EventRun& run, const Notices::Notice& end) const noexcept;

  /// Returns the node of the region that ended last; nullptr if none did or it was not open.
  Node* last_ended() const noexcept { return last_ended_; }
  /// Returns which events of the last run were ends without an open region, one bit per event.
  std::uint64_t unmatched() const noexcept { return unmatched_; }

 private:
  struct Plain;
  struct Careful;

  void count_unmatched(std::uint64_t word) noexcept;
  void add_amount(std::uint64_t position, std::uint32_t id, Amount what, std::uint64_t amount) noexcept;
  void add_skipped(std::uint64_t position, std::uint64_t key) noexcept;
  bool is_there_already(const Node* node) const noexcept;

  Tree& tree_;
  ClockConverter& converter_;
  Node* last_ended_ = nullptr;
  std::uint64_t unmatched_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
