// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>
#include <takt/detail/node.hpp>

#include "collect/threads.hpp"
#include "record/clock.hpp"
#include "record/key_table.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a thread cannot know of regions that it opened: those that end on other threads, and those whose end was
/// forgotten. Any thread.
class OpenRegions {
 public:
  /// \param clock, like all others, not owned.
  OpenRegions(const Clock& clock, const KeyTable& keys, Threads& threads) noexcept
      : clock_(clock), keys_(keys), threads_(threads) {}

  /// A region of another thread has ended, on the thread of `here`, at `end_ns`.
  /// Returns where it stands in the tree of `here`, nullptr (counted) if it was not open or its clock is gone.
  /// \param key that it began with, for the report. \param open whether it was.
  Node* end_elsewhere(Recorder& here, Recorder& opener, Region region, std::uint64_t end_ns, KeyIndex key,
                      bool& open) noexcept;

  /// Says on stderr which regions of the calling thread were given up as forgotten; left to the collecting thread where
  /// there is one.
  void tell_forgotten(Recorder& here) noexcept;
  /// The same for all threads.
  void tell_forgotten();
  /// Whether a thread collects, which may wait for stderr as others may not.
  void set_collected(bool collected) noexcept { is_collected_.store(collected, std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  const KeyTable& keys_;
  Threads& threads_;
  std::mutex ending_;  // from the look at a region to its notice, so that of two threads one ends it
  std::atomic<bool> is_collected_{false};
};

}  // namespace detail
TAKT_END_NAMESPACE
