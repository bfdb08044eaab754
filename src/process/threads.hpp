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

/// The recording threads of this process, the ended ones, and their recorders, which later threads reuse. A recorder
/// and its slot live forever. The lock is held briefly, and a recording thread takes it once, when it starts. Any
/// thread, except for a slot's own members.
class Threads {
 public:
  static constexpr std::uint32_t kMax = 4096;     ///< maximum number of distinguished threads; later ones share a name
  static constexpr std::size_t kMaxWaiting = 64;  ///< maximum number of ended threads whose values wait for a reader

  struct Slot {
    Recorder* recorder = nullptr;
    // The thread has ended, and its values wait to be taken over. From then on the recorder belongs to the thread that
    // holds the collect lock. Set and cleared under the lock of Threads.
    std::atomic<bool> retired{false};
    bool orphan = false;               // device results are pending; guarded by the collect lock once retired
    std::uint64_t retired_at = 0;      // order of retirement; guarded likewise
    std::vector<std::uint32_t> paths;  // node of its tree -> path; guarded by the collect lock
    /// Acquire: pairs with Threads::retire(), so that the thread's last writes are visible.
    bool is_retired() const noexcept { return retired.load(std::memory_order_acquire); }
  };
  /// Numbers of dropped records, by type.
  using Dropped = std::array<std::uint64_t, Record::kTypes>;

  /// \param clock not owned; nor is `shared`.
  Threads(Clock& clock, Shared& shared, std::uint32_t generation)
      : clock_(clock), shared_(shared), generation_(generation) {}

  /// Returns a recorder for the calling thread; nullptr, counted and reported, if the memory for recording is used up.
  Recorder* attach() noexcept;
  /// Sets the name of a thread in reports. Threads that share a name keep it.
  void name(std::uint32_t thread, std::string text) noexcept;
  /// Retires the thread of `recorder`, which has ended. Returns true if too many ended threads wait.
  bool retire(Recorder& recorder) noexcept;
  /// Clears the recorder of a retired slot whose values were taken over, for another thread. Collect lock.
  void reuse(Slot& slot);

  /// Returns all slots. \throws std::bad_alloc
  std::vector<Slot*> slots();
  /// Returns the slots of ended threads that wait to be taken over, and resets the count of waiting threads.
  std::vector<Slot*> retired();
  /// Returns the slots with data to read, and fills `threads` with all threads so far.
  std::vector<Slot*> with_values(std::vector<ThreadInfo>& threads);
  /// Calls use(name of the thread, its dropped records), and once without a name for threads whose recorders were
  /// reused. Holds the lock.
  template <class Use>
  void each_dropped(Use use);
  /// Copies the unfolded events of the thread of `recorder`.
  void copy(const Recorder& recorder, Unfolded& unfolded) noexcept;

  /// Returns true if the calling thread holds the lock. The program's operator new may begin a region meanwhile, which
  /// must not wait for the lock.
  static bool are_locked_here() noexcept { return locked_here; }

  void set_warmup(std::uint64_t batches) noexcept { warmup_.store(batches, std::memory_order_relaxed); }
  void count_unrecorded() noexcept { unrecorded_.fetch_add(1, std::memory_order_relaxed); }
  std::uint64_t unrecorded() const noexcept { return unrecorded_.load(std::memory_order_relaxed); }
  /// Returns true if device results of ended threads are pending. Takes no lock; may be slightly late.
  bool has_orphans() const noexcept { return orphans_.load(std::memory_order_relaxed) != 0; }
  /// Records that all device results of a retired slot have arrived. Collect lock.
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
  std::atomic<std::uint32_t> orphans_{0};  // number of slots with `orphan` set

  Mutex mutex_;
  // All members below require the mutex.
  std::vector<Slot*> slots_;
  std::vector<Slot*> free_;
  std::vector<ThreadInfo> infos_;
  std::uint64_t retirements_ = 0;
  std::size_t waiting_ = 0;  // threads that ended since retired()
  Dropped dropped_{};        // by threads whose recorders were reused
};

template <class Use>
void Threads::each_dropped(Use use) {
  const std::lock_guard<Mutex> lock(mutex_);
  use(std::string(), dropped_);
  for (const Slot* slot : slots_) { use(infos_[slot->recorder->thread()].name, dropped_by(*slot->recorder)); }
}

}  // namespace detail
TAKT_END_NAMESPACE
