// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/outbox.hpp"
#include "record/throughput_windows.hpp"

#include <takt/detail/tree.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

TAKT_BEGIN_NAMESPACE

struct Throughput;

namespace detail {

/// The steps of one Batch path on one thread: makes each row from the tree's change since the last one, so that rows
/// cost nothing between the ends of Batches. Owning thread only, except throughput().
class StepSeries {
 public:
  static constexpr unsigned kColumns = 64;

  /// \param late earlier steps ended unseen: rows start with the next step.
  StepSeries(Node* batch, bool late) noexcept : batch_(batch), late_(late) {}

  void set_id(std::uint32_t id) noexcept { id_ = id; }
  std::uint32_t id() const noexcept { return id_; }
  std::uint64_t row() const noexcept { return row_; }   ///< number of the current row
  std::int64_t step() const noexcept { return step_; }  ///< number of the current step, or of the next one
  void set_step(std::int64_t step) noexcept { step_ = step; }
  std::int64_t last_step() const noexcept { return last_step_; }  ///< number of the last step that ended

  /// Counts a pending device span of this row.
  void device_started() noexcept {
    ++device_pending_;
    ++device_spans_;
  }
  /// Counts a device span of this row that will be missing.
  void device_lost() noexcept { ++device_lost_; }
  /// Records the outcome of a device span of row `row`; -1: dropped.
  void device_done(Tree& tree, Outbox* outbox, std::uint64_t row, Node* node, std::int64_t ns) noexcept;

  /// Writes the row of the step that ended in `tree`. `boundary`: since this series' last step, an Epoch began or
  /// ended, another path's Batch ended, or steps may not have been timed. Returns false, without a row, if it would
  /// cover more than this step.
  bool finish_step(Tree& tree, Outbox* outbox, bool boundary) noexcept;
  /// Skips a step without a row: its values in the tree belong to no row.
  void skip_step(Tree& tree) noexcept;

  /// Steps and items that the Epochs before have reported.
  struct Taken {
    std::uint64_t steps = 0;
    std::uint64_t items = 0;
  };
  Taken& taken() noexcept { return taken_; }

  std::uint64_t steps() const noexcept { return steps_.get(); }
  std::uint64_t warmup_steps() const noexcept { return warmup_steps_.get(); }
  /// Returns the throughput and the time range of its periods. Any thread.
  Throughput throughput() const noexcept;

 private:
  struct Column {
    Node* node = nullptr;
    std::uint64_t total_ns = 0;  // at the last row
    std::uint64_t calls = 0;
    std::int64_t device_ns = 0;  // in this row so far
    std::uint32_t device_calls = 0;
  };

  void find_columns(Tree& tree) noexcept;
  void add_columns(Tree& tree) noexcept;
  Column* column_of(const Node* node) noexcept;
  Column* find_column(Tree& tree, const Node* node) noexcept;
  std::uint64_t* write_cells(std::uint64_t* to, const Tree::Step& step) noexcept;
  std::uint64_t* write_rest(std::uint64_t* to) const noexcept;
  Column rest_now() const noexcept;
  void write_row(const Tree& tree, Outbox& outbox, std::int64_t period_ns) noexcept;
  void keep_totals() noexcept;
  void keep_rest() noexcept;
  void next_step(Tree& tree) noexcept;
  void note_period(const Tree::Step& step, std::int64_t period_ns, bool boundary) noexcept;

  std::uint32_t id_ = 0;
  Taken taken_;
  Node* batch_;
  bool late_;
  Column column_[kColumns];
  unsigned columns_ = 0;
  std::vector<const Node*> rest_;  // paths without a column, combined in one cell
  Column rest_column_;
  Column own_column_;  // the Batch's own device span; the row has its host time
  std::uint32_t seen_nodes_ = 0;
  std::uint64_t row_ = 0;
  std::int64_t step_ = 0;
  std::int64_t last_step_ = 0;
  bool has_last_ = false;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t last_items_ = 0;
  std::uint32_t device_spans_ = 0;
  std::uint32_t device_pending_ = 0;
  std::uint32_t device_lost_ = 0;
  Counter steps_, warmup_steps_;
  Counter counted_from_ns_, counted_to_ns_;  // time range of the periods in windows_
  ThroughputWindows windows_;
};

/// The series of all threads, including ended ones. Its lock is held briefly. Any thread.
class SeriesList {
 public:
  static constexpr std::size_t kMax = 1024;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  /// Returns the process-wide path of a node of any tree.
  using PathOf = std::function<std::uint32_t(const Node*)>;

  /// Returns the number of a new series; kNone if there is no space.
  /// \param batch in `tree`, which outlives the series.
  std::uint32_t add(std::uint32_t thread, const Tree& tree, const Node& batch, const StepSeries& series) noexcept;
  /// Saves the final values of each series of `tree`; they may then be destroyed.
  void finish(const Tree& tree, const PathOf& path_of);
  /// Appends all series, in the order of their numbers.
  void read(std::vector<Series>& out, const PathOf& path_of);
  /// Returns true if there is any series.
  bool has_any() const noexcept { return has_any_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    const Tree* tree = nullptr;
    const Node* batch = nullptr;
    const StepSeries* live = nullptr;  // nullptr once `value` is final
    Series value;
  };
  static void read_live(Slot& slot, const PathOf& path_of);

  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::atomic<bool> has_any_{false};
};

}  // namespace detail
TAKT_END_NAMESPACE
