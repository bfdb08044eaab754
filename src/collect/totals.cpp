// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/totals.hpp"

#include <takt/snapshot.hpp>

#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint32_t Totals::path_of(const Node* node) {
  if (node->parent == nullptr) { return PathStats::kNoParent; }
  return path_below(path_of(node->parent), node->key);
}

std::uint32_t Totals::path_below(std::uint32_t parent, TreeKey key) {
  Node* const above = parent == PathStats::kNoParent ? tree_.root() : tree_.node(parent);
  const Node* const here = tree_.child(above, key);
  if (here != tree_.overflow()) { return here->index; }
  if (tree_.nodes() + 1 < Tree::kMaxNodes) { throw std::bad_alloc(); }
  return overflow_path();
}

std::uint32_t Totals::overflow_path() {
  const Node* const here = tree_.child(tree_.root(), kOverflowKey);
  if (here == tree_.overflow()) { throw std::bad_alloc(); }
  return here->index;
}

void Totals::number(const Tree& tree, std::vector<std::uint32_t>& paths) {
  while (paths.size() < tree.nodes()) {
    const Node* const node = tree.node(static_cast<std::uint32_t>(paths.size()));
    const std::uint32_t parent = node->parent->parent == nullptr ? PathStats::kNoParent : paths[node->parent->index];
    paths.push_back(path_below(parent, node->key));
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
