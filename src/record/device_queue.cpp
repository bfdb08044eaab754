// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/device_queue.hpp"

#include <takt/snapshot.hpp>

#include "record/device_query.hpp"
#include "record/names.hpp"
#include "record/recorder.hpp"

#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

LossKind loss_of(Elapsed::State state) noexcept {
  return state == Elapsed::State::pending  ? LossKind::device_unresolved
         : state == Elapsed::State::missed ? LossKind::graph_missed
                                           : LossKind::device_failed;
}

/// Returns what a region of Kind::wait at `node` waits for.
Exposed::For waits_for(const Node* node) noexcept {
  return Exposed::what([node](std::string_view& name, Kind& kind) mutable noexcept {
    if (node->parent == nullptr) { return false; }  // the root is no region
    const Key& key = key_table().entry(static_cast<KeyIndex>(node->key));
    name = key.name();
    kind = key.kind();
    node = node->parent;
    return true;
  });
}

bool take_mark(StreamRef stream, Mark& mark, const DeviceBegin* begin) noexcept {
  const DeviceOps& ops = *stream.ops;
  if (ops.mark_bounded == nullptr) { return ops.mark(stream.handle, mark); }
  return ops.mark_bounded(stream.handle, mark, begin == nullptr ? nullptr : &begin->mark);
}

}  // namespace

void add_span_to(Summary& device, std::uint64_t ns, bool warmup, MemoryBudget* budget) noexcept {
  if (warmup) {
    device.add_warmup(ns);
  } else if (device.n() == 0) {
    device.add_first(ns, budget);
  } else {
    device.add(ns, budget);
  }
}

DeviceBegin DeviceBegin::now(StreamRef stream, const Clock& clock, const DeviceBegin* start) noexcept {
  if (TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed)) && stream.ops->locate != nullptr) {
    return traced(stream, clock, start);
  }
  DeviceBegin begin{stream};
  begin.marked = take_mark(stream, begin.mark, start);
  return begin;
}

TAKT_COLD DeviceBegin DeviceBegin::traced(StreamRef stream, const Clock& clock, const DeviceBegin* start) noexcept {
  DeviceBegin begin{stream};
  begin.submitted_ns = clock.now_ns();
  begin.marked = take_mark(stream, begin.mark, start);
  if (begin.marked && stream.ops->offer != nullptr) { stream.ops->offer(stream.handle, begin.mark); }
  return begin;
}

std::atomic<std::uint32_t> records_in_flight{kRecordsInFlight};

DeviceQueue::Lane* DeviceQueue::lane_with_space(StreamRef stream) noexcept {
  Lane* lane = lane_of(stream);
  return lane == nullptr || lane->tail - lane->head >= kPending ? nullptr : lane;
}

bool DeviceQueue::make_space(Recorder& recorder, StreamRef stream) noexcept {
  poll(recorder, stream);
  return has_space(stream);
}

bool DeviceQueue::opened(std::uint32_t id, const DeviceBegin& begin) noexcept {
  for (Open& open : open_) {
    if (open.id.load(std::memory_order_acquire) != 0) { continue; }  // pairs with take(), which freed it
    open.begin = begin;
    open.id.store(id, std::memory_order_release);  // pairs with take()
    return true;
  }
  begin.release();  // nested deeper than the maximum timed
  return false;
}

StreamRef DeviceQueue::stream_of(std::uint32_t id) noexcept {
  for (Open& open : open_) {
    std::uint32_t expected = id;
    if (!open.id.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) { continue; }  // as take()
    const StreamRef stream = open.begin.stream;
    open.id.store(id, std::memory_order_release);  // pairs with take()
    return stream;
  }
  return {};
}

bool DeviceQueue::take(std::uint32_t id, DeviceBegin& begin) noexcept {
  for (Open& open : open_) {
    std::uint32_t expected = id;
    // Claims the entry first, so that no other thread reads or replaces it. Acquire: pairs with opened().
    if (!open.id.compare_exchange_strong(expected, kClaimed, std::memory_order_acquire)) { continue; }
    begin = open.begin;
    open.id.store(0, std::memory_order_release);  // pairs with opened()
    return true;
  }
  return false;
}

void DeviceQueue::forget_open() noexcept {
  for (const Open& open : open_) {
    DeviceBegin begin;
    // Acquire: pairs with opened().
    if (const std::uint32_t id = open.id.load(std::memory_order_acquire); id != 0 && take(id, begin)) {
      begin.release();
    }
  }
}

DeviceQueue::Lane* DeviceQueue::find(StreamRef stream) noexcept {
  for (unsigned lane = 0; lane < lanes_.own(); ++lane) {
    if (lane_[lane]->stream == stream) { return lane_[lane]; }
  }
  return nullptr;
}

DeviceQueue::Lane* DeviceQueue::lane_of(StreamRef stream) noexcept {
  if (Lane* lane = find(stream)) { return lane; }
  device_kinds().add(stream.ops);
  if (const unsigned lanes = lanes_.own(); lanes < kStreams) {
    Lane* lane = allocate<Lane>(&budget_);
    if (lane == nullptr) { return nullptr; }
    lane->stream = stream;
    lane_[lanes] = lane;
    lanes_.set(lanes + 1);
    return lane;
  }
  // All lanes are in use: gives an idle one to this stream.
  for (Lane* lane : lane_) {
    if (lane->head != lane->tail) { continue; }
    lane->stream = stream;
    lane->timeout.polled(0, 0);
    return lane;
  }
  return nullptr;
}

void DeviceQueue::ended(Recorder& recorder, Node* node, StepSeries* series, bool warmup, const DeviceBegin& begin,
                        const DeviceBegin& end) noexcept {
  Lane* lane = lane_with_space(begin.stream);  // it may have filled while the region was open
  if (TAKT_UNLIKELY(lane == nullptr) && make_space(recorder, begin.stream)) { lane = lane_with_space(begin.stream); }
  if (lane == nullptr) {
    recorder.device_skipped(node->key, series);
    begin.release();
    end.release();
    return;
  }
  const std::uint32_t place = lane->tail % kPending;
  if (TAKT_UNLIKELY(end.submitted_ns != 0) && lane->times == nullptr) { lane->times = allocate<Times>(&budget_); }
  if (lane->times != nullptr) { lane->times->of[place] = {begin.submitted_ns, end.submitted_ns}; }
  lane->span[place] = Span{begin.mark, end.mark, node, series, series == nullptr ? 0 : series->row(), warmup};
  if (series != nullptr) { series->device_started(); }
  const Recorder::Change change(recorder);
  node->begin_write(recorder.tree().position());
  node->device_pending.add(1);
  node->end_write(recorder.tree().position());
  pending_.add(1);
  ++lane->tail;
}

void DeviceQueue::poll(Recorder& recorder, bool all) noexcept {
  for (unsigned lane = 0; lane < lanes_.own(); ++lane) { poll_lane(recorder, *lane_[lane], all); }
}

void DeviceQueue::poll(Recorder& recorder, StreamRef stream) noexcept {
  if (Lane* lane = find(stream)) {
    poll_lane(recorder, *lane, true);
  } else {
    poll(recorder, true);  // may free a lane
  }
}

void DeviceQueue::poll_if_due(Recorder& recorder, StreamRef stream) noexcept {
  Lane* lane = find(stream);
  if (lane == nullptr || lane->tail - lane->head < kAskedAt || !lane->timeout.is_over()) { return; }
  poll_lane(recorder, *lane, false);
}

void DeviceQueue::poll_lane(Recorder& recorder, Lane& lane, bool all) noexcept {
  const std::uint64_t before = lane.head == lane.tail ? 0 : pending_.own();
  take_in(recorder, lane, all);
  lane.timeout.polled(before, pending_.own());
}

void DeviceQueue::take_in(Recorder& recorder, Lane& lane, bool all) noexcept {
  const StreamRef stream = lane.stream;
  const std::uint32_t tail = lane.tail;
  DeviceQuery asking(stream);
  const auto look = [&](std::uint32_t at) {
    Span& span = lane.span[at % kPending];
    if (span.done) { return true; }
    const Elapsed result = asking.elapsed(span.begin, span.end);
    if (result.state != Elapsed::State::pending) { settle(recorder, lane, span, result); }
    return span.done;
  };
  std::uint32_t before = 0;
  do {
    before = lane.head;
    lane.head = drain(lane.head, tail, look);
  } while (all && lane.head != before);
  if (lane.head == tail || stream.ops->in_order) { return; }
  // Most streams finish in order, so the rest is probably pending. One extra query finds results out of order.
  if (!all) {
    const std::uint32_t behind = tail - lane.head - 1;
    if (behind != 0) { look(lane.head + 1 + lane.probe++ % behind); }
    return;
  }
  for (std::uint32_t at = lane.head; at != tail; ++at) { look(at); }
  while (lane.head != tail && lane.span[lane.head % kPending].done) { ++lane.head; }
}

void DeviceQueue::settle(Recorder& recorder, Lane& lane, Span& span, Elapsed result) noexcept {
  Tree& tree = recorder.tree();
  Node* node = span.node;
  const Recorder::Change change(recorder);
  const std::uint64_t position = tree.position();
  Summary* device = result.state == Elapsed::State::ready ? tree.device_of(node) : nullptr;
  const auto ns = static_cast<std::uint64_t>(result.ns < 0 ? 0 : result.ns);
  node->begin_write(position);
  node->device_pending.set(node->device_pending.own() - 1);
  if (device == nullptr) {
    node->device_lost.add(1);
  } else {
    add_span_to(*device, ns, span.warmup, &budget_);
  }
  node->end_write(position);
  if (device == nullptr) { tree.count(loss_of(result.state), node->key); }
  if (device != nullptr && TAKT_UNLIKELY(tracing.load(std::memory_order_relaxed))) {
    trace(recorder, lane, span);  // before the row's result, which may complete the row
  }
  if (span.series != nullptr) {
    span.series->device_done(tree, recorder.outbox(), span.row, node,
                             device == nullptr ? -1 : static_cast<std::int64_t>(ns));
  }
  lane.stream.ops->release(lane.stream.handle, span.begin);
  lane.stream.ops->release(lane.stream.handle, span.end);
  span.done = true;
  pending_.set(pending_.own() - 1);
}

/// Records the device times of a resolved span while a time line is recorded.
TAKT_COLD void DeviceQueue::trace(const Recorder& recorder, const Lane& lane, const Span& span) noexcept {
  Outbox* outbox = recorder.outbox();
  if (outbox == nullptr) { return; }
  const Seen seen = check_span(lane.stream, span, recorder.clock());
  outbox->put(place_of(recorder, lane, span, seen), Record::Type::device_span);
}

/// Reads the device times of a span whose events have completed and are not released yet.
DeviceQueue::Seen DeviceQueue::check_span(StreamRef stream, const Span& span, const Clock& clock) noexcept {
  Seen seen;
  seen.at_ns = clock.now_ns();
  seen.placed = stream.ops->locate != nullptr && stream.ops->locate(stream.handle, span.begin, seen.begin) &&
                stream.ops->locate(stream.handle, span.end, seen.end) && seen.begin.line == seen.end.line;
  return seen;
}

DeviceSpanRecord DeviceQueue::place_of(const Recorder& recorder, const Lane& lane, const Span& span,
                                       const Seen& seen) noexcept {
  DeviceSpanRecord record;
  const Submitted submitted = lane.times == nullptr ? Submitted() : lane.times->of[&span - lane.span];
  record.seen_ns = seen.at_ns;
  record.device = lane.stream.ops->name;
  record.stream = lane.stream.handle;
  record.key = span.node->key;
  record.waits_for = static_cast<std::uint64_t>(waits_for(span.node));
  record.thread = recorder.thread();
  // The start may precede the recording of the time line.
  if (submitted.begin_ns != 0 && submitted.end_ns != 0 && seen.placed) {
    record.line = seen.begin.line;
    record.begin_ns = seen.begin.ns;
    record.end_ns = seen.end.ns;
    record.error_ns = seen.begin.error_ns + seen.end.error_ns;
    record.begin_submitted_ns = submitted.begin_ns;
    record.end_submitted_ns = submitted.end_ns;
  }
  if (span.series != nullptr) {
    record.series = span.series->id();
    record.row = span.row;
  }
  return record;
}

void DeviceQueue::drop(Recorder& recorder) noexcept {
  for (unsigned index = 0; index < lanes_.own(); ++index) {
    Lane& lane = *lane_[index];
    for (; lane.head != lane.tail; ++lane.head) {
      Span& span = lane.span[lane.head % kPending];
      if (!span.done) { settle(recorder, lane, span, Elapsed::pending()); }
    }
  }
}

void DeviceKinds::add(const DeviceOps* ops) noexcept {
  if (ops->report == nullptr) { return; }
  for (auto& place : ops_) {
    const DeviceOps* there = nullptr;
    // Release: pairs with at().
    if (place.compare_exchange_strong(there, ops, std::memory_order_acq_rel)) {
      if (auto* const hook = hook_.load(std::memory_order_acquire)) { hook(); }  // pairs with on_new()
      return;
    }
    if (there == ops) { return; }
  }
}

DeviceKinds& device_kinds() noexcept {
  static DeviceKinds kinds;
  return kinds;
}

}  // namespace detail
TAKT_END_NAMESPACE
