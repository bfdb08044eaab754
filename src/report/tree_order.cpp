// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/tree_order.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<std::uint32_t> tree_order(const Snapshot& snapshot) {
  const auto paths = static_cast<std::uint32_t>(snapshot.paths.size());
  std::vector<std::vector<std::uint32_t>> children(paths + 1U);  // the last one: of the run
  for (std::uint32_t path = paths; path-- > 0;) {
    children[std::min(snapshot.paths[path].parent, paths)].push_back(path);
  }
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> waiting = children[paths];
  while (!waiting.empty()) {
    const std::uint32_t path = waiting.back();
    waiting.pop_back();
    order.push_back(path);
    waiting.insert(waiting.end(), children[path].begin(), children[path].end());
  }
  return order;
}

}  // namespace detail
TAKT_END_NAMESPACE
