// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Copies, merges and clears Trees. In the library, because a header-only Timer needs none of it.

#include "record/tree_state.hpp"

#include <sched.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr Counter Node::*kNodeCounters[] = {&Node::items,          &Node::bytes,       &Node::skipped,
                                            &Node::device_pending, &Node::device_lost, &Node::never_ended};

/// Copies the values of `from` while its owner may be writing.
void read_node(const Node& from, Node& to, MemoryBudget* budget) noexcept {
  for (;;) {
    const std::uint64_t version = from.version.get();
    if ((version & 1U) != 0) {  // the owner needs a few ns, or this core
      sched_yield();
      continue;
    }
    to.inner_ns.set(from.inner_ns.get());
    to.away_calls.set(from.away_calls.get());
    to.host.copy_packed(from.host);
    for (auto field : kNodeCounters) { (to.*field).set((from.*field).get()); }
    if (const Summary* device = from.device.load(std::memory_order_acquire)) {  // pairs with device_of()
      Summary* copy = to.device.load(std::memory_order_relaxed);
      if (copy == nullptr) { copy = allocate<Summary>(budget); }
      if (copy == nullptr) {
        to.device_lost.add(device->n());
      } else {
        copy->copy_packed(*device);
      }
      to.device.store(copy, std::memory_order_relaxed);
    }
    if (from.version.get() == version) {
      to.version.set(version);
      return;
    }
  }
}

}  // namespace

TAKT_COLD void Tree::save(State& state) const noexcept {
  // The owner may be writing, so these values may be inconsistent. The reader then retries; until then the bounds keep
  // it inside the arrays.
  const Frame* const base = base_.get();
  const Frame* const late = late_.get();
  const auto depth = static_cast<std::size_t>(top_.get() - base);
  state.depth = depth <= (base == few_ ? kMaxDepth : kMaxOpen) + 1 ? static_cast<unsigned>(depth) : 0;
  state.late = late == nullptr || late_count_.get() > kMaxLate ? 0 : late_count_.get();
  if (!state.frames.reserve(state.depth + state.late)) {
    state.late = 0;
    state.depth = state.depth < state.frames.space() ? state.depth : state.frames.space();
  }
  state.nodes = nodes();
  state.too_deep = deep_;
  state.warm = warm_.get();
  state.step = step_id_.get();
  state.covered_ns = covered_ns();
  for (unsigned level = 0; level < state.depth; ++level) { state.frames[level] = base[level + 1]; }
  for (unsigned index = 0; late != nullptr && index < state.late; ++index) {
    state.frames[state.depth + index] = late[index];
  }
  state.losses = losses_;
}

/// \param values false: copies only the shape and open regions.
TAKT_COLD void Tree::copy(const Tree& other, const State& state, bool values) noexcept {
  clear_shape();
  replaying_ = true;
  warmup_batches_.set(other.warmup_batches_.get());
  for (std::uint32_t index = 0; index < state.nodes; ++index) {
    const Node* from = other.node(index);
    Node* parent = from->parent->parent == nullptr ? &root_ : node(from->parent->index);
    Node* to = make_child(parent, from->key);
    if (to == &overflow_) { break; }
    to->called.set(from->called.get());
    if (values) { read_node(*from, *to, budget_); }
  }
  if (values) { read_node(other.overflow_, overflow_, budget_); }
  losses_ = state.losses;
  copy_frames(other, state);
  deep_ = state.too_deep;
  warm_.set(state.warm);
  step_id_.set(state.step);
  set_special();
}

TAKT_COLD void Tree::copy_frames(const Tree& other, const State& state) noexcept {
  left_ = 0;
  innermost_ = 0;
  discarded_ = false;
  const unsigned depth = state.depth <= space() || grow() || state.depth <= space() + 1 ? state.depth : space();
  Frame* const frames = this->frames();
  frames[0].child_ns.set(state.covered_ns);
  const auto take = [&](unsigned index, Frame& frame) {
    frame = state.frames[index];
    const Node* from = frame.node.get();
    frame.node.set(from == &other.overflow_ || from->index >= nodes() ? &overflow_ : node(from->index));
    discarded_ = discarded_ || frame.discarded();
  };
  for (unsigned level = 0; level < depth; ++level) {
    take(level, frames[level + 1]);
    if (frames[level + 1].has(Frame::kLeft)) {
      ++left_;
    } else {
      innermost_ = level + 1;
    }
  }
  overlapped_ = left_ != 0;
  set_depth(depth);
  if (state.late != 0 && late_.own() == nullptr) { late_.set(take_frames(kMaxLate)); }
  late_count_.set(late_.own() == nullptr ? 0 : state.late);
  for (unsigned index = 0; index < late_count_.own(); ++index) { take(state.depth + index, late_.own()[index]); }
}

TAKT_COLD void Tree::merge(const Tree& other) noexcept {
  const auto add = [this](const Node& from, Node& to) {
    to.inner_ns.add(from.inner_ns.get());
    to.host.merge(from.host, budget_);
    to.host.pack();  // one at a time: unpacked together, they would need as much memory as the recorded data
    for (auto field : kNodeCounters) { (to.*field).set(bounded_sum((to.*field).get(), (from.*field).get())); }
    if (const Summary* device = from.device.load(std::memory_order_acquire)) {  // pairs with device_of()
      if (Summary* sum = device_of(&to)) {
        sum->merge(*device, budget_);
        sum->pack();
      } else {  // out of memory
        to.device_lost.add(device->n());
        count(LossKind::device_failed, from.key, device->n());
      }
    }
  };
  const auto place = [this, &other](const Node* from, const auto& self) -> Node* {
    if (from == &other.root_) { return &root_; }
    return child(self(from->parent, self), from->key);
  };
  for (std::uint32_t index = 0; index < other.nodes(); ++index) {
    const Node* from = other.node(index);
    Node* to = place(from, place);
    add(*from, *to);
    if (to == &overflow_ && from->host.n() != 0) { count(LossKind::overflow, from->key, from->host.n()); }
  }
  add(other.overflow_, overflow_);
  frames()[0].child_ns.add(other.covered_ns());
  const LossCounts& losses = other.losses();
  for (unsigned slot = 0; slot < losses.size(); ++slot) {
    count(losses[slot].kind.get(), losses[slot].key.get(), losses[slot].count.get());
  }
}

TAKT_COLD void Tree::clear_values() noexcept {
  const auto clear = [](Node& node) {
    node.inner_ns.set(0);
    node.away_calls.set(0);
    node.away_ns = 0;
    node.given_ns = 0;
    node.host.clear();
    node.usual_key = kNotUsual;
    node.called.set(false);
    for (auto field : kNodeCounters) { (node.*field).set(0); }
    if (Summary* device = node.device.load(std::memory_order_relaxed)) { device->clear(); }
  };
  for (std::uint32_t index = 0; index < nodes(); ++index) { clear(*node(index)); }
  clear(overflow_);
  frames()[0].child_ns.set(0);
  losses_.clear();
  late_count_.set(0);
  news_ = false;
  step_ = Step{};
  lost_step_ = nullptr;
}

}  // namespace detail
TAKT_END_NAMESPACE
