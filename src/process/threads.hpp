// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "record/recorder.hpp"
#include "record/shared.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The threads that record in this process, those that have ended, and their recorders, which later threads use again.
/// A recorder and its slot live for ever. The lock is held for moments, and a thread that records takes it once, when
/// it begins. Any thread, but for what a slot says of itself.
class Threads {
 public:
  static constexpr std::uint32_t kMax = 4096;     ///< that are told apart; later ones share a name
  static constexpr std::size_t kMaxWaiting = 64;  ///< ended ones whose values may wait for a reader to be done

  struct Slot {
    Recorder* recorder = nullptr;
    // Its thread has ended, and its values wait to be taken over. From then on the recorder belongs to the thread that
    // holds the collect lock. Set and cleared under the lock of Threads.
    std::atomic<bool> retired{false};
    bool orphan = false;               // device results are pending; under the collect lock once retired
    std::uint64_t retired_at = 0;      // order of retirement; likewise
    std::vector<std::uint32_t> paths;  // node of its tree -> path; under the collect lock
    /// Acquire: pairs with Threads::retire(), so that what the thread did last is seen.
    bool is_retired() const noexcept { return retired.load(std::memory_order_acquire); }
  };
  /// Records that were dropped, by type.
  using Dropped = std::array<std::uint64_t, Record::kTypes>;

  /// \param clock, like `shared`, not owned.
  Threads(Clock& clock, Shared& shared, std::uint32_t generation)
      : clock_(clock), shared_(shared), generation_(generation) {}

  /// A recorder for the calling thread; nullptr, counted and reported, where the memory for recording is spent.
  Recorder* attach() noexcept;
  /// Says what reports call a thread. Those that share a name keep it.
  void name(std::uint32_t thread, std::string text) noexcept;
  /// The thread of `recorder` has ended. Returns whether more of them wait than should.
  bool retire(Recorder& recorder) noexcept;
  /// A retired slot whose values have been taken over: its recorder forgets them, for another thread. Collect lock.
  void reuse(Slot& slot);

  /// All of them. \throws std::bad_alloc
  std::vector<Slot*> slots();
  /// Those that have ended and wait to be taken over, of which from here on none is counted as waiting.
  std::vector<Slot*> retired();
  /// Those that have something to be read, and what is known of all threads up to now.
  std::vector<Slot*> with_values(std::vector<ThreadInfo>& threads);
  /// Calls use(name of the thread, its records that were dropped), and for all threads that recorders have forgotten as
  /// well, without a name. Under the lock.
  template <class Use>
  void each_dropped(Use use);
  /// Copies what the thread of `recorder` has not folded yet.
  void copy(const Recorder& recorder, Unfolded& unfolded) noexcept;

  /// Whether the calling thread holds the lock. If an operator new of the program begins a region meanwhile, that must
  /// not wait for the lock.
  static bool are_locked_here() noexcept { return locked_here; }

  void set_warmup(std::uint64_t batches) noexcept { warmup_.store(batches, std::memory_order_relaxed); }
  void count_unrecorded() noexcept { unrecorded_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t unrecorded() const noexcept { return unrecorded_.load(std::memory_order_relaxed); }
  /// Whether device results of ended threads are pending: without the lock, perhaps late by a moment.
  bool has_orphans() const noexcept { return orphans_.load(std::memory_order_relaxed) != 0; }
  /// All device results of a retired slot have come. Collect lock.
  void settled(Slot& slot) noexcept {
    slot.orphan = false;
    orphans_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  class Mutex {
   public:
    void lock() noexcept {
      mutex_.lock();
      locked_here = true;
    }
    void unlock() noexcept {
      locked_here = false;
      mutex_.unlock();
    }

   private:
    std::mutex mutex_;
  };
  static thread_local bool locked_here;

  Slot* add_slot() noexcept;
  std::uint32_t add_thread();
  static Dropped dropped_by(const Recorder& recorder) noexcept;

  Clock& clock_;
  Shared& shared_;
  const std::uint32_t generation_;
  std::atomic<std::uint64_t> warmup_{10};
  std::atomic<std::uint64_t> unrecorded_{0};
  std::atomic<std::uint32_t> orphans_{0};  // slots that are `orphan`

  Mutex mutex_;
  // All that follows under the mutex.
  std::vector<Slot*> slots_;
  std::vector<Slot*> free_;
  std::vector<ThreadInfo> infos_;
  std::uint64_t retirements_ = 0;
  std::size_t waiting_ = 0;  // threads that have ended since retired()
  Dropped dropped_{};        // by threads whose recorders have been used again
};

template <class Use>
void Threads::each_dropped(Use use) {
  const std::lock_guard<Mutex> lock(mutex_);
  use(std::string(), dropped_);
  for (const Slot* slot : slots_) { use(infos_[slot->recorder->thread()].name, dropped_by(*slot->recorder)); }
}

}  // namespace detail
TAKT_END_NAMESPACE
