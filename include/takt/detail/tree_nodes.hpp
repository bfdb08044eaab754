// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The nodes of Tree: how they are found, made, read and cleared. Out of line, as a region that is in its usual place
// needs none of it.

#include <takt/detail/tree.hpp>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

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

/// The overflow node where there is no room.
TAKT_COLD inline Node* Tree::make_child(Node* parent, TreeKey key) noexcept {
  const std::uint32_t index = node_count_.load(std::memory_order_relaxed);
  // The last place is kept for the overflow key: a tree that numbers the paths of many threads needs a path for it.
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

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
