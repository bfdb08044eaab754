// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/memory.hpp>
#include <takt/detail/node.hpp>
#include <takt/detail/size.hpp>

#include <cstdint>
#include <new>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The nodes of a tree by parent and key: open addressing, at most half full. One thread.
class NodeTable {
 public:
  NodeTable() noexcept = default;
  ~NodeTable() { delete[] place_; }
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;

  /// nullptr if there is none.
  TAKT_COLD Node* find(const Node* parent, TreeKey key) const noexcept {
    if (size_ == 0) { return nullptr; }
    for (std::size_t at = first_place(parent, key); place_[at] != nullptr; at = (at + 1) & (size_ - 1)) {
      if (place_[at]->parent == parent && place_[at]->key == key) { return place_[at]; }
    }
    return nullptr;
  }
  /// Makes room for so many nodes in all, of memory of `budget`. False, and nothing done, where there is none.
  TAKT_COLD bool reserve(std::uint32_t nodes, MemoryBudget* budget) noexcept {
    return nodes <= size_ / 2 || grow(size_ == 0 ? kFirstSize : size_ * 2, budget);
  }
  /// There must be room.
  void insert(Node* node) noexcept {
    std::size_t at = first_place(node->parent, node->key);
    while (place_[at] != nullptr) { at = (at + 1) & (size_ - 1); }
    place_[at] = node;
  }
  /// Forgets the nodes, and keeps the room.
  void clear() noexcept {
    for (std::size_t at = 0; at < size_; ++at) { place_[at] = nullptr; }
  }

 private:
  static constexpr std::size_t kFirstSize = 64;

  std::size_t first_place(const Node* parent, TreeKey key) const noexcept {
    const std::uint64_t mixed = (reinterpret_cast<std::uintptr_t>(parent) >> 6U) * 0x9E3779B97F4A7C15U + key;
    return static_cast<std::size_t>((mixed * 0xD6E8FEB86659FD93U) >> 32U) & (size_ - 1);
  }
  bool grow(std::size_t size, MemoryBudget* budget) noexcept {
    const std::size_t bytes = (size - size_) * sizeof(Node*);
    if (budget != nullptr && !budget->take(bytes)) { return false; }
    auto** const place = new (std::nothrow) Node*[size]();
    if (place == nullptr) {
      if (budget != nullptr) { budget->give(bytes); }
      return false;
    }
    Node** const old = place_;
    const std::size_t old_size = size_;
    place_ = place;
    size_ = size;
    for (std::size_t at = 0; at < old_size; ++at) {
      if (old[at] != nullptr) { insert(old[at]); }
    }
    delete[] old;
    return true;
  }

  Node** place_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
