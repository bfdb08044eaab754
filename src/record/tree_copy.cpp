// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Copies of a Tree, and the sum of several. Here, as a Timer with a recorder of its own, whose Tree is all header, needs neither.

#include <takt/detail/tree.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

TAKT_COLD void Tree::save(State& state) const noexcept {
  // The owner may be at work, so that these belong to different moments: then the reader looks again, but not beyond the ends.
  const Frame* const base = base_.get();
  const Frame* const late = late_.get();
  const auto depth = static_cast<std::size_t>(top_.get() - base);
  state.depth = depth <= (base == few_ ? kMaxDepth : kMaxOpen) + 1 ? static_cast<unsigned>(depth) : 0;
  state.late = late == nullptr || late_count_.get() > kMaxLate ? 0 : late_count_.get();
  if (!state.frames.reserve(state.depth + state.late)) {
    state.late = 0;
    state.depth = state.depth < state.frames.room() ? state.depth : state.frames.room();
  }
  state.nodes = nodes();
  state.too_deep = deep_;
  state.warm = warm_.get();
  state.step = step_id_.get();
  state.covered_ns = covered_ns();
  state.mishaps = mishap_count_.get();
  for (unsigned level = 0; level < state.depth; ++level) { state.frames[level] = base[level + 1]; }
  for (unsigned index = 0; late != nullptr && index < state.late; ++index) {
    state.frames[state.depth + index] = late[index];
  }
  for (unsigned slot = 0; slot < state.mishaps && slot < kMishapSlots; ++slot) { state.mishap[slot] = mishap_[slot]; }
}

/// \param values false: shape and open regions alone.
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
    to->nests.set(from->nests.get());
    if (values) { read_node(*from, *to, budget_); }
  }
  if (values) { read_node(other.overflow_, overflow_, budget_); }
  for (unsigned slot = 0; slot < state.mishaps; ++slot) { mishap_[slot] = state.mishap[slot]; }
  mishap_count_.set(state.mishaps);
  copy_frames(other, state);
  deep_ = state.too_deep;
  warm_.set(state.warm);
  step_id_.set(state.step);
  set_special();
}

TAKT_COLD void Tree::copy_frames(const Tree& other, const State& state) noexcept {
  overlapped_ = true;  // perhaps: what begins next looks
  discarded_ = false;
  const unsigned depth = state.depth <= room() || grow() || state.depth <= room() + 1 ? state.depth : room();
  Frame* const frames = this->frames();
  frames[0].child_ns.set(state.covered_ns);
  const auto take = [&](unsigned index, Frame& frame) {
    frame = state.frames[index];
    const Node* from = frame.node.get();
    frame.node.set(from == &other.overflow_ || from->index >= nodes() ? &overflow_ : node(from->index));
    discarded_ = discarded_ || frame.discarded();
  };
  for (unsigned level = 0; level < depth; ++level) { take(level, frames[level + 1]); }
  set_depth(depth);
  if (state.late != 0 && late_.own() == nullptr) { late_.set(take_frames(kMaxLate)); }
  late_count_.set(late_.own() == nullptr ? 0 : state.late);
  for (unsigned index = 0; index < late_count_.own(); ++index) { take(state.depth + index, late_.own()[index]); }
}

TAKT_COLD void Tree::merge(const Tree& other) noexcept {
  const auto add = [this](const Node& from, Node& to) {
    to.inner_ns.add(from.inner_ns.get());
    to.host.merge(from.host, budget_);
    to.host.pack();  // one at a time: all of them unpacked would need as much memory as what was recorded
    for (auto field : kNodeCounters) { (to.*field).set(bounded_sum((to.*field).get(), (from.*field).get())); }
    if (const Summary* device = from.device.load(std::memory_order_acquire)) {
      if (Summary* sum = device_of(&to)) {
        sum->merge(*device, budget_);
        sum->pack();
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
    if (to == &overflow_ && from->host.n() != 0) { count(Mishap::overflow, from->key, from->host.n()); }
  }
  add(other.overflow_, overflow_);
  frames()[0].child_ns.add(other.covered_ns());
  for (unsigned slot = 0; slot < other.mishaps(); ++slot) {
    count(other.mishap(slot).mishap.get(), other.mishap(slot).key.get(), other.mishap(slot).count.get());
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
