// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Regions that outlive what they began in (docs/decisions/0049-the-innermost-one.md). A Scope in a block never does.
// Everything here depends only on what is open, so that readers, which replay events on a copy, come to the same.

#include <takt/detail/tree.hpp>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The region at `at` ends while others are above it, or some are left. What is open inside it is left: nothing begins
/// in it any more. A Batch and an Epoch, with all that is inside, are left only by a Batch or an Epoch that ends around
/// them. The frames that are not left are right inside each other, so that all of them above `at` are inside.
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
  innermost_ -= innermost_ > at ? 1 : 0;  // the frames above come down by one
  overlapped_ = left_ != 0;
  set_special();
  if (lost_step != nullptr) { close_role(lost_step, step_id_.own(), ended.begin_ns.own(), false); }
}

/// A step has ended. What was left before the one before it had ended is given up: its end may have been forgotten.
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

/// Takes a region off the stack, as if it had never been there for self time.
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
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
