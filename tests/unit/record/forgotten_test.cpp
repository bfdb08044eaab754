// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Ends that do not come, as a Tree sees them: docs/decisions/0022-forgotten-ends.md.
#include <takt/detail/tree.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <initializer_list>
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
  /// Batch { Forward { embed } Backward }
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

TEST_CASE_METHOD(ForgottenTest, "Forgotten: one inner region costs itself alone, and is given up after the next step") {
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

TEST_CASE_METHOD(ForgottenTest,
                 "Forgotten: in the first step, what follows in it stands inside, and the next step is whole") {
  step(Miss::embed);
  for (int count = 0; count < 9; ++count) { step(); }
  REQUIRE(paths() == "/2=10 /2/10=10 /2/10/11=9 /2/10/11/12=1 /2/12=9 ");
  REQUIRE(tree.depth() == 0);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: at every step, of every kind, the series of steps stays one") {
  for (int count = 0; count < 3; ++count) { step(); }
  SECTION("the innermost region") {
    for (int count = 0; count < 5000; ++count) { step(Miss::embed); }
    REQUIRE(paths() == "/2=5003 /2/10=5003 /2/10/11=3 /2/12=5003 ");
    REQUIRE(steps == 5003);
  }
  SECTION("one that others are in") {
    for (int count = 0; count < 5000; ++count) { step(Miss::forward); }
    REQUIRE(find_batches() == 1);
    REQUIRE(steps == 5003);
    REQUIRE(tree.nodes() < 8);
  }
  SECTION("the Batch itself") {
    for (int count = 0; count < 5000; ++count) { step(Miss::batch); }
    step();
    REQUIRE(find_batches() == 1);
    REQUIRE(steps == 4);
  }
  SECTION("all of them, as a longjmp does") {
    for (int count = 0; count < 5000; ++count) { step(Miss::all); }
    step();
    REQUIRE(find_batches() == 1);
    REQUIRE(steps == 4);
  }
  REQUIRE(count_of(LossKind::overflow) == 0);
  REQUIRE(tree.depth() <= 3);
  REQUIRE(count_of(LossKind::never_ended) >= 4998);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: after a single Batch or a single jump, the next step begins anew") {
  for (int count = 0; count < 12; ++count) { step(); }
  step(GENERATE(Miss::batch, Miss::all));
  REQUIRE(tree.has_lost_step() == false);
  const std::uint32_t batch = begin(kBatchKey);
  REQUIRE(tree.has_lost_step());
  REQUIRE(tree.depth() == 1);
  REQUIRE(tree.step().open);
  end(batch);
  REQUIRE(steps == 13);
  REQUIRE(find_batches() == 1);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: without a step before it, Batches pile up to eight and no further") {
  for (int count = 0; count < 1000; ++count) { begin(kBatchKey); }
  REQUIRE(tree.depth() <= 8);
  REQUIRE(tree.nodes() <= 8);
  REQUIRE(count_of(LossKind::overflow) == 0);
  REQUIRE(count_of(LossKind::never_ended) >= 992);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: between steps, the region is recognised when it begins again") {
  for (int count = 0; count < 20; ++count) {
    const std::uint32_t io = begin(kIO);
    if (count != 10) { end(io); }
    step();
  }
  REQUIRE(tree.depth() == 0);
  REQUIRE(steps == 20);
  REQUIRE(count_of(LossKind::never_ended) == 1);
  REQUIRE(paths() == "/13=19 /2=19 /2/10=19 /2/10/11=19 /2/12=19 /13/2=1 /13/2/10=1 /13/2/10/11=1 /13/2/12=1 ");
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: inside a region between steps, no Batch begins in it") {
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

TEST_CASE_METHOD(ForgottenTest, "Forgotten: an Epoch, and what its last step left open") {
  std::uint64_t forgotten = 0;
  for (int epoch = 0; epoch < 5; ++epoch) {
    const std::uint32_t id = begin(kEpochKey);
    step();
    step();
    step(epoch == 1 ? Miss::embed : epoch == 2 ? Miss::batch : Miss::nothing);
    region(kValidation);
    if (epoch != 3) { end(id); }
    forgotten = count_of(LossKind::never_ended);
  }
  REQUIRE(forgotten == 3);
  REQUIRE(find_batches() == 1);
  REQUIRE(steps == 14);
  REQUIRE(tree.depth() == 0);
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

TEST_CASE_METHOD(ForgottenTest,
                 "Forgotten: what ends after all is counted, without self time, and is no loss any more") {
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

TEST_CASE_METHOD(ForgottenTest,
                 "Forgotten: steps inside a step are learned, and begun by a new region are not taken for it") {
  for (int count = 0; count < 12; ++count) { step(); }
  SECTION("in a region of their own") {
    const std::uint32_t batch = begin(kBatchKey);
    const std::uint32_t validation = begin(kValidation);
    step();
    end(validation);
    REQUIRE(end(batch));
    REQUIRE(tree.losses().size() == 0);
  }
  SECTION("without one: the first time costs that step") {
    for (int round = 0; round < 3; ++round) {
      const std::uint32_t batch = begin(kBatchKey);
      for (int inner = 0; inner < 3; ++inner) { end(begin(kBatchKey)); }
      REQUIRE(end(batch));
    }
    REQUIRE(count_of(LossKind::never_ended) == 0);
    REQUIRE(count_of(LossKind::ended_late) == 1);
    REQUIRE(find_batches() == 2);
  }
  REQUIRE(tree.depth() == 0);
}

TEST_CASE_METHOD(ForgottenTest, "Forgotten: of those that may still end, the oldest beyond 1 024 are let go") {
  for (int count = 0; count < 1030; ++count) { step(Miss::embed); }
  step();
  REQUIRE(tree.late() == Tree::kMaxLate);
  REQUIRE(!tree.is_open(3));
  REQUIRE(count_of(LossKind::never_ended) == 1030);
  tree.abandon_open();
  REQUIRE(tree.late() == 0);
  REQUIRE(count_of(LossKind::never_ended) == 1030);
}
