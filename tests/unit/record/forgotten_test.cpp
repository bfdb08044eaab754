// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Missing ends as a Tree handles them: docs/decisions/0049-the-innermost-one.md.
#include <takt/detail/tree.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

using namespace takt::detail;

namespace {

constexpr TreeKey kForward = 10, kEmbed = 11, kBackward = 12, kIO = 13, kValidation = 14;

struct ForgottenTest {
  Tree tree{kEpochKey, kBatchKey};
  std::uint32_t last_id = 0;
  std::uint64_t now = 0;
  std::uint64_t steps = 0;

  std::uint32_t begin(TreeKey key) {
    tree.begin(key, ++last_id, ++now);
    return last_id;
  }
  bool end(std::uint32_t id) {
    ++now;
    const bool found = tree.end(id, now, now) != nullptr;
    if (tree.step().node != nullptr && !tree.step().open && tree.step().end_ns == now) { ++steps; }
    return found;
  }
  void region(TreeKey key) { end(begin(key)); }
  enum class Miss { nothing, embed, forward, batch, all };
  /// Runs Batch { Forward { embed } Backward }.
  void step(Miss miss = Miss::nothing) {
    const std::uint32_t batch = begin(kBatchKey);
    const std::uint32_t forward = begin(kForward);
    const std::uint32_t embed = begin(kEmbed);
    if (miss == Miss::all) { return; }
    if (miss != Miss::embed) { end(embed); }
    if (miss != Miss::forward) { end(forward); }
    region(kBackward);
    if (miss != Miss::batch) { end(batch); }
  }
  std::string paths() const {
    std::string text;
    for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
      std::string path;
      for (const Node* node = tree.node(index); node->parent != nullptr; node = node->parent) {
        path = "/" + std::to_string(node->key) + path;
      }
      text += path + "=" + std::to_string(tree.node(index)->host.n()) + " ";
    }
    return text;
  }
  int find_batches() const {
    int batches = 0;
    for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
      batches += tree.node(index)->role == Role::batch ? 1 : 0;
    }
    return batches;
  }
  std::uint64_t count_of(LossKind kind) const {
    std::uint64_t sum = 0;
    for (unsigned slot = 0; slot < tree.losses().size(); ++slot) {
      if (tree.losses()[slot].kind.get() == kind) { sum += tree.losses()[slot].count.get(); }
    }
    return sum;
  }
};

}  // namespace

TEST_CASE_METHOD(ForgottenTest, "Forgotten: an inner region costs only itself and is dropped after the next step") {
  for (int count = 0; count < 20; ++count) { step(); }
  step(Miss::embed);
  REQUIRE(count_of(LossKind::never_ended) == 0);
  step();
  REQUIRE(count_of(LossKind::never_ended) == 1);
  for (int count = 0; count < 20; ++count) { step(); }
  REQUIRE(tree.depth() == 0);
  REQUIRE(steps == 42);
  REQUIRE(paths() == "/2=42 /2/10=42 /2/10/11=41 /2/12=42 ");
  REQUIRE(tree.losses().size() == 1);
  REQUIRE(tree.node(2)->never_ended.get() == 1);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: the same in the first step") {
  step(Miss::embed);
  for (int count = 0; count < 9; ++count) { step(); }
  REQUIRE(paths() == "/2=10 /2/10=10 /2/10/11=9 /2/12=10 ");
  REQUIRE(tree.depth() == 0);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: if it recurs in every step, the series of steps remains one") {
  for (int count = 0; count < 3; ++count) { step(); }
  SECTION("the innermost region") {
    for (int count = 0; count < 5000; ++count) { step(Miss::embed); }
    REQUIRE(paths() == "/2=5003 /2/10=5003 /2/10/11=3 /2/12=5003 ");
  }
  SECTION("a region around others") {
    for (int count = 0; count < 5000; ++count) { step(Miss::forward); }
    REQUIRE(find_batches() == 1);
    REQUIRE(tree.nodes() < 8);
  }
  REQUIRE(steps == 5003);
  REQUIRE(count_of(LossKind::overflow) == 0);
  REQUIRE(tree.depth() <= 3);
  REQUIRE(count_of(LossKind::never_ended) >= 4998);
}

TEST_CASE_METHOD(ForgottenTest,
                 "Forgotten: a Batch without an end encloses later regions until its enclosing region ends") {
  std::uint64_t lost = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    const std::uint32_t id = begin(kEpochKey);
    step();
    step(epoch == 1 ? Miss::batch : epoch == 2 ? Miss::all : Miss::nothing);
    step();
    region(kValidation);
    end(id);
    lost += tree.has_lost_step() ? 1 : 0;
    tree.take_lost_step();
  }
  REQUIRE(lost == 2);
  REQUIRE(steps == 3 * 3 + 2 * 1);
  REQUIRE(tree.depth() == 0);  // dropped after two more steps
  REQUIRE(count_of(LossKind::never_ended) == 4);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: an outermost region may stay open and encloses later regions") {
  const std::uint32_t train = begin(kIO);
  for (int count = 0; count < 100; ++count) { step(); }
  REQUIRE(tree.losses().size() == 0);
  REQUIRE(paths() == "/13=0 /13/2=100 /13/2/10=100 /13/2/10/11=100 /13/2/12=100 ");
  REQUIRE(end(train));
}

TEST_CASE_METHOD(ForgottenTest,
                 "Forgotten: outside of steps, a region that outlives its enclosing one is dropped after two steps") {
  for (int count = 0; count < 40; ++count) {
    const std::uint32_t io = begin(kIO);
    const std::uint32_t embed = begin(kEmbed);
    if (count != 10) { end(embed); }
    end(io);
    step();
  }
  REQUIRE(tree.depth() == 0);
  REQUIRE(paths() == "/13=40 /13/11=39 /2=40 /2/10=40 /2/10/11=40 /2/12=40 ");
  REQUIRE(count_of(LossKind::never_ended) == 1);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: regions that end in order are never dropped, whatever their keys") {
  // An evaluation inside a step, Epochs inside Epochs, keys inside themselves.
  for (int count = 0; count < 60; ++count) {
    const std::uint32_t epoch = begin(kEpochKey);
    const std::uint32_t inner = begin(kEpochKey);
    const std::uint32_t batch = begin(kBatchKey);
    const std::uint32_t forward = begin(kForward);
    if (count % 20 == 19) {
      for (int evaluation = 0; evaluation < 4; ++evaluation) { step(); }
      region(kForward);
    }
    REQUIRE(end(forward));
    REQUIRE(end(batch));
    REQUIRE(end(inner));
    REQUIRE(end(epoch));
  }
  REQUIRE(tree.losses().size() == 0);
  REQUIRE(steps == 60);
  REQUIRE(tree.depth() == 0);
  REQUIRE(paths() ==
          "/1=60 /1/1=60 /1/1/2=60 /1/1/2/10=60 /1/1/2/10/2=12 /1/1/2/10/2/10=12 /1/1/2/10/2/10/11=12 "
          "/1/1/2/10/2/12=12 /1/1/2/10/10=3 ");
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: a properly nested region is always below the innermost open one") {
  for (const std::uint64_t keys : {1, 2, 3, 4, 5, 6, 7}) {
    Tree nested{kEpochKey, kBatchKey};
    takt_test::Random random(keys);
    struct Open {
      std::uint32_t id;
      std::string path;
      unsigned batches;  // among its path's keys
    };
    std::vector<Open> open = {{0, "", 0}};
    std::map<std::string, std::uint64_t> calls;
    for (std::uint32_t operation = 1; operation <= 12'000; ++operation) {
      if (open.size() < 2 || (open.size() < 5 && random.chance(50))) {
        const TreeKey key = kEpochKey + random.below(keys);
        nested.begin(key, operation, operation);
        open.push_back({operation, open.back().path + "/" + std::to_string(key),
                        open.back().batches + (key == kBatchKey ? 1 : 0)});
      } else {
        const Open ended = open.back();
        open.pop_back();
        REQUIRE(nested.end(ended.id, operation, operation) != nullptr);
        ++calls[ended.path];
        REQUIRE(nested.step().open == (open.back().batches != 0));
        if (ended.batches == 1 && open.back().batches == 0) { REQUIRE(nested.step().end_ns == operation); }
      }
    }
    REQUIRE(nested.losses().size() == 0);
    for (std::uint32_t index = 0; index < nested.nodes(); ++index) {
      std::string path;
      for (const Node* node = nested.node(index); node->parent != nullptr; node = node->parent) {
        path = "/" + std::to_string(node->key) + path;
      }
      REQUIRE(nested.node(index)->host.n() == calls[path]);
    }
  }
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: a region that spans the end of its step keeps all its time") {
  for (int count = 0; count < 3; ++count) { step(); }
  std::uint32_t prefetch = 0;
  for (int count = 0; count < 10; ++count) {
    const std::uint32_t batch = begin(kBatchKey);
    if (prefetch != 0) { end(prefetch); }
    region(kForward);
    prefetch = begin(kIO);
    region(kBackward);
    end(batch);
    region(kValidation);
  }
  end(prefetch);
  REQUIRE(tree.losses().size() == 0);
  REQUIRE(tree.depth() == 0);
  REQUIRE(paths() == "/2=13 /2/10=13 /2/10/11=3 /2/12=3 /2/13=10 /2/13/12=10 /14=10 ");
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: a late end is counted without self time and cancels the loss") {
  for (int count = 0; count < 3; ++count) { step(); }
  const std::uint32_t batch = begin(kBatchKey);
  const std::uint32_t io = begin(kIO);
  end(batch);
  step();
  REQUIRE(count_of(LossKind::never_ended) == 1);
  REQUIRE(tree.late() == 1);
  REQUIRE(tree.is_open(io));
  REQUIRE(end(io));
  REQUIRE(count_of(LossKind::never_ended) == 0);
  REQUIRE(count_of(LossKind::ended_late) == 1);
  REQUIRE(tree.late() == 0);
  const Node* const node = tree.node(tree.nodes() - 1);
  REQUIRE(node->key == kIO);
  REQUIRE(node->host.n() == 1);
  REQUIRE(node->self_ns() == 0);
  REQUIRE(node->never_ended.get() == 0);
  REQUIRE(!end(io));
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: keeps at most 1 024 regions that may end late and drops the oldest") {
  for (int count = 0; count < 1030; ++count) { step(Miss::embed); }
  step();
  REQUIRE(tree.late() == Tree::kMaxLate);
  REQUIRE(!tree.is_open(3));
  REQUIRE(count_of(LossKind::never_ended) == 1030);
  tree.drop_open();
  REQUIRE(tree.late() == 0);
  REQUIRE(count_of(LossKind::never_ended) == 1030);
}
