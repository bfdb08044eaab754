// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Cases worked out by hand. Random sequences are in oracle_test.cpp.
#include "record/tree_state.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

using namespace takt::detail;

namespace {

constexpr TreeKey kA = 10, kB = 11, kC = 12;

/// Adds a region without children, as Fold does.
void leaf(Tree& tree, TreeKey key, std::uint32_t id, std::uint64_t begin_ns, std::uint64_t end_ns,
          std::uint64_t position) {
  const Tree::Leaf usual = tree.usual_leaf(key);
  if (usual.node != nullptr) {
    tree.fold_leaf(usual, end_ns - begin_ns, position);
  } else {
    tree.begin(key, id, begin_ns);
    tree.end(id, end_ns, position);
  }
}

/// Returns the node below the root by keys, or nullptr.
const Node* find(const Tree& tree, std::initializer_list<TreeKey> path) {
  const Node* found = nullptr;
  for (const TreeKey key : path) {
    const Node* next = nullptr;
    for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
      const Node* node = tree.node(index);
      const bool below = found == nullptr ? node->parent->parent == nullptr : node->parent == found;
      if (below && node->key == key) { next = node; }
    }
    if (next == nullptr) { return nullptr; }
    found = next;
  }
  return found;
}

std::uint64_t count_of(const Tree& tree, LossKind kind, TreeKey key) {
  std::uint64_t sum = 0;
  for (unsigned slot = 0; slot < tree.losses().size(); ++slot) {
    if (tree.losses()[slot].kind.get() == kind && tree.losses()[slot].key.get() == key) {
      sum += tree.losses()[slot].count.get();
    }
  }
  return sum;
}

std::uint64_t count_of(const Tree& tree, LossKind kind) {
  std::uint64_t sum = 0;
  for (unsigned slot = 0; slot < tree.losses().size(); ++slot) {
    if (tree.losses()[slot].kind.get() == kind) { sum += tree.losses()[slot].count.get(); }
  }
  return sum;
}

std::uint64_t self_of_all(const Tree& tree) {
  std::uint64_t sum = tree.overflow()->self_ns();
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) { sum += tree.node(index)->self_ns(); }
  return sum;
}

struct TreeTest {
  explicit TreeTest(MemoryBudget* budget = nullptr) : tree(kEpochKey, kBatchKey, budget) {}
  Tree tree;

  /// Adds one Batch of 10 ns with a region of 3 ns.
  void batch(std::uint64_t at) {
    tree.begin(kBatchKey, 1, at);
    tree.begin(kA, 2, at + 1);
    tree.end(2, at + 4);
    tree.end(1, at + 10);
  }
};

/// A tree without memory for more than 64 frames.
struct SmallBudget {
  MemoryBudget budget{100'000};
};
struct SmallTreeTest : SmallBudget, TreeTest {
  SmallTreeTest() : TreeTest(&budget) {}
};

}  // namespace

TEST_CASE_METHOD(TreeTest, "Tree: a region has its full length, and the time not in children as self time") {
  tree.begin(kA, 1, 100);
  tree.begin(kB, 2, 110);
  tree.begin(kC, 3, 115);
  tree.end(3, 120);
  tree.end(2, 130);
  tree.begin(kB, 4, 140);
  tree.end(4, 145);
  tree.end(1, 200);
  REQUIRE(find(tree, {kA})->host.total_ns() == 100);
  REQUIRE(find(tree, {kA})->self_ns() == 75);
  REQUIRE(find(tree, {kA, kB})->host.n() == 2);
  REQUIRE(find(tree, {kA, kB})->host.total_ns() == 25);
  REQUIRE(find(tree, {kA, kB})->self_ns() == 20);
  REQUIRE(find(tree, {kA, kB, kC})->self_ns() == 5);
  REQUIRE(tree.covered_ns() == 100);
  REQUIRE(tree.nodes() == 3);
}

TEST_CASE_METHOD(TreeTest, "Tree: a key inside itself is another path") {
  tree.begin(kA, 1, 0);
  tree.begin(kA, 2, 10);
  tree.end(2, 30);
  tree.end(1, 40);
  REQUIRE(find(tree, {kA})->host.total_ns() == 40);
  REQUIRE(find(tree, {kA})->self_ns() == 20);
  REQUIRE(find(tree, {kA, kA})->host.total_ns() == 20);
}

TEST_CASE_METHOD(TreeTest, "Tree: after an out-of-order end, self time belongs to the innermost open region") {
  tree.begin(kA, 1, 0);
  tree.begin(kB, 2, 10);
  tree.end(1, 20);  // B continues alone
  tree.begin(kC, 3, 25);
  tree.end(3, 27);
  tree.end(2, 30);
  REQUIRE(find(tree, {kA})->host.total_ns() == 20);
  REQUIRE(find(tree, {kA})->self_ns() == 10);
  REQUIRE(find(tree, {kA, kB})->host.total_ns() == 20);
  REQUIRE(find(tree, {kA, kB})->self_ns() == 18);
  REQUIRE(find(tree, {kC})->self_ns() == 2);  // a region around B has ended, so nothing nests in B
  REQUIRE(tree.covered_ns() == 30);
}

TEST_CASE_METHOD(TreeTest, "Tree: an end without a start changes nothing") {
  tree.begin(kA, 1, 0);
  REQUIRE(tree.end(7, 5) == nullptr);
  REQUIRE(tree.depth() == 1);
  tree.end(1, 10);
  REQUIRE(tree.end(1, 20) == nullptr);
  REQUIRE(find(tree, {kA})->host.n() == 1);
  REQUIRE(tree.covered_ns() == 10);
}

TEST_CASE_METHOD(TreeTest, "Tree: fold_leaf() equals begin() and end() for a region without children") {
  Tree other{kEpochKey, kBatchKey};
  takt_test::Random random(3);
  std::uint64_t now = 0;
  for (std::uint32_t round = 0; round < 3000; ++round) {
    const TreeKey key = random.chance(10) ? kBatchKey : random.chance(10) ? kEpochKey : kA + random.below(3);
    const std::uint64_t begin = now += random.below(50);
    const std::uint64_t end = now += random.below(50);
    const bool is_leaf = random.chance(70);
    for (Tree* each : {&tree, &other}) {
      if (!is_leaf) {
        if (each->depth() < 4) {
          each->begin(key, round + 1, begin);
        } else {
          each->end(each->frame(3).id(), end);
        }
      } else if (each == &tree) {
        leaf(*each, key, round + 1, begin, end, round);
      } else {
        each->begin(key, round + 1, begin);
        each->end(round + 1, end, round);
      }
    }
  }
  REQUIRE(tree.nodes() > 30);
  REQUIRE(tree.nodes() == other.nodes());
  REQUIRE(tree.covered_ns() == other.covered_ns());
  REQUIRE(tree.boundaries() == other.boundaries());
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
    REQUIRE(tree.node(index)->key == other.node(index)->key);
    REQUIRE(tree.node(index)->host.n() == other.node(index)->host.n());
    REQUIRE(tree.node(index)->host.total_ns() == other.node(index)->host.total_ns());
    REQUIRE(tree.node(index)->host.warmup_n() == other.node(index)->host.warmup_n());
    REQUIRE(tree.node(index)->self_ns() == other.node(index)->self_ns());
  }
}

TEST_CASE_METHOD(TreeTest, "Tree: 3 968 regions may be open, in paths of 64 keys") {
  for (std::uint32_t level = 0; level < Tree::kMaxOpen; ++level) {
    tree.begin(level % 2 == 0 ? kA : kB, level + 1, level);
  }
  REQUIRE(tree.depth() == Tree::kMaxOpen);
  REQUIRE(tree.nodes() == 64);
  REQUIRE(tree.too_deep() == 0);
  for (std::uint32_t level = 0; level < Tree::kMaxOpen; level += 2) { REQUIRE(tree.end(level + 1, 5000) != nullptr); }
  for (std::uint32_t level = 1; level < Tree::kMaxOpen; level += 2) { REQUIRE(tree.end(level + 1, 6000) != nullptr); }
  REQUIRE(tree.depth() == 0);
  REQUIRE(tree.overflow()->host.n() == 0);
  REQUIRE(tree.losses().size() == 0);
  REQUIRE(self_of_all(tree) == 6000);
  REQUIRE(tree.covered_ns() == 6000);
  std::uint64_t calls = 0;
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) { calls += tree.node(index)->host.n(); }
  REQUIRE(calls == Tree::kMaxOpen);
}

TEST_CASE_METHOD(TreeTest, "Tree: beyond 64 keys in a path a new key is counted in the overflow") {
  for (std::uint32_t level = 0; level < 64; ++level) { tree.begin(kA, level + 1, level); }
  tree.begin(kB, 65, 64);
  REQUIRE(tree.end(65, 70) == tree.overflow());
  REQUIRE(count_of(tree, LossKind::overflow, kB) == 1);
}

TEST_CASE_METHOD(SmallTreeTest,
                 "Tree: without memory regions deeper than 64 are counted as one call in the overflow, by key") {
  for (std::uint32_t level = 0; level < 64; ++level) { tree.begin(kA, level + 1, level); }
  tree.begin(kB, 100, 64);
  leaf(tree, kC, 101, 66, 67, 0);
  tree.begin(kC, 102, 68);
  REQUIRE(tree.end(102, 70) == tree.overflow());
  REQUIRE(tree.end(100, 74) == tree.overflow());
  for (std::uint32_t level = 64; level-- > 0;) { REQUIRE(tree.end(level + 1, 200) != nullptr); }
  REQUIRE(tree.depth() == 0);
  REQUIRE(tree.overflow()->host.n() == 1);
  REQUIRE(tree.overflow()->host.total_ns() == 10);
  REQUIRE(tree.overflow()->self_ns() == 10);
  REQUIRE(count_of(tree, LossKind::overflow, kB) == 1);
  REQUIRE(count_of(tree, LossKind::overflow, kC) == 2);
  REQUIRE(tree.nodes() == 64);
  REQUIRE(self_of_all(tree) == 200);
  REQUIRE(tree.covered_ns() == 200);
  tree.begin(kB, 300, 300);
  REQUIRE(tree.end(300, 301) == find(tree, {kB}));
}

TEST_CASE_METHOD(SmallTreeTest, "Tree: self times add up if regions end below one that is too deep") {
  for (std::uint32_t level = 0; level < 64; ++level) { tree.begin(kA, level + 1, 0); }
  tree.begin(kB, 100, 100);  // too deep
  tree.end(64, 200);         // leaves it open
  tree.begin(kC, 101, 300);  // there is space again, above the one that is too deep
  tree.end(100, 400);
  tree.end(101, 500);
  for (std::uint32_t level = 63; level-- > 0;) { tree.end(level + 1, 600); }
  REQUIRE(self_of_all(tree) == 600);
  REQUIRE(tree.covered_ns() == 600);
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) { REQUIRE(tree.node(index)->self_ns() <= 600); }
  REQUIRE(tree.overflow()->self_ns() == 400);
}

TEST_CASE_METHOD(SmallTreeTest,
                 "Tree: knows the ids of 64 regions too deep, and an unmatched end belongs to the others") {
  for (std::uint32_t level = 0; level < 64 + 64; ++level) { tree.begin(kA, level + 1, level); }
  REQUIRE(tree.too_deep() == 64);
  REQUIRE(tree.end(999, 200) == nullptr);
  REQUIRE(tree.is_open(100));
  REQUIRE(tree.end(100, 200) == tree.overflow());
  REQUIRE(!tree.is_open(100));
  REQUIRE(tree.end(100, 201) == nullptr);
  for (std::uint32_t more = 0; more < 3; ++more) { tree.begin(kA, 500 + more, 210); }
  REQUIRE(tree.too_deep() == 66);
  REQUIRE(tree.end(501, 220) == tree.overflow());
  REQUIRE(tree.end(502, 220) == tree.overflow());
  REQUIRE(tree.end(502, 221) == nullptr);
  REQUIRE(tree.end(500, 222) == tree.overflow());
  for (std::uint32_t level = 128; level-- > 0;) {
    if (level + 1 != 100) { REQUIRE(tree.end(level + 1, 300) != nullptr); }
  }
  REQUIRE(tree.depth() == 0);
  REQUIRE(self_of_all(tree) == 300);
}

TEST_CASE_METHOD(TreeTest, "Tree: counts regions beyond 4 095 paths in the overflow and continues") {
  for (TreeKey key = 0; key < 5000; ++key) {
    tree.begin(100 + key, 1, 10 * key);
    tree.begin(kA, 2, 10 * key + 1);
    tree.end(2, 10 * key + 2);
    tree.end(1, 10 * key + 5);
  }
  REQUIRE(tree.nodes() == 4095);
  REQUIRE(find(tree, {100 + 2046, kA})->host.n() == 1);
  REQUIRE(find(tree, {100 + 2047})->host.n() == 1);
  REQUIRE(find(tree, {100 + 2048}) == nullptr);
  // The child of the last one, then 2,952 regions with a child each.
  REQUIRE(tree.overflow()->host.n() == 1 + 2 * 2952);
  REQUIRE(tree.overflow()->host.total_ns() == 1 + 2952 * (5 + 1));
  REQUIRE(tree.overflow()->self_ns() == 1 + 2952 * 5);
  REQUIRE(count_of(tree, LossKind::overflow) == 1 + 2 * 2952);
  REQUIRE(tree.covered_ns() == 25'000);
  REQUIRE(self_of_all(tree) == 25'000);
  tree.begin(100, 1, 60'000);
  REQUIRE(tree.end(1, 60'001) == find(tree, {100}));
  REQUIRE(find(tree, {100})->host.n() == 2);
}

TEST_CASE_METHOD(TreeTest, "Tree: reserves the last path for the overflow key below the root") {
  const TreeKey overflow = kOverflowKey;
  for (TreeKey key = 0; key < 5000; ++key) { tree.child(tree.root(), 100 + key); }
  REQUIRE(tree.child(tree.child(tree.root(), 100), overflow) == tree.overflow());
  Node* kept = tree.child(tree.root(), overflow);
  REQUIRE(kept != tree.overflow());
  REQUIRE(kept->index == 4095);
  REQUIRE(tree.child(tree.root(), overflow) == kept);
  REQUIRE(tree.child(kept, kA) == tree.overflow());
}

TEST_CASE_METHOD(TreeTest, "Tree: regions that overlap alternately do not grow a path without limit") {
  const auto in_turn = [this](TreeKey key) {
    tree.begin(key, 1, 0);
    for (std::uint32_t round = 2; round < 5000; ++round) {
      tree.begin(key, round, round);
      tree.end(round - 1, round);
    }
  };
  SECTION("an ended region starts again at its place") {
    in_turn(kA);
    REQUIRE(tree.nodes() == 2);
    REQUIRE(find(tree, {kA})->host.n() + find(tree, {kA, kA})->host.n() == 4998);
    REQUIRE(count_of(tree, LossKind::overflow) == 0);
  }
  SECTION("every second Batch is a step") {
    in_turn(kBatchKey);
    REQUIRE(tree.nodes() == 2);
    REQUIRE(find(tree, {kBatchKey})->host.n() + find(tree, {kBatchKey, kBatchKey})->host.n() == 4998);
    REQUIRE(tree.losses().size() == 0);
  }
}

TEST_CASE_METHOD(TreeTest, "Tree: a region nests in the innermost one that has not outlived its enclosing region") {
  tree.begin(kA, 1, 0);
  tree.begin(kB, 2, 1);
  tree.begin(kC, 3, 2);
  tree.end(2, 3);  // C continues, but nothing nests in it
  leaf(tree, kB, 4, 4, 5, 0);
  tree.begin(kC, 5, 6);
  leaf(tree, kB, 6, 7, 8, 0);
  tree.end(1, 9);  // also around the second C
  leaf(tree, kB, 7, 10, 11, 0);
  tree.end(3, 12);
  leaf(tree, kB, 8, 13, 14, 0);
  tree.end(5, 15);
  REQUIRE(tree.depth() == 0);
  REQUIRE(tree.nodes() == 6);
  REQUIRE(find(tree, {kA})->host.n() == 1);
  REQUIRE(find(tree, {kA, kC, kB})->host.n() == 1);
  REQUIRE(find(tree, {kA, kB})->host.n() == 2);
  REQUIRE(find(tree, {kA, kB, kC})->host.n() == 1);
  REQUIRE(find(tree, {kA, kC})->host.n() == 1);
  REQUIRE(find(tree, {kB})->host.n() == 2);
}

TEST_CASE_METHOD(TreeTest, "Tree: a step continues when an enclosing region ends, and still encloses later ones") {
  tree.begin(kA, 1, 0);
  tree.begin(kB, 2, 1);
  tree.begin(kBatchKey, 3, 2);
  tree.begin(kC, 4, 3);
  tree.end(1, 4);
  leaf(tree, kA, 5, 5, 6, 0);
  tree.end(4, 7);
  leaf(tree, kA, 6, 8, 9, 0);
  tree.end(3, 10);
  REQUIRE(!tree.step().open);
  REQUIRE(tree.step().end_ns == 10);
  leaf(tree, kC, 7, 11, 12, 0);
  tree.end(2, 13);
  REQUIRE(tree.depth() == 0);
  REQUIRE(find(tree, {kA, kB, kBatchKey, kC, kA})->host.n() == 1);
  REQUIRE(find(tree, {kA, kB, kBatchKey, kA})->host.n() == 1);
  REQUIRE(find(tree, {kC})->host.n() == 1);
}

TEST_CASE_METHOD(TreeTest, "Tree: three regions that overlap alternately keep three places") {
  for (std::uint32_t round = 1; round < 3000; ++round) {
    tree.begin(kA + round % 3, round, round);
    if (round > 2) { tree.end(round - 2, round); }
  }
  REQUIRE(tree.nodes() <= 9);
  REQUIRE(tree.losses().size() == 0);
}

TEST_CASE_METHOD(TreeTest, "Tree: the first ten Batches of a path and the regions inside them are warm-up") {
  for (std::uint64_t step = 0; step < 13; ++step) { batch(100 * step); }
  const takt::Summary& batches = find(tree, {kBatchKey})->host;
  REQUIRE(batches.n() == 13);
  REQUIRE(batches.warmup_n() == 10);
  REQUIRE(batches.total_ns() == 130);
  REQUIRE(batches.measured_total_ns() == 30);
  const takt::Summary& inside = find(tree, {kBatchKey, kA})->host;
  REQUIRE(inside.warmup_n() == 10);
  REQUIRE(inside.measured_total_ns() == 9);
  REQUIRE(inside.first_n() == 1);
  tree.begin(kB, 1, 5000);
  batch(5001);  // another path of Batches has its own warm-up
  tree.end(1, 5012);
  REQUIRE(find(tree, {kB, kBatchKey})->host.warmup_n() == 1);
  REQUIRE(find(tree, {kB})->host.warmup_n() == 0);
}

TEST_CASE_METHOD(TreeTest, "Tree: the length of warm-up can be set, even to zero") {
  tree.set_warmup(0);
  batch(0);
  REQUIRE(find(tree, {kBatchKey})->host.warmup_n() == 0);
  Tree two{kEpochKey, kBatchKey};
  two.set_warmup(2);
  for (std::uint32_t step = 0; step < 3; ++step) { leaf(two, kBatchKey, 1, step, step, 0); }
  REQUIRE(find(two, {kBatchKey})->host.warmup_n() == 2);
}

TEST_CASE_METHOD(TreeTest, "Tree: a step is the outermost Batch") {
  tree.begin(kBatchKey, 1, 10);
  REQUIRE(tree.step().open);
  tree.begin(kBatchKey, 2, 20);
  tree.end(2, 30);
  REQUIRE(tree.step().open);
  REQUIRE(tree.step().node == find(tree, {kBatchKey}));
  tree.end(1, 40);
  REQUIRE(!tree.step().open);
  REQUIRE(tree.step().begin_ns == 10);
  REQUIRE(tree.step().end_ns == 40);
  REQUIRE(tree.step().warmup);
}

TEST_CASE_METHOD(TreeTest, "Tree: a step ends with its own Batch, even if one that started inside is open") {
  tree.set_warmup(1);
  tree.begin(kBatchKey, 1, 10);
  tree.begin(kBatchKey, 2, 20);
  tree.end(1, 30);
  REQUIRE(!tree.step().open);
  REQUIRE(tree.step().node == find(tree, {kBatchKey}));
  REQUIRE(tree.step().end_ns == 30);
  leaf(tree, kA, 3, 31, 32, 0);  // warm-up ends with the step
  REQUIRE(find(tree, {kA})->host.warmup_n() == 0);
  tree.end(2, 40);
  REQUIRE(tree.step().end_ns == 30);
  tree.begin(kBatchKey, 5, 50);
  REQUIRE(tree.step().open);
}

TEST_CASE_METHOD(TreeTest, "Tree: a Batch that outlives its enclosing region is not a step") {
  tree.begin(kEpochKey, 1, 0);
  tree.begin(kBatchKey, 2, 10);
  tree.end(1, 20);
  REQUIRE(tree.has_lost_step());
  REQUIRE(tree.take_lost_step() == find(tree, {kEpochKey, kBatchKey}));
  tree.begin(kBatchKey, 3, 30);
  REQUIRE(tree.step().open);
  REQUIRE(tree.step().node == find(tree, {kBatchKey}));
  tree.end(2, 40);
  REQUIRE(tree.step().open);
  tree.end(3, 50);
  REQUIRE(tree.step().begin_ns == 30);
  REQUIRE(tree.step().end_ns == 50);
  REQUIRE(find(tree, {kEpochKey, kBatchKey})->host.n() == 1);
}

TEST_CASE_METHOD(TreeTest, "Tree: the start and end of an Epoch at any path are boundaries") {
  tree.begin(kEpochKey, 1, 0);
  REQUIRE(tree.boundaries() == 1);
  batch(10);
  REQUIRE(tree.boundaries() == 1);
  tree.end(1, 50);
  REQUIRE(tree.boundaries() == 2);
}

TEST_CASE_METHOD(TreeTest, "Tree: a detached region leaves its time to its parent and keeps its children's") {
  tree.begin(kA, 1, 0);
  tree.begin(kB, 2, 10);
  leaf(tree, kC, 3, 15, 18, 0);
  Tree::Frame taken;
  REQUIRE(tree.detach(2, taken));
  REQUIRE(taken.begin_ns.get() == 10);
  REQUIRE(!tree.detach(2, taken));
  tree.end(1, 30);
  REQUIRE(find(tree, {kA})->self_ns() == 27);
  REQUIRE(find(tree, {kA, kB})->host.n() == 0);
  REQUIRE(find(tree, {kA, kB, kC})->self_ns() == 3);
  REQUIRE(tree.covered_ns() == 30);
}

TEST_CASE_METHOD(TreeTest, "Tree: a detached Batch is a lost step") {
  tree.begin(kBatchKey, 1, 0);
  REQUIRE(!tree.has_lost_step());
  Tree::Frame taken;
  tree.detach(1, taken);
  REQUIRE(tree.has_lost_step());
  REQUIRE(tree.take_lost_step() == find(tree, {kBatchKey}));
  REQUIRE(!tree.has_lost_step());
  REQUIRE(tree.step().node == nullptr);
  leaf(tree, kA, 2, 1, 2, 0);
  REQUIRE(find(tree, {kA})->host.warmup_n() == 0);
}

TEST_CASE_METHOD(SmallTreeTest, "Tree: regions too deep can be detached") {
  for (std::uint32_t level = 0; level < 66; ++level) { tree.begin(kA, level + 1, level); }
  Tree::Frame taken;
  REQUIRE(tree.detach(66, taken));
  REQUIRE(tree.depth() == 65);
  REQUIRE(tree.detach(65, taken));
  REQUIRE(tree.depth() == 64);
  REQUIRE(!tree.detach(65, taken));
  for (std::uint32_t level = 64; level-- > 0;) { tree.end(level + 1, 100); }
  REQUIRE(self_of_all(tree) == 100);
  REQUIRE(tree.overflow()->host.n() == 0);
}

TEST_CASE_METHOD(TreeTest, "Tree: counts discarded regions without timing them, and times later ones") {
  tree.begin(kA, 1, 0);
  tree.begin(kB, 2, 10);
  tree.discard_open();
  REQUIRE(tree.has_discarded());
  REQUIRE(tree.is_discarded(2));
  tree.begin(kC, 3, 1000);
  REQUIRE(!tree.is_discarded(3));
  tree.end(3, 1005);
  tree.end(2, 1010);
  REQUIRE(tree.has_discarded());
  tree.end(1, 1020);
  REQUIRE(!tree.has_discarded());
  REQUIRE(find(tree, {kA})->host.n() == 0);
  REQUIRE(find(tree, {kA, kB, kC})->host.total_ns() == 5);
  REQUIRE(count_of(tree, LossKind::clock_changed, kA) == 1);
  REQUIRE(count_of(tree, LossKind::clock_changed, kB) == 1);
}

TEST_CASE_METHOD(TreeTest, "Tree: records everything in the overflow without memory") {
  MemoryBudget nothing(0);
  Tree small{kEpochKey, kBatchKey, &nothing};
  for (std::uint32_t round = 0; round < 10; ++round) {
    small.begin(kA, 1, 10 * round);
    leaf(small, kB, 2, 10 * round + 1, 10 * round + 3, 0);
    small.end(1, 10 * round + 5);
  }
  REQUIRE(small.nodes() == 0);
  REQUIRE(small.overflow()->host.n() == 20);
  REQUIRE(small.overflow()->host.total_ns() == 70);
  REQUIRE(small.overflow()->host.histogram().unbinned() == 20);
  REQUIRE(count_of(small, LossKind::overflow, kA) == 10);
  REQUIRE(count_of(small, LossKind::overflow, kB) == 10);
  REQUIRE(nothing.used() == 0);
}

TEST_CASE_METHOD(TreeTest, "Tree: loss totals are exact even with more keys than can be named") {
  for (TreeKey key = 1; key <= 100; ++key) {
    tree.count(LossKind::overflow, key);
    tree.count(LossKind::bad_amount, key, 2);
  }
  for (int kind = 0; kind < kLossKinds; ++kind) { tree.count(static_cast<LossKind>(kind), 999); }
  REQUIRE(count_of(tree, LossKind::overflow) == 101);
  REQUIRE(count_of(tree, LossKind::bad_amount) == 201);
  REQUIRE(count_of(tree, LossKind::overflow, 1) == 1);
  REQUIRE(count_of(tree, LossKind::device_failed) == 1);
  REQUIRE(tree.losses().size() <= 64);
  unsigned named = 0;
  for (unsigned slot = 0; slot < tree.losses().size(); ++slot) { named += tree.losses()[slot].key.get() != 0 ? 1 : 0; }
  REQUIRE(named == 50);  // as docs/concepts.md says
}

TEST_CASE_METHOD(TreeTest, "Tree: merging adds up equal paths") {
  Tree other{kEpochKey, kBatchKey};
  leaf(other, kB, 1, 0, 7, 0);
  other.begin(kA, 1, 10);
  leaf(other, kB, 2, 11, 14, 0);
  other.end(1, 20);
  other.node(1)->items.add(5);
  other.device_of(other.node(1))->add_first(44);
  other.count(LossKind::bad_amount, kB, 3);
  tree.begin(kA, 1, 0);
  leaf(tree, kB, 2, 1, 2, 0);
  tree.end(1, 5);
  tree.merge(other);
  tree.merge(other);
  REQUIRE(find(tree, {kA})->host.n() == 3);
  REQUIRE(find(tree, {kA})->host.total_ns() == 25);
  REQUIRE(find(tree, {kA})->self_ns() == 4 + 7 + 7);
  REQUIRE(find(tree, {kA})->items.get() == 10);
  REQUIRE(find(tree, {kA})->device.load()->total_ns() == 88);
  REQUIRE(find(tree, {kA, kB})->host.n() == 3);
  REQUIRE(find(tree, {kB})->host.total_ns() == 14);
  REQUIRE(count_of(tree, LossKind::bad_amount, kB) == 6);
  REQUIRE(tree.covered_ns() == 5 + 2 * 17);
}

TEST_CASE_METHOD(SmallTreeTest, "Tree: counts stream spans as lost if a sum or a copy has no memory for them") {
  Tree other{kEpochKey, kBatchKey};
  leaf(other, kA, 1, 0, 7, 0);
  other.device_of(other.node(0))->add_first(44);
  other.device_of(other.node(0))->add(45);
  leaf(tree, kA, 1, 0, 7, 0);
  budget.set_limit(0);
  tree.merge(other);
  REQUIRE(find(tree, {kA})->host.n() == 2);
  REQUIRE(find(tree, {kA})->device.load() == nullptr);
  REQUIRE(find(tree, {kA})->device_lost.get() == 2);
  REQUIRE(count_of(tree, LossKind::device_failed, kA) == 2);
  const auto state = std::make_unique<Tree::State>();
  other.save(*state);
  bool lacked = false;
  for (std::size_t limit = 0; limit < 100'000; limit += 64) {
    MemoryBudget some(limit);
    Tree copy{kEpochKey, kBatchKey, &some};
    copy.copy_for_replay(other, *state);
    const Node* const node = find(copy, {kA});
    if (node == nullptr) { continue; }
    const takt::Summary* const device = node->device.load();
    REQUIRE((device == nullptr ? 0 : device->n()) + node->device_lost.get() == 2);
    lacked = lacked || device == nullptr;
  }
  REQUIRE(lacked);
}

TEST_CASE_METHOD(TreeTest, "Tree: counts paths without space in a sum of trees once, in its overflow") {
  for (TreeKey key = 0; key < 4095; ++key) { tree.child(tree.root(), 100 + key); }
  Tree other{kEpochKey, kBatchKey};
  leaf(other, kA, 1, 0, 7, 0);
  tree.merge(other);
  REQUIRE(tree.overflow()->host.total_ns() == 7);
  REQUIRE(count_of(tree, LossKind::overflow, kA) == 1);
}

TEST_CASE_METHOD(TreeTest, "Tree: clear_values() keeps only the paths") {
  batch(0);
  leaf(tree, kA, 1, 20, 30, 0);
  tree.count(LossKind::overflow, kA);
  tree.device_of(tree.node(0))->add(1);
  tree.clear_values();
  REQUIRE(tree.nodes() == 3);
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
    REQUIRE(tree.node(index)->host.n() == 0);
    REQUIRE(tree.node(index)->self_ns() == 0);
  }
  REQUIRE(tree.node(0)->device.load()->n() == 0);
  REQUIRE(tree.losses().size() == 0);
  REQUIRE(tree.covered_ns() == 0);
  REQUIRE(tree.step().node == nullptr);
  batch(100);
  REQUIRE(find(tree, {kBatchKey})->host.warmup_n() == 1);
  REQUIRE(find(tree, {kBatchKey})->host.first_n() == 1);
}

TEST_CASE_METHOD(SmallTreeTest, "Tree: counts dropped regions by key, except those too deep") {
  for (std::uint32_t level = 0; level < 67; ++level) { tree.begin(level % 2 == 0 ? kA : kB, level + 1, level); }
  tree.drop_open();
  REQUIRE(tree.depth() == 0);
  REQUIRE(tree.too_deep() == 0);
  REQUIRE(count_of(tree, LossKind::never_ended, kA) == 32);
  REQUIRE(count_of(tree, LossKind::never_ended, kB) == 32);
  REQUIRE(count_of(tree, LossKind::never_ended) == 67);
  REQUIRE(tree.covered_ns() == 0);
}

TEST_CASE_METHOD(TreeTest, "Tree: a copy continues as the tree does") {
  const auto replay = [this](auto events) {
    auto state = std::make_unique<Tree::State>();
    tree.save(*state);
    Tree copy{kEpochKey, kBatchKey};
    copy.copy_for_replay(tree, *state);
    copy.set_position(1000);
    events(copy);
    events(tree);
    REQUIRE(copy.nodes() == tree.nodes());
    REQUIRE(copy.covered_ns() == tree.covered_ns());
    for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
      INFO("path " << index);
      REQUIRE(copy.node(index)->host.n() == tree.node(index)->host.n());
      REQUIRE(copy.node(index)->host.total_ns() == tree.node(index)->host.total_ns());
      REQUIRE(copy.node(index)->host.warmup_n() == tree.node(index)->host.warmup_n());
      REQUIRE(copy.node(index)->self_ns() == tree.node(index)->self_ns());
    }
    REQUIRE(copy.overflow()->host.total_ns() == tree.overflow()->host.total_ns());
    for (int kind = 0; kind < kLossKinds; ++kind) {
      REQUIRE(count_of(copy, static_cast<LossKind>(kind)) == count_of(tree, static_cast<LossKind>(kind)));
    }
  };

  SECTION("inside a warm-up Batch") {
    tree.begin(kBatchKey, 1, 0);
    replay([](Tree& each) {
      leaf(each, kA, 2, 5, 7, 1001);
      each.end(1, 10, 1002);
      leaf(each, kA, 3, 15, 17, 1003);
    });
  }
  SECTION("after its Batch, inside another one") {
    tree.begin(kBatchKey, 1, 0);
    tree.begin(kBatchKey, 2, 5);
    tree.end(1, 8);
    replay([](Tree& each) { leaf(each, kA, 3, 9, 10, 1001); });
  }
  SECTION("with regions too deep") {
    for (std::uint32_t level = 0; level < 66; ++level) { tree.begin(kA, level + 1, level); }
    replay([](Tree& each) {
      REQUIRE(each.end(66, 70, 1001) != nullptr);
      REQUIRE(each.end(65, 72, 1002) != nullptr);
      REQUIRE(each.end(64, 80, 1003) != nullptr);
    });
  }
  SECTION("with regions that are not to be timed") {
    tree.begin(kA, 1, 0);
    tree.discard_open();
    replay([](Tree& each) {
      REQUIRE(each.has_discarded());
      each.end(1, 70, 1001);
    });
  }
  SECTION("and is not changed by later folds") {
    tree.begin(kA, 1, 0);
    auto state = std::make_unique<Tree::State>();
    tree.save(*state);
    tree.end(1, 10, 5);
    Tree copy{kEpochKey, kBatchKey};
    copy.copy_for_replay(tree, *state);
    copy.end(1, 10, 5);
    REQUIRE(copy.node(0)->host.n() == 1);
    copy.begin(kA, 2, 20);
    copy.end(2, 30, 7);
    REQUIRE(copy.node(0)->host.n() == 2);
  }
}

TEST_CASE_METHOD(TreeTest, "Tree: detaching the last discarded region ends discarding") {
  tree.begin(kA, 1, 0);
  tree.begin(kB, 2, 1);
  tree.discard_open();
  Tree::Frame taken;
  REQUIRE(tree.detach(2, taken));
  REQUIRE(tree.has_discarded());
  REQUIRE(tree.detach(1, taken));
  REQUIRE_FALSE(tree.has_discarded());
}

TEST_CASE_METHOD(TreeTest, "Tree: a Batch that started on another thread does not count for warm-up here") {
  tree.set_warmup(1);
  Node* const batch = tree.child(tree.root(), kBatchKey);
  tree.add_at(batch, 5);
  tree.begin(kBatchKey, 1, 10);
  REQUIRE(tree.step().warmup);
  tree.end(1, 20, 1);
  tree.begin(kBatchKey, 2, 30);
  REQUIRE_FALSE(tree.step().warmup);
}
