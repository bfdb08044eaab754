// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What becomes of regions whose end does not come (docs/decisions/0022-forgotten-ends.md), and where regions begin
// while others are open that outlived what they began in. Everything here is rare, and depends only on what is open
// and on which paths there are, so that readers, which replay events on a copy, come to the same.

#include <takt/detail/tree.hpp>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The highest frame below `at` of `node`; 0: it is not open there.
inline unsigned Tree::open_below(unsigned at, const Node* node) const noexcept {
  while (--at > 0 && frames()[at].node.own() != node) {}
  return at;
}

inline bool Tree::is_inside(const Node* node, const Node* around) noexcept {
  while (node->parent != nullptr && node->parent != around) { node = node->parent; }
  return node->parent != nullptr;
}

inline unsigned Tree::step_frame() const noexcept {
  unsigned at = step_id_.own() == 0 ? 0 : depth();
  while (at > 0 && frames()[at].id() != step_id_.own()) { --at; }
  return at;
}

/// Whether something that the region began in, up to its Batch or Epoch, has ended.
TAKT_COLD inline bool Tree::is_orphan(unsigned at) const noexcept {
  for (const Node* node = frames()[at].node.own(); node->role == Role::plain; node = node->parent) {
    if (node->parent == nullptr || node->parent == &root_) { return false; }
    at = open_below(at, node->parent);
    if (at == 0) { return true; }
  }
  return false;
}

/// Whether all that the region began in is open, up to the frame `anchor`.
inline bool Tree::is_placed(unsigned at, unsigned anchor) const noexcept {
  while (at != 0 && at != anchor) {
    const Node* const node = frames()[at].node.own();
    if (node == &overflow_) { return !frames()[at].has(Frame::kLeft); }
    if (node->parent == &root_) { return true; }
    at = open_below(at, node->parent);
    if (at == 0) { return false; }
  }
  return true;
}

/// The frame in which a Batch or an Epoch belongs: the innermost one of which nothing around has ended. The open step
/// counts as one of these, unless its Epoch is over.
TAKT_COLD inline unsigned Tree::enclosing() const noexcept {
  unsigned anchor = step_frame();
  const Node* around = anchor == 0 ? &root_ : frames()[anchor].node.own()->parent;
  for (; around != &root_; around = around->parent) {
    if (around->role != Role::plain && open_below(anchor, around) == 0) {
      anchor = 0;
      break;
    }
  }
  unsigned at = depth();
  while (at > 0 && !is_placed(at, anchor)) { --at; }
  return at;
}

/// The innermost open region of which the Batch and the Epoch have not ended.
inline unsigned Tree::innermost_now() const noexcept {
  unsigned at = depth();
  while (at > 0 && frames()[at].has(Frame::kLeft)) { --at; }
  return at;
}

/// While regions are open that outlived what they began in. A Batch and an Epoch ignore them, so that a series of steps
/// stays one. For any other key, what has ended around the innermost region begins again at its own place, as regions
/// that overlap in turn would make a path without end; not out of a Batch, whose row has what is below it. What has a
/// place further out, and none inside a region that may have been forgotten, goes there.
TAKT_COLD inline Node* Tree::place_overlapped(TreeKey key) noexcept {
  if (!still_overlapped()) {
    overlapped_ = false;
    set_special();
    return below(innermost(), key);
  }
  if (key == batch_key_ || key == epoch_key_) { return below(frames()[enclosing()].node.own(), key); }
  unsigned at = innermost_now();
  Node* const inside = frames()[at].node.own();
  for (Node* node = inside; node->role == Role::plain && node != &root_; node = node->parent) {
    if (node->key == key && !is_open_at(node)) { return node; }
  }
  if (at == 0 || !is_orphan(at) || look_up(inside, key) != nullptr) { return below(inside, key); }
  while (at > 0 && (frames()[at].has(Frame::kLeft) || is_orphan(at))) { --at; }
  Node* const around = frames()[at].node.own();
  return below(look_up(around, key) != nullptr ? around : inside, key);
}

/// Where a path has as many keys as it may have, a key that stands in it already has its innermost place there.
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

/// What the begin of a region of `key` says of those that are open: gives up the ones whose end was forgotten.
TAKT_COLD inline void Tree::look_for_forgotten(TreeKey key) noexcept {
  if (depth() == 0) { return; }
  if (key == batch_key_) { return look_before_batch(); }
  if (key == epoch_key_) { return look_before_epoch(); }
  const unsigned at = innermost_now();
  const Node* const node = frames()[at].node.own();
  // Steps ran right inside it, and now it begins inside itself, as it never did.
  if (at == 0 || node->role != Role::plain || node->key != key || look_up(node, key) != nullptr) { return; }
  if (look_up(node, batch_key_) != nullptr || look_up(node, epoch_key_) != nullptr) { give_up(at); }
}

TAKT_COLD inline void Tree::look_before_batch() noexcept {
  const unsigned step = step_frame();
  if (step == 0) { return; }
  const Node* const outermost = frames()[step].node.own();
  const Node* const around = frames()[enclosing()].node.own();
  unsigned batches = 0;
  for (unsigned each = step; each <= depth(); ++each) {
    batches += frames()[each].node.own()->role == Role::batch ? 1 : 0;
  }
  const bool inside = around == &overflow_ || around == outermost || is_inside(around, outermost);
  bool forgotten = !inside || batches >= kMaxBatches;
  if (!forgotten && around != &overflow_ && look_up(around, batch_key_) == nullptr) {
    // All this has run before, without a Batch inside.
    const Node* node = around;
    while (node != outermost && node != &root_ && node->called.own() && !node->nests.own()) { node = node->parent; }
    forgotten = node == outermost && node->called.own() && !node->nests.own();
  }
  if (forgotten) { give_up_from(step); }
}

/// An Epoch begins inside one that has had its steps.
TAKT_COLD inline void Tree::look_before_epoch() noexcept {
  const unsigned at = enclosing();
  const Node* const around = frames()[at].node.own();
  if (around == &overflow_ || look_up(around, epoch_key_) != nullptr) { return; }
  unsigned epoch = at;
  while (epoch > 0 && frames()[epoch].node.own()->role != Role::epoch) { --epoch; }
  if (epoch == 0) { return; }
  const Node* const node = frames()[epoch].node.own();
  if ((node == around || is_inside(around, node)) && look_up(node, batch_key_) != nullptr) { give_up_from(epoch); }
}

/// A Batch or an Epoch has ended that stood at `at`. What is above it and began inside has outlived it; what is below
/// it and began inside an earlier call of it has now outlived a whole one more, and is forgotten. \param step it was
/// one.
TAKT_COLD inline void Tree::role_ended(const Node* node, unsigned at, bool step) noexcept {
  if (node == &overflow_) { return; }
  for (unsigned above = at; above <= depth(); ++above) {
    Frame& frame = frames()[above];
    const Node* began_in = frame.node.own();
    if (began_in == node) { break; }  // what is above that began in it
    while (began_in->role == Role::plain && began_in->parent != nullptr) { began_in = began_in->parent; }
    if (began_in == node || began_in == &overflow_) { frame.set(Frame::kLeft); }
  }
  for (unsigned under = at; under-- > 1;) {
    Frame& frame = frames()[under];
    const Node* const its = frame.node.own();
    bool forgotten = its == &overflow_ ? step && frame.has(Frame::kLeft) : is_inside(its, node);
    if (!forgotten && step && its->role == Role::plain && !frame.has(Frame::kLeft) && is_orphan(under)) {
      frame.id_flags.set(frame.id_flags.own() + Frame::kStep);
      forgotten = (frame.id_flags.own() / Frame::kStep) % 16 >= kPatientSteps;
    }
    if (forgotten) { give_up(under); }
  }
}

/// The region at `at`, and what began inside it.
inline void Tree::give_up_from(unsigned at) noexcept {
  const Node* const outermost = frames()[at].node.own();
  for (unsigned above = depth(); above > at; --above) {
    const Node* const node = frames()[above].node.own();
    if (node == &overflow_ || is_inside(node, outermost)) { give_up(above); }
  }
  give_up(at);
}

/// Takes a region off the stack whose end was forgotten, as if it had never been there for self time.
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
  close_role(node, frame.id(), frame.begin_ns.own(), false);
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

/// The end of a region that was given up comes after all: it counts, without self time, as it is not known when it was
/// the innermost one. nullptr if there is none of this id.
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
  count(LossKind::never_ended, node->key, ~std::uint64_t{0});  // one less: sums wrap as they should
  node->never_ended.add(~std::uint64_t{0});
  node->nests.set(true);
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
