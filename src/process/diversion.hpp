// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// While trials run, what the process tells is in no books of the run: regions are told to listeners and timed by
/// nobody, durations, metrics and step numbers are dropped. What the thread that runs the trials tells of streams and
/// of the items of its Batches is kept for them (docs/decisions/0033-trials-are-diverted.md). One in a process.
class Diversion {
 public:
  static constexpr unsigned kStreams = 64;  ///< that are waited for

  /// From now on, for the calling thread's trials. False: there are others already.
  bool begin() noexcept;
  /// Recording goes on. The time since begin() is in no region that is open on this thread. Same thread as begin().
  void end() noexcept;

  /// Same thread, down to where it says otherwise.
  unsigned streams() const noexcept { return streams_; }
  StreamRef stream(unsigned index) const noexcept { return stream_[index]; }
  /// Whether there were streams without a place.
  bool has_more_streams() const noexcept { return more_streams_; }
  /// Told of Batches so far.
  std::uint64_t items() const noexcept { return items_; }

  static constexpr std::int64_t kNoStep = -1;
  /// The number of the step among those that a window of steps counts, or kNoStep.
  void set_window_step(std::int64_t number) noexcept { window_step_.store(number, std::memory_order_relaxed); }

  /// Any thread, as all that follow.
  std::int64_t window_step() const noexcept { return window_step_.load(std::memory_order_relaxed); }
  Region begin_region(const Key& key, StreamRef stream) noexcept;
  static void end_region(Region region) noexcept;
  void amount(Region region, Amount what, std::int64_t amount) noexcept;
  /// The loop uses `stream`.
  void note(StreamRef stream) noexcept;

 private:
  bool is_owner() const noexcept { return owner_.load(std::memory_order_relaxed) == &cursor; }

  std::atomic<Event**> owner_{nullptr};  // the cursor of the thread that runs the trials
  std::atomic<std::int64_t> window_step_{kNoStep};
  std::uint64_t started_ns_ = 0;
  std::uint64_t items_ = 0;
  unsigned streams_ = 0;
  bool more_streams_ = false;
  std::array<StreamRef, kStreams> stream_;
};
Diversion& diversion() noexcept;

/// A region in the books of the run, or 0: what begin_on() does without trials.
Region begin_recorded(const Key& key, StreamRef stream) noexcept;

/// Whether trials run. Any thread.
inline bool is_excluded() noexcept { return (mode().load(std::memory_order_relaxed) & kModeExcluded) != 0; }
/// Whether it is a region that began meanwhile.
constexpr bool is_excluded(Region region) noexcept { return (region & kRegionExcluded) != 0; }

}  // namespace detail
TAKT_END_NAMESPACE
