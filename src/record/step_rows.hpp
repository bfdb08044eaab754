// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/outbox.hpp"
#include "record/shared.hpp"
#include "record/step_series.hpp"

#include <takt/detail/tree.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The outbox of one thread, created with its first record. Not thread-safe, except get().
class ThreadOutbox {
 public:
  /// \param shared must outlive it.
  explicit ThreadOutbox(Shared& shared) noexcept : shared_(shared) {}
  ~ThreadOutbox() { drop(); }
  ThreadOutbox(const ThreadOutbox&) = delete;
  ThreadOutbox& operator=(const ThreadOutbox&) = delete;

  /// Returns nullptr if there is none yet. Any thread; acquire, pairs with the release in make().
  Outbox* get() const noexcept { return outbox_.load(std::memory_order_acquire); }
  /// Creates the outbox if necessary; returns nullptr without memory.
  TAKT_ALWAYS_INLINE Outbox* need() noexcept {
    Outbox* const box = get();
    return TAKT_LIKELY(box != nullptr) ? box : make();
  }
  /// Called after a row or a metric: asks for an early collection if their memory is filling.
  void ask_for_collection(Outbox& box) noexcept {
    if (TAKT_UNLIKELY(box.take_grown())) { shared_.ask_for_collection(); }
  }
  /// Deletes the outbox and its contents: no thread may read it.
  void drop() noexcept { delete outbox_.exchange(nullptr, std::memory_order_relaxed); }

 private:
  Outbox* make() noexcept;

  Shared& shared_;
  std::atomic<Outbox*> outbox_{nullptr};
};

/// Number of times recording was switched on again (takt::set_enabled). If it changed since the last step's end, steps
/// in between may not have been timed.
extern std::atomic<std::uint64_t> switched_on;

/// The rows of one thread's steps, one series per Batch path, and its step numbers. Not thread-safe.
class StepRows {
 public:
  /// \param tree the thread's; none of the arguments is owned.
  StepRows(Tree& tree, ThreadOutbox& outbox, Shared& shared) noexcept : tree_(tree), outbox_(outbox), shared_(shared) {}

  /// Sets the number of the thread.
  void attach(std::uint32_t thread) noexcept { thread_ = thread; }
  /// Prepares for another thread. All series must have been read.
  void recycle() noexcept;

  /// Writes the row of the step of `batch`, which has ended.
  void ended(Node* batch) noexcept;
  struct Work {
    std::uint64_t steps = 0;
    std::uint64_t items = 0;
  };
  /// Returns the steps below `epoch` since the last call for it, and their items.
  Work take_work(const Node* epoch) noexcept;
  /// Handles a Batch that ended without a row: the time since the row before gets none either.
  void lost(Node* batch) noexcept;
  /// Discards the current period, which spans two clocks.
  void break_period() noexcept { last_series_ = nullptr; }

  /// Returns the series whose row includes a region of `node` that just ended; nullptr if none.
  StepSeries* series_for(const Node* node) noexcept;
  /// Returns true if the step of `node` is the last one and has ended.
  bool is_step(const Node* node) const noexcept {
    return node->role == Role::batch && tree_.step().node == node && !tree_.step().open;
  }

  /// Returns the number of the open step, else of the last one, else of the first to come.
  std::int64_t current_step() const noexcept;
  /// Returns true if the thread has Batches or set_step() was called.
  bool has_step() const noexcept { return has_next_step_ || tree_.step().node != nullptr; }
  /// Sets the number of the open step, or of the next one if none is open, for any Batch path.
  void set_step(std::int64_t step) noexcept {
    next_step_ = step;
    has_next_step_ = true;
  }

 private:
  StepSeries* series_of(Node* batch) noexcept {
    return TAKT_LIKELY(batch->series != nullptr) ? static_cast<StepSeries*>(batch->series) : make_series(batch);
  }
  StepSeries* make_series(Node* batch) noexcept;

  Tree& tree_;
  ThreadOutbox& outbox_;
  Shared& shared_;
  std::uint32_t thread_ = 0;
  StepSeries* last_series_ = nullptr;
  std::uint64_t last_boundaries_ = 0;
  bool has_next_step_ = false;  // set_step() was called since the last step ended
  std::int64_t next_step_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
