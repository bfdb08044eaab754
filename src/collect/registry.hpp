// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "collect/collector.hpp"
#include "record/recorder.hpp"
#include "record/shared.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// All threads that record in this process, and what threads that have ended left behind. Leaked; a forked child gets a new
/// one. Two locks: `list` is held for moments (threads that begin or end), `collect` for as long as it takes to read
/// everything (snapshots, journals). A thread that records takes neither, but `list` once when it begins.
class Registry {
 public:
  Registry(Clock& clock, KeyTable& keys, std::uint32_t generation);

  /// A recorder for the calling thread; nullptr, counted, where the memory for recording is spent.
  Recorder* attach() noexcept;
  /// The calling thread ends: folds what is left and gives the recorder back.
  void thread_ends(Recorder& recorder) noexcept;
  void name_thread(std::uint32_t thread, std::string_view name) noexcept;

  /// A region of another thread has ended, on the thread of `here`, at `end_ns`.
  /// Returns where it stands in the tree of `here`, nullptr (counted) if it was not open or its clock is gone.
  /// \param key that it began with, for the report. \param open whether it was.
  Node* end_elsewhere(Recorder& here, Recorder& opener, Region region, std::uint64_t end_ns, KeyIndex key,
                      bool& open) noexcept;
  /// Says on stderr which regions of the calling thread were given up as forgotten; left to the collecting thread where
  /// there is one.
  void tell_forgotten(Recorder& here) noexcept;
  /// Looks for device results of threads that have ended; gives up at once where somebody is reading.
  void poll_orphans() noexcept {
    if (TAKT_UNLIKELY(orphans_.load(std::memory_order_relaxed) != 0)) { look_at_orphans(); }  // without the lock
  }
  /// Asks devices for results that threads wait for, which take them in when they come by. Holds no lock while it asks.
  void ask_devices();
  /// Waits until no device result is pending on threads that have ended or this one, at most until `deadline_ns`.
  bool complete(Recorder* here, std::uint64_t deadline_ns) noexcept;

  /// Everything recorded so far, run and clock left out. `now_ns` is what open regions are measured by.
  void read(Snapshot& snapshot, std::uint64_t now_ns);
  /// Rows, metrics and spans that are new: about half of what may wait, and `more` says whether there is more.
  /// \param last nothing will come any more: all there is.
  Harvest collect(bool last, bool* more = nullptr);

  void set_warmup(std::uint64_t batches) noexcept { warmup_.store(batches, std::memory_order_relaxed); }
  Shared& shared() noexcept { return shared_; }
  /// What rows, metrics and spans on their way to the exporters may take, in bytes. With `traced` spans may take more.
  void set_row_limit(std::size_t bytes, bool traced);
  std::uint32_t generation() const noexcept { return generation_; }
  /// The thread whose uncovered time reports speak of.
  void set_main_thread(std::uint32_t thread) noexcept { main_thread_.store(thread, std::memory_order_relaxed); }
  void count_unrecorded() noexcept { unrecorded_.fetch_add(1, std::memory_order_relaxed); }

  Registry* parents = nullptr;  ///< in a forked child: let go, and kept so that leak checkers know

 private:
  static constexpr std::uint32_t kMaxThreads = 4096;  ///< that are told apart; later ones share a name
  static constexpr std::size_t kMaxWaiting = 64;  ///< ended threads whose values may wait for somebody who is reading
  static constexpr std::size_t kMaxUnended = 64;  ///< ended threads whose open regions may still end elsewhere

  struct Slot {
    Recorder* recorder = nullptr;
    // Its thread has ended, its values are not in totals_ yet. Set under list_, cleared under collect_ and list_.
    std::atomic<bool> retired{false};
    bool orphan = false;           // and device results are pending; under collect_ once retired
    std::uint64_t retired_at = 0;  // order of retirement; likewise
    bool is_retired() const noexcept { return retired.load(std::memory_order_acquire); }
    std::vector<std::uint32_t> paths;  // node of its tree -> path; under collect
  };

  Slot* add_slot() noexcept;
  std::uint32_t add_thread();
  void map_paths(Slot& slot, const Tree& tree);
  std::uint32_t path_of(const Node* node);
  std::uint32_t path_below(std::uint32_t parent, TreeKey key);
  std::uint32_t overflow_path();
  bool absorb(Slot& slot, Collector::Much much);
  void bound_unended(std::vector<Slot*>& retired);
  bool absorb_retired(Collector::Much much);
  bool drain(Slot& slot, Collector::Much much);
  void keep_dropped(const Slot& slot);
  void add_answer(const AnsweredSpan& span);
  void read_thread(Slot& slot, Snapshot& snapshot, std::uint64_t now_ns);
  void read_paths(Snapshot& snapshot);
  void read_devices(Snapshot& snapshot);
  void read_losses(Snapshot& snapshot);
  void add_values(const Node& node, PathStats& path) const;
  void add_overflow(const Tree& tree, Snapshot& snapshot);
  void count_losses(const Tree& tree);
  void count_forgotten(const Node& node, std::uint32_t path);
  void tell_forgotten();
  void look_at_orphans() noexcept;
  bool settle_orphans();

  Clock& clock_;
  KeyTable& keys_;
  const std::uint32_t generation_;
  Shared shared_{32U << 20U};
  std::atomic<std::uint64_t> warmup_{10};
  std::atomic<std::uint32_t> main_thread_{0xFFFFFFFF};
  std::atomic<std::uint64_t> unrecorded_{0};
  std::atomic<std::uint32_t> orphans_{0};  // slots that are `orphan`

  std::mutex list_;
  std::vector<Slot*> slots_;  // under list_; slots live for ever
  std::vector<Slot*> free_;
  std::vector<ThreadInfo> threads_;
  std::uint64_t retirements_ = 0;
  std::size_t waiting_ = 0;  // threads that have ended since absorb_retired()

  std::mutex collect_;
  Tree totals_;   // of ended threads; its nodes number the paths of the process
  Tree scratch_;  // for folding what a thread has not folded yet
  Collector collector_;
  std::size_t next_drained_ = 0;                                // the slot to begin the next collection with
  std::array<std::uint64_t, Record::kTypes> dropped_{};         // by threads whose recorders have been used again
  std::map<std::pair<Mishap, TreeKey>, std::uint64_t> losses_;  // of the reading under way
  std::map<std::uint32_t, std::uint64_t> forgotten_;            // likewise: regions never ended, by path
  std::atomic<bool> is_collected_{false};
};

/// The one of this process. Throws std::bad_alloc where it is not there yet and cannot be: never once a thread has a recorder.
Registry& registry();
/// The same; nullptr where it cannot be had.
Registry* find_registry() noexcept;
Clock& process_clock() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
