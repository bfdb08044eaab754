// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>

#include <array>
#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Excludes trials from the run's statistics: while trials run, regions are reported to listeners but not timed;
/// durations, metrics and step numbers are dropped. Streams used and Batch items counted on the trials' thread are kept
/// for the trials (docs/decisions/0033-trials-are-diverted.md). One per process.
class Diversion {
 public:
  static constexpr unsigned kStreams = 64;  ///< maximum number of streams waited for

  /// Starts exclusion for the calling thread's trials. Returns false if others are running.
  bool begin() noexcept;
  /// Resumes recording. The time since begin() is excluded from regions open on this thread. Same thread as begin().
  void end() noexcept;

  /// The following functions: same thread as begin(), unless stated otherwise.
  unsigned streams() const noexcept { return streams_; }
  StreamRef stream(unsigned index) const noexcept { return stream_[index]; }
  /// Returns true if there were more streams than kStreams.
  bool has_more_streams() const noexcept { return more_streams_; }
  /// Returns the number of Batch items so far.
  std::uint64_t items() const noexcept { return items_; }

  static constexpr std::int64_t kNoStep = -1;
  /// Sets the number of the current step within a window of steps, or kNoStep.
  void set_window_step(std::int64_t number) noexcept { window_step_.store(number, std::memory_order_relaxed); }

  /// Any thread, like all functions below.
  std::int64_t window_step() const noexcept { return window_step_.load(std::memory_order_relaxed); }
  Region begin_region(const Key& key, StreamRef stream) noexcept;
  static void end_region(Region region) noexcept;
  void amount(Region region, Amount what, std::int64_t amount) noexcept;
  /// Records that the loop uses `stream`.
  void note(StreamRef stream) noexcept;

 private:
  bool is_owner() const noexcept { return owner_.load(std::memory_order_relaxed) == &cursor; }

  std::atomic<Event**> owner_{nullptr};  // cursor of the thread that runs the trials
  std::atomic<std::int64_t> window_step_{kNoStep};
  std::uint64_t started_ns_ = 0;
  std::uint64_t items_ = 0;
  unsigned streams_ = 0;
  bool more_streams_ = false;
  std::array<StreamRef, kStreams> stream_;
};
Diversion& diversion() noexcept;

/// Begins a region in the run's statistics, as begin_on() does without trials; returns 0 if it is not recorded.
Region begin_recorded(const Key& key, StreamRef stream) noexcept;

/// Returns true while trials run. Any thread.
inline bool is_excluded() noexcept { return (mode().load(std::memory_order_relaxed) & kModeExcluded) != 0; }
/// Returns true for a region that began while trials ran.
constexpr bool is_excluded(Region region) noexcept { return (region & kRegionExcluded) != 0; }

}  // namespace detail
TAKT_END_NAMESPACE
