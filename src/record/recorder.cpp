// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::uint64_t kRecheckNs = 1'000'000;
constexpr std::size_t kTouchedArenaBytes = 4096;  // of an arena, a page is enough unless regions stay open for long

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

Recorder* Recorder::create(Clock& clock, Shared& shared, std::uint32_t generation) noexcept {
  if (!shared.budget.take(sizeof(Recorder) + kTouchedArenaBytes)) { return nullptr; }
  void* memory = nullptr;
  void* arena = nullptr;
  if (posix_memalign(&memory, alignof(Recorder), sizeof(Recorder)) != 0 || (arena = new_arena()) == nullptr) {
    std::free(memory);
    shared.budget.give(sizeof(Recorder) + kTouchedArenaBytes);
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
      devices_(shared.budget),
      tree_(kEpochKey, kBatchKey, &shared.budget) {
  arena_.event[0] = reinterpret_cast<Event>(this);
  parked_ = &arena_.event[kBlockFirst];
  folded_.set(parked_);
  source_.set(clock.source());
  last_ticks_.set(clock.first_ticks(source_.own()));
}

void Recorder::attach(std::uint32_t thread, std::uint64_t warmup) noexcept {
  thread_.set(thread);
  tree_.set_warmup(warmup);
  source_.set(clock_.source());
  last_ticks_.set(std::max(now(), clock_.first_ticks(source_.own())));
  store_cursor(parked_);
  home_.store(&cursor, std::memory_order_release);
}

void Recorder::detach_thread() noexcept {
  parked_ = own_cursor();
  home_.store(&parked_, std::memory_order_release);
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
  Folder folder(tree_, ruler());
  folder.fold(events, count, 0, position_.own());
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) {
    trace(events, count, 0, last_ticks_.own(), folder.unmatched());
  }
  last_ended_ = folder.last_ended();
  last_ticks_.set(ruler_.last_ticks());
}

/// Where to write; nullptr without room, with nothing left to fold. Looks at the cursor once: a signal handler may use up the room
/// between two looks, and beyond a block's end are other events.
Event* Recorder::room_for(unsigned events) noexcept {
  Event* at = own_cursor();
  if (TAKT_LIKELY(has_room(at, events))) { return at; }
  fold();
  at = own_cursor();
  if (has_room(at, events)) { return at; }
  if (folded_.own() != at) { fold(); }
  next_block();
  at = own_cursor();
  return has_room(at, events) ? at : nullptr;
}

/// Goes to the first block in which no open region began: its places may be used anew. Not to the one that is being left, if there is
/// another: what a signal handler has interrupted here may still write there, and only another block tells (unfolded()).
void Recorder::next_block() noexcept {
  const std::size_t block = free_block();
  if (block == kBlocks) { return; }  // a region began in each of them and is open: begin_between()
  Event* start = &arena_.event[block * kBlockEvents + kBlockFirst];
  sequence_.add(1);
  folded_.set(start);
  set_own_cursor(start);
  sequence_.add(1);
#if !defined(__SANITIZE_THREAD__)  // which does not know fences, and does not need this one
  // The events that follow overwrite those that copy() may be reading: it must not see them before the sequence.
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// How many events there are to fold: all of one block.
TAKT_ALWAYS_INLINE std::uint32_t Recorder::unfolded() noexcept {
  Event* const from = folded_.own();
  const auto count = static_cast<std::uint64_t>(own_cursor() - from);
  const std::uint64_t left = kBlockEvents - place_of(from) % kBlockEvents;
  return TAKT_LIKELY(count <= left) ? static_cast<std::uint32_t>(count) : resume_after_signal();
}

/// A signal handler came between a look at the cursor and the store to it, and in it the block was folded and left: the cursor
/// has been put back behind one event in the midst of what is folded. That one counts; if there are more, they are lost.
TAKT_COLD std::uint32_t Recorder::resume_after_signal() noexcept {
  Event* const last = own_cursor() - 1;
  const Event code = *last & kCodeMask;
  const bool is_event = code < kBeginCode + kMaxKeys && place_of(last) % kBlockEvents >= kBlockFirst;
  shared_.count_interrupted();
  sequence_.add(1);
  folded_.set(is_event ? last : last + 1);
  sequence_.add(1);
  return is_event ? 1 : 0;
}

void Recorder::fold() noexcept {
  if (TAKT_UNLIKELY(source_.own() != clock_.source())) { follow_clock(); }
  const std::uint32_t count = unfolded();
  Event* const from = folded_.own();
  Event* const to = from + count;
  if (TAKT_UNLIKELY(notices_.any())) { take_notices(to); }
  fold_until(to);
  if (TAKT_UNLIKELY(tree_.has_news())) { take_news(); }
  if (!has_room(to)) { next_block(); }
}

TAKT_ALWAYS_INLINE void Recorder::fold_until(Event* to) noexcept {
  Event* const from = folded_.own();
  if (from == to) { return; }
  const auto count = static_cast<std::uint32_t>(to - from);
  const std::uint64_t ticks_before = last_ticks_.own();
  sequence_.add(1);  // partner: copy()
  Folder folder(tree_, ruler());
  folder.fold(from, count, place_of(from), position_.own());
  last_ended_ = folder.last_ended();
  last_ticks_.set(ruler_.last_ticks());
  folded_.set(to);
  position_.add(count);
  sequence_.add(1);
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) {
    trace(from, count, place_of(from), ticks_before, folder.unmatched());
  }
}

/// Takes regions that ended on other threads off the stack, each between what was recorded here before and after its end.
TAKT_COLD void Recorder::take_notices(Event* to) noexcept {
  Notices::List ended;
  notices_.read(ended);
  for (unsigned next = 0; next < ended.size(); ++next) {
    const Notices::Notice& notice = ended[next];
    Event* at = folded_.own();
    for (std::uint64_t ticks = last_ticks_.own(); at < to; at += words_of(*at)) {
      if ((*at & kCodeMask) >= kFirstSpecialCode) { continue; }
      ticks = unwrap(*at, ticks);
      const std::uint64_t ns = clock_.to_ns(source_.own(), ticks);
      if (ns < notice.ns) { continue; }
      const auto left = static_cast<std::uint32_t>(to - at);
      if (ns > notice.ns || !begins_among(at, left, place_of(at), notice.id)) { break; }
    }
    fold_until(std::min(at, to));
    sequence_.add(1);
    Tree::Frame taken;
    tree_.detach(notice.id, taken);
    notices_.remove(notice);
    sequence_.add(1);
    if (tree_.has_lost_step()) { step_lost(tree_.take_lost_step()); }
  }
}

/// A Batch has ended that makes no row: neither does the time since the row before.
TAKT_COLD void Recorder::step_lost(Node* batch) noexcept {
  last_series_ = nullptr;
  if (StepSeries* series = series_of(batch)) {
    series->skip_step(tree_);
  } else {
    batch->missed_rows = true;
  }
}

/// The counter has been given up: what is open or unfolded was stamped by it, and cannot be trusted.
TAKT_COLD void Recorder::follow_clock() noexcept {
  const std::uint32_t count = unfolded();
  Event* const from = folded_.own();
  Event* const to = from + count;
  if (from != to && tracing.load(std::memory_order_relaxed)) {
    trace(from, static_cast<std::uint32_t>(to - from), place_of(from), last_ticks_.own());
  }
  sequence_.add(1);
  tree_.discard_open();
  Folder folder(tree_, ruler());
  for (Event* at = from; at < to; ++at) {
    const std::uint32_t words = std::min(words_of(*at), static_cast<std::uint32_t>(to - at));
    folder.fold(at, words, static_cast<std::uint32_t>(at - arena_.event), position_.own());
    position_.add(words);
    at += words - 1;
    tree_.discard_open();
  }
  last_ended_ = folder.last_ended();
  folded_.set(to);
  source_.set(clock_.source());
  last_ticks_.set(now());
  last_series_ = nullptr;  // the period that is running is on two clocks
  sequence_.add(1);
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

DeviceBegin Recorder::mark(StreamRef stream) noexcept {
  const DeviceBegin none{stream, 0, false, 0};
  // Room is looked for first, so that no mark is made for nothing while a stream is stuck.
  if (!devices_.has_room(stream)) {
    fold();
    devices_.poll(*this, stream);
    const bool waits = !devices_.has_room(stream) && wait_when_full.load(std::memory_order_relaxed);
    if (waits) { devices_.wait(*this, stream); }
    if (!devices_.has_room(stream)) { return none; }
  }
  return DeviceBegin::now(stream, clock_);
}

Region Recorder::begin_device(KeyIndex key, Region flags, StreamRef stream) noexcept {
  const DeviceBegin at = mark(stream);
  const Region region = begin(key, flags | kRegionUnusual);
  device_opened(region, at);
  return region;
}

/// Takes over the mark at which `region` (0: it has none) begins.
void Recorder::device_opened(Region region, const DeviceBegin& begin) noexcept {
  if (region == 0) {
    begin.release();
  } else if (!devices_.opened(region_id(region), begin)) {
    device_skipped(kNoKey, nullptr);
  }
}

void Recorder::device_skipped(TreeKey key, StepSeries* series) noexcept {
  tree_.count(Mishap::device_skipped, key);
  if (series != nullptr) { series->device_lost(); }
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
  if (TAKT_UNLIKELY((region & kRegionFolds) != 0 && (node == nullptr || !is_step(node)))) {
    node = step_of(region, node);
  }
  if (node != nullptr) { region_ended(region, node); }
}

/// A Batch has ended, and behind it, before it was folded, perhaps a region of a signal handler, or it is none of the outermost.
TAKT_COLD Node* Recorder::step_of(Region region, Node* last_ended) const noexcept {
  const Tree::Step& step = tree_.step();
  return step.node != nullptr && !step.open && step.id == region_id(region) ? step.node : last_ended;
}

bool Recorder::told(Region region, unsigned listeners) noexcept {
  for (auto& slot : told_) {
    if (slot.load(std::memory_order_acquire) == 0) {
      slot.store(region_id(region) << 8U | listeners, std::memory_order_release);
      return true;
    }
  }
  return false;  // deeper than anything that is timed
}

unsigned Recorder::take_told(Region region) noexcept {
  for (auto& slot : told_) {
    std::uint32_t value = slot.load(std::memory_order_acquire);
    if (value >> 8U == region_id(region) && value != 0 &&
        slot.compare_exchange_strong(value, 0, std::memory_order_acq_rel)) {
      return value & 0xFFU;
    }
  }
  return 0;
}

/// What an end of note brings with it: a mark on its stream, a step row, and a look at what devices have finished.
TAKT_ALWAYS_INLINE void Recorder::region_ended(Region region, Node* node) noexcept {
  if (TAKT_UNLIKELY((region & kRegionUnusual) != 0)) { device_region_ended(region, node); }
  if (is_step(node) && tree_.step().id == region_id(region)) { step_ended(node); }
}

void Recorder::device_region_ended(Region region, Node* node) noexcept {
  DeviceBegin begin;
  if (!devices_.take(region_id(region), begin)) { return; }
  const bool timed = begin.marked && node != tree_.overflow();
  device_ended(node, begin, timed ? DeviceBegin::now(begin.stream, clock_) : DeviceBegin{begin.stream});
  glance(begin.stream);
}

/// Takes over both marks.
void Recorder::device_ended(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
  StepSeries* series = series_for(node);
  if (!begin.marked || !end.marked || node == tree_.overflow()) {
    device_skipped(node->key, series);
    begin.release();
    end.release();
    return;
  }
  const bool warmup = tree_.step().warmup && (is_step(node) || tree_.step().open);
  devices_.ended(*this, node, series, warmup, begin, end);
}

Node* Recorder::child(Node* around, KeyIndex key) noexcept {
  fold();
  const Change change(*this);
  return around == nullptr ? tree_.place_for(key) : tree_.child(around, key);
}

void Recorder::add_span(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
  device_ended(node, begin, end);
}

void Recorder::step_ended(Node* batch) noexcept {
  if (TAKT_UNLIKELY(device_pending())) { poll(); }
  bool has_row = false;
  if (StepSeries* series = series_of(batch)) {
    Outbox* const box = need_outbox();
    const std::uint64_t boundaries = tree_.boundaries() + switched_on.load(std::memory_order_relaxed);
    const bool boundary = series != last_series_ || boundaries != last_boundaries_;
    if (has_next_step_) { series->set_step(next_step_); }
    has_row = series->finish_step(tree_, box, boundary) && box != nullptr;
    if (box != nullptr) { ask_for_collection(*box); }
    last_series_ = series;
    last_boundaries_ = boundaries;
  }
  if (batch->series == nullptr) { batch->missed_rows = true; }
  if (!has_row) { shared_.steps_without_rows.fetch_add(1, std::memory_order_relaxed); }
  has_next_step_ = false;
  // By the clock's own time, as the reference takes longer to read than all of a short step's row to write. One that stands
  // still is found by whoever collects.
  const std::uint64_t now_ns = tree_.step().end_ns;
  if (now_ns - rechecked_ns_ >= kRecheckNs) {
    rechecked_ns_ = now_ns;
    clock_.recheck();
  }
}

StepSeries* Recorder::series_of(Node* batch) noexcept {
  if (TAKT_LIKELY(batch->series != nullptr)) { return static_cast<StepSeries*>(batch->series); }
  return new_series(batch);
}

TAKT_COLD StepSeries* Recorder::new_series(Node* batch) noexcept {
  if (batch == tree_.overflow() || !shared_.budget.take(sizeof(StepSeries))) { return nullptr; }
  auto* series = new (std::nothrow) StepSeries(batch, batch->missed_rows);
  const std::uint32_t id = series == nullptr ? SeriesList::kNone : shared_.series.add(thread(), tree_, *batch, *series);
  if (id == SeriesList::kNone) {
    delete series;
    shared_.budget.give(sizeof(StepSeries));
    return nullptr;
  }
  series->set_id(id);
  batch->series = series;
  return series;
}

StepSeries* Recorder::open_series() noexcept {
  const Tree::Step& step = tree_.step();
  return step.open && step.node != nullptr ? series_of(step.node) : nullptr;
}

StepSeries* Recorder::series_for(const Node* node) noexcept {
  const Tree::Step& step = tree_.step();
  if (step.node == nullptr || (!step.open && !is_step(node))) { return nullptr; }
  while (node != nullptr && node != step.node) { node = node->parent; }
  return node == nullptr ? nullptr : series_of(step.node);
}

TAKT_ALWAYS_INLINE Outbox* Recorder::need_outbox() noexcept {
  Outbox* const box = outbox();
  return TAKT_LIKELY(box != nullptr) ? box : new_outbox();
}

TAKT_COLD Outbox* Recorder::new_outbox() noexcept {
  auto* outbox = new (std::nothrow) Outbox(shared_.outbox_pool);
  if (outbox == nullptr || !outbox->usable()) {
    delete outbox;
    return nullptr;
  }
  outbox_.store(outbox, std::memory_order_release);
  return outbox;
}

/// Behind a row or a metric: where memory for them fills up, the collector comes before its time.
void Recorder::ask_for_collection(Outbox& box) noexcept {
  if (TAKT_UNLIKELY(box.take_grown())) { shared_.ask_for_collection(); }
}

Region Recorder::lap(Region region, KeyIndex key, Region flags) noexcept {
  const ClockSource source = source_.own();
  const std::uint64_t ticks = now();
  DeviceBegin begin;
  const bool device = (region & kRegionUnusual) != 0 && devices_.take(region_id(region), begin);
  const DeviceBegin shared = device ? mark(begin.stream) : DeviceBegin{};
  const Event event = end_event(region, ticks);
  record(&event, 1);
  fold();
  Node* const node = last_ended_;
  if (device && node != nullptr) {
    if (shared.marked) { shared.stream.ops->retain(shared.stream.handle, shared.mark); }
    device_ended(node, begin, shared);
    glance(begin.stream);
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
KeyIndex Recorder::key_of(std::uint32_t id) const noexcept {
  return static_cast<KeyIndex>((arena_.event[id] & kCodeMask) - kBeginCode);
}

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
  if (!tolerant) { mistake(Mishap::end_without_start, key); }
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
  if (!near || notices_.any()) { return false; }
  for (const Event* at = begin; at < end; at += words_of(*at)) {
    if ((*at & kCodeMask) == region_id(region)) { return false; }
  }
  return true;
}

void Recorder::mistake(Mishap mishap, KeyIndex key) noexcept {
  fold();  // a Change takes the number of the next event to be folded
  const Change change(*this);
  tree_.count(mishap, key);
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
    mistake(Mishap::bad_amount, tree_.is_open(region_id(region)) ? key_of(region_id(region)) : kNoKey);
    return;
  }
  const Event code = what == Amount::items ? kItemsCode : kBytesCode;
  const Event events[] = {static_cast<Event>(region_id(region)) << kCodeBits | code, static_cast<Event>(amount)};
  record(events, 2);
}

void Recorder::skip(KeyIndex key) noexcept {
  if (notices_.any()) { fold(); }  // this event has no time by which to tell what came first
  const Event event = static_cast<Event>(key) << kCodeBits | kSkippedCode;
  record(&event, 1);
}

/// A small table by key. With more sampled keys than it has room for, some share a place and take turns in it, which only
/// makes sampling start anew.
bool Recorder::sampled(KeyIndex key, std::uint32_t every) noexcept {
  const std::size_t size = sample_key_.size();
  std::size_t slot = key % size;
  for (std::size_t looks = 0; looks < size && sample_key_[slot] != key && sample_key_[slot] != kNoKey; ++looks) {
    slot = (slot + 1) % size;
  }
  if (sample_key_[slot] != key) {
    sample_key_[slot] = key;
    sample_count_[slot] = 0;
  }
  const bool timed = sample_count_[slot] == 0;
  sample_count_[slot] = sample_count_[slot] + 1 >= every ? 0 : sample_count_[slot] + 1;
  return timed;
}

void Recorder::add(KeyIndex key, std::uint64_t length_ns) noexcept {
  fold();
  const Change change(*this);
  tree_.add_here(key, length_ns);
}

void Recorder::metric(std::uint64_t name, double value, const std::int64_t* step) noexcept {
  if (name == 0) { return; }
  Outbox* const box = need_outbox();
  if (box == nullptr) {
    shared_.metrics_without_room.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  MetricRecord record;
  record.name = name;
  record.value = value;
  fold();  // the step that is open is known only then
  record.step = step != nullptr ? *step : current_step();
  record.ns = clock_.to_ns(source_.own(), now());
  box->put_metric(record);
  ask_for_collection(*box);
}

/// The number of the step that is open, else of the one that ended last, else of the first one to come.
std::int64_t Recorder::current_step() const noexcept {
  const Tree::Step& step = tree_.step();
  const auto* series = step.node == nullptr ? nullptr : static_cast<const StepSeries*>(step.node->series);
  if (!step.open && series != nullptr && series->steps() != 0) { return series->last_step(); }
  if (has_next_step_) { return next_step_; }
  return series == nullptr ? 0 : series->step();
}

/// Holds for the step that is open or, where none is, for the next one, of whichever Batch path it is.
void Recorder::set_step(std::int64_t step) noexcept {
  next_step_ = step;
  has_next_step_ = true;
}

/// \param ticks of the event before. \param unmatched see Folder: what ended nothing is no span.
TAKT_COLD void Recorder::trace(const Event* events, std::uint32_t count, std::uint32_t place, std::uint64_t ticks,
                               std::uint64_t unmatched) noexcept {
  Outbox* const box = need_outbox();
  const std::size_t bytes = sizeof(EventsRecord) + count * sizeof(Event);
  auto* to = box == nullptr ? nullptr : static_cast<unsigned char*>(box->reserve(bytes, Record::Type::events));
  if (to == nullptr) { return; }
  EventsRecord record;
  record.bytes = static_cast<std::uint16_t>(bytes);
  record.type = Record::Type::events;
  record.last_ticks = ticks;
  record.source = static_cast<std::uint32_t>(source_.own());
  record.place = place;
  std::memcpy(to, &record, sizeof(record));
  auto* const copies = reinterpret_cast<Event*>(to + sizeof(record));
  for (std::uint32_t at = 0; at < count; ++at) { copies[at] = (unmatched >> at & 1U) != 0 ? kSkippedCode : events[at]; }
  box->push(bytes);
}

void Recorder::trace_elsewhere(const Recorder& opener, Region region, KeyIndex key, std::uint64_t begin_ns,
                               std::uint64_t end_ns) noexcept {
  if (!tracing.load(std::memory_order_relaxed)) { return; }
  SpanRecord record;
  record.opener = &opener;
  record.region = region_id(region);
  record.thread = opener.thread();
  record.key = key;
  record.begin_ns = begin_ns;
  record.end_ns = end_ns;
  if (Outbox* const box = need_outbox()) { box->put(record, Record::Type::span); }
}

void Recorder::copy(Unfolded& copy) const noexcept {
  for (;;) {
    const std::uint64_t sequence = sequence_.get();
    if ((sequence & 1U) != 0) {
      sched_yield();
      continue;
    }
    const Event* const from = folded_.get();
    const Event* const to =
        __atomic_load_n(home_.load(std::memory_order_acquire), __ATOMIC_ACQUIRE);  // partner: store_cursor
    copy.last_ticks = last_ticks_.get();
    copy.position = position_.get();
    copy.source = source_.get();
    copy.place = static_cast<std::uint32_t>(from - arena_.event);
    copy.count = 0;
    const Event* const end = arena_.event + kBlocks * kBlockEvents;  // `to` may be of another block than `from` by now
    for (const Event* at = from; at < to && at < end && copy.count < kBlockEvents; ++at) {
      copy.event[copy.count++] = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    }
    tree_.save(copy.state);
    notices_.read(copy.ended);
    if (sequence_.get() == sequence) { return; }
  }
}

void Recorder::abandon_open() noexcept {
  devices_.forget_open();
  for (auto& told : told_) { told.store(0, std::memory_order_release); }
  const Change change(*this);
  tree_.abandon_open();
}

void Recorder::recycle() noexcept {
  delete outbox_.exchange(nullptr, std::memory_order_relaxed);
  for (std::uint32_t index = 0; index < tree_.nodes(); ++index) {
    Node* node = tree_.node(index);
    node->column = 0;
    node->missed_rows = false;
    if (node->series == nullptr) { continue; }
    delete static_cast<StepSeries*>(node->series);
    shared_.budget.give(sizeof(StepSeries));
    node->series = nullptr;
  }
  tree_.clear_values();
  last_series_ = nullptr;
  has_next_step_ = false;
  sample_key_ = {};
}

}  // namespace detail
TAKT_END_NAMESPACE
