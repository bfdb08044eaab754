// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The rare branches of Tree, out of line so that the file with the hot path fits a reader's head.

#include <takt/detail/tree.hpp>

#include <sched.h>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

TAKT_COLD inline void Tree::fold_special(Node* node, std::uint64_t length, std::uint64_t inner) noexcept {
  // A copy taken while the owner went on: what it has folded since is in the summary already.
  if (replaying_ && node->version.get() / 2 > position_) { return; }
  node->begin_write(position_);
  node->inner_ns.add(inner);
  if (warm_.own()) {
    node->host.add_warmup(length);
  } else if (node->host.n() == 0) {
    node->host.add_first(length, budget_);
  } else {
    node->host.add(length, budget_);
  }
  node->end_write(position_);
  if (!node->called.own()) { node->called.set(true); }
  if (node->role == Role::plain) { node->usual_key = node->key; }
}

TAKT_COLD inline void Tree::fold_self(Node* node, std::uint64_t self) noexcept {
  if (replaying_ && node->version.get() / 2 > position_) { return; }
  node->begin_write(position_);
  node->inner_ns.add(0 - self);  // sums wrap as they should
  node->end_write(position_);
}

/// Begins a step as most do: outermost, beyond warm-up, at a place where one was before, nothing odd being open. Then nothing else
/// needs a look: warm_ is false while no step is open. Else does nothing and returns false.
TAKT_ALWAYS_INLINE bool Tree::begin_usual_step(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept {
  Frame* const top = top_.own();
  if (key != batch_key_ || step_id_.own() != 0 || overlapped_ || top >= limit_) { return false; }
  Node* const node = top->node.own()->last_child;
  if (node->key != key || node == &overflow_) { return false; }
  if (node->host.n() - node->away_calls.own() < warmup_batches_.own()) { return false; }
  open(top + 1, node, id | Frame::kRole, ns);
  step_ = Step{node, ns, ns, true, false, id};
  step_id_.set(id);
  return true;
}

/// Ends a step that is the innermost open region, beyond warm-up, nothing odd being open. Then what has to be done for a role is
/// only this. Else does nothing and returns nullptr.
TAKT_ALWAYS_INLINE Node* Tree::end_usual_step(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept {
  Frame* const top = top_.own();
  if (top->id_flags.own() != (id | Frame::kRole) || step_id_.own() != id || special_ || overlapped_) { return nullptr; }
  Node* const node = top->node.own();
  const std::uint64_t length = ns - top->begin_ns.own();
  top_.set(top - 1);
  top[-1].child_ns.add(length);
  fold(node, length, top->child_ns.own(), position);
  step_id_.set(0);
  step_.end_ns = ns;
  step_.open = false;
  return node;
}

TAKT_NOINLINE inline void Tree::begin_unusual(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept {
  if (!begin_usual_step(key, id, ns)) { begin_odd(key, id, ns); }
}

TAKT_NOINLINE inline Node* Tree::end_unusual(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept {
  Node* const step = end_usual_step(id, ns, position);
  return step != nullptr ? step : end_odd(id, ns, position);
}

TAKT_COLD inline void Tree::begin_odd(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept {
  // Only where one may have been: a step in a step, a region in one of its key, or others that outlived something.
  const bool odd =
      key == batch_key_ ? step_id_.own() != 0 : overlapped_ || key == epoch_key_ || innermost()->key == key;
  if (TAKT_UNLIKELY(odd)) { look_for_forgotten(key); }
  if (TAKT_UNLIKELY(top_.own() >= limit_) && !grow()) {
    begin_too_deep(key, id, ns);
    return;
  }
  Node* node = place_for(key);
  Frame* const top = top_.own();
  open(top + 1, node, id, ns);
  if (node->role != Role::plain) { open_role(top[1], key, ns); }
}

/// Makes room for as many as can be open. Readers may still look at the few: they stay where they are.
TAKT_COLD inline bool Tree::grow() noexcept {
  if (frames() != few_ || deep_.count.own() != 0) { return false; }
  Frame* const many = take_frames(kMaxOpen + 2);
  if (many == nullptr) { return false; }
  const unsigned depth = this->depth();
  for (unsigned at = 0; at <= depth; ++at) { many[at] = few_[at]; }
  base_.set(many);
  limit_ = many + kMaxOpen;
  set_depth(depth);
  set_special();
  return true;
}

TAKT_COLD inline Tree::Frame* Tree::take_frames(unsigned count) noexcept {
  if (budget_ != nullptr && !budget_->take(count * sizeof(Frame))) { return nullptr; }
  auto* const frames = new (std::nothrow) Frame[count];
  if (frames == nullptr && budget_ != nullptr) { budget_->give(count * sizeof(Frame)); }
  return frames;
}

inline void Tree::give_frames(Frame* frames, unsigned count) noexcept {
  if (frames != nullptr && budget_ != nullptr) { budget_->give(count * sizeof(Frame)); }
  delete[] frames;
}

/// All regions for which there are no frames share one, so that self time still adds up.
TAKT_COLD inline void Tree::begin_too_deep(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept {
  count(Mishap::overflow, key);
  deep_.add(id);
  if (deep_.count.own() != 1) { return; }
  const unsigned depth = this->depth() + 1;
  Frame& frame = frames()[depth];
  frame.node.set(&overflow_);
  frame.begin_ns.set(ns);
  frame.child_ns.set(0);
  frame.id_flags.set(Frame::kTooDeep | Frame::kRole);
  set_depth(depth);
}

TAKT_COLD inline void Tree::TooDeep::add(std::uint32_t begun) noexcept {
  const unsigned last = known.own();
  if (last < kMaxDepth) {
    id[last].set(begun);
    known.set(last + 1);
  }
  count.add(1);
}

TAKT_COLD inline bool Tree::TooDeep::remove(std::uint32_t ended) noexcept {
  const unsigned last = known.own();
  if (holds(ended)) {
    unsigned at = 0;
    while (id[at].own() != ended) { ++at; }
    for (; at + 1 < last; ++at) { id[at] = id[at + 1]; }
    known.set(last - 1);
  } else if (count.own() == last) {
    return false;
  }
  count.set(count.own() - 1);
  return true;
}

inline unsigned Tree::too_deep_frame() const noexcept {
  unsigned at = depth();
  while (frames()[at].id() != Frame::kTooDeep) { --at; }
  return at;
}

TAKT_COLD inline Node* Tree::end_odd(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept {
  position_ = position;
  for (unsigned at = depth(); at > 0; --at) {
    if (frames()[at].id() == id) { return close(at, ns); }
  }
  if (Node* const node = end_late(id, ns)) { return node; }
  if (!deep_.remove(id)) { return nullptr; }
  if (deep_.count.own() == 0) { close(too_deep_frame(), ns); }
  return &overflow_;
}

/// Ends any open region.
TAKT_COLD inline Node* Tree::close(unsigned at, std::uint64_t ns) noexcept {
  const Frame frame = frames()[at];
  Node* node = frame.node.own();
  const bool step = step_id_.own() == frame.id();
  const std::uint64_t begin = frame.begin_ns.own();
  // From the begin of the region above on, that one was the innermost: this one's share of the stack ends there.
  const std::uint64_t own = (at == depth() ? ns : frames()[at + 1].begin_ns.own()) - begin;
  const std::uint64_t self = own - frame.child_ns.own();
  remove_frame(at);
  if (frame.discarded()) {
    count(Mishap::clock_changed, node->key);
    find_discarded();
  } else {
    frames()[at - 1].child_ns.add(own);
    if (node == &overflow_ && inside_overflow(at)) {
      fold_self(node, self);
    } else {
      fold(node, ns - begin, ns - begin - self, position_);
    }
  }
  close_role(node, frame.id(), ns, !frame.discarded());
  if (TAKT_UNLIKELY(overlapped_) && frame.has(Frame::kRole)) { role_ended(node, at, step); }
  return node;
}

TAKT_COLD inline void Tree::find_discarded() noexcept {
  discarded_ = false;
  for (unsigned level = depth(); level > 0; --level) { discarded_ = discarded_ || frames()[level].discarded(); }
  for (unsigned index = 0; index < late_count_.own(); ++index) {
    discarded_ = discarded_ || late_.own()[index].discarded();
  }
}

/// Like a recursion, the overflow counts its outermost call.
TAKT_COLD inline bool Tree::inside_overflow(unsigned at) const noexcept {
  while (--at > 0) {
    if (frames()[at].node.own() == &overflow_) { return true; }
  }
  return false;
}

inline void Tree::remove_frame(unsigned at) noexcept {
  const unsigned depth = this->depth();
  for (unsigned above = at + 1; above <= depth; ++above) { frames()[above - 1] = frames()[above]; }
  set_depth(depth - 1);
  if (at < depth && !overlapped_) {
    overlapped_ = true;
    set_special();
  }
}

TAKT_COLD inline void Tree::open_role(Frame& frame, TreeKey key, std::uint64_t ns) noexcept {
  frame.id_flags.set(frame.id_flags.own() | Frame::kRole);
  Node* node = frame.node.own();
  if (node->role == Role::overflow) {
    count(Mishap::overflow, key);
  } else if (node->role == Role::epoch) {
    ++boundaries_;
  } else if (step_id_.own() == 0) {
    warm_.set(node->host.n() - node->away_calls.own() < warmup_batches_.own());
    step_ = Step{node, ns, ns, true, warm_.own(), frame.id()};
    step_id_.set(frame.id());
    set_special();
  }
}

/// \param timed false: the end is not known, so that a Batch makes no step.
TAKT_COLD inline void Tree::close_role(Node* node, std::uint32_t id, std::uint64_t ns, bool timed) noexcept {
  if (node->role == Role::epoch) { ++boundaries_; }
  if (node->role != Role::batch || step_id_.own() != id) { return; }
  warm_.set(false);
  step_id_.set(0);
  step_.end_ns = ns;
  step_.open = false;
  if (!timed) {
    lost_step_ = step_.node;
    news_ = true;
    step_.node = nullptr;
  }
  set_special();
}

TAKT_COLD inline bool Tree::detach(std::uint32_t id, Frame& taken) noexcept {
  for (unsigned at = depth(); at > 0; --at) {
    if (frames()[at].id() != id) { continue; }
    taken = frames()[at];
    remove_frame(at);
    find_discarded();
    frames()[at - 1].child_ns.add(taken.child_ns.own());
    const bool step = step_id_.own() == id;
    close_role(taken.node.own(), taken.id(), taken.begin_ns.own(), false);
    if (overlapped_ && taken.has(Frame::kRole)) { role_ended(taken.node.own(), at, step); }
    return true;
  }
  if (take_late(id, taken)) {
    came_late(taken.node.own());
    return true;
  }
  if (!deep_.remove(id)) { return false; }
  if (deep_.count.own() == 0) {
    const unsigned at = too_deep_frame();
    taken = frames()[at];
    remove_frame(at);
    find_discarded();
    frames()[at - 1].child_ns.add(taken.child_ns.own());
  }
  return true;
}

TAKT_COLD inline void Tree::discard_open() noexcept {
  discarded_ = depth() != 0;
  for (unsigned at = depth(); at > 0; --at) { frames()[at].set(Frame::kDiscarded); }
  for (unsigned index = 0; index < late_count_.own(); ++index) { late_.own()[index].set(Frame::kDiscarded); }
  discarded_ = discarded_ || late_count_.own() != 0;
}

TAKT_COLD inline bool Tree::TooDeep::holds(std::uint32_t open) const noexcept {
  unsigned at = 0;
  while (at < known.own() && id[at].own() != open) { ++at; }
  return at < known.own();
}

TAKT_COLD inline const Tree::Frame* Tree::find(std::uint32_t id) const noexcept {
  for (unsigned at = depth(); at > 0; --at) {
    if (frames()[at].id() == id) { return &frames()[at]; }
  }
  for (unsigned index = late(); index-- > 0;) {
    if (late_frame(index).id() == id) { return &late_frame(index); }
  }
  return nullptr;
}

TAKT_COLD inline bool Tree::is_open(std::uint32_t id) const noexcept { return find(id) != nullptr || deep_.holds(id); }

TAKT_COLD inline bool Tree::is_discarded(std::uint32_t id) const noexcept {
  const Frame* const frame = find(deep_.holds(id) ? Frame::kTooDeep : id);
  return frame != nullptr && frame->discarded();
}

TAKT_COLD inline void Tree::abandon_open() noexcept {
  while (depth() != 0) {
    Frame frame;
    detach(frames()[depth()].id(), frame);
    const std::uint64_t regions = frame.id() == Frame::kTooDeep ? deep_.count.own() : 1;
    count(Mishap::never_ended, frame.node.own()->key, regions);
    frame.node.own()->never_ended.add(regions);
    given_up_.add(1);
  }
  deep_.count.set(0);
  deep_.known.set(0);
  late_count_.set(0);
}

TAKT_COLD inline Node* Tree::add_here(TreeKey key, std::uint64_t length) noexcept {
  Node* node = place_for(key);
  if (node == &overflow_) { count(Mishap::overflow, key); }
  fold(node, length, length, position_);
  node->given_ns = bounded_sum(node->given_ns, length);
  return node;
}

/// Whether an open region is not right inside the one below it on the stack.
TAKT_COLD inline bool Tree::still_overlapped() const noexcept {
  for (unsigned at = depth(); at > 0; --at) {
    if (frames()[at].node.own()->parent != frames()[at - 1].node.own()) { return true; }
  }
  return false;
}

TAKT_COLD inline bool Tree::is_open_at(const Node* node) const noexcept {
  for (unsigned at = depth(); at > 0; --at) {
    if (frames()[at].node.own() == node) { return true; }
  }
  return false;
}

TAKT_COLD inline Node* Tree::find_child(Node* parent, TreeKey key) noexcept {
  Node* const last = parent->last_child;
  if (last->key == key && last != &overflow_) { return last; }  // usual, but for its role
  if (parent == &overflow_) { return &overflow_; }
  Node* found = look_up(parent, key);
  if (found == nullptr) { found = make_child(parent, key); }
  if (found != &overflow_) {
    if (parent->last_child != &overflow_) { parent->last_child->next_guess = found; }
    parent->last_child = found;
  }
  return found;
}

TAKT_COLD inline Node* Tree::look_up(const Node* parent, TreeKey key) const noexcept {
  if (table_size_ == 0) { return nullptr; }
  for (std::size_t at = table_hash(parent, key) & (table_size_ - 1); table_[at] != nullptr;
       at = (at + 1) & (table_size_ - 1)) {
    if (table_[at]->parent == parent && table_[at]->key == key) { return table_[at]; }
  }
  return nullptr;
}

/// The overflow node where there is no room.
TAKT_COLD inline Node* Tree::make_child(Node* parent, TreeKey key) noexcept {
  const std::uint32_t index = node_count_.load(std::memory_order_relaxed);
  // The last place is kept for the overflow key: a tree that numbers the paths of many threads needs a path for it.
  const bool last_is_mine = key == kOverflowKey && parent == &root_;
  if (index >= (last_is_mine ? kMaxNodes : kMaxNodes - 1) || (index + 1 > table_size_ / 2 && !grow_table())) {
    return &overflow_;
  }
  unsigned depth = 1;
  for (const Node* above = parent; above != &root_; above = above->parent) { ++depth; }
  if (depth > kMaxDepth) { return &overflow_; }  // Batches that overlap in turn make a path without end
  Chunk* chunk = chunks_[index / kChunk].load(std::memory_order_relaxed);
  if (chunk == nullptr) { chunk = allocate<Chunk>(budget_); }
  Node* node = chunk == nullptr ? nullptr : allocate<Node>(budget_);
  if (chunk != nullptr) { chunks_[index / kChunk].store(chunk, std::memory_order_release); }
  if (node == nullptr) { return &overflow_; }
  node->key = key;
  node->role = key == epoch_key_ ? Role::epoch : key == batch_key_ ? Role::batch : Role::plain;
  node->parent = parent;
  node->index = index;
  node->last_child = node->next_guess = &overflow_;
  chunk->node[index % kChunk] = node;
  table_insert(node);
  node_count_.store(index + 1, std::memory_order_release);  // partner: nodes()
  return node;
}

TAKT_COLD inline bool Tree::grow_table() noexcept {
  const std::size_t size = table_size_ == 0 ? 64 : table_size_ * 2;
  if (budget_ != nullptr && !budget_->take((size - table_size_) * sizeof(Node*))) { return false; }
  auto** table = new (std::nothrow) Node*[size]();
  if (table == nullptr) {
    if (budget_ != nullptr) { budget_->give((size - table_size_) * sizeof(Node*)); }
    return false;
  }
  delete[] table_;
  table_ = table;
  table_size_ = size;
  for (std::uint32_t index = 0; index < nodes(); ++index) { table_insert(node(index)); }
  return true;
}

inline void Tree::table_insert(Node* node) noexcept {
  std::size_t at = table_hash(node->parent, node->key) & (table_size_ - 1);
  while (table_[at] != nullptr) { at = (at + 1) & (table_size_ - 1); }
  table_[at] = node;
}

TAKT_COLD inline Summary* Tree::device_of(Node* node) noexcept {
  Summary* device = node->device.load(std::memory_order_relaxed);
  if (device == nullptr) {
    device = allocate<Summary>(budget_);
    if (device != nullptr) { node->device.store(device, std::memory_order_release); }
  }
  return device;
}

TAKT_COLD inline void Tree::count(Mishap mishap, TreeKey key, std::uint64_t times) noexcept {
  const unsigned used = mishap_count_.own();
  for (unsigned slot = 0; slot < used; ++slot) {
    if (mishap_[slot].mishap.own() == mishap && mishap_[slot].key.own() == key) {
      mishap_[slot].count.add(times);
      return;
    }
  }
  // The last slots are one a mishap, without a name, so that the count stays whole when there are too many keys.
  const unsigned named = kMishapSlots - kMishaps;
  const bool full = used >= named && key != 0;
  if (full) {
    count(mishap, 0, times);
    return;
  }
  Count& slot = mishap_[used];
  slot.mishap.set(mishap);
  slot.key.set(key);
  slot.count.set(times);
  mishap_count_.set(used + 1);
}

inline bool Tree::Frames::reserve(unsigned count) noexcept {
  if (count <= room_) { return true; }
  auto* const many = new (std::nothrow) Frame[count];
  if (many == nullptr) { return false; }
  delete[] many_;
  many_ = many;
  room_ = count;
  return true;
}

inline constexpr Counter Node::*kNodeCounters[] = {&Node::items,          &Node::bytes,       &Node::skipped,
                                                   &Node::device_pending, &Node::device_lost, &Node::never_ended};

/// Copies the values of `from` while its owner may be writing it.
inline void read_node(const Node& from, Node& to, MemoryBudget* budget) noexcept {
  for (;;) {
    const std::uint64_t version = from.version.get();
    if ((version & 1U) != 0) {  // the owner needs some nanoseconds, or its turn on this core
      sched_yield();
      continue;
    }
    to.inner_ns.set(from.inner_ns.get());
    to.away_calls.set(from.away_calls.get());
    to.host.copy_packed(from.host);
    for (auto field : kNodeCounters) { (to.*field).set((from.*field).get()); }
    if (const Summary* device = from.device.load(std::memory_order_acquire)) {
      Summary* copy = to.device.load(std::memory_order_relaxed);
      if (copy == nullptr) { copy = allocate<Summary>(budget); }
      if (copy != nullptr) { copy->copy_packed(*device); }
      to.device.store(copy, std::memory_order_relaxed);
    }
    if (from.version.get() == version) {
      to.version.set(version);
      return;
    }
  }
}

TAKT_COLD inline void Tree::clear_values() noexcept {
  const auto clear = [](Node& node) {
    node.inner_ns.set(0);
    node.away_calls.set(0);
    node.away_ns = 0;
    node.given_ns = 0;
    node.host.clear();
    node.usual_key = kNotUsual;
    node.called.set(false);
    node.nests.set(false);
    for (auto field : kNodeCounters) { (node.*field).set(0); }
    if (Summary* device = node.device.load(std::memory_order_relaxed)) { device->clear(); }
  };
  for (std::uint32_t index = 0; index < nodes(); ++index) { clear(*node(index)); }
  clear(overflow_);
  frames()[0].child_ns.set(0);
  mishap_count_.set(0);
  late_count_.set(0);
  news_ = false;
  step_ = Step{};
  lost_step_ = nullptr;
}

TAKT_COLD inline void Tree::clear_shape() noexcept {
  for (std::uint32_t index = 0; index < nodes(); ++index) {
    deallocate(node(index)->device.load(std::memory_order_relaxed), budget_);
    deallocate(node(index), budget_);
  }
  for (auto& chunk : chunks_) { deallocate(chunk.exchange(nullptr, std::memory_order_relaxed), budget_); }
  node_count_.store(0, std::memory_order_relaxed);
  deallocate(overflow_.device.exchange(nullptr, std::memory_order_relaxed), budget_);
  root_.last_child = &overflow_;
  deep_.count.set(0);
  deep_.known.set(0);
  late_count_.set(0);
  for (std::size_t at = 0; at < table_size_; ++at) { table_[at] = nullptr; }
  set_depth(0);
}

}  // namespace detail
TAKT_END_NAMESPACE
