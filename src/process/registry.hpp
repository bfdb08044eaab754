// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/collector.hpp"
#include "process/snapshot_reader.hpp"
#include "process/threads.hpp"
#include "record/clock.hpp"
#include "record/names.hpp"
#include "record/recorder.hpp"
#include "record/shared.hpp"

#include <takt/detail/hot.hpp>
#include <takt/detail/node.hpp>
#include <takt/snapshot.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string_view>
#include <vector>

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
  void report_forgotten_regions(Recorder& here) noexcept;
  /// The same for all threads.
  void report_forgotten_regions();
  /// Whether a thread collects, which may wait for stderr as others may not.
  void set_collected(bool collected) noexcept { is_collected_.store(collected, std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  const KeyTable& keys_;
  Threads& threads_;
  std::mutex ending_;  // from the look at a region to its notice, so that of two threads one ends it
  std::atomic<bool> is_collected_{false};
};

/// All that is recorded in this process: its threads, their open regions, what those that ended left behind, and what
/// is collected of them. Leaked; a forked child gets a new one. Its one lock, the collect lock, is held for as long as
/// it takes to read everything (snapshots, journals). A thread that records never waits for it, but where very many
/// threads end.
class Registry {
 public:
  Registry(Clock& clock, KeyTable& keys, std::uint32_t generation);

  /// A recorder for the calling thread; nullptr, counted, where the memory for recording is spent.
  Recorder* attach() noexcept { return threads_.attach(); }
  /// The calling thread ends: folds what is left and gives the recorder back.
  void thread_ends(Recorder& recorder) noexcept;
  void name_thread(std::uint32_t thread, std::string_view name) noexcept;
  OpenRegions& open_regions() noexcept { return open_regions_; }

  /// Takes in device results of threads that have ended, unless another thread holds the collect lock.
  void poll_orphans() noexcept {
    if (TAKT_UNLIKELY(threads_.has_orphans())) { check_orphans(); }
  }
  /// Asks devices for results that threads wait for, which take them in when they come by. Calls `rest` after each few
  /// questions, and holds no lock meanwhile.
  void ask_devices(const std::function<void()>& rest);
  /// Waits until no device result is pending on threads that have ended or this one, at most until `deadline_ns`.
  bool complete(Recorder* here, std::uint64_t deadline_ns) noexcept;

  /// Everything recorded so far, run and clock left out. `now_ns` is what open regions are measured by.
  void read(Snapshot& snapshot, std::uint64_t now_ns);
  /// Rows, metrics and spans that are new: about half of what may wait, and `more` says whether there is more.
  /// \param last nothing will come any more: all there is.
  Drained collect(bool last, bool* more = nullptr);

  void set_warmup(std::uint64_t batches) noexcept { threads_.set_warmup(batches); }
  Shared& shared() noexcept { return shared_; }
  /// What rows, metrics and spans on their way to the exporters may take, in bytes. With `traced` spans may take more.
  void set_row_limit(std::size_t bytes, bool traced);
  std::uint32_t generation() const noexcept { return generation_; }
  /// The thread whose uncovered time reports speak of.
  void set_main_thread(std::uint32_t thread) noexcept { main_thread_.store(thread, std::memory_order_relaxed); }
  void count_unrecorded() noexcept { threads_.count_unrecorded(); }

  Registry* parents = nullptr;  ///< in a forked child: let go, and kept so that leak checkers know

 private:
  static constexpr std::size_t kMaxUnended = 64;  ///< ended threads whose open regions may still end elsewhere

  using Slot = Threads::Slot;

  bool absorb(Slot& slot, Collector::Much much);
  void bound_unended(std::vector<Slot*>& retired);
  bool absorb_retired(Collector::Much much);
  bool drain(Slot& slot, Collector::Much much);
  bool drain_all(Collector::Much much);
  void check_orphans() noexcept;
  bool settle_orphans();

  const Clock& clock_;
  const std::uint32_t generation_;
  Shared shared_{32U << 20U};
  std::atomic<std::uint32_t> main_thread_{0xFFFFFFFF};
  Threads threads_;
  OpenRegions open_regions_;

  std::mutex collect_;
  // All that follows under collect_.
  Totals totals_;
  Collector collector_;
  SnapshotReader reader_;
  std::size_t next_drained_ = 0;  // the slot to begin the next collection with
};

/// The one of this process. Throws std::bad_alloc where it is not there yet and cannot be: never once a thread has a
/// recorder.
Registry& registry();
/// The same; nullptr where it cannot be had.
Registry* find_registry() noexcept;
Clock& process_clock() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
