// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "device_queue.hpp"

#include <takt/detail/drain.hpp>

#include "recorder.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

bool DeviceQueue::has_room(StreamRef stream) noexcept {
  const Lane* lane = lane_of(stream);
  return lane != nullptr && lane->tail - lane->head < kPending;
}

bool DeviceQueue::opened(std::uint32_t id, const DeviceBegin& begin) noexcept {
  for (Open& open : open_) {
    if (open.id.load(std::memory_order_acquire) != 0) { continue; }
    open.begin = begin;
    open.id.store(id, std::memory_order_release);  // partner: take()
    return true;
  }
  begin.release();  // deeper than anything that is timed
  return false;
}

bool DeviceQueue::take(std::uint32_t id, DeviceBegin& begin) noexcept {
  for (Open& open : open_) {
    if (open.id.load(std::memory_order_acquire) != id) { continue; }
    const DeviceBegin found = open.begin;
    std::uint32_t expected = id;
    if (!open.id.compare_exchange_strong(expected, 0, std::memory_order_acq_rel)) { continue; }
    begin = found;
    return true;
  }
  return false;
}

void DeviceQueue::forget_open() noexcept {
  for (const Open& open : open_) {
    DeviceBegin begin;
    if (const std::uint32_t id = open.id.load(std::memory_order_acquire); id != 0 && take(id, begin)) {
      begin.release();
    }
  }
}

DeviceQueue::Lane* DeviceQueue::find(StreamRef stream) noexcept {
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    if (lane_[lane]->stream == stream) { return lane_[lane]; }
  }
  return nullptr;
}

DeviceQueue::Lane* DeviceQueue::lane_of(StreamRef stream) noexcept {
  if (Lane* lane = find(stream)) { return lane; }
  device_kinds().add(stream.ops);
  if (lanes_ < kStreams) {
    Lane* lane = allocate<Lane>(&budget_);
    if (lane == nullptr) { return nullptr; }
    lane->stream = stream;
    return lane_[lanes_++] = lane;
  }
  // As many streams as there are lanes: an idle one changes its stream.
  for (Lane* lane : lane_) {
    if (lane->head == lane->tail) {
      lane->stream = stream;
      lane->patience = 0;
      return lane;
    }
  }
  return nullptr;
}

void DeviceQueue::ended(Recorder& recorder, Node* node, Series* series, bool warmup, StreamRef stream, Mark begin,
                        Mark end) noexcept {
  Lane* lane = lane_of(stream);
  if (lane == nullptr || lane->tail - lane->head >= kPending) {  // filled up while the region was open
    recorder.device_skipped(node->key, series);
    stream.ops->release(stream.handle, begin);
    stream.ops->release(stream.handle, end);
    return;
  }
  Span& span = lane->span[lane->tail++ % kPending];
  span = Span{begin, end, node, series, series == nullptr ? 0 : series->row(), warmup, false};
  if (series != nullptr) { series->device_begun(); }
  const Recorder::Change change(recorder);
  node->begin_write(recorder.tree().position());
  node->device_pending.add(1);
  node->end_write(recorder.tree().position());
  pending_.add(1);
}

void DeviceQueue::poll(Recorder& recorder, bool all) noexcept {
  for (unsigned lane = 0; lane < lanes_; ++lane) { poll_lane(recorder, *lane_[lane], all); }
}

void DeviceQueue::poll(Recorder& recorder, StreamRef stream) noexcept {
  if (Lane* lane = find(stream)) {
    poll_lane(recorder, *lane, true);
  } else {
    poll(recorder, true);  // which may leave a lane for it
  }
}

void DeviceQueue::glance(Recorder& recorder, StreamRef stream) noexcept {
  Lane* lane = find(stream);
  if (lane == nullptr) { return; }
  if (lane->patience != 0) {
    --lane->patience;
    return;
  }
  const std::uint64_t before = pending_.own();
  poll_lane(recorder, *lane, false);
  if (pending_.own() == before) { lane->patience = kPatience; }
}

void DeviceQueue::poll_lane(Recorder& recorder, Lane& lane, bool all) noexcept {
  const StreamRef stream = lane.stream;
  const auto look = [&](std::uint32_t at) {
    Span& span = lane.span[at % kPending];
    if (!span.done) {
      const Elapsed result = stream.ops->elapsed(stream.handle, span.begin, span.end);
      if (result.state != Elapsed::State::pending) { settle(recorder, lane, span, result); }
    }
    return span.done;
  };
  std::uint32_t before = 0;
  do {
    before = lane.head;
    lane.head = drain(lane.head, lane.tail, look);
  } while (all && lane.head != before);
  if (lane.head == lane.tail || stream.ops->in_order) { return; }
  // Most streams finish in order, so the rest is pending too, mostly: one look further on finds those that came out of order.
  if (!all) {
    const std::uint32_t behind = lane.tail - lane.head - 1;
    if (behind != 0) { look(lane.head + 1 + lane.probe++ % behind); }
    return;
  }
  for (std::uint32_t at = lane.head; at != lane.tail; ++at) { look(at); }
  while (lane.head != lane.tail && lane.span[lane.head % kPending].done) { ++lane.head; }
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
  } else if (span.warmup) {
    device->add_warmup(ns);
  } else if (device->n() == 0) {
    device->add_first(ns, &budget_);
  } else {
    device->add(ns, &budget_);
  }
  node->end_write(position);
  if (device == nullptr) {
    tree.count(result.state == Elapsed::State::pending ? Mishap::device_unresolved : Mishap::device_failed, node->key);
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

void DeviceQueue::abandon(Recorder& recorder) noexcept {
  for (unsigned index = 0; index < lanes_; ++index) {
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
    if (place.compare_exchange_strong(there, ops, std::memory_order_acq_rel) || there == ops) { return; }
  }
}

DeviceKinds& device_kinds() noexcept {
  static DeviceKinds kinds;
  return kinds;
}

}  // namespace detail
TAKT_END_NAMESPACE
