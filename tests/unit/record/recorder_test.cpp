// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Contents of a recorder, and when readers see them. Random sequences are in oracle_test.cpp, devices in
// device_queue_test.cpp.
#include "record/recorder.hpp"

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/recorder_fixture.hpp"

#include <takt/backends/manual.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

using namespace takt::detail;
using takt_test::Random;
using takt_test::RecorderFixture;

namespace {

/// Builds the tree that a reader makes of a copy.
std::unique_ptr<Tree> replay(const Recorder& recorder, const Clock& clock, const Unfolded& unfolded) {
  auto copy = std::make_unique<Tree>(kEpochKey, kBatchKey);
  copy->copy_for_replay(recorder.tree(), unfolded.state);
  ClockConverter converter(clock, unfolded.source, unfolded.last_ticks);
  Fold(*copy, converter).add(unfolded);
  return copy;
}

}  // namespace

TEST_CASE_METHOD(RecorderFixture, "Recorder: readers see data that is not folded yet") {
  const Region outer = begin(kA);
  pass(10);
  region(kB, 5);
  Unfolded unfolded;
  recorder->copy(unfolded);
  const auto copy = replay(*recorder, time.clock, unfolded);
  REQUIRE(recorder->tree().nodes() == 0);
  REQUIRE(copy->nodes() == 2);
  REQUIRE(copy->node(1)->host.total_ns() == 5);
  REQUIRE(copy->depth() == 1);
  end(outer);
  REQUIRE(node({kA})->host.total_ns() == 15);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: a reader that is overtaken neither double-counts nor loses data") {
  Random random(takt_test::test_seed());
  CAPTURE(takt_test::test_seed());
  struct Open {
    Region region;
    std::uint64_t path;
    std::uint64_t since_ns;
  };
  struct Calls {
    std::vector<std::uint64_t> total_ns{0};  // by number of calls
    std::size_t before = 0;                  // calls before the copy
  };
  // A path is a number and each digit a key, so that lookups are cheap.
  const auto inside = [](std::uint64_t path, std::uint64_t key) { return path * 10 + key; };
  std::vector<Open> open;
  std::unordered_map<std::uint64_t, Calls> paths;
  const auto here = [&] { return open.empty() ? 0 : open.back().path; };
  const auto step = [&] {
    pass(random.below(50));
    const std::uint64_t choice = random.below(20);
    if (choice < 8 && open.size() < 3) {
      const auto key = static_cast<KeyIndex>(3 + random.below(3));
      const std::uint64_t path = inside(here(), key);
      open.push_back({recorder->begin(key, 0), path, time.now_ns()});
    } else if (choice < 17 && !open.empty()) {
      recorder->end_plain(open.back().region);
      auto& its = paths[here()].total_ns;
      its.push_back(its.back() + time.now_ns() - open.back().since_ns);
      open.pop_back();
    } else if (choice == 17) {
      recorder->count_loss(LossKind::bad_amount, kA);  // a change without an event
    } else if (choice == 18) {
      recorder->fold();
    } else {
      recorder->add(kA, 3);
      auto& its = paths[inside(here(), kA)].total_ns;
      its.push_back(its.back() + 3);
    }
  };
  for (int round = 0; round < takt_test::scaled(20'000); ++round) {
    for (std::uint64_t count = random.below(20); count > 0; --count) { step(); }
    for (auto& [path, its] : paths) { its.before = its.total_ns.size() - 1; }
    Unfolded unfolded;
    recorder->copy(unfolded);
    for (std::uint64_t count = random.below(30); count > 0; --count) { step(); }  // the owner continues
    const auto copy = replay(*recorder, time.clock, unfolded);
    std::vector<std::uint64_t> path_of;  // parents first
    for (std::uint32_t index = 0; index < copy->nodes(); ++index) {
      const Node& node = *copy->node(index);
      path_of.push_back(inside(node.parent->parent == nullptr ? 0 : path_of[node.parent->index], node.key));
      const Calls& its = paths[path_of.back()];
      const std::uint64_t calls = node.host.n();
      const bool right =
          calls >= its.before && calls < its.total_ns.size() && node.host.total_ns() == its.total_ns[calls];
      if (!right) {
        CAPTURE(path_of.back(), its.before, its.total_ns.size(), calls, node.host.total_ns());
        REQUIRE(right);
      }
    }
  }
  REQUIRE(paths.size() > 50);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: regions stay open over thousands of blocks") {
  const Region first = begin(kA);
  pass(1);
  const Region second = begin(kB);
  const Event first_event = *reinterpret_cast<const Event*>(first);
  for (int round = 0; round < 500'000; ++round) { region(kC, 1); }
  REQUIRE(*reinterpret_cast<const Event*>(first) == first_event);
  end(second);
  pass(1);
  end(first);
  REQUIRE(node({kA})->host.total_ns() == 500'002);
  REQUIRE(node({kA})->self_ns() == 2);
  REQUIRE(node({kA, kB})->self_ns() == 0);
  REQUIRE(node({kA, kB, kC})->host.n() == 500'000);
  REQUIRE(losses(LossKind::end_without_start) == 0);
}

TEST_CASE_METHOD(RecorderFixture,
                 "Recorder: with an open region in every block more can start until every place is used") {
  std::vector<Region> open;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    open.push_back(begin(block + 1 < kBlocks ? kA : kC));  // deeper than 64 keys a region is counted where its key is
    REQUIRE(open.back() != 0);
    const auto in_block = [](Region region) { return region_id(region) / kBlockEvents; };
    for (std::size_t earlier = 0; earlier < block; ++earlier) {
      REQUIRE(in_block(open[earlier]) != in_block(open.back()));
    }
    for (std::size_t filler = 0; filler < 31 && block + 1 < kBlocks; ++filler) { region(kB, 1); }  // fills the block
  }
  for (int more = 0; more < 200; ++more) { region(kC, 1); }  // the last block is full, and no other is free
  REQUIRE(losses(LossKind::overflow) == 0);
  REQUIRE(recorder->tree().too_deep() == 0);
  while (const Region more = begin(kC)) { open.push_back(more); }
  REQUIRE(open.size() == Tree::kMaxOpen);
  REQUIRE(losses(LossKind::no_place) == 1);
  // Operations that need no place are still recorded.
  recorder->amount(open[5], Amount::items, 7);
  recorder->skip(kC);
  recorder->add(kC, 11);
  REQUIRE(begin(kC) == 0);
  REQUIRE(losses(LossKind::no_place) == 2);
  REQUIRE(losses(LossKind::overflow) == 0);
  pass(100);
  end(open[40]);
  open.erase(open.begin() + 40);
  const Region again = begin(kC);
  REQUIRE(again != 0);
  pass(1);
  end(again);
  while (!open.empty()) {
    end(open.back());
    open.pop_back();
  }
  REQUIRE(losses(LossKind::end_without_start) == 0);
  REQUIRE(recorder->tree().depth() == 0);
  std::uint64_t ended = 0;
  std::uint64_t items = 0;
  for (std::uint32_t index = 0; index < recorder->tree().nodes(); ++index) {
    const Node* each = recorder->tree().node(index);
    ended += each->key == kA ? each->host.n() : 0;
    items += each->items.get();
  }
  REQUIRE(ended == kBlocks - 1);
  REQUIRE(items == 7);
}

TEST_CASE("Recorder: time continues when the 51 bits of an event wrap") {
  for (const std::uint64_t turns : {0U, 1U, 5U}) {
    RecorderFixture its((turns << 51U) + (std::uint64_t{1} << 51U) - 20'000);
    for (int round = 0; round < 100; ++round) { its.region(RecorderFixture::kA, 1000); }
    REQUIRE(its.node({RecorderFixture::kA})->host.n() == 100);
    REQUIRE(its.node({RecorderFixture::kA})->host.max_ns() == 1000);
    REQUIRE(its.node({RecorderFixture::kA})->host.min_ns() == 1000);
  }
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: a region may be open for days") {
  const std::uint64_t days = std::uint64_t{8} * 24 * 3600 * 1'000'000'000;  // at 1 GHz 51 bits are 26 days
  region(kA, days);
  REQUIRE(node({kA})->host.total_ns() == days);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: a counter that steps back gives no negative time") {
  const Region outer = begin(kA);
  pass(1000);
  const Region inner = begin(kB);
  time.fake.move_counter(-400);
  end(inner);
  time.fake.move_counter(-400);
  REQUIRE(node({kA, kB})->host.total_ns() == 0);
  pass(900);  // 100 beyond its earlier value
  end(outer);
  REQUIRE(node({kA})->host.total_ns() == 1100);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: counts regions on a dropped counter without timing them") {
  region(kA, 10);
  const Region step_open = begin(kBatch);
  const Region folded = begin(kA);
  recorder->fold();
  const Region unfolded = begin(kB);
  const Region whole = begin(kC);
  time.fake.set_rate(1100);
  pass(2'000'000'000);
  end(whole);
  REQUIRE(!time.clock.recheck());
  const std::uint64_t ns = time.now_ns();
  const Region after = begin(kC);
  REQUIRE(time.now_ns() == ns);
  pass(50);
  end(after);
  recorder->end(unfolded | kRegionUnusual);
  end(folded);
  end(step_open);
  REQUIRE(node({kA})->host.n() == 1);
  REQUIRE(node({kBatch})->host.n() == 0);
  REQUIRE(node({kBatch, kA})->host.n() == 0);
  REQUIRE(node({kBatch, kA, kB})->host.n() == 0);
  REQUIRE(node({kBatch, kA, kB, kC})->host.total_ns() == 50);
  REQUIRE(losses(LossKind::clock_changed) == 4);
  REQUIRE(rows().empty());
  region(kA, 30);
  REQUIRE(node({kA})->host.total_ns() == 40);
  region(kBatch, 5);
  REQUIRE(rows().size() == 1);
  REQUIRE(recorder->tree().has_discarded() == false);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: readers also skip regions that must not be timed") {
  const Region open = begin(kA);
  recorder->fold();
  time.fake.set_rate(1100);
  pass(2'000'000'000);
  REQUIRE(!time.clock.recheck());
  recorder->fold();
  const Region outer = begin(kB);
  recorder->end_plain(open);
  pass(20);
  end(outer);
  Unfolded unfolded;
  recorder->copy(unfolded);
  REQUIRE(unfolded.count == 3);
  unfolded.event[1] = end_event(open, time.fake.ticks() + 1'000'000'000'000);  // by the counter, as an inline end does
  const auto copy = replay(*recorder, time.clock, unfolded);
  REQUIRE(copy->node(0)->host.n() == 0);
  REQUIRE(copy->node(1)->host.total_ns() == 20);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: lap() ends one region and starts the next at the same time") {
  const Region outer = begin(kA);
  Region lap = begin(kB);
  for (int round = 0; round < 100; ++round) {
    pass(7);
    lap = recorder->lap(lap, round % 2 == 0 ? kC : kB, 0);
  }
  pass(3);
  end(lap);
  end(outer);
  REQUIRE(node({kA})->host.total_ns() == 703);
  REQUIRE(node({kA})->self_ns() == 0);
  REQUIRE(node({kA, kB})->host.n() == 51);
  REQUIRE(node({kA, kC})->host.total_ns() == 50 * 7);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: lap() from Batch to Batch makes a row of each") {
  Region lap = begin(kBatch);
  for (int step = 0; step < 5; ++step) {
    pass(10);
    lap = recorder->lap(lap, kBatch, kRegionFolds);
  }
  end(lap);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 6);
  REQUIRE(all[3].step == 3);
  REQUIRE(all[3].host_ns == 10);
  REQUIRE(all[3].period_ns == 10);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: items and bytes belong to the region that received them") {
  const Region outer = begin(kA);
  const Region inner = begin(kB);
  recorder->amount(outer, Amount::items, 3);
  recorder->amount(inner, Amount::bytes, 1'000'000'000'000);
  recorder->amount(outer, Amount::items, 4);
  recorder->amount(inner, Amount::items, 0);
  recorder->amount(inner, Amount::bytes, -5);
  end(inner);
  end(outer);
  REQUIRE(node({kA})->items.get() == 7);
  REQUIRE(node({kA})->bytes.get() == 0);
  REQUIRE(node({kA, kB})->bytes.get() == 1'000'000'000'000);
  REQUIRE(node({kA, kB})->items.get() == 0);
  REQUIRE(losses(LossKind::bad_amount) == 2);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: times one in n regions, even for keys that hash to the same place") {
  for (int round = 0; round < 10; ++round) {
    for (const KeyIndex key : std::initializer_list<KeyIndex>{10, 10 + 64, 11, 10 + 2 * 64, 11 + 64}) {
      REQUIRE(recorder->sampled(key, 3) == (round % 3 == 0));
    }
    REQUIRE(recorder->sampled(20, 1));
    REQUIRE(recorder->sampled(21, 0));
  }
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: counts a region that is not timed at its path") {
  const Region outer = begin(kA);
  recorder->skip(kB);
  recorder->skip(kB);
  end(outer);
  REQUIRE(node({kA, kB})->skipped.get() == 2);
  REQUIRE(node({kA, kB})->host.n() == 0);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: finds the innermost open region of a key, also in the overflow") {
  REQUIRE(recorder->innermost(kA, true) == 0);
  REQUIRE(losses(LossKind::end_without_start) == 0);
  REQUIRE(recorder->innermost(kA, false) == 0);
  REQUIRE(losses(LossKind::end_without_start) == 1);
  const Region first = begin(kA);
  const Region second = begin(kA);
  const Region third = begin(kB);
  REQUIRE(recorder->innermost(kA, false) == second);
  end(second);
  REQUIRE(recorder->innermost(kA, false) == first);
  REQUIRE(recorder->innermost(kB, false) == third);
  end(third);
  end(first);
  std::vector<Region> deep;
  for (int level = 0; level < 70; ++level) { deep.push_back(begin(kC)); }
  for (int level = 0; level < 70; ++level) {
    const Region found = recorder->innermost(kC, false);
    REQUIRE(found != 0);
    recorder->end_plain(found);
  }
  recorder->fold();
  REQUIRE(recorder->tree().depth() == 0);
  REQUIRE(losses(LossKind::end_without_start) == 1);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: finds a region without a place in the tree by its key") {
  for (KeyIndex key = 10; key < 100; ++key) {
    const Region outer = begin(key);
    for (KeyIndex below = 10; below < 60; ++below) { region(below, 1); }
    end(outer);
  }
  REQUIRE(recorder->tree().nodes() == Tree::kMaxNodes - 1);
  const Region lost = begin(200);
  REQUIRE(recorder->innermost(200, false) == lost);
  end(lost);
  REQUIRE(recorder->innermost(200, true) == 0);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: keeps nothing of the previous thread when recycled") {
  for (int step = 0; step < 3; ++step) {
    const Region batch = begin(kBatch);
    region(kA, 5);
    end(batch);
  }
  recorder->amount(begin(kB), Amount::items, 5);
  recorder->fold();
  recorder->drop_open();
  REQUIRE(losses(LossKind::never_ended) == 1);
  rows();
  recorder->recycle();
  REQUIRE(losses(LossKind::never_ended) == 0);
  REQUIRE(recorder->tree().step().node == nullptr);
  for (int step = 0; step < 2; ++step) {
    const Region outer = begin(kC);
    const Region batch = begin(kBatch);
    region(kB, 7);
    end(batch);
    end(outer);
  }
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 2);
  REQUIRE(all[1].step == 1);
  REQUIRE(all[0].cells.size() == 1);
  REQUIRE(cell(all[0], node({kC, kBatch, kB}))->host_ns == 7);
  REQUIRE(node({kBatch})->host.n() == 0);
  REQUIRE(node({kB})->items.get() == 0);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: regions too deep keep their places from reuse") {
  std::vector<Region> open;
  for (int level = 0; level < 66; ++level) { open.push_back(begin(kA)); }
  recorder->fold();
  end(open[10]);  // makes space for regions with their own node
  open.erase(open.begin() + 10);
  for (int round = 0; round < 10'000; ++round) {
    const Region other = begin(kB);
    REQUIRE(other != 0);
    REQUIRE(std::find(open.begin(), open.end(), other) == open.end());
    end(other);
  }
  while (!open.empty()) {
    end(open.back());
    open.pop_back();
  }
  recorder->fold();
  REQUIRE(recorder->tree().depth() == 0);
  REQUIRE(losses(LossKind::end_without_start) == 0);
}

TEST_CASE_METHOD(RecorderFixture,
                 "Recorder: a region has ended even if another thread ends it at the reading of its start") {
  const Region around = begin(kA);
  const Region first = begin(kB);
  if (GENERATE(false, true)) { recorder->fold(); }  // or its start is not folded yet
  const Region second = begin(kC);
  recorder->leave_notice(region_id(second), time.now_ns());
  recorder->leave_notice(region_id(first), time.now_ns());
  const Region behind = begin(kC);  // at the same reading
  if (GENERATE(false, true)) { pass(5); }
  Unfolded unfolded;
  recorder->copy(unfolded);
  const auto copy = replay(*recorder, time.clock, unfolded);
  recorder->fold();
  const Tree* const trees[] = {copy.get(), &recorder->tree()};
  for (const Tree* const tree : trees) {
    REQUIRE(tree->depth() == 2);
    REQUIRE(tree->is_open(region_id(around)));
    REQUIRE(tree->is_open(region_id(behind)));
  }
  end(behind);
  end(around);
  recorder->fold();
  REQUIRE(recorder->tree().depth() == 0);
  REQUIRE(losses(LossKind::end_without_start) == 0);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: a region of another thread that ends inside a step is not in its row") {
  const Region batch = begin(kBatch);
  region(kA, 10);
  recorder->fold();
  {
    const Recorder::Change change(*recorder);
    Tree& tree = recorder->tree();
    tree.add_at(tree.child(tree.child(tree.root(), kBatch), kA), 1'000'000);
  }
  region(kA, 5);
  end(batch);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 1);
  REQUIRE(cell(all[0], node({kBatch, kA}))->calls == 2);
  REQUIRE(cell(all[0], node({kBatch, kA}))->host_ns == 15);
  REQUIRE(node({kBatch, kA})->host.n() == 3);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: rows that get memory late start with the next step") {
  const auto step = [&] {
    const Region batch = begin(kBatch);
    region(kA, 10);
    end(batch);
  };
  MemoryBudget& memory = shared().budget;
  const std::size_t before = memory.limit();
  step();  // creates the paths
  RecorderFixture::rows();
  Node* const batch = recorder->tree().node(node({kBatch})->index);
  delete static_cast<StepSeries*>(batch->series);
  memory.give(sizeof(StepSeries));
  batch->series = nullptr;
  memory.set_limit(memory.used());
  step();
  memory.set_limit(before);
  REQUIRE(RecorderFixture::rows().empty());
  step();  // gets memory, but the totals include three steps
  REQUIRE(RecorderFixture::rows().empty());
  step();
  const std::vector<takt::Row> all = RecorderFixture::rows();
  REQUIRE(all.size() == 1);
  REQUIRE(cell(all[0], node({kBatch, kA}))->calls == 1);
  REQUIRE(cell(all[0], node({kBatch, kA}))->host_ns == 10);
}

TEST_CASE("Recorder: the budget counts the touched pages of an arena") {
  using takt::detail::Arena;
  using takt::detail::Recorder;
  CHECK(Recorder::bytes(4096) == sizeof(Recorder) + 4096);
  CHECK(Recorder::bytes(65536) == sizeof(Recorder) + sizeof(Arena));
  const std::size_t before = RecorderFixture::shared().budget.used();
  const RecorderFixture fixture;
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  CHECK(RecorderFixture::shared().budget.used() - before >= Recorder::bytes(page));
}

TEST_CASE_METHOD(RecorderFixture,
                 "Recorder: after a clock change an end is not mistaken for that of the previous Batch") {
  region(kBatch, 10);
  REQUIRE(rows().size() == 1);
  const Region watched = recorder->begin(kA, kRegionUnusual);
  time.fake.move_counter(-2'000'000'000);
  pass(2'000'000'000);
  REQUIRE_FALSE(time.clock.recheck());
  end(watched);
  REQUIRE(rows().empty());
  REQUIRE(static_cast<const StepSeries*>(node({kBatch})->series)->steps() == 1);
}

TEST_CASE_METHOD(RecorderFixture, "Recorder: data of a dropped region does not affect the next one at its place") {
  takt::ManualClock device;
  const takt::StreamRef stream = takt::ManualBackend(device).stream();
  const Region left = recorder->begin_device(kA, 0, stream);
  REQUIRE(recorder->reported(left, 1));
  recorder->fold();
  recorder->drop_open();
  REQUIRE(device.outstanding() == 0);
  DeviceBegin begin;
  REQUIRE_FALSE(recorder->take_device(left, begin));
  REQUIRE(recorder->take_reported(left) == 0);
}
