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
#include <mutex>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Handles open regions that involve other threads: regions that end on another thread, and regions never ended. Any
/// thread.
class OpenRegions {
 public:
  /// \param clock not owned; nor are the others.
  OpenRegions(const Clock& clock, const KeyTable& keys, Threads& threads) noexcept
      : clock_(clock), keys_(keys), threads_(threads) {}

  /// Ends a region of another thread on the thread of `here`, at `end_ns`. Returns its node in the tree of `here`;
  /// nullptr (counted) if it was not open or its clock is no longer trusted.
  /// \param key its key, for the report.
  /// \param open set to true if it was open.
  Node* end_elsewhere(Recorder& here, Recorder& opener, Region region, std::uint64_t end_ns, KeyIndex key,
                      bool& open) noexcept;

  /// Reports on stderr the regions of the calling thread dropped as never ended. Does nothing if a thread collects,
  /// which reports them.
  void report_forgotten_regions(Recorder& here) noexcept;
  /// Reports those of all threads.
  void report_forgotten_regions();
  /// Sets if a thread collects: unlike others, it may wait for stderr.
  void set_collected(bool collected) noexcept { is_collected_.store(collected, std::memory_order_relaxed); }

 private:
  const Clock& clock_;
  const KeyTable& keys_;
  Threads& threads_;
  std::mutex ending_;  // held from finding a region until its notice, so that one of two threads ends it
  std::atomic<bool> is_collected_{false};
};

/// Everything recorded in this process: its threads, their open regions, the values of ended threads, and collected
/// data. Leaked; a forked child gets a new one. Its collect lock is held while everything is read (snapshots,
/// journals). Recording threads do not wait for it, unless very many threads end.
class Registry {
 public:
  Registry(Clock& clock, KeyTable& keys, std::uint32_t generation);

  /// Returns a recorder for the calling thread; nullptr, counted, if the memory for recording is used up.
  Recorder* attach() noexcept { return threads_.attach(); }
  /// Folds the calling thread's remaining events and returns its recorder.
  void thread_ends(Recorder& recorder) noexcept;
  void name_thread(std::uint32_t thread, std::string_view name) noexcept;
  OpenRegions& open_regions() noexcept { return open_regions_; }

  /// Takes device results of ended threads, unless another thread holds the collect lock.
  void poll_orphans() noexcept {
    if (TAKT_UNLIKELY(threads_.has_orphans())) { check_orphans(); }
  }
  /// Waits until no device result is pending on ended threads or this one, until `deadline_ns` at most. Returns false
  /// at the deadline.
  bool complete(Recorder* here, std::uint64_t deadline_ns) noexcept;

  /// Reads everything recorded so far, except run and clock. `now_ns` is the end time for open regions.
  void read(Snapshot& snapshot, std::uint64_t now_ns);
  /// Returns new rows, metrics and spans, up to about half of the limit; `more` is set to true if some are left.
  /// \param last true: no more data will follow, so all of it is returned.
  Drained collect(bool last, bool* more = nullptr);

  void set_warmup(std::uint64_t batches) noexcept { threads_.set_warmup(batches); }
  Shared& shared() noexcept { return shared_; }
  /// Sets the limit for queued rows, metrics and spans, in bytes. With `traced`, spans may take more.
  void set_row_limit(std::size_t bytes, bool traced);
  std::uint32_t generation() const noexcept { return generation_; }
  /// Sets the thread whose uncovered time is reported.
  void set_main_thread(std::uint32_t thread) noexcept { main_thread_.store(thread, std::memory_order_relaxed); }
  void count_unrecorded() noexcept { threads_.count_unrecorded(); }

  Registry* parents = nullptr;  ///< in a forked child: unused, but referenced for leak checkers

 private:
  static constexpr std::size_t kMaxUnended = 64;  ///< ended threads with open regions, which may still end elsewhere

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
  // All members below require collect_.
  Totals totals_;
  Collector collector_;
  SnapshotReader reader_;
  std::size_t next_drained_ = 0;  // slot to start the next collection with
};

/// Returns this process's registry. Throws std::bad_alloc if it cannot be created; never after a thread has a recorder.
Registry& registry();
/// Like registry(), but returns nullptr if it cannot be created.
Registry* find_registry() noexcept;
Clock& process_clock() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
