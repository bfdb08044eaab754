// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder.hpp"

#include "base/epoch_names.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <cstdlib>
#include <new>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool Sampling::takes(KeyIndex key, std::uint32_t every) noexcept {
  std::size_t place = key % kPlaces;
  for (std::size_t tried = 0; tried < kPlaces && key_[place] != key && key_[place] != kNoKey; ++tried) {
    place = (place + 1) % kPlaces;
  }
  if (key_[place] != key) {
    key_[place] = key;
    count_[place] = 0;
  }
  const bool timed = count_[place] == 0;
  count_[place] = count_[place] + 1 >= every ? 0 : count_[place] + 1;
  return timed;
}

bool ReportedRegions::add(std::uint32_t id, unsigned listeners) noexcept {
  for (auto& place : place_) {
    // Acquire: pairs with the release half of the exchange in take(), which freed the slot.
    if (place.load(std::memory_order_acquire) != 0) { continue; }
    place.store(id << 8U | listeners, std::memory_order_release);  // pairs with the acquire in take()
    return true;
  }
  return false;
}

unsigned ReportedRegions::take(std::uint32_t id) noexcept {
  for (auto& place : place_) {
    std::uint32_t value = place.load(std::memory_order_acquire);  // pairs with the release in add()
    if (value == 0 || value >> 8U != id) { continue; }
    // Release: pairs with the acquire in add(), which may fill the slot again.
    if (place.compare_exchange_strong(value, 0, std::memory_order_acq_rel)) { return value & 0xFFU; }
  }
  return 0;
}

void ReportedRegions::forget() noexcept {
  for (auto& place : place_) { place.store(0, std::memory_order_release); }  // pairs with the acquire in add()
}

namespace {

constexpr std::uint64_t kRecheckNs = 1'000'000;

/// Returns memory that is never freed, or nullptr.
void* new_arena() noexcept {
  static std::atomic<bool> first_is_taken{false};
  // Loaders before glibc 2.35 and Linux 5.10 align to one page at most, which compilers do not know.
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
      converter_(clock, clock.source(), 0),
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

/// Appends an event of one or two words that does not begin a region; folds it immediately if there is no space.
void Recorder::record(const Event* events, unsigned count) noexcept {
  if (Event* const at = space_for(count)) {
    for (unsigned word = 0; word < count; ++word) { put(at + word, events[word]); }
    set_own_cursor(at + count);
    return;
  }
  const Change change(*this);
  const EventRun run{events, count, 0, position_.own()};
  Fold fold(tree_, converter());
  fold.add(run);
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) { trace(run, last_ticks_.own(), fold.unmatched()); }
  last_ended_ = fold.last_ended();
  last_ticks_.set(converter_.last_ticks());
  if (full_ && count == 1 && last_ended_ != nullptr) { give_place(static_cast<std::uint32_t>(events[0] & kCodeMask)); }
}

/// Begins a region at the time `stamp` returns, called once space is found. Returns 0 without space.
template <class Stamp>
Region Recorder::begin_at(KeyIndex key, Region flags, Stamp stamp) noexcept {
  Event* const at = space_for(1);
  if (at == nullptr) {
    const Region region = begin_between(key, stamp());
    return region == 0 ? 0 : region | flags;
  }
  put(at, begin_event(key, stamp()));
  set_own_cursor(at + 1);
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
  put(at, end_event(region, ticks()));
  store_cursor(at + 1);
  take_end(region);
}

/// Folds the end of `region`, just recorded, and handles its device span and step.
TAKT_ALWAYS_INLINE void Recorder::take_end(Region region) noexcept {
  fold();
  if (Node* const node = last_ended_) { region_ended(region, node); }
}

/// Handles a region's end beyond its time: records a device event, polls its device, and ends its step's row.
TAKT_ALWAYS_INLINE void Recorder::region_ended(Region region, Node* node) noexcept {
  if (TAKT_UNLIKELY((region & kRegionUnusual) != 0)) {
    device_region_ended(region, node);
    if (node->role == Role::epoch) { epoch_ended(node); }
  }
  if (rows_.is_step(node) && tree_.step().id == region_id(region)) { step_ended(node); }
}

Node* Recorder::child(Node* around, KeyIndex key) noexcept {
  fold();
  const Change change(*this);
  return around == nullptr ? tree_.place_for(key) : tree_.child(around, key);
}

/// Logs the figures of an Epoch as metrics, so that journal, page and trackers get them like those of the program.
TAKT_COLD void Recorder::epoch_ended(const Node* epoch) noexcept {
  const auto seconds = 1e-9 * static_cast<double>(tree_.last_epoch_ns());
  const StepRows::Work work = rows_.take_work(epoch);
  if (work.steps != 0) { metric(metric_names().number(kEpochSteps), static_cast<double>(work.steps), nullptr); }
  if (work.items != 0 && seconds > 0) {
    metric(metric_names().number(kEpochRate), static_cast<double>(work.items) / seconds, nullptr);
  }
  metric(metric_names().number(kEpochTime), seconds, nullptr);  // the last one: it ends the row of an Epoch
}

void Recorder::step_ended(Node* batch) noexcept {
  if (TAKT_UNLIKELY(device_pending())) { poll(); }
  rows_.ended(batch);
  tree_.step_reported();
  // Uses the event's own time, because reading the reference takes longer than writing a short step's row. The
  // collector detects a clock that has stopped.
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
  const DeviceBegin shared = device ? mark(begin.stream, begin.marked ? &begin : nullptr) : DeviceBegin{};
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
  // The fold may have switched the clock.
  const Region next = begin_at(key, flags | (device ? kRegionUnusual : 0),
                               [this, source, ticks]() noexcept { return source == source_.own() ? ticks : now(); });
  if (device) { device_opened(next, shared); }
  return next;
}

/// Returns the key of an open region, from its start.
KeyIndex Recorder::key_of(std::uint32_t id) const noexcept { return started_key(arena_.event[id]); }

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

bool Recorder::has_just_started(Region region) noexcept {
  const Event* const begin = &arena_.event[region_id(region)];
  const Event* const end = own_cursor();
  // Between the two, in one block, are all events since the begin, none folded.
  const bool near =
      begin >= folded_.own() && begin < end && place_of(begin) / kBlockEvents == place_of(end - 1) / kBlockEvents;
  return near && !notices_.any() && !ends_among(run_of(begin, end), region_id(region));
}

void Recorder::count_loss(LossKind kind, KeyIndex key) noexcept {
  fold();  // a Change uses the number of the next event to fold
  const Change change(*this);
  tree_.count(kind, key);
}

void Recorder::plain_pair(KeyIndex key) noexcept {
  Event* const at = space_for(2);
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
  if (notices_.any()) { fold(); }  // a skipped event has no time to order it by
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
    shared_.metrics_without_space.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  MetricRecord record;
  record.name = name;
  record.value = value;
  fold();  // updates the open step
  record.step = step != nullptr ? *step : rows_.current_step();
  record.ns = clock_.to_ns(source_.own(), now());
  box->put_metric(record);
  outbox_.ask_for_collection(*box);
}

void Recorder::drop_open() noexcept {
  devices_.forget_open();
  reported_.forget();
  full_ = false;
  const Change change(*this);
  tree_.drop_open();
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

// Chooses where a thread writes its next event.
namespace {

static_assert(Tree::kMaxOpen == kBlocks * (kBlockEvents - kBlockFirst), "as many as there are places");

}  // namespace

/// Returns where to write. Returns nullptr without space; then all events are folded.
Event* Recorder::space_for(unsigned events) noexcept {
  Event* at = own_cursor();
  if (TAKT_LIKELY(has_space(at, events))) { return at; }
  fold();
  at = own_cursor();
  if (has_space(at, events)) { return at; }
  if (folded_.own() != at) { fold(); }
  next_block();
  at = own_cursor();
  return has_space(at, events) ? at : nullptr;
}

/// Moves to the first block in which no open region began: its places can be reused.
void Recorder::next_block() noexcept {
  if (TAKT_UNLIKELY(full_)) { return; }
  const std::size_t block = free_block();
  if (block == kBlocks) {  // an open region began in each block; see begin_between()
    full_ = true;
    taken_ = taken_places();
    return;
  }
  Event* start = &arena_.event[block * kBlockEvents + kBlockFirst];
  const Write write(*this);
  folded_.set(start);
  set_own_cursor(start);
}

/// Visits open regions, including dropped ones.
template <class Use>
void Recorder::each_open_id(Use use) const noexcept {
  const auto use_one = [&use](std::uint32_t id) {
    if (id < kBlocks * kBlockEvents) { use(id); }
  };
  for (unsigned level = 0; level < tree_.depth(); ++level) { use_one(tree_.frame(level).id()); }
  for (unsigned index = 0; index < tree_.too_deep_known(); ++index) { use_one(tree_.too_deep_id(index)); }
  for (unsigned index = 0; index < tree_.late(); ++index) { use_one(tree_.late_frame(index).id()); }
}

/// Returns the places at which open regions began, including dropped ones, one bit each.
Recorder::Places Recorder::taken_places() const noexcept {
  Places taken{};
  each_open_id([&taken](std::uint32_t id) { taken[id / kBlockEvents] |= std::uint64_t{1} << (id % kBlockEvents); });
  return taken;
}

/// Returns the first block in which no open region began, or kBlocks. Forgets dropped regions first if necessary.
std::size_t Recorder::free_block() noexcept {
  constexpr unsigned kAtOnce = Tree::kMaxLate / 16;
  static_assert(kBlocks == 64, "a bit a block");
  for (;;) {
    std::uint64_t taken = 0;
    each_open_id([&taken](std::uint32_t id) { taken |= std::uint64_t{1} << (id / kBlockEvents); });
    if (TAKT_LIKELY(~taken != 0)) { return static_cast<std::size_t>(__builtin_ctzll(~taken)); }
    if (tree_.late() == 0) { return kBlocks; }
    const Change change(*this);
    for (unsigned dropped = 0; dropped < kAtOnce && tree_.drop_late(); ++dropped) {}
  }
}

/// Begins a region at a place between open regions because no block is free; folds it immediately. Returns 0 if no
/// place is free.
TAKT_COLD Region Recorder::begin_between(KeyIndex key, std::uint64_t ticks) noexcept {
  constexpr std::uint64_t kEmpty = (std::uint64_t{1} << kBlockFirst) - 1;  // places not in use
  std::size_t block = 0;
  while (block < kBlocks && ~(taken_[block] | kEmpty) == 0) { ++block; }
  if (block == kBlocks) {
    count_loss(LossKind::no_place, key);
    return 0;
  }
  const auto place = static_cast<std::size_t>(__builtin_ctzll(~(taken_[block] | kEmpty)));
  taken_[block] |= std::uint64_t{1} << place;
  Event* const at = &arena_.event[block * kBlockEvents + place];
  const Change change(*this);
  put(at, begin_event(key, ticks));
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) { trace(run_of(at, at + 1), last_ticks_.own()); }
  Fold(tree_, converter()).add(run_of(at, at + 1));
  last_ticks_.set(converter_.last_ticks());
  return reinterpret_cast<Region>(at);
}

/// Frees one place while no block is free: all events are folded immediately.
TAKT_COLD void Recorder::give_place(std::uint32_t id) noexcept {
  taken_[id / kBlockEvents] &= ~(std::uint64_t{1} << (id % kBlockEvents));
  full_ = taken_[id / kBlockEvents] != 0;
}

}  // namespace detail
TAKT_END_NAMESPACE
