// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/registry.hpp"

#include "base/report_error.hpp"
#include "base/text.hpp"
#include "record/fold.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <sched.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// An open region of another thread, found in a copy of its records.
struct FoundRegion {
  enum class State : std::uint8_t {
    ended,     // not open
    too_deep,  // open without a frame: its start is unknown
    open,
  };
  State state = State::ended;
  bool placed = false;  // false: in the overflow node
  bool timed = false;   // false: started on a clock that is no longer trusted
  std::uint64_t begin_ns = 0;
  std::vector<TreeKey> path;
};

/// Returns true if unfolded events of the thread begin or end the region `id`.
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

/// Finds the region `id` of `tree`. Any thread, while the tree lives. \throws std::bad_alloc
FoundRegion find_region(const Tree& tree, const Clock& clock, const Unfolded& unfolded, std::uint32_t id) {
  const bool clock_kept = unfolded.source == clock.source();
  const unsigned folded = is_changed(unfolded, id) ? 0 : unfolded.state.depth + unfolded.state.late;
  for (unsigned at = 0; at < folded; ++at) {
    const Tree::Frame& frame = unfolded.state.frames[at];
    if (frame.id() == id) { return region_of(frame, tree.overflow(), clock_kept); }
  }
  // Replays in a copy: a region's node depends on the regions open when it begins, as on the thread itself.
  const auto copy = std::make_unique<Tree>(kEpochKey, kBatchKey);
  copy->copy_places(tree, unfolded.state);
  ClockConverter converter(clock, unfolded.source, unfolded.last_ticks);
  Fold(*copy, converter).add(unfolded);
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
    end_ns = std::max(found.begin_ns, end_ns);  // this thread's clock may be slightly behind
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
} catch (const std::bad_alloc&) {  // the region stays open, and is counted as never ended
  return nullptr;
}

void OpenRegions::report_forgotten_regions(Recorder& here) noexcept {
  if (is_collected_.load(std::memory_order_relaxed)) { return; }
  try {
    here.report_forgotten_regions(keys_);
  } catch (const std::bad_alloc&) {}  // the report still contains it
}

void OpenRegions::report_forgotten_regions() {
  for (Threads::Slot* slot : threads_.slots()) { slot->recorder->report_forgotten_regions(keys_); }
}

namespace {

/// Minimum space for queued spans while a time line is recorded.
constexpr std::size_t kTraceBytes = 32U << 20U;

}  // namespace

Registry::Registry(Clock& clock, KeyTable& keys, std::uint32_t generation)
    : clock_(clock),
      generation_(generation),
      threads_(clock, shared_, generation),
      open_regions_(clock, keys, threads_),
      collector_(clock, keys),
      reader_(clock, keys, shared_, threads_, totals_, collector_) {}

void Registry::name_thread(std::uint32_t thread, std::string_view name) noexcept {
  try {
    threads_.name(thread, repaired_name(name));
  } catch (const std::bad_alloc&) {
    report_error("name_thread", Words("out of memory for the name of thread \"", RepairedName(name), "\""));
  }
}

void Registry::thread_ends(Recorder& recorder) noexcept {
  {
    const Recorder::ReentryGuard inside(recorder);
    recorder.fold();
    recorder.poll();
    if (recorder.has_unreported()) { open_regions_.report_forgotten_regions(recorder); }
  }
  const bool many = threads_.retire(recorder);  // from here on it belongs to the thread that holds collect_
  // Usually a thread that is reading takes it over. If threads end faster than that, new ones would need more and more
  // memory: then this thread waits.
  std::unique_lock<std::mutex> collect(collect_, std::defer_lock);
  if (many) { collect.lock(); }
  try {
    if (many || collect.try_lock()) {
      settle_orphans();  // without Batch ends, no other thread polls them
      if (!absorb_retired(many ? Collector::Much::all : Collector::Much::some)) { shared_.alarm.ring(); }
    }
  } catch (const std::bad_alloc&) {}  // it stays retired; the next call retries
}

/// Moves the values of an ended thread to totals_. Its recorder is not reused while regions are open, device results
/// pending, or rows and metrics without space. Returns false in the last case. Requires collect_.
bool Registry::absorb(Slot& slot, Collector::Much much) {
  Recorder& recorder = *slot.recorder;
  recorder.fold();  // folds ends by other threads
  const bool drained = drain(slot, much);
  if (slot.orphan && !recorder.device_pending()) { threads_.settled(slot); }
  if (!drained || recorder.tree().is_unended() || recorder.device_pending()) { return drained; }
  totals_.add(recorder.tree(), slot.paths, recorder.thread());
  shared_.series.finish(recorder.tree(), [this](const Node* node) { return totals_.path_of(node); });
  collector_.forget(&recorder);
  threads_.reuse(slot);
  return true;
}

/// Returns true if there was space for all their rows and metrics. Requires collect_.
bool Registry::absorb_retired(Collector::Much much) {
  std::vector<Slot*> retired = threads_.retired();
  bool drained = true;
  for (Slot* slot : retired) { drained = absorb(*slot, much) && drained; }
  bound_unended(retired);
  return drained;
}

/// Drops the open regions of the oldest ended threads. Another thread may still end them, but keeping all these
/// recorders would need unbounded memory. Requires collect_.
void Registry::bound_unended(std::vector<Slot*>& retired) {
  const auto is_unended = [](const Slot* slot) { return slot->is_retired() && slot->recorder->tree().is_unended(); };
  retired.erase(std::remove_if(retired.begin(), retired.end(), std::not_fn(is_unended)), retired.end());
  if (retired.size() <= kMaxUnended) { return; }
  std::sort(retired.begin(), retired.end(), [](const Slot* a, const Slot* b) { return a->retired_at < b->retired_at; });
  retired.resize(retired.size() - kMaxUnended);
  for (Slot* slot : retired) {
    slot->recorder->drop_open();
    absorb(*slot, Collector::Much::all);
  }
}

/// Takes device results of ended threads. Returns true if none is pending. Requires collect_.
bool Registry::settle_orphans() {
  if (!threads_.has_orphans()) { return true; }  // avoids allocating
  bool pending = false;
  for (Slot* slot : threads_.slots()) {
    if (!slot->is_retired() || !slot->orphan) { continue; }
    slot->recorder->poll(true);
    pending = pending || slot->recorder->device_pending();
    absorb(*slot, Collector::Much::some);
  }
  return !pending;
}

TAKT_COLD void Registry::check_orphans() noexcept {
  const std::unique_lock<std::mutex> collect(collect_, std::try_to_lock);
  if (!collect.owns_lock()) { return; }
  try {
    settle_orphans();
  } catch (const std::bad_alloc&) {}  // the next call retries
}

bool Registry::complete(Recorder* here, std::uint64_t deadline_ns) noexcept {
  for (;;) {
    if (here != nullptr) {
      const Recorder::ReentryGuard inside(*here);
      here->fold();
      here->poll(true);
    }
    bool done = here == nullptr || !here->device_pending();
    {
      const std::lock_guard<std::mutex> collect(collect_);
      try {
        done = settle_orphans() && done;
      } catch (const std::bad_alloc&) { done = false; }
    }
    if (done || clock_.now_ns() >= deadline_ns) { return done; }
    sched_yield();
  }
}

/// Returns true if nothing is left.
bool Registry::drain(Slot& slot, Collector::Much much) {
  Outbox* outbox = slot.recorder->outbox();
  const std::uint64_t end = outbox == nullptr ? 0 : outbox->end();
  // After reading `end`: every node that the records before it refer to exists.
  totals_.number(slot.recorder->tree(), slot.paths);
  if (outbox == nullptr) { return true; }
  return collector_.drain(*outbox, end, slot.recorder, slot.recorder->thread(), slot.paths, much);
}

/// Visits threads in turn, so that none starves. Returns true if nothing is left.
bool Registry::drain_all(Collector::Much much) {
  const std::vector<Slot*> slots = threads_.slots();
  bool all = true;
  for (std::size_t turn = 0; turn < slots.size(); ++turn) {
    if (collector_.is_full() && much == Collector::Much::some) {
      next_drained_ = (next_drained_ + turn) % slots.size();
      return false;
    }
    all = drain(*slots[(next_drained_ + turn) % slots.size()], much) && all;
  }
  return all;
}

void Registry::set_row_limit(std::size_t bytes, bool traced) {
  const std::lock_guard<std::mutex> collect(collect_);
  shared_.outbox_pool.set_limit(traced ? std::max(kTraceBytes, bytes / 2) : bytes / 2);
  collector_.set_limit(bytes / 2);
}

Drained Registry::collect(bool last, bool* more) {
  open_regions_.set_collected(!last);
  open_regions_.report_forgotten_regions();
  const std::lock_guard<std::mutex> collect(collect_);
  shared_.alarm.clear();
  const Collector::Much much = last ? Collector::Much::whole : Collector::Much::some;
  bool all = drain_all(much);
  all = absorb_retired(much) && all;
  if (more != nullptr) { *more = !all; }
  return collector_.drained(last);
}

void Registry::read(Snapshot& snapshot, std::uint64_t now_ns) {
  open_regions_.report_forgotten_regions();
  const std::lock_guard<std::mutex> collect(collect_);
  absorb_retired(Collector::Much::some);
  reader_.read(snapshot, now_ns, main_thread_.load(std::memory_order_relaxed));
  absorb_retired(Collector::Much::some);
}

}  // namespace detail
TAKT_END_NAMESPACE
