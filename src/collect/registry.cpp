// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/registry.hpp"

#include "base/fault.hpp"
#include "base/repaired_name.hpp"
#include "base/words.hpp"
#include "collect/open_region.hpp"

#include <sched.h>
#include <unistd.h>
#include <algorithm>
#include <functional>
#include <memory>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

const char* mishap_name(Mishap mishap) noexcept {
  switch (mishap) {
    case Mishap::end_without_start:
      return "end_without_start";
    case Mishap::never_ended:
      return "never_ended";
    case Mishap::ended_elsewhere:
      return "ended_on_another_thread";
    case Mishap::clock_changed:
      return "clock_changed";
    case Mishap::overflow:
      return "overflow";
    case Mishap::bad_amount:
      return "items_or_bytes_not_positive";
    case Mishap::device_skipped:
      return "device_skipped";
    case Mishap::device_failed:
      return "device_failed";
    case Mishap::device_unresolved:
      return "device_unresolved";
    case Mishap::graph_missed:
      return "graph_samples_missed";
    case Mishap::step_at_end:
      return "steps_beyond_last_number";
    case Mishap::ended_late:
      return "ended_late";
    case Mishap::no_place:
      return "no_place";
  }
  return "unknown";
}

/// What spans may take on their way while a time line is recorded.
constexpr std::size_t kTraceBytes = 32U << 20U;

/// What one thread had no room for between two collections.
template <class Dropped>
void add_dropped(Snapshot& snapshot, const std::string& thread, Dropped dropped) {
  using Type = Record::Type;
  const auto add = [&](const char* what, std::uint64_t count) {
    if (count != 0) { snapshot.losses.push_back({what, thread, count}); }
  };
  add("rows_dropped", dropped(Type::row));
  add("metrics_dropped", dropped(Type::metric));
  add("device_values_dropped", dropped(Type::amendment));
  add("spans_dropped", dropped(Type::events) + dropped(Type::span) + dropped(Type::device_span));
}

/// One at a time is unpacked, as all of them at once would need as much memory as what was recorded.
void add_packed(const Summary& from, Summary& to) noexcept {
  if (from.n() == 0) { return; }
  if (to.n() == 0) {
    to.copy_packed(from);
  } else {
    to.merge(from);
    to.pack();
  }
}

/// Sums that have reached the last number that they can hold.
std::uint64_t full_sums(const PathStats& path) noexcept {
  const auto at_end = [](std::uint64_t sum) { return sum >= kMostSum ? 1U : 0U; };
  return at_end(path.host.total_ns()) + at_end(path.device.total_ns()) + at_end(path.items) + at_end(path.bytes);
}

}  // namespace

Registry::Registry(Clock& clock, KeyTable& keys, std::uint32_t generation)
    : clock_(clock),
      keys_(keys),
      generation_(generation),
      totals_(kEpochKey, kBatchKey),
      scratch_(kEpochKey, kBatchKey),
      collector_(clock, keys) {}

Recorder* Registry::attach() noexcept {
  try {
    const std::lock_guard<std::mutex> lock(list_);
    Recorder* recorder = nullptr;
    const std::size_t threads = threads_.size();
    const std::uint32_t thread = add_thread();  // first what may throw: a recorder that is handed out is in use
    if (!free_.empty()) {
      recorder = free_.back()->recorder;
      free_.pop_back();
    } else if (Slot* slot = add_slot()) {
      recorder = slot->recorder;
    }
    if (recorder != nullptr) {
      recorder->attach(thread, warmup_.load(std::memory_order_relaxed));
      return recorder;
    }
    if (threads_.size() > threads) { threads_.pop_back(); }
  } catch (const std::bad_alloc&) {}  // the same as nullptr
  // Without the lock: the handler that hears of it may time regions of its own.
  count_unrecorded();
  report_fault("memory",
               "no memory is left for another recording thread; it is not timed. TAKT_MEMORY_MB sets the bound.");
  return nullptr;
}

/// A new recorder and its slot; nullptr where the memory for recording is spent. What will be needed when its thread ends is there
/// from now on. Under list_.
Registry::Slot* Registry::add_slot() noexcept try {
  slots_.reserve(slots_.size() + 1);
  free_.reserve(slots_.size() + 1);
  auto slot = std::make_unique<Slot>();
  slot->recorder = Recorder::create(clock_, shared_, generation_);
  if (slot->recorder == nullptr) { return nullptr; }
  slots_.push_back(slot.get());
  return slot.release();
} catch (const std::bad_alloc&) { return nullptr; }

/// The number of the calling thread. Under list_.
std::uint32_t Registry::add_thread() {
  if (threads_.size() < kMaxThreads) {
    ThreadInfo info;
    info.id = static_cast<std::uint32_t>(threads_.size());
    info.name = gettid() == getpid()         ? "main"
                : info.id + 1 == kMaxThreads ? ThreadInfo::kFurther
                                             : "thread " + std::to_string(info.id);
    threads_.push_back(info);
  }
  return threads_.back().id;
}

void Registry::name_thread(std::uint32_t thread, std::string_view name) noexcept {
  try {
    std::string text = repaired_name(name);
    const std::lock_guard<std::mutex> lock(list_);
    if (thread + 1 == kMaxThreads) { return; }  // one name for many: none of theirs
    if (thread < threads_.size()) { threads_[thread].name = std::move(text); }
  } catch (const std::bad_alloc&) {
    report_fault("name_thread", Words("no memory is left for the name of a thread, \"", RepairedName(name), "\""));
  }
}

void Registry::thread_ends(Recorder& recorder) noexcept {
  {
    const Recorder::Inside inside(recorder);
    recorder.fold();
    recorder.poll();
    if (recorder.has_untold()) { tell_forgotten(recorder); }
  }
  bool many = false;
  {
    const std::lock_guard<std::mutex> lock(list_);
    recorder.detach_thread();
    threads_[recorder.thread()].ended = true;
    Slot& mine =
        **std::find_if(slots_.begin(), slots_.end(), [&](const Slot* slot) { return slot->recorder == &recorder; });
    if (recorder.device_pending()) {
      mine.orphan = true;
      orphans_.fetch_add(1, std::memory_order_relaxed);
    }
    mine.retired_at = ++retirements_;
    mine.retired.store(true, std::memory_order_release);  // from here on it is whoever's holds collect_
    many = ++waiting_ > kMaxWaiting;
  }
  // Somebody who is reading right now will take it over when done; but where threads end faster than they are taken over, the
  // next ones would need ever more memory.
  std::unique_lock<std::mutex> collect(collect_, std::defer_lock);
  if (many) { collect.lock(); }
  try {
    if (many || collect.try_lock()) {
      if (orphans_.load(std::memory_order_relaxed) != 0) {
        settle_orphans();
      }  // where no Batch ends, nobody else looks
      if (!absorb_retired(many ? Collector::Much::all : Collector::Much::some)) { shared_.alarm.ring(); }
    }
  } catch (const std::bad_alloc&) {}  // it stays retired; the next one tries again
}

/// Moves the values of an ended thread to totals_. What is open or pending keeps its recorder from being used again, and so
/// do rows and metrics that there is no room for. Returns whether there was. Under collect_.
bool Registry::absorb(Slot& slot, Collector::Much much) {
  Recorder& recorder = *slot.recorder;
  recorder.fold();  // of regions that ended elsewhere
  const bool drained = drain(slot, much);
  if (slot.orphan && !recorder.device_pending()) {
    slot.orphan = false;
    orphans_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!drained || recorder.tree().is_unended() || recorder.device_pending()) { return drained; }
  totals_.merge(recorder.tree());
  shared_.series.finish(recorder.tree(), [this](const Node* node) { return path_of(node); });
  keep_dropped(slot);
  collector_.forget(&recorder);
  recorder.recycle();
  const std::lock_guard<std::mutex> lock(list_);
  slot.retired.store(false, std::memory_order_release);
  free_.push_back(&slot);
  return true;
}

/// Returns whether there was room for what they had left. Under collect_.
bool Registry::absorb_retired(Collector::Much much) {
  std::vector<Slot*> retired;
  {
    const std::lock_guard<std::mutex> lock(list_);
    std::copy_if(slots_.begin(), slots_.end(), std::back_inserter(retired),
                 [](const Slot* slot) { return slot->is_retired(); });
    waiting_ = 0;
  }
  bool drained = true;
  for (Slot* slot : retired) { drained = absorb(*slot, much) && drained; }
  bound_unended(retired);
  return drained;
}

/// A region that its thread left open may still end on another one, but the recorders of a long life's threads cannot all be
/// kept for that: the oldest are given up. Under collect_.
void Registry::bound_unended(std::vector<Slot*>& retired) {
  const auto is_unended = [](const Slot* slot) { return slot->is_retired() && slot->recorder->tree().is_unended(); };
  retired.erase(std::remove_if(retired.begin(), retired.end(), std::not_fn(is_unended)), retired.end());
  if (retired.size() <= kMaxUnended) { return; }
  std::sort(retired.begin(), retired.end(), [](const Slot* a, const Slot* b) { return a->retired_at < b->retired_at; });
  retired.resize(retired.size() - kMaxUnended);
  for (Slot* slot : retired) {
    slot->recorder->abandon_open();
    absorb(*slot, Collector::Much::all);
  }
}

Node* Registry::end_elsewhere(Recorder& here, Recorder& opener, Region region, std::uint64_t end_ns,
                              KeyIndex begun_with, bool& open) noexcept try {
  Unfolded unfolded;
  {
    const std::lock_guard<std::mutex> lock(list_);
    opener.copy(unfolded);
  }
  const OpenRegion found = OpenRegion::of(opener.tree(), clock_, unfolded, region_id(region));
  here.fold();
  const Recorder::Change change(here);
  Tree& tree = here.tree();
  open = found.state != OpenRegion::State::ended;
  if (!open) {
    tree.count(Mishap::end_without_start, begun_with);
    return nullptr;
  }
  end_ns = std::max(found.begin_ns, end_ns);  // this thread's clock may be a little behind
  opener.leave_notice(region_id(region), end_ns);
  if (found.state == OpenRegion::State::too_deep) {
    tree.count(Mishap::ended_elsewhere, kNoKey);
    return tree.overflow();
  }
  const TreeKey key = found.path.empty() ? TreeKey{kNoKey} : found.path.back();
  if (!found.timed) {
    tree.count(Mishap::clock_changed, key);
    return nullptr;
  }
  Node* node = found.placed ? tree.root() : tree.overflow();
  for (const TreeKey each : found.path) { node = tree.child(node, each); }
  tree.add_at(node, end_ns - found.begin_ns);
  here.trace_elsewhere(opener, region, static_cast<KeyIndex>(key), found.begin_ns, end_ns);
  tree.count(Mishap::ended_elsewhere, key);
  return node;
} catch (const std::bad_alloc&) {  // it stays open, and is counted as never ended
  return nullptr;
}

/// Takes in device results of ended threads. Returns whether none is pending any more. Under collect_.
bool Registry::settle_orphans() {
  if (orphans_.load(std::memory_order_relaxed) == 0) { return true; }  // without asking for memory
  std::vector<Slot*> slots;
  {
    const std::lock_guard<std::mutex> lock(list_);
    slots = slots_;
  }
  bool pending = false;
  for (Slot* slot : slots) {
    if (!slot->is_retired() || !slot->orphan) { continue; }
    slot->recorder->poll(true);
    pending = pending || slot->recorder->device_pending();
    absorb(*slot, Collector::Much::some);
  }
  return !pending;
}

TAKT_COLD void Registry::look_at_orphans() noexcept {
  const std::unique_lock<std::mutex> collect(collect_, std::try_to_lock);
  if (!collect.owns_lock()) { return; }
  try {
    settle_orphans();
  } catch (const std::bad_alloc&) {}  // the next one tries again
}

void Registry::ask_devices() {
  std::vector<Slot*> slots;
  {
    const std::lock_guard<std::mutex> lock(list_);
    slots = slots_;
  }
  for (Slot* slot : slots) { slot->recorder->ask_devices(); }
}

bool Registry::complete(Recorder* here, std::uint64_t deadline_ns) noexcept {
  for (;;) {
    if (here != nullptr) {
      const Recorder::Inside inside(*here);
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

/// The path of the process at which a node of any tree stands. Paths are numbered by the nodes of totals_.
std::uint32_t Registry::path_of(const Node* node) {
  if (node->parent == nullptr) { return PathStats::kNoParent; }
  return path_below(path_of(node->parent), node->key);
}

/// Throws std::bad_alloc rather than that a path which has room ends up where those without go.
std::uint32_t Registry::path_below(std::uint32_t parent, TreeKey key) {
  Node* above = parent == PathStats::kNoParent ? totals_.root() : totals_.node(parent);
  const Node* here = totals_.child(above, key);
  if (here != totals_.overflow()) { return here->index; }
  if (totals_.nodes() + 1 < Tree::kMaxNodes) { throw std::bad_alloc(); }
  return overflow_path();
}

/// The path of all that has no place: the tree keeps one for it.
std::uint32_t Registry::overflow_path() {
  const Node* here = totals_.child(totals_.root(), kOverflowKey);
  if (here == totals_.overflow()) { throw std::bad_alloc(); }
  return here->index;
}

void Registry::map_paths(Slot& slot, const Tree& tree) {
  while (slot.paths.size() < tree.nodes()) {
    const Node* node = tree.node(static_cast<std::uint32_t>(slot.paths.size()));
    const std::uint32_t parent =
        node->parent->parent == nullptr ? PathStats::kNoParent : slot.paths[node->parent->index];
    slot.paths.push_back(path_below(parent, node->key));
  }
}

/// Returns whether that was all.
bool Registry::drain(Slot& slot, Collector::Much much) {
  Outbox* outbox = slot.recorder->outbox();
  const std::uint64_t end = outbox == nullptr ? 0 : outbox->end();
  map_paths(slot, slot.recorder->tree());  // after `end`: every node that records before it speak of is there
  if (outbox == nullptr) { return true; }
  const bool all = collector_.drain(*outbox, end, slot.recorder, slot.recorder->thread(), slot.paths, much);
  const DeviceQueue::Hold answers(*slot.recorder);
  answers.each([&](AnsweredSpan& span) { collector_.take(span, slot.paths); });
  return all;
}

/// Its recorder is about to be used by another thread.
void Registry::keep_dropped(const Slot& slot) {
  const Outbox* outbox = slot.recorder->outbox();
  if (outbox == nullptr) { return; }
  for (int type = 0; type < Record::kTypes; ++type) {
    dropped_[static_cast<std::size_t>(type)] += outbox->dropped(static_cast<Record::Type>(type));
  }
}

void Registry::set_row_limit(std::size_t bytes, bool traced) {
  const std::lock_guard<std::mutex> collect(collect_);
  shared_.outbox_pool.set_limit(traced ? std::max(kTraceBytes, bytes / 2) : bytes / 2);
  collector_.set_limit(bytes / 2);
}

Harvest Registry::collect(bool last, bool* more) {
  is_collected_.store(!last, std::memory_order_relaxed);
  tell_forgotten();
  const std::lock_guard<std::mutex> collect(collect_);
  shared_.alarm.clear();
  std::vector<Slot*> slots;
  {
    const std::lock_guard<std::mutex> lock(list_);
    slots = slots_;
  }
  const Collector::Much much = last ? Collector::Much::whole : Collector::Much::some;
  bool all = true;
  for (std::size_t turn = 0; turn < slots.size(); ++turn) {
    if (collector_.is_full() && !last) {
      next_drained_ = (next_drained_ + turn) % slots.size();  // whose turn it is, so that nobody waits for ever
      all = false;
      break;
    }
    all = drain(*slots[(next_drained_ + turn) % slots.size()], much) && all;
  }
  all = absorb_retired(much) && all;
  if (more != nullptr) { *more = !all; }
  return collector_.harvest(last);
}

void Registry::add_values(const Node& node, PathStats& path) const {
  add_packed(node.host, path.host);
  path.self_ns = bounded_sum(path.self_ns, node.self_ns());
  path.items = bounded_sum(path.items, node.items.get());
  path.bytes = bounded_sum(path.bytes, node.bytes.get());
  path.skipped += node.skipped.get();
  path.device_pending += node.device_pending.get();
  path.device_lost += node.device_lost.get();
  if (const Summary* device = node.device.load(std::memory_order_acquire)) { add_packed(*device, path.device); }
}

void Registry::add_overflow(const Tree& tree, Snapshot& snapshot) {
  const Node& from = *tree.overflow();
  if (from.host.n() == 0 && from.self_ns() == 0 && from.skipped.get() == 0 && from.never_ended.get() == 0) { return; }
  const std::uint32_t path = overflow_path();
  count_forgotten(from, path);
  if (path >= snapshot.paths.size()) { snapshot.paths.resize(path + 1); }
  add_values(from, snapshot.paths[path]);
}

void Registry::count_losses(const Tree& tree) {
  for (unsigned slot = 0; slot < tree.mishaps(); ++slot) {
    const Tree::Count& each = tree.mishap(slot);
    if (each.mishap.get() == Mishap::never_ended) { continue; }  // told by path
    losses_[{each.mishap.get(), each.key.get()}] += each.count.get();
  }
}

/// A result that its thread has not taken in: what could not be timed stays pending until then.
void Registry::add_answer(const AnsweredSpan& span) {
  if (span.result.state != Elapsed::State::ready || span.node->index >= scratch_.nodes()) { return; }
  Node* node = scratch_.node(span.node->index);
  Summary* device = scratch_.device_of(node);
  if (device == nullptr || node->device_pending.get() == 0) { return; }
  add_span_to(*device, static_cast<std::uint64_t>(span.result.ns), span.warmup, nullptr);
  node->device_pending.set(node->device_pending.get() - 1);
}

/// Adds one thread's values, those it has not folded yet included.
void Registry::read_thread(Slot& slot, Snapshot& snapshot, std::uint64_t now_ns) {
  Recorder& recorder = *slot.recorder;
  Unfolded unfolded;
  const DeviceQueue::Hold answers(recorder);  // or they could be in both, or in none
  {
    const std::lock_guard<std::mutex> lock(list_);
    recorder.copy(unfolded);
  }
  scratch_.copy_for_replay(recorder.tree(), unfolded.state);
  if (scratch_.nodes() < unfolded.state.nodes) { throw std::bad_alloc(); }  // rather than totals without them
  Ruler ruler(clock_, unfolded.source, unfolded.last_ticks);
  Folder(scratch_, ruler).fold(unfolded);
  answers.each([this](const AnsweredSpan& span) { add_answer(span); });
  std::vector<std::uint32_t> paths;
  for (std::uint32_t index = 0; index < scratch_.nodes(); ++index) {
    const std::uint32_t path = path_of(scratch_.node(index));
    paths.push_back(path);
    if (path >= snapshot.paths.size()) { snapshot.paths.resize(path + 1); }
    const Node& node = *scratch_.node(index);
    add_values(node, snapshot.paths[path]);
    count_forgotten(node, path);
    // (Of an ended thread, Tree::merge counts them.)
    if (totals_.node(path)->key != node.key && node.host.n() != 0) {
      losses_[{Mishap::overflow, node.key}] += node.host.n();
    }
  }
  add_overflow(scratch_, snapshot);
  count_losses(scratch_);
  std::uint64_t covered = scratch_.covered_ns();
  for (unsigned level = 0; level < scratch_.depth(); ++level) {
    const Tree::Frame& frame = scratch_.frame(level);
    if (frame.node.get() == scratch_.overflow()) { continue; }
    const std::uint64_t open_ns = now_ns - std::min(now_ns, frame.begin_ns.get());
    if (level == 0) { covered += open_ns; }
    snapshot.open.push_back({paths[frame.node.get()->index], recorder.thread(), static_cast<std::int64_t>(open_ns)});
    if (slot.is_retired()) { forgotten_[paths[frame.node.get()->index]] += 1; }
  }
  if (recorder.thread() == main_thread_.load(std::memory_order_relaxed)) {
    snapshot.uncovered_ns = static_cast<std::int64_t>(now_ns - std::min(now_ns, covered));
  }
}

void Registry::read(Snapshot& snapshot, std::uint64_t now_ns) {
  tell_forgotten();
  const std::lock_guard<std::mutex> collect(collect_);
  absorb_retired(Collector::Much::some);
  losses_.clear();
  forgotten_.clear();
  snapshot.uncovered_ns = static_cast<std::int64_t>(now_ns);
  snapshot.paths.resize(totals_.nodes());
  for (std::uint32_t index = 0; index < totals_.nodes(); ++index) {
    add_values(*totals_.node(index), snapshot.paths[index]);
    count_forgotten(*totals_.node(index), index);
  }
  add_overflow(totals_, snapshot);
  count_losses(totals_);
  std::vector<Slot*> slots;
  {
    const std::lock_guard<std::mutex> lock(list_);
    for (Slot* slot : slots_) {
      if (slot->is_retired() || slot->recorder->owner_alive()) { slots.push_back(slot); }
    }
    snapshot.threads = threads_;
  }
  for (Slot* slot : slots) { read_thread(*slot, snapshot, now_ns); }
  scratch_.clear();
  shared_.series.read(snapshot.series, [this](const Node* node) { return path_of(node); });
  read_paths(snapshot);  // last, since all that comes before may find new ones
  read_losses(snapshot);
  read_devices(snapshot);
  collector_.time_lines().read(snapshot);
  absorb_retired(Collector::Much::some);
}

void Registry::read_paths(Snapshot& snapshot) {
  snapshot.paths.resize(totals_.nodes());
  for (std::uint32_t index = 0; index < totals_.nodes(); ++index) {
    const Node* node = totals_.node(index);
    PathStats& path = snapshot.paths[index];
    const auto key = static_cast<KeyIndex>(node->key);
    path.name = keys_.name(key);
    path.kind = keys_.kind(key);
    path.parent = node->parent == totals_.root() ? PathStats::kNoParent : node->parent->index;
    path.depth = path.parent == PathStats::kNoParent ? 0 : snapshot.paths[path.parent].depth + 1;
  }
}

void Registry::read_devices(Snapshot& snapshot) {
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

void Registry::read_losses(Snapshot& snapshot) {
  for (const auto& [path, count] : forgotten_) {
    snapshot.losses.push_back({mishap_name(Mishap::never_ended), snapshot.path_name(path), count});
  }
  for (const auto& [what, count] : losses_) {
    const auto key = static_cast<KeyIndex>(what.second);
    snapshot.losses.push_back({mishap_name(what.first), key == kNoKey ? "" : keys_.name(key), count});
  }
  const auto add = [&](const char* what, const std::string& where, std::uint64_t count) {
    if (count != 0) { snapshot.losses.push_back({what, where, count}); }
  };
  for (const PathStats& path : snapshot.paths) { add("sums_at_limit", path.name, full_sums(path)); }
  add("keys_over_bound", "", keys_.refused());
  add("key_kind_conflict", "", keys_.conflicts());
  add("keys_without_memory", "", keys_.without_memory());
  add("metrics_over_bound", "", metric_names().refused());
  add("metrics_without_memory", "", metric_names().without_memory());
  add("threads_without_memory", "", unrecorded_.load(std::memory_order_relaxed));
  add("metrics_without_room", "", shared_.metrics_without_room.load(std::memory_order_relaxed));
  add("rows_not_taken", "", collector_.dropped().rows);
  add("metrics_not_taken", "", collector_.dropped().metrics);
  add("spans_not_taken", "", collector_.dropped().spans);
  add("rows_incomplete", "", collector_.incomplete_rows());
  add("spans_lost", "", collector_.lost_spans());
  for (const auto& [device, count] : collector_.time_lines().unplaced()) {
    add("device_spans_unplaced", device, count);
  }
  const std::lock_guard<std::mutex> lock(list_);
  add("interrupted_by_signal", "", shared_.interrupted.load(std::memory_order_relaxed));
  add("steps_without_rows", "", shared_.steps_without_rows.load(std::memory_order_relaxed));
  add_dropped(snapshot, "", [this](Record::Type type) { return dropped_[static_cast<std::size_t>(type)]; });
  for (const Slot* slot : slots_) {
    const Outbox* outbox = slot->recorder->outbox();
    if (outbox == nullptr) { continue; }
    add_dropped(snapshot, threads_[slot->recorder->thread()].name,
                [outbox](Record::Type type) { return outbox->dropped(type); });
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
