// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/report_error.hpp"
#include "record/recorder.hpp"

#include <takt/timer.hpp>

#include <cstring>
#include <string>

#include <sched.h>

// Folds events into the tree.

TAKT_BEGIN_NAMESPACE
namespace detail {

void Recorder::fold() noexcept {
  if (TAKT_UNLIKELY(source_.own() != clock_.source())) { follow_clock(); }
  const std::uint32_t count = unfolded();
  Event* const from = folded_.own();
  Event* const to = from + count;
  if (TAKT_UNLIKELY(notices_.any())) { take_notices(to); }
  fold_until(to);
  if (TAKT_UNLIKELY(tree_.has_news())) { take_news(); }
  if (!has_space(to)) { next_block(); }
}

TAKT_ALWAYS_INLINE void Recorder::fold_until(Event* to) noexcept {
  Event* const from = folded_.own();
  if (from == to) { return; }
  const EventRun run = run_of(from, to);
  const std::uint64_t ticks_before = last_ticks_.own();
  Fold fold(tree_, converter());
  {
    const Write write(*this);
    fold.add(run);
    last_ended_ = fold.last_ended();
    last_ticks_.set(converter_.last_ticks());
    folded_.set(to);
    position_.add(run.count);
  }
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) { trace(run, ticks_before, fold.unmatched()); }
}

/// Returns the number of events to fold, all in one block.
TAKT_ALWAYS_INLINE std::uint32_t Recorder::unfolded() noexcept {
  return static_cast<std::uint32_t>(own_cursor() - folded_.own());
}

/// Removes regions that ended on other threads from the stack, each in time order with the events recorded here.
TAKT_COLD void Recorder::take_notices(Event* to) noexcept {
  Notices::List ended;
  notices_.read(ended);
  for (unsigned next = 0; next < ended.size(); ++next) {
    const Notices::Notice& notice = ended[next];
    const EventRun run = run_of(folded_.own(), to);
    fold_until(arena_.event + Fold(tree_, converter()).place_of_end(run, notice));
    {
      const Write write(*this);
      Tree::Frame taken;
      // If it has already ended, its own thread ended it at the same time, and both counted it.
      if (!tree_.detach(notice.id, taken)) { tree_.count(LossKind::end_without_start, TreeKey{kNoKey}); }
      full_ = false;
      notices_.remove(notice);
    }
    if (tree_.has_lost_step()) { rows_.lost(tree_.take_lost_step()); }
  }
}

/// Handles the switch to another clock: open regions and unfolded events have timestamps that cannot be trusted.
TAKT_COLD void Recorder::follow_clock() noexcept {
  const std::uint32_t count = unfolded();
  Event* const from = folded_.own();
  const EventRun run = run_of(from, from + count);
  if (count != 0 && tracing.load(std::memory_order_relaxed)) { trace(run, last_ticks_.own()); }
  const Write write(*this);
  Fold fold(tree_, converter());
  fold.add_untrusted(run);
  position_.add(count);
  last_ended_ = fold.last_ended();
  folded_.set(from + count);
  source_.set(clock_.source());
  last_ticks_.set(now());
  rows_.break_period();
}

/// Handles results of the last fold other than values.
TAKT_COLD void Recorder::take_news() noexcept {
  full_ = false;
  if (tree_.has_lost_step()) { rows_.lost(tree_.take_lost_step()); }
  tree_.take_given_up([this](const Tree::Frame& frame) {
    DeviceBegin begin;
    if (devices_.take(frame.id(), begin)) {
      begin.release();
      device_skipped(frame.node.get()->key, nullptr);
    }
    take_reported(reinterpret_cast<Region>(&arena_.event[frame.id()]));
  });
  has_unreported_ = tree_.given_up() != reported_given_up_.load(std::memory_order_relaxed);
}

bool Recorder::try_copy(Unfolded& copy, unsigned tries) const noexcept {
  for (; tries != 0; --tries) {
    const std::uint64_t sequence = sequence_.get();
    if ((sequence & 1U) != 0) {
      sched_yield();
      continue;
    }
    const Event* const from = folded_.get();
    const Event* const to =
        __atomic_load_n(home_.load(std::memory_order_acquire), __ATOMIC_ACQUIRE);  // pairs with store_cursor
    copy.last_ticks = last_ticks_.get();
    copy.position = position_.get();
    copy.source = source_.get();
    copy.place = static_cast<std::uint32_t>(from - arena_.event);
    copy.count = 0;
    const Event* const end = arena_.event + kBlocks * kBlockEvents;  // `to` may be in another block than `from` by now
    for (const Event* at = from; at < to && at < end && copy.count < kBlockEvents; ++at) {
      // Acquire: the sequence is read after the event. Pairs with the fence in Write.
      copy.event[copy.count++] = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    }
    tree_.save(copy.state);
    copy.ended.clear();
    if (notices_.any()) { notices_.read(copy.ended); }
    if (sequence_.get() == sequence) { return true; }
  }
  return false;
}

// Records data for the time line.

/// \param ticks time of the event before the run.
/// \param unmatched see Fold: ends that ended nothing are not recorded.
TAKT_COLD void Recorder::trace(const EventRun& run, std::uint64_t ticks, std::uint64_t unmatched) noexcept {
  Outbox* const box = outbox_.need();
  const std::size_t bytes = sizeof(EventsRecord) + run.count * sizeof(Event);
  auto* to = box == nullptr ? nullptr : static_cast<unsigned char*>(box->reserve(bytes, Record::Type::events));
  if (to == nullptr) { return; }
  EventsRecord record;
  record.bytes = static_cast<std::uint16_t>(bytes);
  record.type = Record::Type::events;
  record.last_ticks = ticks;
  record.source = static_cast<std::uint32_t>(source_.own());
  record.place = run.place;
  std::memcpy(to, &record, sizeof(record));
  auto* const copies = reinterpret_cast<Event*>(to + sizeof(record));
  for (std::uint32_t at = 0; at < run.count; ++at) {
    copies[at] = (unmatched >> at & 1U) != 0 ? skipped_event(kNoKey) : run.words[at];
  }
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
  if (Outbox* const box = outbox_.need()) { box->put(record, Record::Type::span); }
}

// Reports regions that outlived the next step or their thread, one line each on stderr.
namespace {

constexpr const char* kNotEnded = "had not ended when the next step or its thread ended; is its end missing?";

/// Returns for example "Batch/Forward"; empty for the root.
std::string path_text(const KeyTable& keys, const Node* node) {
  if (node->parent == nullptr) { return {}; }
  const std::string above = path_text(keys, node->parent);
  const std::string name(keys.name(static_cast<KeyIndex>(node->key)));
  return above.empty() ? name : above + "/" + name;
}

void warn_never_ended(const KeyTable& keys, const Node& node) {
  const std::string place = path_text(keys, node.parent);
  const std::string name(keys.name(static_cast<KeyIndex>(node.key)));
  const std::string began = place.empty() ? "outside of any region" : "in " + place;
  const std::string line = "\"" + name + "\", which began " + began + ", " + kNotEnded;
  report_error_once(line, line);
}

}  // namespace

/// For a header-only Timer, which calls the library if it is linked.
TAKT_EXPORT void report_forgotten(const char* line) noexcept { report_error_once(line, line); }

void Recorder::report_forgotten_regions(const KeyTable& keys) {
  const std::uint64_t given_up = tree_.given_up();
  if (reported_given_up_.exchange(given_up, std::memory_order_relaxed) == given_up) { return; }
  for (std::uint32_t index = 0; index < tree_.nodes(); ++index) {
    const Node& node = *tree_.node(index);
    if (node.never_ended.get() != 0) { warn_never_ended(keys, node); }
  }
}

// Handles regions with a device span.

DeviceBegin Recorder::mark(StreamRef stream, const DeviceBegin* start) noexcept {
  const DeviceBegin none{stream, 0, false, 0};
  // Checks for space first, so that no event is wasted while a stream is stuck.
  if (!devices_.has_space(stream)) {
    fold();
    if (!devices_.make_space(*this, stream)) { return none; }
  }
  return DeviceBegin::now(stream, clock_, start);
}

Region Recorder::begin_device(KeyIndex key, Region flags, StreamRef stream) noexcept {
  const DeviceBegin at = mark(stream, nullptr);
  const Region region = begin(key, flags | kRegionUnusual);
  device_opened(region, at);
  return region;
}

/// Takes ownership of the event at which `region` (0: none) begins.
void Recorder::device_opened(Region region, const DeviceBegin& begin) noexcept {
  if (region == 0) {
    begin.release();
  } else if (!devices_.opened(region_id(region), begin)) {
    device_skipped(kNoKey, nullptr);
  }
}

void Recorder::device_skipped(TreeKey key, StepSeries* series) noexcept {
  tree_.count(LossKind::device_skipped, key);
  if (series != nullptr) { series->device_lost(); }
}

void Recorder::device_region_ended(Region region, Node* node) noexcept {
  DeviceBegin begin;
  if (!devices_.take(region_id(region), begin)) { return; }
  const bool timed = begin.marked && node != tree_.overflow();
  device_ended(node, begin, timed ? DeviceBegin::now(begin.stream, clock_, &begin) : DeviceBegin{begin.stream});
  if (rows_.is_step(node)) {
    devices_.poll(*this, false);
  } else {
    poll_if_due(begin.stream);
  }
}

/// Takes ownership of both events.
void Recorder::device_ended(Node* node, const DeviceBegin& begin, const DeviceBegin& end) noexcept {
  StepSeries* series = rows_.series_for(node);
  if (!begin.marked || !end.marked || node == tree_.overflow()) {
    device_skipped(node->key, series);
    begin.release();
    end.release();
    return;
  }
  const bool warmup = tree_.step().warmup && (rows_.is_step(node) || tree_.step().open);
  devices_.ended(*this, node, series, warmup, begin, end);
}

}  // namespace detail

std::uint32_t max_in_flight() noexcept { return detail::records_in_flight.load(std::memory_order_relaxed); }

TAKT_END_NAMESPACE
