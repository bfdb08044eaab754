// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/step_series.hpp"

#include <takt/snapshot.hpp>

#include <limits>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Counts calls that both began and ended here: rows include no others.
std::uint64_t calls_of(const Node& node) noexcept { return node.host.n() - node.away_calls.own(); }
std::uint64_t total_of(const Node& node) noexcept { return node.host.total_ns() - node.away_ns; }

}  // namespace

TAKT_ALWAYS_INLINE void StepSeries::find_columns(Tree& tree) noexcept {
  if (TAKT_UNLIKELY(seen_nodes_ != tree.nodes())) { add_columns(tree); }
}

/// Assigns columns to new paths below this Batch until none are left.
TAKT_COLD void StepSeries::add_columns(Tree& tree) noexcept {
  const std::uint32_t count = tree.nodes();
  for (; seen_nodes_ < count; ++seen_nodes_) {
    Node* node = tree.node(seen_nodes_);
    const Node* above = node->parent;
    while (above != nullptr && above != batch_) { above = above->parent; }
    if (above == nullptr) { continue; }
    if (columns_ == kColumns) {
      rest_.push_back(node);
      continue;
    }
    node->column = static_cast<std::uint8_t>(columns_ + 1);
    column_[columns_++].node = node;
  }
}

StepSeries::Column* StepSeries::column_of(const Node* node) noexcept {
  const unsigned guess = node->column;
  if (guess != 0 && guess <= columns_ && column_[guess - 1].node == node) { return &column_[guess - 1]; }
  for (unsigned index = 0; index < columns_; ++index) {  // a path below two Batch paths is numbered by one of them
    if (column_[index].node == node) { return &column_[index]; }
  }
  return nullptr;
}

/// Returns the column that sums device values of `node`.
StepSeries::Column* StepSeries::find_column(Tree& tree, const Node* node) noexcept {
  if (node == batch_) { return &own_column_; }
  Column* column = column_of(node);
  if (column == nullptr) {
    find_columns(tree);
    column = column_of(node);
  }
  return column == nullptr ? &rest_column_ : column;
}

void StepSeries::device_done(Tree& tree, Outbox* outbox, std::uint64_t row, Node* node, std::int64_t ns) noexcept {
  Column* column = find_column(tree, node);
  if (row == row_) {
    --device_pending_;
    if (ns < 0) {
      ++device_lost_;
    } else {
      column->device_ns += ns;
      ++column->device_calls;
    }
    return;
  }
  if (outbox == nullptr) { return; }
  AmendmentRecord amendment;
  amendment.series = id_;
  amendment.node = column == &rest_column_ ? CellRecord::kOther : node->index;
  amendment.row = row;
  amendment.device_ns = ns;
  amendment.flags = column == &own_column_ ? AmendmentRecord::kOfBatch : std::uint8_t{0};
  outbox->put(amendment, Record::Type::amendment);
}

TAKT_ALWAYS_INLINE void StepSeries::note_period(const Tree::Step& step, std::int64_t period_ns,
                                                bool boundary) noexcept {
  if (step.warmup) {
    warmup_steps_.add(1);
  } else if (has_last_) {
    if (boundary) {
      windows_.exclude(step.end_ns - last_end_ns_);
    } else {
      windows_.add(batch_->items.own() - last_items_, static_cast<std::uint64_t>(period_ns));
      if (TAKT_UNLIKELY(counted_to_ns_.own() == 0)) { counted_from_ns_.set(last_end_ns_); }
      counted_to_ns_.set(step.end_ns);
    }
  }
}

Throughput StepSeries::throughput() const noexcept {
  Throughput read = windows_.read();
  read.first_ns = counted_from_ns_.get();
  read.last_ns = counted_to_ns_.get();
  return read;
}

bool StepSeries::finish_step(Tree& tree, Outbox* outbox, bool boundary) noexcept {
  if (TAKT_UNLIKELY(late_)) {
    skip_step(tree);
    return false;
  }
  const Tree::Step& step = tree.step();
  const bool period_known = has_last_ && !boundary;
  const std::int64_t period_ns = period_known ? static_cast<std::int64_t>(step.end_ns - last_end_ns_) : -1;
  find_columns(tree);
  note_period(step, period_ns, boundary);
  if (TAKT_LIKELY(outbox != nullptr)) {
    write_row(tree, *outbox, period_ns);
  } else {
    keep_totals();
  }
  has_last_ = true;
  last_end_ns_ = step.end_ns;
  steps_.add(1);
  ++row_;
  next_step(tree);
  return true;
}

TAKT_ALWAYS_INLINE void StepSeries::next_step(Tree& tree) noexcept {
  last_step_ = step_;
  if (TAKT_UNLIKELY(step_ == std::numeric_limits<std::int64_t>::max())) {
    tree.count(LossKind::step_at_end, batch_->key);
  } else {
    ++step_;
  }
}

void StepSeries::skip_step(Tree& tree) noexcept {
  late_ = false;
  find_columns(tree);
  keep_totals();
  ++row_;  // later device values belong to no row
}

/// Writes the row and saves the next row's starting values in one pass.
TAKT_ALWAYS_INLINE void StepSeries::write_row(const Tree& tree, Outbox& outbox, std::int64_t period_ns) noexcept {
  const Tree::Step& step = tree.step();
  const std::size_t words = (columns_ + 2) * PackedCell::kMaxWords;
  void* const place =
      outbox.reserve(sizeof(RowRecord) + sizeof(RowDevice) + words * sizeof(std::uint64_t), Record::Type::row);
  if (TAKT_UNLIKELY(place == nullptr)) {
    keep_totals();
    return;
  }
  auto& row = *new (place) RowRecord;
  row.series = id_;
  row.row = row_;
  row.step = step_;
  row.begin_ns = step.begin_ns;
  row.end_ns = step.end_ns;
  row.period_ns = period_ns;
  row.items = static_cast<std::int64_t>(batch_->items.own() - last_items_);
  row.flags = step.warmup ? RowRecord::kWarmup : std::uint8_t{0};
  auto* to = reinterpret_cast<unsigned char*>(&row + 1);
  if (TAKT_UNLIKELY((device_spans_ | device_lost_) != 0)) {
    row.flags |= RowRecord::kHasDevice;
    to = reinterpret_cast<unsigned char*>(new (to) RowDevice{device_pending_, device_lost_, device_spans_} + 1);
  }
  const std::uint64_t* const end = write_cells(reinterpret_cast<std::uint64_t*>(to), step);
  const auto bytes =
      static_cast<std::size_t>(reinterpret_cast<const unsigned char*>(end) - static_cast<unsigned char*>(place));
  row.bytes = static_cast<std::uint16_t>(bytes);
  outbox.push(bytes);
  keep_rest();
}

/// Returns the position after the cells.
TAKT_ALWAYS_INLINE std::uint64_t* StepSeries::write_cells(std::uint64_t* to, const Tree::Step& step) noexcept {
  Column* const end = column_ + columns_;
  for (Column* at = column_; at != end; ++at) {
    Column& column = *at;
    const Node* const node = column.node;
    const std::uint64_t calls = calls_of(*node);
    const std::uint64_t gained = calls - column.calls;
    if (TAKT_UNLIKELY(column.device_calls != 0)) {
      const std::uint64_t total_ns = total_of(*node);
      to = PackedCell::put(to, {node->index, static_cast<std::uint32_t>(gained),
                                static_cast<std::int64_t>(total_ns - column.total_ns), column.device_ns});
      column = Column{column.node, total_ns, calls, 0, 0};
    } else if (gained != 0) {
      const std::uint64_t total_ns = total_of(*node);
      const std::uint64_t length = total_ns - column.total_ns;
      column.total_ns = total_ns;
      column.calls = calls;
      to = PackedCell::put_host(to, node->index, gained, length);
    }
  }
  if (TAKT_UNLIKELY(own_column_.device_calls != 0)) {
    to = PackedCell::put(
        to, {batch_->index, 1, static_cast<std::int64_t>(step.end_ns - step.begin_ns), own_column_.device_ns});
  }
  return TAKT_LIKELY(rest_.empty() && rest_column_.device_calls == 0) ? to : write_rest(to);
}

/// Sums self times because paths without a column may nest. Durations that were added directly have no self time.
StepSeries::Column StepSeries::rest_now() const noexcept {
  Column sum;
  for (const Node* node : rest_) {
    sum.calls += calls_of(*node);
    sum.total_ns += node->self_ns() + node->given_ns;
  }
  return sum;
}

TAKT_COLD std::uint64_t* StepSeries::write_rest(std::uint64_t* to) const noexcept {
  const Column now = rest_now();
  if (now.calls == rest_column_.calls && rest_column_.device_calls == 0) { return to; }
  return PackedCell::put(to, {CellRecord::kOther, static_cast<std::uint32_t>(now.calls - rest_column_.calls),
                              static_cast<std::int64_t>(now.total_ns - rest_column_.total_ns),
                              rest_column_.device_calls == 0 ? -1 : rest_column_.device_ns});
}

TAKT_COLD void StepSeries::keep_totals() noexcept {
  for (unsigned index = 0; index < columns_; ++index) {
    Column& column = column_[index];
    column.total_ns = total_of(*column.node);
    column.calls = calls_of(*column.node);
    column.device_ns = 0;
    column.device_calls = 0;
  }
  keep_rest();
}

/// Saves the values outside of columns for the next row: the rest, the items, and the Batch's own device spans.
TAKT_ALWAYS_INLINE void StepSeries::keep_rest() noexcept {
  if (TAKT_UNLIKELY(!rest_.empty() || rest_column_.device_calls != 0)) { rest_column_ = rest_now(); }
  last_items_ = batch_->items.own();
  if (TAKT_LIKELY((device_spans_ | device_lost_ | own_column_.device_calls) == 0)) { return; }
  own_column_ = Column();
  device_spans_ = 0;
  device_pending_ = 0;
  device_lost_ = 0;
}

std::uint32_t SeriesList::add(std::uint32_t thread, const Tree& tree, const Node& batch,
                              const StepSeries& series) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (slots_.size() >= kMax) { return kNone; }
  Slot slot;
  slot.tree = &tree;
  slot.batch = &batch;
  slot.live = &series;
  slot.value.thread = thread;
  try {
    slots_.push_back(slot);
  } catch (const std::bad_alloc&) { return kNone; }
  has_any_.store(true, std::memory_order_relaxed);
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

void SeriesList::read_live(Slot& slot, const PathOf& path_of) {
  slot.value.path = path_of(slot.batch);
  slot.value.steps = slot.live->steps();
  slot.value.warmup_steps = slot.live->warmup_steps();
  slot.value.throughput = slot.live->throughput();
}

void SeriesList::finish(const Tree& tree, const PathOf& path_of) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.live == nullptr || slot.tree != &tree) { continue; }
    read_live(slot, path_of);
    slot.live = nullptr;
  }
}

void SeriesList::read(std::vector<Series>& out, const PathOf& path_of) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Slot& slot : slots_) {
    if (slot.live != nullptr) { read_live(slot, path_of); }
    out.push_back(slot.value);
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
