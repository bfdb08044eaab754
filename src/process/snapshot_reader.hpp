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

/// The values of threads that have ended. The nodes of its tree number the paths of the process, so that every place at
/// which any thread records has a node here. One thread at a time (Registry's collect lock).
class Totals {
 public:
  Totals() noexcept : tree_(kEpochKey, kBatchKey) {}

  /// The path at which a node of any tree stands; kNoIndex for a root.
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

/// Reads all that has been recorded into a Snapshot: the totals of threads that have ended, and copies of what the
/// others have. One thread at a time (Registry's collect lock).
class SnapshotReader {
 public:
  /// \param clock, like all others, not owned.
  SnapshotReader(const Clock& clock, const KeyTable& keys, Shared& shared, Threads& threads, Totals& totals,
                 const Collector& collector) noexcept
      : clock_(clock),
        keys_(keys),
        shared_(shared),
        threads_(threads),
        totals_(totals),
        collector_(collector),
        scratch_(kEpochKey, kBatchKey) {}

  /// Run and clock are left out. \param now_ns what open regions are measured by.
  /// \param main_thread the thread whose uncovered time reports speak of. \throws std::bad_alloc
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
  void add_answer(const AnsweredSpan& span);
  void count_losses(const Tree& tree);

  const Clock& clock_;
  const KeyTable& keys_;
  Shared& shared_;
  Threads& threads_;
  Totals& totals_;
  const Collector& collector_;
  Tree scratch_;  // the copy of one thread at a time
  // Of the reading under way.
  std::map<std::pair<LossKind, TreeKey>, std::uint64_t> losses_;
  std::map<std::uint32_t, std::uint64_t> forgotten_;  // regions never ended, by path
};

}  // namespace detail
TAKT_END_NAMESPACE
