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

/// Events that a thread has recorded and not folded yet, with all that is needed to fold them elsewhere.
struct Unfolded {
  std::uint64_t last_ticks = 0;
  std::uint64_t position = 0;  ///< number of the first event, counted from the thread's start
  ClockSource source = ClockSource::counter;
  std::uint32_t place = 0;  ///< in the arena, of the first event
  std::uint32_t count = 0;
  std::array<Event, kBlockEvents> event{};
  Tree::State state;
  Notices::List ended;  ///< on other threads

  EventRun run() const noexcept { return {event.data(), count, place, position}; }
};

/// Adds the events of one thread to `tree`: the one place that knows what they mean. Neither is owned.
class Fold {
 public:
  /// \param ruler stands at the event before the first; in the end, at the last one.
  Fold(Tree& tree, ClockConverter& converter) noexcept : tree_(tree), converter_(converter) {}

  /// \param run at most one block.
  void add(const EventRun& run) noexcept;
  /// For a reader, who also has to see regions end on other threads between these events.
  void add(const Unfolded& unfolded) noexcept;
  /// The same for events that were stamped by a clock which is not trusted any more: what they begin is not to be
  /// timed.
  void add_untrusted(const EventRun& run) noexcept;
  /// Where in `run` a region ends that has ended on another thread: behind all that was stamped before, and behind its
  /// own begin, where both were stamped at the same reading. Left before that begin it would stay open for ever.
  std::uint32_t place_of_end(const EventRun& run, const Notices::Notice& end) const noexcept;

  /// The node of the region that ended last; nullptr if none did, or none that was open.
  Node* last_ended() const noexcept { return last_ended_; }
  /// Which of the events were ends that no open region matched: a bit each, of the events of the last run.
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
