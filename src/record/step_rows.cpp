// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/step_rows.hpp"

#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

TAKT_COLD Outbox* ThreadOutbox::make() noexcept {
  auto* outbox = new (std::nothrow) Outbox(shared_.outbox_pool);
  if (outbox == nullptr || !outbox->usable()) {
    delete outbox;
    return nullptr;
  }
  outbox_.store(outbox, std::memory_order_release);  // pairs with the acquire in get()
  return outbox;
}

void StepRows::ended(Node* batch) noexcept {
  bool has_row = false;
  if (StepSeries* series = series_of(batch)) {
    Outbox* const box = outbox_.need();
    const std::uint64_t boundaries = tree_.boundaries() + switched_on.load(std::memory_order_relaxed);
    const bool boundary = series != last_series_ || boundaries != last_boundaries_;
    if (has_next_step_) { series->set_step(next_step_); }
    has_row = series->finish_step(tree_, box, boundary) && box != nullptr;
    if (box != nullptr) { outbox_.ask_for_collection(*box); }
    last_series_ = series;
    last_boundaries_ = boundaries;
  }
  if (batch->series == nullptr) { batch->missed_rows = true; }
  if (!has_row) { shared_.steps_without_rows.fetch_add(1, std::memory_order_relaxed); }
  has_next_step_ = false;
}

TAKT_COLD void StepRows::lost(Node* batch) noexcept {
  last_series_ = nullptr;
  if (StepSeries* series = series_of(batch)) {
    series->skip_step(tree_);
  } else {
    batch->missed_rows = true;
  }
}

TAKT_COLD StepRows::Work StepRows::take_work(const Node* epoch) noexcept {
  Work work;
  for (std::uint32_t index = 0; index < tree_.nodes(); ++index) {
    const Node* const batch = tree_.node(index);
    if (batch->series == nullptr) { continue; }
    const Node* above = batch->parent;
    while (above != nullptr && above != epoch) { above = above->parent; }
    if (above == nullptr) { continue; }
    auto& taken = static_cast<StepSeries*>(batch->series)->taken();
    const std::uint64_t steps = batch->host.n();
    const std::uint64_t items = batch->items.own();
    work.steps += steps - taken.steps;
    work.items += items - taken.items;
    taken = {steps, items};
  }
  return work;
}

TAKT_COLD StepSeries* StepRows::make_series(Node* batch) noexcept {
  if (batch == tree_.overflow() || !shared_.budget.take(sizeof(StepSeries))) { return nullptr; }
  auto* series = new (std::nothrow) StepSeries(batch, batch->missed_rows);
  const std::uint32_t id = series == nullptr ? SeriesList::kNone : shared_.series.add(thread_, tree_, *batch, *series);
  if (id == SeriesList::kNone) {
    delete series;
    shared_.budget.give(sizeof(StepSeries));
    return nullptr;
  }
  series->set_id(id);
  batch->series = series;
  return series;
}

StepSeries* StepRows::series_for(const Node* node) noexcept {
  const Tree::Step& step = tree_.step();
  if (step.node == nullptr || (!step.open && !is_step(node))) { return nullptr; }
  while (node != nullptr && node != step.node) { node = node->parent; }
  return node == nullptr ? nullptr : series_of(step.node);
}

std::int64_t StepRows::current_step() const noexcept {
  const Tree::Step& step = tree_.step();
  const auto* series = step.node == nullptr ? nullptr : static_cast<const StepSeries*>(step.node->series);
  if (!step.open && series != nullptr && series->steps() != 0) { return series->last_step(); }
  if (has_next_step_) { return next_step_; }
  return series == nullptr ? 0 : series->step();
}

void StepRows::recycle() noexcept {
  for (std::uint32_t index = 0; index < tree_.nodes(); ++index) {
    Node* node = tree_.node(index);
    node->column = 0;
    node->missed_rows = false;
    if (node->series == nullptr) { continue; }
    delete static_cast<StepSeries*>(node->series);
    shared_.budget.give(sizeof(StepSeries));
    node->series = nullptr;
  }
  last_series_ = nullptr;
  has_next_step_ = false;
}

}  // namespace detail
TAKT_END_NAMESPACE
