// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/open_regions.hpp"

#include "record/fold.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// An open region of another thread, as its records say that were copied.
struct FoundRegion {
  enum class State : std::uint8_t {
    ended,     // it is not open
    too_deep,  // it is, without a frame of its own: its begin is not known
    open,
  };
  State state = State::ended;
  bool placed = false;  // false: in the overflow
  bool timed = false;   // false: begun on a clock that is not trusted any more
  std::uint64_t begin_ns = 0;
  std::vector<TreeKey> path;
};

/// Whether what the thread has not folded yet begins or ends the region `id`.
bool is_changed(const Unfolded& unfolded, std::uint32_t id) noexcept {
  if (begins_among(unfolded.run(), id) || ends_among(unfolded.run(), id)) { return true; }
  const Notices::Notice* const end = unfolded.ended.begin() + unfolded.ended.size();
  return std::any_of(unfolded.ended.begin(), end, [id](const Notices::Notice& each) { return each.id == id; });
}

FoundRegion region_of(const Tree::Frame& frame, const Node* overflow, bool clock_kept) {
  FoundRegion region;
  const Node* node = frame.node.get();
  region.state = FoundRegion::State::open;
  region.placed = node != overflow;
  region.timed = clock_kept && !frame.discarded();
  region.begin_ns = frame.begin_ns.get();
  for (; node->parent != nullptr; node = node->parent) { region.path.push_back(node->key); }
  std::reverse(region.path.begin(), region.path.end());
  return region;
}

/// Where the region `id` of `tree` stands. Any thread, while the tree lives. \throws std::bad_alloc
FoundRegion find_region(const Tree& tree, const Clock& clock, const Unfolded& unfolded, std::uint32_t id) {
  const bool clock_kept = unfolded.source == clock.source();
  const unsigned folded = is_changed(unfolded, id) ? 0 : unfolded.state.depth + unfolded.state.late;
  for (unsigned at = 0; at < folded; ++at) {
    const Tree::Frame& frame = unfolded.state.frames[at];
    if (frame.id() == id) { return region_of(frame, tree.overflow(), clock_kept); }
  }
  // Where regions begin depends on what is open: one rule, which a copy follows as the thread itself does.
  const auto copy = std::make_unique<Tree>(kEpochKey, kBatchKey);
  copy->copy_places(tree, unfolded.state);
  Ruler ruler(clock, unfolded.source, unfolded.last_ticks);
  Fold(*copy, ruler).add(unfolded);
  if (const Tree::Frame* const frame = copy->find(id)) { return region_of(*frame, copy->overflow(), clock_kept); }
  FoundRegion region;
  if (copy->is_too_deep(id)) { region.state = FoundRegion::State::too_deep; }
  return region;
}

}  // namespace

Node* OpenRegions::end_elsewhere(Recorder& here, Recorder& opener, Region region, std::uint64_t end_ns, KeyIndex key,
                                 bool& open) noexcept try {
  FoundRegion found;
  {
    const std::lock_guard<std::mutex> lock(ending_);
    Unfolded unfolded;
    threads_.copy(opener, unfolded);
    found = find_region(opener.tree(), clock_, unfolded, region_id(region));
    open = found.state != FoundRegion::State::ended;
    end_ns = std::max(found.begin_ns, end_ns);  // this thread's clock may be a little behind
    if (open) { opener.leave_notice(region_id(region), end_ns); }
  }
  here.fold();
  const Recorder::Change change(here);
  Tree& tree = here.tree();
  if (!open) {
    tree.count(LossKind::end_without_start, key);
    return nullptr;
  }
  if (found.state == FoundRegion::State::too_deep) {
    tree.count(LossKind::ended_elsewhere, kNoKey);
    return tree.overflow();
  }
  const TreeKey found_key = found.path.empty() ? TreeKey{kNoKey} : found.path.back();
  if (!found.timed) {
    tree.count(LossKind::clock_changed, found_key);
    return nullptr;
  }
  Node* node = found.placed ? tree.root() : tree.overflow();
  for (const TreeKey each : found.path) { node = tree.child(node, each); }
  tree.add_at(node, end_ns - found.begin_ns);
  here.trace_elsewhere(opener, region, static_cast<KeyIndex>(found_key), found.begin_ns, end_ns);
  tree.count(LossKind::ended_elsewhere, found_key);
  return node;
} catch (const std::bad_alloc&) {  // it stays open, and is counted as never ended
  return nullptr;
}

void OpenRegions::tell_forgotten(Recorder& here) noexcept {
  if (is_collected_.load(std::memory_order_relaxed)) { return; }
  try {
    here.tell_forgotten(keys_);
  } catch (const std::bad_alloc&) {}  // the report has it
}

void OpenRegions::tell_forgotten() {
  for (Threads::Slot* slot : threads_.slots()) { slot->recorder->tell_forgotten(keys_); }
}

}  // namespace detail
TAKT_END_NAMESPACE
