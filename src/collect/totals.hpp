// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The values of threads that have ended. The nodes of its tree number the paths of the process, so that every place at
/// which any thread records has a node here. One thread at a time (Registry's collect lock).
class Totals {
 public:
  Totals() noexcept : tree_(kEpochKey, kBatchKey) {}

  /// The path at which a node of any tree stands; PathStats::kNoParent for a root.
  /// \throws std::bad_alloc rather than that a path which has room ends up where those without go.
  std::uint32_t path_of(const Node* node);
  /// The path of all that has no place: the tree keeps one for it. \throws std::bad_alloc
  std::uint32_t overflow_path();
  /// Brings `paths`, by node of `tree`, up to the newest node. \throws std::bad_alloc
  void number(const Tree& tree, std::vector<std::uint32_t>& paths);
  /// Adds the values of a thread that has ended.
  void add(const Tree& tree) noexcept { tree_.merge(tree); }

  const Tree& tree() const noexcept { return tree_; }

 private:
  std::uint32_t path_below(std::uint32_t parent, TreeKey key);

  Tree tree_;
};

}  // namespace detail
TAKT_END_NAMESPACE
