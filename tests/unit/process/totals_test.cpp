// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/snapshot_reader.hpp"

#include <takt/snapshot.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

using namespace takt::detail;

namespace {

constexpr TreeKey kOuter = 20;
constexpr TreeKey kInner = 21;

/// Records a region of kInner of `ns` inside one of kOuter.
void nest(Tree& tree, std::uint64_t ns) {
  tree.begin(kOuter, 1, 0);
  tree.begin(kInner, 2, 0);
  tree.end(2, ns);
  tree.end(1, ns);
}

}  // namespace

TEST_CASE("Totals: the same place on several threads is one path") {
  Tree first(kEpochKey, kBatchKey);
  Tree second(kEpochKey, kBatchKey);
  second.begin(kInner, 9, 0);  // so that its nodes are in another order
  second.end(9, 1);
  nest(first, 5);
  nest(second, 7);
  Totals totals;
  std::vector<std::uint32_t> of_first;
  std::vector<std::uint32_t> of_second;
  totals.number(first, of_first);
  totals.number(second, of_second);
  REQUIRE(of_first == std::vector<std::uint32_t>{0, 1});
  REQUIRE(of_second == std::vector<std::uint32_t>{2, 0, 1});
  REQUIRE(totals.path_of(second.node(2)) == 1);
  REQUIRE(totals.path_of(second.root()) == takt::kNoIndex);
  nest(second, 3);
  second.begin(kOuter, 9, 10);
  second.end(9, 11);
  totals.number(second, of_second);
  REQUIRE(of_second.size() == second.nodes());  // no new nodes, so no renumbering
}

TEST_CASE("Totals: adds up the values of ended threads") {
  Tree first(kEpochKey, kBatchKey);
  Tree second(kEpochKey, kBatchKey);
  nest(first, 5);
  nest(second, 7);
  Totals totals;
  std::uint32_t thread = 0;
  for (const Tree* each : {&first, &second}) {
    std::vector<std::uint32_t> paths;
    totals.number(*each, paths);
    totals.add(*each, paths, thread++);
  }
  REQUIRE(totals.tree().nodes() == 2);
  REQUIRE(totals.tree().node(1)->host.n() == 2);
  REQUIRE(totals.tree().node(1)->host.total_ns() == 12);
  REQUIRE(totals.spreads().size() == 2);
  REQUIRE(totals.spreads()[1].threads == 2);
  REQUIRE(totals.spreads()[1].longest == 1);
  REQUIRE(totals.spreads()[1].longest_ns == 7);
}

TEST_CASE("Totals: counts paths beyond the maximum in the overflow") {
  Tree tree(kEpochKey, kBatchKey);
  Totals totals;
  std::vector<std::uint32_t> paths;
  for (std::uint32_t key = 0; key < Tree::kMaxNodes; ++key) {
    tree.begin(1000 + key, 1, key);
    tree.end(1, key + 1);
  }
  totals.number(tree, paths);
  const std::uint32_t overflow = totals.overflow_path();
  REQUIRE(totals.tree().node(overflow)->key == kOverflowKey);
  Tree other(kEpochKey, kBatchKey);
  nest(other, 1);
  REQUIRE(totals.path_of(other.node(0)) == overflow);
  REQUIRE(totals.path_of(other.node(1)) != takt::kNoIndex);
}
