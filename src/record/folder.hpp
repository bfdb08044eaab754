// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/event.hpp>
#include <takt/detail/notices.hpp>
#include <takt/detail/tree.hpp>

#include "record/clock.hpp"
#include "record/ruler.hpp"

#include <array>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Whether one of `events`, of which the first stands at `place`, begins the region `id`. What ends on another thread at the very
/// reading of its begin leaves behind that begin, and not before it, where it would stay open for ever.
bool begins_among(const Event* events, std::uint32_t count, std::uint32_t place, std::uint32_t id) noexcept;

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

  /// Whether the region `id` begins with the event `at` or a later one.
  bool begins_from(std::uint32_t at, std::uint32_t id) const noexcept {
    return begins_among(event.data() + at, count - at, place + at, id);
  }
};

/// Folds the events of one thread into `tree`: the one place that knows what they mean. Neither is owned.
class Folder {
 public:
  /// \param ruler stands at the event before the first; in the end, at the last one.
  Folder(Tree& tree, Ruler& ruler) noexcept : tree_(tree), ruler_(ruler) {}

  /// \param count at most one block.
  /// \param place of the first event in its arena.
  /// \param position of the first event in its thread.
  void fold(const Event* events, std::uint32_t count, std::uint32_t place, std::uint64_t position) noexcept;
  /// For a reader, who also has to see regions end on other threads between these events.
  void fold(const Unfolded& unfolded) noexcept;

  /// The node of the region that ended last; nullptr if none did, or none that was open.
  Node* last_ended() const noexcept { return last_ended_; }
  /// Which of the events were ends that no open region matched: a bit each, of the events of the last block.
  std::uint64_t unmatched() const noexcept { return unmatched_; }

 private:
  void fold_careful(const Event* events, std::uint32_t count, std::uint32_t place, std::uint64_t position) noexcept;
  void fold_timed(Event event, std::uint32_t place, std::uint32_t at) noexcept;
  void count_unmatched(std::uint64_t at) noexcept;
  void fold_special(const Event* words) noexcept;

  Tree& tree_;
  Ruler& ruler_;
  Node* last_ended_ = nullptr;
  std::uint64_t unmatched_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
