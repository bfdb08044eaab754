// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "process/collector.hpp"
#include "process/threads.hpp"
#include "record/clock.hpp"
#include "record/names.hpp"
#include "record/shared.hpp"

#include <takt/detail/tree.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The values of ended threads. The nodes of its tree number the process's paths, so every path on any thread has a
/// node here. Not thread-safe (Registry's collect lock).
class Totals {
 public:
  Totals() noexcept : tree_(kEpochKey, kBatchKey) {}

  /// Returns the path of a node of any tree; kNoIndex for a root.
  /// \throws std::bad_alloc instead of using the overflow path while the tree has space.
  std::uint32_t path_of(const Node* node);
  /// Returns the path for all values without space in the tree, which reserves it. \throws std::bad_alloc
  std::uint32_t overflow_path();
  /// Extends `paths`, indexed by node of `tree`, to the newest node. \throws std::bad_alloc
  void number(const Tree& tree, std::vector<std::uint32_t>& paths);
  /// Adds the values of an ended thread. \throws std::bad_alloc, having added nothing
  /// \param paths path of each of its nodes.
  void add(const Tree& tree, const std::vector<std::uint32_t>& paths, std::uint32_t thread);
  /// Returns true if the path is that of the node alone.
  bool is_own(std::uint32_t path, const Node& node) const noexcept { return tree_.node(path)->key == node.key; }

  const Tree& tree() const noexcept { return tree_; }
  /// Returns the times of ended threads, by path; may be shorter than the paths.
  const std::vector<ThreadSpread>& spreads() const noexcept { return spreads_; }

 private:
  std::uint32_t path_below(std::uint32_t parent, TreeKey key);

  Tree tree_;
  std::vector<ThreadSpread> spreads_;
};

/// Reads all recorded data into a Snapshot: the totals of ended threads, and copies of the other threads' values. Not
/// thread-safe (Registry's collect lock).
class SnapshotReader {
 public:
  /// \param clock not owned; nor are the others.
  SnapshotReader(const Clock& clock, const KeyTable& keys, Shared& shared, Threads& threads, Totals& totals,
                 const Collector& collector) noexcept
      : clock_(clock),
        keys_(keys),
        shared_(shared),
        threads_(threads),
        totals_(totals),
        collector_(collector),
        scratch_(kEpochKey, kBatchKey) {}

  /// Fills the snapshot, except run and clock.
  /// \param now_ns end time for open regions.
  /// \param main_thread thread whose uncovered time is reported. \throws std::bad_alloc
  void read(Snapshot& snapshot, std::uint64_t now_ns, std::uint32_t main_thread);

 private:
  void read_totals(Snapshot& snapshot);
  void read_thread(Threads::Slot& slot, Snapshot& snapshot, std::uint64_t now_ns, std::uint32_t main_thread);
  void copy_thread(Recorder& recorder);
  void read_open(const Threads::Slot& slot, Snapshot& snapshot, std::uint64_t now_ns, std::uint32_t main_thread);
  void read_paths(Snapshot& snapshot) const;
  static void read_devices(Snapshot& snapshot);
  void read_losses(Snapshot& snapshot);
  void read_counters(Snapshot& snapshot) const;
  void add_node(const Node& node, std::uint32_t path, Snapshot& snapshot);
  void add_overflow(const Tree& tree, Snapshot& snapshot);
  void count_losses(const Tree& tree);

  const Clock& clock_;
  const KeyTable& keys_;
  Shared& shared_;
  Threads& threads_;
  Totals& totals_;
  const Collector& collector_;
  Tree scratch_;  // copy of one thread at a time
  // State of the current read.
  std::map<std::pair<LossKind, TreeKey>, std::uint64_t> losses_;
  std::map<std::uint32_t, std::uint64_t> forgotten_;  // regions never ended, by path
};

}  // namespace detail
TAKT_END_NAMESPACE
