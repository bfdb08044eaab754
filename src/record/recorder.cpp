// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder.hpp"

#include <takt/key.hpp>

#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::uint64_t kRecheckNs = 1'000'000;

/// Never freed. nullptr where there is no memory.
void* new_arena() noexcept {
  static std::atomic<bool> first_is_taken{false};
  // Loaders before glibc 2.35 and Linux 5.10 align nothing to more than a page, which compilers do not know.
  auto first = reinterpret_cast<std::uintptr_t>(&first_arena);
  asm("" : "+r"(first));
  if ((first & kArenaMask) == 0 && !first_is_taken.exchange(true, std::memory_order_relaxed)) { return &first_arena; }
  void* arena = nullptr;
  return posix_memalign(&arena, sizeof(Arena), sizeof(Arena)) == 0 ? arena : nullptr;
}

}  // namespace

std::size_t Recorder::bytes(std::size_t page_bytes) noexcept {
  return sizeof(Recorder) + std::min(page_bytes, sizeof(Arena));
}

Recorder* Recorder::create(Clock& clock, Shared& shared, std::uint32_t generation) noexcept {
  const std::size_t bytes = Recorder::bytes(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
  if (!shared.budget.take(bytes)) { return nullptr; }
  void* memory = nullptr;
  void* arena = nullptr;
  if (posix_memalign(&memory, alignof(Recorder), sizeof(Recorder)) != 0 || (arena = new_arena()) == nullptr) {
    std::free(memory);
    shared.budget.give(bytes);
    return nullptr;
  }
  return new (memory) Recorder(*static_cast<Arena*>(arena), clock, shared, generation);
}

Recorder::Recorder(Arena& arena, Clock& clock, Shared& shared, std::uint32_t generation) noexcept
    : arena_(arena),
      clock_(clock),
      shared_(shared),
      generation_(generation),
      home_(&parked_),
      ruler_(clock, clock.source(), 0),
      outbox_(shared),
      devices_(shared.budget),
      tree_(kEpochKey, kBatchKey, &shared.budget),
      rows_(tree_, outbox_, shared) {
  arena_.event[0] = reinterpret_cast<Event>(this);
  parked_ = &arena_.event[kBlockFirst];
  folded_.set(parked_);
  source_.set(clock.source());
  last_ticks_.set(clock.first_ticks(source_.own()));
}

void Recorder::attach(std::uint32_t thread, std::uint64_t warmup) noexcept {
  thread_.set(thread);
  rows_.attach(thread);
  tree_.set_warmup(warmup);
  source_.set(clock_.source());
  last_ticks_.set(std::max(now(), clock_.first_ticks(source_.own())));
  store_cursor(parked_);
  home_.store(&cursor, std::memory_order_release);  // pairs with copy() and owner_alive()
}

void Recorder::detach_thread() noexcept {
  parked_ = own_cursor();
  home_.store(&parked_, std::memory_order_release);  // pairs with copy() and owner_alive()
  store_cursor(kPastEnd);
}

/// Appends an event of one word or two that does not begin a region; folds it at once where there is no room for it.
void Recorder::record(const Event* events, unsigned count) noexcept {
  if (Event* const at = room_for(count)) {
    for (unsigned word = 0; word < count; ++word) { put(at + word, events[word]); }
    set_own_cursor(at + count);
    // Again: until the store to the cursor, a signal handler may have written here.
    for (unsigned word = 0; word < count; ++word) { put(at + word, events[word]); }
    return;
  }
  const Change change(*this);
  const EventRun run{events, count, 0, position_.own()};
  Fold fold(tree_, ruler());
  fold.add(run);
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) { trace(run, last_ticks_.own(), fold.unmatched()); }
  last_ended_ = fold.last_ended();
  last_ticks_.set(ruler_.last_ticks());
  if (full_ && count == 1 && last_ended_ != nullptr) { give_place(static_cast<std::uint32_t>(events[0] & kCodeMask)); }
}

/// Begins a region at the time that `stamp` gives once there is room. 0 where there is none.
template <class Stamp>
Region Recorder::begin_at(KeyIndex key, Region flags, Stamp stamp) noexcept {
  Event* const at = room_for(1);
  if (at == nullptr) {
    const Region region = begin_between(key, stamp());
    return region == 0 ? 0 : region | flags;
  }
  const Event event = begin_event(key, stamp());
  put(at, event);
  set_own_cursor(at + 1);
  put(at, event);  // again, as in record()
  return reinterpret_cast<Region>(at) | flags;
}

Region Recorder::begin(KeyIndex key, Region flags) noexcept {
  if (source_.own() != clock_.source()) { fold(); }
  return begin_at(key, flags, [this]() noexcept { return now(); });
}

void Recorder::end_plain(Region region) noexcept {
  const Event event = end_event(region, now());
  record(&event, 1);
}

void Recorder::end(Region region) noexcept {
  const Event event = end_event(region, now());
  record(&event, 1);
  take_end(region);
}

void Recorder::end_step(Region region, Event* at) noexcept {
  const Event event = end_event(region, ticks());
  put(at, event);
  store_cursor(at + 1);
  put(at, event);  // again, as in record()
  take_end(region);
}

/// Folds the end of `region`, which has just been recorded, and does what it brings with it.
TAKT_ALWAYS_INLINE void Recorder::take_end(Region region) noexcept {
  fold();
  Node* node = last_ended_;
  if (TAKT_UNLIKELY((region & kRegionFolds) != 0 && (node == nullptr || !rows_.is_step(node)))) {
    node = step_of(region, node);
  }
  if (node != nullptr) { region_ended(region, node); }
}

/// The step that `region` was, where another region has ended last: one of a signal handler, after the end of the
/// Batch and before its fold. Else that other one: a Batch inside a Batch is no step.
TAKT_COLD Node* Recorder::step_of(Region region, Node* last_ended) const noexcept {
  const Tree::Step& step = tree_.step();
  return step.node != nullptr && !step.open && step.id == region_id(region) ? step.node : last_ended;
}

/// What an end brings with it that is more than its time: a mark on its stream, a poll of its device, and the row of
/// its step.
TAKT_ALWAYS_INLINE void Recorder::region_ended(Region region, Node* node) noexcept {
  if (TAKT_UNLIKELY((region & kRegionUnusual) != 0)) { device_region_ended(region, node); }
  if (rows_.is_step(node) && tree_.step().id == region_id(region)) { step_ended(node); }
}

Node* Recorder::child(Node* around, KeyIndex key) noexcept {
  fold();
  const Change change(*this);
  return around == nullptr ? tree_.place_for(key) : tree_.child(around, key);
}

void Recorder::step_ended(Node* batch) noexcept {
  if (TAKT_UNLIKELY(device_pending())) { poll(); }
  rows_.ended(batch);
  tree_.step_told();
  // By the clock's own time, as the reference takes longer to read than a short step's row to write. A clock that
  // stands still is found by the collector.
  const std::uint64_t now_ns = tree_.step().end_ns;
  if (now_ns - rechecked_ns_ >= kRecheckNs) {
    rechecked_ns_ = now_ns;
    clock_.recheck();
  }
}

Region Recorder::lap(Region region, KeyIndex key, Region flags) noexcept {
  const ClockSource source = source_.own();
  const std::uint64_t ticks = now();
  DeviceBegin begin;
  const bool device = (region & kRegionUnusual) != 0 && devices_.take(region_id(region), begin);
  const DeviceBegin shared = device ? mark(begin.stream, !begin.marked) : DeviceBegin{};
  const Event event = end_event(region, ticks);
  record(&event, 1);
  fold();
  Node* const node = last_ended_;
  if (device && node != nullptr) {
    if (shared.marked) { shared.stream.ops->retain(shared.stream.handle, shared.mark); }
    device_ended(node, begin, shared);
    poll_if_due(begin.stream);
  } else {
    begin.release();
  }
  if (node != nullptr) { region_ended(region & ~kRegionUnusual, node); }
  // The fold may have found that the clock is another one.
  const Region next = begin_at(key, flags | (device ? kRegionUnusual : 0),
                               [this, source, ticks]() noexcept { return source == source_.own() ? ticks : now(); });
  if (device) { device_opened(next, shared); }
  return next;
}

/// The key that an open region was begun with. Its begin stays where it is.
KeyIndex Recorder::key_of(std::uint32_t id) const noexcept { return begun_key(arena_.event[id]); }

Region Recorder::innermost(KeyIndex key, bool tolerant) noexcept {
  fold();
  for (unsigned index = tree_.too_deep_known(); index-- > 0;) {
    const std::uint32_t id = tree_.too_deep_id(index);
    if (key_of(id) == key) { return reinterpret_cast<Region>(&arena_.event[id]); }
  }
  for (unsigned level = tree_.depth(); level-- > 0;) {
    const std::uint32_t id = tree_.frame(level).id();
    if (id != Tree::Frame::kTooDeep && key_of(id) == key) { return reinterpret_cast<Region>(&arena_.event[id]); }
  }
  for (unsigned index = tree_.late(); index-- > 0;) {
    const std::uint32_t id = tree_.late_frame(index).id();
    if (key_of(id) == key) { return reinterpret_cast<Region>(&arena_.event[id]); }
  }
  if (!tolerant) { count_loss(LossKind::end_without_start, key); }
  return 0;
}

bool Recorder::is_open(Region region) noexcept {
  fold();
  return tree_.is_open(region_id(region)) || tree_.is_too_deep(region_id(region));
}

bool Recorder::has_just_begun(Region region) noexcept {
  const Event* const begin = &arena_.event[region_id(region)];
  const Event* const end = own_cursor();
  // Between them, in one block, is all that has happened since, and nothing of it is folded.
  const bool near =
      begin >= folded_.own() && begin < end && place_of(begin) / kBlockEvents == place_of(end - 1) / kBlockEvents;
  return near && !notices_.any() && !ends_among(run_of(begin, end), region_id(region));
}

void Recorder::count_loss(LossKind kind, KeyIndex key) noexcept {
  fold();  // a Change takes the number of the next event to be folded
  const Change change(*this);
  tree_.count(kind, key);
}

void Recorder::plain_pair(KeyIndex key) noexcept {
  Event* const at = room_for(2);
  if (at == nullptr) { return; }
  put(at, begin_event(key, ticks()));
  set_own_cursor(at + 1);
  put(at + 1, end_event(reinterpret_cast<Region>(at), ticks()));
  set_own_cursor(at + 2);
}

void Recorder::amount(Region region, Amount what, std::int64_t amount) noexcept {
  if (amount <= 0) {
    fold();
    count_loss(LossKind::bad_amount, tree_.is_open(region_id(region)) ? key_of(region_id(region)) : kNoKey);
    return;
  }
  const Event events[] = {amount_event(region_id(region), what), static_cast<Event>(amount)};
  record(events, 2);
}

void Recorder::skip(KeyIndex key) noexcept {
  if (notices_.any()) { fold(); }  // this event has no time by which to tell what came first
  const Event event = skipped_event(key);
  record(&event, 1);
}

void Recorder::add(KeyIndex key, std::uint64_t length_ns) noexcept {
  fold();
  const Change change(*this);
  tree_.add_here(key, length_ns);
}

void Recorder::metric(std::uint64_t name, double value, const std::int64_t* step) noexcept {
  if (name == 0) { return; }
  Outbox* const box = outbox_.need();
  if (box == nullptr) {
    shared_.metrics_without_room.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  MetricRecord record;
  record.name = name;
  record.value = value;
  fold();  // the step that is open is known only then
  record.step = step != nullptr ? *step : rows_.current_step();
  record.ns = clock_.to_ns(source_.own(), now());
  box->put_metric(record);
  outbox_.ask_for_collection(*box);
}

void Recorder::abandon_open() noexcept {
  devices_.forget_open();
  told_.forget();
  full_ = false;
  const Change change(*this);
  tree_.abandon_open();
}

void Recorder::leave_out(std::uint64_t ns) noexcept {
  fold();
  const Change change(*this);
  tree_.leave_out(ns, clock_.now_ns());
}

void Recorder::recycle() noexcept {
  outbox_.drop();
  rows_.recycle();
  tree_.clear_values();
  sampling_.forget();
}

}  // namespace detail
TAKT_END_NAMESPACE
