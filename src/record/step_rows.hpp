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

/// The outbox of one thread, made when it has its first record. One thread, but for get().
class ThreadOutbox {
 public:
  /// \param shared outlives it.
  explicit ThreadOutbox(Shared& shared) noexcept : shared_(shared) {}
  ~ThreadOutbox() { drop(); }
  ThreadOutbox(const ThreadOutbox&) = delete;
  ThreadOutbox& operator=(const ThreadOutbox&) = delete;

  /// nullptr while there is none. Any thread; acquire, pairs with the release in make().
  Outbox* get() const noexcept { return outbox_.load(std::memory_order_acquire); }
  /// Makes one at need; nullptr where there is no room.
  TAKT_ALWAYS_INLINE Outbox* need() noexcept {
    Outbox* const box = get();
    return TAKT_LIKELY(box != nullptr) ? box : make();
  }
  /// Behind a row or a metric: where memory for them fills up, the collector comes before its time.
  void ask_for_collection(Outbox& box) noexcept {
    if (TAKT_UNLIKELY(box.take_grown())) { shared_.ask_for_collection(); }
  }
  /// Gives it up, with what is in it: no thread reads it any more.
  void drop() noexcept { delete outbox_.exchange(nullptr, std::memory_order_relaxed); }

 private:
  Outbox* make() noexcept;

  Shared& shared_;
  std::atomic<Outbox*> outbox_{nullptr};
};

/// How often recording was switched on again (takt::set_enabled). A step's end that finds another number than the one
/// before may have steps behind it that nobody saw.
extern std::atomic<std::uint64_t> switched_on;

/// The rows of one thread's steps, in one series a Batch path, and the numbers of its steps. One thread.
class StepRows {
 public:
  /// \param tree of the thread; like all others not owned.
  StepRows(Tree& tree, ThreadOutbox& outbox, Shared& shared) noexcept : tree_(tree), outbox_(outbox), shared_(shared) {}

  /// The number of the thread from now on.
  void attach(std::uint32_t thread) noexcept { thread_ = thread; }
  /// Another thread will use this. All series have been read for the last time.
  void recycle() noexcept;

  /// The step of `batch` has ended: makes its row.
  void ended(Node* batch) noexcept;
  /// A Batch has ended that makes no row: neither does the time since the row before.
  void lost(Node* batch) noexcept;
  /// The period that runs is on two clocks: it belongs to no row.
  void break_period() noexcept { last_series_ = nullptr; }

  /// The rows in which a region of `node` that has just ended appears; nullptr: in none.
  StepSeries* series_for(const Node* node) noexcept;
  /// Whether the step of `node` is the last one, and has ended.
  bool is_step(const Node* node) const noexcept {
    return node->role == Role::batch && tree_.step().node == node && !tree_.step().open;
  }

  /// The number of the step that is open, else of the one that ended last, else of the first one to come.
  std::int64_t current_step() const noexcept;
  /// Whether the thread has Batches, or was told a number.
  bool has_step() const noexcept { return has_next_step_ || tree_.step().node != nullptr; }
  /// Holds for the step that is open or, where none is, for the next one, of whichever Batch path it is.
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
