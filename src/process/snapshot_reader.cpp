// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/snapshot_reader.hpp"

#include "record/fold.hpp"
#include "record/names.hpp"

#include <takt/snapshot.hpp>

#include <algorithm>
#include <new>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint32_t Totals::path_of(const Node* node) {
  if (node->parent == nullptr) { return kNoIndex; }
  return path_below(path_of(node->parent), node->key);
}

std::uint32_t Totals::path_below(std::uint32_t parent, TreeKey key) {
  Node* const above = parent == kNoIndex ? tree_.root() : tree_.node(parent);
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
    const std::uint32_t parent = node->parent->parent == nullptr ? kNoIndex : paths[node->parent->index];
    paths.push_back(path_below(parent, node->key));
  }
}

void Totals::add(const Tree& tree, const std::vector<std::uint32_t>& paths, std::uint32_t thread) {
  spreads_.resize(tree_.nodes());
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
    const Node& node = *tree.node(index);
    if (node.host.n() != 0 && is_own(paths[index], node)) { spreads_[paths[index]].add(thread, node.host.total_ns()); }
  }
  tree_.merge(tree);
}

namespace {

const char* loss_name(LossKind kind) noexcept {
  switch (kind) {
    case LossKind::end_without_start:
      return "end_without_start";
    case LossKind::never_ended:
      return "never_ended";
    case LossKind::ended_elsewhere:
      return "ended_on_another_thread";
    case LossKind::clock_changed:
      return "clock_changed";
    case LossKind::overflow:
      return "overflow";
    case LossKind::bad_amount:
      return "items_or_bytes_not_positive";
    case LossKind::device_skipped:
      return "device_skipped";
    case LossKind::device_failed:
      return "device_failed";
    case LossKind::device_unresolved:
      return "device_unresolved";
    case LossKind::graph_missed:
      return "graph_samples_missed";
    case LossKind::step_at_end:
      return "steps_beyond_last_number";
    case LossKind::ended_late:
      return "ended_late";
    case LossKind::no_place:
      return "no_place";
    case LossKind::amount_elsewhere:
      return "items_or_bytes_on_another_thread";
  }
  return "unknown";
}

void add_loss(Snapshot& snapshot, const char* what, const std::string& where, std::uint64_t count) {
  if (count != 0) { snapshot.losses.push_back({what, where, count}); }
}

/// Adds the records that one thread dropped for lack of space between two collections.
void add_dropped(Snapshot& snapshot, const std::string& thread, const Threads::Dropped& dropped) {
  using Type = Record::Type;
  const auto of = [&dropped](Type type) { return dropped[static_cast<std::size_t>(type)]; };
  add_loss(snapshot, "rows_dropped", thread, of(Type::row));
  add_loss(snapshot, "metrics_dropped", thread, of(Type::metric));
  add_loss(snapshot, "device_values_dropped", thread, of(Type::amendment));
  add_loss(snapshot, "spans_dropped", thread, of(Type::events) + of(Type::span) + of(Type::device_span));
}

/// Adds and packs one summary at a time: all of them unpacked would need as much memory as the recorded data.
void add_packed(const Summary& from, Summary& to) noexcept {
  if (from.n() == 0) { return; }
  if (to.n() == 0) {
    to.copy_packed(from);
  } else {
    to.merge(from);
    to.pack();
  }
}

void add_values(const Node& node, PathStats& path) {
  add_packed(node.host, path.host);
  path.self_ns = bounded_sum(path.self_ns, node.self_ns());
  path.items = bounded_sum(path.items, node.items.get());
  path.bytes = bounded_sum(path.bytes, node.bytes.get());
  path.skipped += node.skipped.get();
  path.device_pending += node.device_pending.get();
  path.device_lost += node.device_lost.get();
  // Acquire: pairs with Tree::device_of().
  if (const Summary* device = node.device.load(std::memory_order_acquire)) { add_packed(*device, path.device); }
}

/// Returns the number of saturated sums.
std::uint64_t full_sums(const PathStats& path) noexcept {
  const auto at_end = [](std::uint64_t sum) { return sum >= kMaxSum ? 1U : 0U; };
  return at_end(path.host.total_ns()) + at_end(path.device.total_ns()) + at_end(path.items) + at_end(path.bytes);
}

}  // namespace

void SnapshotReader::read(Snapshot& snapshot, std::uint64_t now_ns, std::uint32_t main_thread) {
  losses_.clear();
  forgotten_.clear();
  snapshot.uncovered_ns = static_cast<std::int64_t>(now_ns);
  read_totals(snapshot);
  for (Threads::Slot* slot : threads_.with_values(snapshot.threads)) {
    read_thread(*slot, snapshot, now_ns, main_thread);
  }
  scratch_.clear();
  shared_.series.read(snapshot.series, [this](const Node* node) { return totals_.path_of(node); });
  read_paths(snapshot);  // last: the reads above may add paths
  read_losses(snapshot);
  read_devices(snapshot);
  collector_.time_lines().read(snapshot);
}

void SnapshotReader::read_totals(Snapshot& snapshot) {
  const Tree& tree = totals_.tree();
  snapshot.paths.resize(tree.nodes());
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) { add_node(*tree.node(index), index, snapshot); }
  const std::vector<ThreadSpread>& spreads = totals_.spreads();
  for (std::size_t path = 0; path < spreads.size(); ++path) { snapshot.paths[path].spread = spreads[path]; }
  add_overflow(tree, snapshot);
  count_losses(tree);
}

/// Adds one thread's values, including unfolded events.
void SnapshotReader::read_thread(Threads::Slot& slot, Snapshot& snapshot, std::uint64_t now_ns,
                                 std::uint32_t main_thread) {
  copy_thread(*slot.recorder);
  for (std::uint32_t index = 0; index < scratch_.nodes(); ++index) {
    const Node& node = *scratch_.node(index);
    const std::uint32_t path = totals_.path_of(&node);
    add_node(node, path, snapshot);
    if (node.host.n() == 0) { continue; }
    if (totals_.is_own(path, node)) {
      snapshot.paths[path].spread.add(slot.recorder->thread(), node.host.total_ns());
    } else {  // (for ended threads, Tree::merge counts them)
      losses_[{LossKind::overflow, node.key}] += node.host.n();
    }
  }
  add_overflow(scratch_, snapshot);
  count_losses(scratch_);
  read_open(slot, snapshot, now_ns, main_thread);
}

/// Copies the thread's values to scratch_.
void SnapshotReader::copy_thread(Recorder& recorder) {
  Unfolded unfolded;
  threads_.copy(recorder, unfolded);
  scratch_.copy_for_replay(recorder.tree(), unfolded.state);
  if (scratch_.nodes() < unfolded.state.nodes) { throw std::bad_alloc(); }  // rather than return incomplete totals
  ClockConverter converter(clock_, unfolded.source, unfolded.last_ticks);
  Fold(scratch_, converter).add(unfolded);
}

/// Adds the regions open in scratch_, and the time not covered by any region.
void SnapshotReader::read_open(const Threads::Slot& slot, Snapshot& snapshot, std::uint64_t now_ns,
                               std::uint32_t main_thread) {
  const std::uint32_t thread = slot.recorder->thread();
  std::uint64_t covered = scratch_.covered_ns();
  for (unsigned level = 0; level < scratch_.depth(); ++level) {
    const Tree::Frame& frame = scratch_.frame(level);
    if (frame.node.get() == scratch_.overflow()) { continue; }
    const std::uint64_t open_ns = now_ns - std::min(now_ns, frame.begin_ns.get());
    if (level == 0) { covered += open_ns; }
    const std::uint32_t path = totals_.path_of(frame.node.get());
    snapshot.open.push_back({path, thread, static_cast<std::int64_t>(open_ns)});
    if (slot.is_retired()) { forgotten_[path] += 1; }
  }
  if (thread == main_thread) { snapshot.uncovered_ns = static_cast<std::int64_t>(now_ns - std::min(now_ns, covered)); }
}

void SnapshotReader::read_paths(Snapshot& snapshot) const {
  const Tree& tree = totals_.tree();
  snapshot.paths.resize(tree.nodes());
  for (std::uint32_t index = 0; index < tree.nodes(); ++index) {
    const Node* node = tree.node(index);
    PathStats& path = snapshot.paths[index];
    const auto key = static_cast<KeyIndex>(node->key);
    path.name = keys_.name(key);
    path.kind = keys_.kind(key);
    path.parent = node->parent->parent == nullptr ? kNoIndex : node->parent->index;
    path.depth = path.parent == kNoIndex ? 0 : snapshot.paths[path.parent].depth + 1;
  }
}

void SnapshotReader::read_devices(Snapshot& snapshot) {
  const DeviceOps* ops = nullptr;
  for (unsigned kind = 0; (ops = device_kinds().at(kind)) != nullptr; ++kind) {
    const DeviceReport report = ops->report();
    const auto text = [](const char* words) { return words == nullptr ? "" : words; };
    snapshot.devices.push_back({ops->name, text(report.unavailable), text(report.caveat)});
    for (const DeviceReport::Skips& skips : report.skips) {
      if (skips.what != nullptr && skips.count != 0) {
        snapshot.losses.push_back({skips.what, ops->name, skips.count});
      }
    }
  }
}

void SnapshotReader::read_losses(Snapshot& snapshot) {
  for (const auto& [path, count] : forgotten_) {
    snapshot.losses.push_back({loss_name(LossKind::never_ended), snapshot.path_name(path), count});
  }
  for (const auto& [what, count] : losses_) {
    const auto key = static_cast<KeyIndex>(what.second);
    snapshot.losses.push_back({loss_name(what.first), key == kNoKey ? "" : keys_.name(key), count});
  }
  for (const PathStats& path : snapshot.paths) { add_loss(snapshot, "sums_at_limit", path.name, full_sums(path)); }
  read_counters(snapshot);
  threads_.each_dropped(
      [&](const std::string& thread, const Threads::Dropped& dropped) { add_dropped(snapshot, thread, dropped); });
}

/// Adds process-wide counts.
void SnapshotReader::read_counters(Snapshot& snapshot) const {
  const auto add = [&](const char* what, std::uint64_t count) { add_loss(snapshot, what, "", count); };
  add("keys_over_bound", keys_.refused());
  add("key_kind_conflict", keys_.conflicts());
  add("keys_without_memory", keys_.without_memory());
  add("metrics_over_bound", metric_names().refused());
  add("metrics_without_memory", metric_names().without_memory());
  add("threads_without_memory", threads_.unrecorded());
  add("metrics_without_room", shared_.metrics_without_space.load(std::memory_order_relaxed));
  add("rows_not_taken", collector_.dropped().rows);
  add("metrics_not_taken", collector_.dropped().metrics);
  add("spans_not_taken", collector_.dropped().spans);
  add("rows_incomplete", collector_.incomplete_rows());
  add("spans_lost", collector_.lost_spans());
  for (const auto& [device, count] : collector_.time_lines().unplaced()) {
    add_loss(snapshot, "device_spans_unplaced", device, count);
  }
  add("inside_takt", shared_.nested.load(std::memory_order_relaxed));
  add("steps_without_rows", shared_.steps_without_rows.load(std::memory_order_relaxed));
}

void SnapshotReader::add_node(const Node& node, std::uint32_t path, Snapshot& snapshot) {
  if (path >= snapshot.paths.size()) { snapshot.paths.resize(path + 1); }
  add_values(node, snapshot.paths[path]);
  const std::uint64_t forgotten = node.never_ended.get();
  // A late end may briefly be counted twice: then the count is negative.
  if (forgotten != 0 && forgotten < std::uint64_t{1} << 63U) { forgotten_[path] += forgotten; }
}

void SnapshotReader::add_overflow(const Tree& tree, Snapshot& snapshot) {
  const Node& from = *tree.overflow();
  if (from.host.n() == 0 && from.self_ns() == 0 && from.skipped.get() == 0 && from.never_ended.get() == 0) { return; }
  add_node(from, totals_.overflow_path(), snapshot);
}

void SnapshotReader::count_losses(const Tree& tree) {
  for (unsigned slot = 0; slot < tree.losses().size(); ++slot) {
    const LossCounts::Count& each = tree.losses()[slot];
    if (each.kind.get() == LossKind::never_ended) { continue; }  // reported by path
    losses_[{each.kind.get(), each.key.get()}] += each.count.get();
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
