// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>

#include <new>

// The nodes of Tree: finding, creating, reading and clearing them. Out of line, because a region in its usual place
// needs none of it.

TAKT_BEGIN_NAMESPACE
namespace detail {

TAKT_COLD inline Node* Tree::find_child(Node* parent, TreeKey key) noexcept {
  Node* const last = parent->last_child;
  if (last->key == key && last != &overflow_) { return last; }  // usual, except for its role
  if (parent == &overflow_) { return &overflow_; }
  Node* found = look_up(parent, key);
  if (found == nullptr) { found = make_child(parent, key); }
  if (found != &overflow_) {
    if (parent->last_child != &overflow_) { parent->last_child->next_guess = found; }
    parent->last_child = found;
  }
  return found;
}

/// Returns the overflow node if the tree is full.
TAKT_COLD inline Node* Tree::make_child(Node* parent, TreeKey key) noexcept {
  const std::uint32_t index = node_count_.load(std::memory_order_relaxed);
  // The last slot is reserved for the overflow key: a tree that numbers the paths of many threads needs a path for it.
  const bool last_is_mine = key == kOverflowKey && parent == &root_;
  if (index >= (last_is_mine ? kMaxNodes : kMaxNodes - 1) || !table_.reserve(index + 1, budget_)) { return &overflow_; }
  unsigned depth = 1;
  for (const Node* above = parent; above != &root_; above = above->parent) { ++depth; }
  if (depth > kMaxDepth) { return &overflow_; }
  Chunk* chunk = chunks_[index / kChunk].load(std::memory_order_relaxed);
  if (chunk == nullptr) { chunk = allocate<Chunk>(budget_); }
  Node* node = chunk == nullptr ? nullptr : allocate<Node>(budget_);
  if (chunk != nullptr) { chunks_[index / kChunk].store(chunk, std::memory_order_release); }  // pairs with node()
  if (node == nullptr) { return &overflow_; }
  node->key = key;
  node->role = key == epoch_key_ ? Role::epoch : key == batch_key_ ? Role::batch : Role::plain;
  node->parent = parent;
  node->index = index;
  node->last_child = node->next_guess = &overflow_;
  chunk->node[index % kChunk] = node;
  table_.insert(node);
  node_count_.store(index + 1, std::memory_order_release);  // pairs with nodes()
  return node;
}

TAKT_COLD inline Summary* Tree::device_of(Node* node) noexcept {
  Summary* device = node->device.load(std::memory_order_relaxed);
  if (device == nullptr) {
    device = allocate<Summary>(budget_);
    if (device != nullptr) { node->device.store(device, std::memory_order_release); }  // pairs with read_node()
  }
  return device;
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
  table_.clear();
  left_ = 0;
  overlapped_ = false;
  set_depth(0);
}

// Regions that outlive their parent (docs/decisions/0049-the-innermost-one.md). A Scope in a block never does. All of
// this depends only on the open regions, so readers that replay events on a copy get the same result.

/// Handles the end of the region at `at` while others are above it, or some are left. Regions that are open inside it
/// become left: nothing starts inside them any more. A Batch or an Epoch, with everything inside it, becomes left only
/// when a Batch or an Epoch around it ends. Frames that are not left are nested directly, so all of them above `at` are
/// inside.
TAKT_COLD inline void Tree::outlive(unsigned at) noexcept {
  const unsigned depth = this->depth();
  if (!overlapped_) {
    for (unsigned each = 1; each <= depth; ++each) { frames()[each].outer.set(each - 1); }
    innermost_ = depth;
  }
  innermost_ = innermost_now();
  const Frame& ended = frames()[at];
  const unsigned outer = ended.outer.own();
  Node* lost_step = nullptr;
  if (ended.has(Frame::kLeft)) {
    --left_;
  } else {
    unsigned above = at + 1;
    for (; above <= depth; ++above) {
      Frame& frame = frames()[above];
      if (frame.has(Frame::kLeft)) { continue; }
      if (frame.has(Frame::kRole) && !ended.has(Frame::kRole)) { break; }
      frame.set(Frame::kLeft);
      ++left_;
      if (frame.id() == step_id_.own()) { lost_step = frame.node.own(); }
    }
    if (above <= depth) {
      frames()[above].outer.set(outer);
    } else {
      innermost_ = outer;
    }
  }
  innermost_ -= innermost_ > at ? 1 : 0;  // the frames above move down by one
  overlapped_ = left_ != 0;
  set_special();
  if (lost_step != nullptr) { close_role(lost_step, step_id_.own(), ended.begin_ns.own(), false); }
}

/// Handles the end of a step: expires regions that were left before the previous step ended; their end may have been
/// forgotten.
TAKT_COLD inline void Tree::outlive_step() noexcept {
  for (unsigned at = depth(); at > 0; --at) {
    Frame& frame = frames()[at];
    if (!frame.has(Frame::kLeft)) { continue; }
    if (frame.has(Frame::kStep)) {
      give_up(at);
    } else {
      frame.set(Frame::kStep);
    }
  }
}

/// Returns the innermost place of `key` in a path that already has the maximum number of keys, if the key is in it.
TAKT_COLD inline Node* Tree::repeated(Node* parent, TreeKey key) noexcept {
  unsigned keys = 0;
  for (const Node* node = parent; node != &root_; node = node->parent) { ++keys; }
  if (keys < kMaxDepth) { return &overflow_; }
  for (Node* node = parent; node != &root_; node = node->parent) {
    if (node->key == key) { return node; }
    if (node->role != Role::plain) { break; }
  }
  return &overflow_;
}

/// Removes a region from the stack; self times ignore it.
TAKT_COLD inline void Tree::give_up(unsigned at) noexcept {
  const Frame frame = frames()[at];
  Node* const node = frame.node.own();
  remove_frame(at);
  frames()[at - 1].child_ns.add(frame.child_ns.own());
  const bool deep = frame.id() == Frame::kTooDeep;
  const std::uint64_t regions = deep ? deep_.count.own() : 1;
  count(LossKind::never_ended, node->key, regions);
  node->never_ended.add(regions);
  given_up_.add(1);
  news_ = true;
  if (deep) {
    deep_.count.set(0);
    deep_.known.set(0);
  } else {
    keep_late(frame);
  }
  if (frame.discarded()) { find_discarded(); }
}

TAKT_COLD inline void Tree::keep_late(const Frame& frame) noexcept {
  if (late_.own() == nullptr) { late_.set(take_frames(kMaxLate)); }
  if (late_.own() == nullptr) { return; }
  if (late_count_.own() == kMaxLate) { drop_late(); }
  Frame& late = late_.own()[late_count_.own()];
  late = frame;
  late.id_flags.set(frame.id() | (frame.id_flags.own() & Frame::kDiscarded));
  late_count_.add(1);
}

TAKT_COLD inline bool Tree::drop_late() noexcept {
  Frame dropped;
  return late_count_.own() != 0 && take_late(late_.own()[0].id(), dropped);
}

TAKT_COLD inline bool Tree::take_late(std::uint32_t id, Frame& taken) noexcept {
  const unsigned count = late_count_.own();
  unsigned at = 0;
  while (at < count && late_.own()[at].id() != id) { ++at; }
  if (at == count) { return false; }
  taken = late_.own()[at];
  for (; at + 1 < count; ++at) { late_.own()[at] = late_.own()[at + 1]; }
  late_count_.set(count - 1);
  if (taken.discarded()) { find_discarded(); }
  return true;
}

/// Handles the late end of an expired region: it counts, but without self time, because the time when it was innermost
/// is unknown. Returns nullptr if no such id exists.
TAKT_COLD inline Node* Tree::end_late(std::uint32_t id, std::uint64_t ns) noexcept {
  Frame taken;
  if (!take_late(id, taken)) { return nullptr; }
  Node* const node = taken.node.own();
  came_late(node);
  if (taken.discarded()) {
    count(LossKind::clock_changed, node->key);
  } else {
    count(LossKind::ended_late, node->key);
    add_at(node, ns - taken.begin_ns.own());
  }
  return node;
}

inline void Tree::came_late(Node* node) noexcept {
  count(LossKind::never_ended, node->key, ~std::uint64_t{0});  // one less: sums wrap as intended
  node->never_ended.add(~std::uint64_t{0});
}

// The rare branches of Tree, out of line to keep the file with the hot path short.

TAKT_COLD inline void Tree::fold_special(Node* node, std::uint64_t length, std::uint64_t inner) noexcept {
  // This copy was taken while the owner continued: the summary already contains what it has folded since.
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

/// Starts a typical step: outermost, after warm-up, at a place used before, without overlapping open regions. No
/// further work is needed then: warm_ is false while no step is open. Otherwise changes nothing and returns false.
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

/// Ends a step that is the innermost open region, after warm-up, without overlapping open regions. Its role needs no
/// further work then. Otherwise changes nothing and returns nullptr.
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
  if (TAKT_UNLIKELY(top_.own() >= limit_) && !grow()) {
    begin_too_deep(key, id, ns);
    return;
  }
  const unsigned around = innermost_now();
  Node* const node = below(frames()[around].node.own(), key);
  Frame* const top = top_.own();
  open(top + 1, node, id, ns);
  if (overlapped_) { started_in(around); }
  if (node->role != Role::plain) { open_role(top[1], key, ns); }
}

/// Grows the stack to the maximum of open regions. The first frames stay in place, because readers may still read them.
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

/// Opens a region without a frame: all of these share one, so that self time still adds up.
TAKT_COLD inline void Tree::begin_too_deep(TreeKey key, std::uint32_t id, std::uint64_t ns) noexcept {
  count(LossKind::overflow, key);
  deep_.add(id);
  if (deep_.count.own() != 1) { return; }
  const unsigned depth = this->depth() + 1;
  Frame& frame = frames()[depth];
  frame.node.set(&overflow_);
  frame.begin_ns.set(ns);
  frame.child_ns.set(0);
  frame.id_flags.set(Frame::kTooDeep | Frame::kRole);
  const unsigned around = innermost_now();
  set_depth(depth);
  if (overlapped_) { started_in(around); }
}

inline unsigned Tree::too_deep_frame() const noexcept {
  unsigned at = depth();
  while (frames()[at].id() != Frame::kTooDeep) { --at; }
  return at;
}

TAKT_COLD inline Node* Tree::end_odd(std::uint32_t id, std::uint64_t ns, std::uint64_t position) noexcept {
  position_ = position;
  if (const unsigned at = level_of(id)) { return close(at, ns); }
  if (Node* const node = end_late(id, ns)) { return node; }
  if (!deep_.remove(id)) { return nullptr; }
  if (deep_.count.own() == 0) { close(too_deep_frame(), ns); }
  return &overflow_;
}

/// Returns the frame of the open region with this id; 0: not open. Searches from both ends, because regions mostly end
/// in last-in-first-out or first-in-first-out order.
TAKT_COLD inline unsigned Tree::level_of(std::uint32_t id) const noexcept {
  const unsigned depth = this->depth();
  for (unsigned passed = 0; 2 * passed < depth; ++passed) {
    if (frames()[depth - passed].id() == id) { return depth - passed; }
    if (frames()[passed + 1].id() == id) { return passed + 1; }
  }
  return 0;
}

/// Ends any open region.
TAKT_COLD inline Node* Tree::close(unsigned at, std::uint64_t ns) noexcept {
  const Frame frame = frames()[at];
  Node* node = frame.node.own();
  const bool step = step_id_.own() == frame.id();
  const std::uint64_t begin = frame.begin_ns.own();
  // From the start of the region above, that one was the innermost: this one's share of the stack ends there.
  const std::uint64_t own = (at == depth() ? ns : frames()[at + 1].begin_ns.own()) - begin;
  const std::uint64_t self = own - frame.child_ns.own();
  remove_frame(at);
  if (frame.discarded()) {
    count(LossKind::clock_changed, node->key);
    find_discarded();
  } else {
    frames()[at - 1].child_ns.add(own);
    fold(node, ns - begin, ns - begin - self, position_);
    if (node->role == Role::epoch) { last_epoch_ns_ = ns - begin; }
  }
  close_role(node, frame.id(), ns, !frame.discarded());
  if (TAKT_UNLIKELY(overlapped_) && step) { outlive_step(); }
  return node;
}

TAKT_COLD inline void Tree::find_discarded() noexcept {
  discarded_ = false;
  for (unsigned level = depth(); level > 0; --level) { discarded_ = discarded_ || frames()[level].discarded(); }
  for (unsigned index = 0; index < late_count_.own(); ++index) {
    discarded_ = discarded_ || late_.own()[index].discarded();
  }
}

inline void Tree::remove_frame(unsigned at) noexcept {
  const unsigned depth = this->depth();
  if (overlapped_ || at < depth) { outlive(at); }
  Frame* const end = frames() + depth;
  for (Frame* each = frames() + at; each != end; ++each) { each->become(each[1], at); }
  set_depth(depth - 1);
}

TAKT_COLD inline void Tree::open_role(Frame& frame, TreeKey key, std::uint64_t ns) noexcept {
  frame.id_flags.set(frame.id_flags.own() | Frame::kRole);
  Node* node = frame.node.own();
  if (node->role == Role::overflow) {
    count(LossKind::overflow, key);
  } else if (node->role == Role::epoch) {
    ++boundaries_;
  } else if (step_id_.own() == 0) {
    warm_.set(node->host.n() - node->away_calls.own() < warmup_batches_.own());
    step_ = Step{node, ns, ns, true, warm_.own(), frame.id()};
    step_id_.set(frame.id());
    set_special();
  }
}

/// \param timed false: the end is unknown, so a Batch makes no step.
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
  if (const unsigned at = level_of(id)) {
    taken = frames()[at];
    remove_frame(at);
    find_discarded();
    frames()[at - 1].child_ns.add(taken.child_ns.own());
    const bool step = step_id_.own() == id;
    close_role(taken.node.own(), taken.id(), taken.begin_ns.own(), false);
    if (overlapped_ && step) { outlive_step(); }
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

TAKT_COLD inline const Tree::Frame* Tree::find(std::uint32_t id) const noexcept {
  if (const unsigned at = level_of(id)) { return &frames()[at]; }
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

TAKT_COLD inline void Tree::drop_open() noexcept {
  while (depth() != 0) {
    Frame frame;
    detach(frames()[depth()].id(), frame);
    const std::uint64_t regions = frame.id() == Frame::kTooDeep ? deep_.count.own() : 1;
    count(LossKind::never_ended, frame.node.own()->key, regions);
    frame.node.own()->never_ended.add(regions);
    given_up_.add(1);
  }
  deep_.count.set(0);
  deep_.known.set(0);
  late_count_.set(0);
}

TAKT_COLD inline void Tree::leave_out(std::uint64_t ns, std::uint64_t now_ns) noexcept {
  const auto later = [&](std::uint64_t begin_ns) { return begin_ns + ns < now_ns ? begin_ns + ns : now_ns; };
  const auto move = [&](Frame& frame) {
    frame.begin_ns.set(later(frame.begin_ns.own()));
    // A region inside that ended meanwhile keeps only its remaining part here.
    const std::uint64_t length = now_ns - frame.begin_ns.own();
    if (frame.child_ns.own() > length) { frame.child_ns.set(length); }
  };
  for (unsigned at = depth(); at > 0; --at) { move(frames()[at]); }
  for (unsigned index = 0; index < late_count_.own(); ++index) { move(late_.own()[index]); }
  if (step_.open) { step_.begin_ns = later(step_.begin_ns); }
  frames()[0].child_ns.add(ns);  // the lowest frame: no region starts there
}

TAKT_COLD inline Node* Tree::add_here(TreeKey key, std::uint64_t length) noexcept {
  Node* node = place_for(key);
  if (node == &overflow_) { count(LossKind::overflow, key); }
  fold(node, length, length, position_);
  node->given_ns = bounded_sum(node->given_ns, length);
  return node;
}

}  // namespace detail
TAKT_END_NAMESPACE
