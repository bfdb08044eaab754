// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/collector.hpp"
#include "record/recorder.hpp"

#include "support/fake_clock.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace takt_test {

/// A recorder that belongs to no thread, on a clock that stops unless moved.
struct RecorderFixture {
  using KeyIndex = takt::detail::KeyIndex;
  using LossKind = takt::detail::LossKind;
  using Node = takt::detail::Node;
  using Region = takt::detail::Region;

  static constexpr KeyIndex kEpoch = takt::detail::kEpochKey;
  static constexpr KeyIndex kBatch = takt::detail::kBatchKey;
  static constexpr KeyIndex kA = 3, kB = 4, kC = 5;

  explicit RecorderFixture(std::uint64_t ticks = 1'000'000,
                           takt::detail::ClockChoice choice = takt::detail::ClockChoice::automatic)
      : time(ticks, choice) {
    // Recorders are never destroyed; this list makes them reachable for leak checkers.
    static auto* const all = new std::vector<takt::detail::Recorder*>;
    all->push_back(takt::detail::Recorder::create(time.clock, shared(), 0));
    recorder = all->back();
    collector = std::make_unique<takt::detail::Collector>(time.clock, takt::detail::key_table());
  }

  void pass(std::uint64_t ns) { time.fake.advance(ns); }
  Region begin(KeyIndex key) { return recorder->begin(key, key == kBatch ? takt::detail::kRegionFolds : 0); }
  /// Ends the region as a Scope does.
  void end(Region region) {
    (region & takt::detail::kRegionFlags) == 0 ? recorder->end_plain(region) : recorder->end(region);
  }
  /// Records a region of `ns`.
  void region(KeyIndex key, std::uint64_t ns) {
    const Region open = begin(key);
    pass(ns);
    end(open);
  }

  /// Returns the node after a fold, or nullptr.
  const Node* node(std::initializer_list<std::uint64_t> path) {
    recorder->fold();
    const takt::detail::Tree& tree = recorder->tree();
    const Node* found = nullptr;
    for (const std::uint64_t key : path) {
      const Node* next = nullptr;
      for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
        const Node* each = tree.node(index);
        const bool below = found == nullptr ? each->parent->parent == nullptr : each->parent == found;
        if (below && each->key == key) { next = each; }
      }
      if (next == nullptr) { return nullptr; }
      found = next;
    }
    return found;
  }
  std::uint64_t losses(LossKind kind) {
    recorder->fold();
    std::uint64_t sum = 0;
    for (unsigned slot = 0; slot < recorder->tree().losses().size(); ++slot) {
      const auto& each = recorder->tree().losses()[slot];
      if (each.kind.get() == kind) { sum += each.count.get(); }
    }
    return sum;
  }
  /// Returns new rows; Cell::path is the index in the recorder's tree.
  std::vector<takt::Row> rows(bool last = false) {
    std::vector<std::uint32_t> paths;
    for (std::uint32_t index = 0; index < recorder->tree().nodes(); ++index) { paths.push_back(index); }
    if (takt::detail::Outbox* outbox = recorder->outbox()) {
      collector->drain(*outbox, outbox->end(), recorder, 0, paths);
    }
    return collector->drained(last).rows;
  }
  const takt::Cell* cell(const takt::Row& row, const Node* node) const {
    for (const takt::Cell& each : row.cells) {
      if (each.path == node->index) { return &each; }
    }
    return nullptr;
  }

  static takt::detail::Shared& shared() {
    static auto* const shared =
        new takt::detail::Shared(std::size_t{1} << 30U);  // outlives recorders, which are never destroyed
    return *shared;
  }

  TestClock time;
  takt::detail::Recorder* recorder;
  std::unique_ptr<takt::detail::Collector> collector;
};

}  // namespace takt_test
