// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/answered_span.hpp"

#include "record/device_look.hpp"
#include "record/recorder.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::atomic<bool> gpu_polling{false};

Alarm gpu_poll_alarm;

void DeviceQueue::ask(const Recorder& recorder, const std::function<void()>& rest) noexcept {
  const unsigned lanes = lanes_.get();
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Row row = Row::more;
    while (row == Row::more) {
      row = ask_lane(recorder.clock(), *lane_[lane]);
      if (row != Row::none) { rest(); }
    }
  }
}

DeviceQueue::Row DeviceQueue::ask_lane(const Clock& clock, Lane& lane) noexcept {
  if (!lane.shared.get() || !lane.use.enter(LaneUse::kAsker)) { return Row::none; }
  // It may have changed its stream before the door.
  const bool may = lane.shared.get() && lane.stream.ops->may_poll();
  const Row row = may ? ask_some(clock, lane) : Row::none;
  lane.use.leave(LaneUse::kAsker);
  return row;
}

DeviceQueue::Row DeviceQueue::ask_some(const Clock& clock, Lane& lane) noexcept {
  const std::uint32_t tail = lane.tail.get();
  std::uint32_t at = lane.head;
  while (at != tail && lane.span[at % kPending].is_known()) { ++at; }
  if (at == tail) { return Row::none; }
  const std::uint32_t end = at + std::min(tail - at, kInARow);
  const StreamRef stream = lane.stream;
  Sights* const sights = lane.sights.get();
  DeviceLook asking(stream, true);
  const auto look = [&](std::uint32_t place) {
    Span& span = lane.span[place % kPending];
    if (span.is_known()) { return true; }
    const Elapsed result = asking.elapsed(span.begin, span.end);
    if (result.state == Elapsed::State::pending) { return false; }
    if (sights != nullptr) {
      const bool where = result.state == Elapsed::State::ready && tracing.load(std::memory_order_relaxed);
      sights->of[place % kPending] = where ? look_where(stream, span, clock) : Seen();
    }
    stream.ops->release(stream.handle, span.begin);
    stream.ops->release(stream.handle, span.end);
    span.begin = static_cast<Mark>(result.ns < 0 ? 0 : result.ns);
    span.answer.set(result.state);  // pairs with is_known()
    return true;
  };
  std::uint32_t before = 0;
  do {
    before = at;
    at = drain(at, end, look);
  } while (at != before);
  return at == end && end != tail ? Row::more : Row::last;
}

DeviceQueue::Hold::Hold(Recorder& recorder) noexcept : recorder_(recorder), queue_(recorder.devices()) {
  const unsigned lanes = queue_.lanes_.get();
  for (unsigned index = 0; index < lanes; ++index) {
    Lane& lane = *queue_.lane_[index];
    if (!lane.shared.get() || !lane.use.enter_soon(LaneUse::kReader)) { continue; }
    if (lane.shared.get()) {
      lanes_ |= std::uint64_t{1} << index;
    } else {
      lane.use.leave(LaneUse::kReader);
    }
  }
}

DeviceQueue::Hold::~Hold() {
  for (unsigned index = 0; index < kStreams; ++index) {
    if ((lanes_ >> index & 1U) != 0) { queue_.lane_[index]->use.leave(LaneUse::kReader); }
  }
}

AnsweredSpan DeviceQueue::answer_of(const Recorder& recorder, const Lane& lane, const Span& span) noexcept {
  AnsweredSpan answered;
  answered.node = span.node;
  answered.result = {span.answer.get(), static_cast<std::int64_t>(span.begin)};
  answered.warmup = span.warmup;
  answered.told = span.told;
  const bool ready = answered.result.state == Elapsed::State::ready;
  answered.in_row = span.series != nullptr && span.cell != kNoCell;
  if (answered.in_row) {
    AmendmentRecord& amendment = answered.amendment;
    amendment.series = span.series->id();
    amendment.row = span.row;
    amendment.flags = span.cell == kBatchCell ? AmendmentRecord::kOfBatch : std::uint8_t{0};
    amendment.node = span.cell == kBatchCell ? span.node->index : span.cell;
    amendment.device_ns = ready ? answered.result.ns : -1;
  }
  const Sights* sights = lane.sights.get();
  answered.traced = ready && tracing.load(std::memory_order_relaxed);
  if (answered.traced) {
    const Seen nowhere;
    answered.place = place_of(recorder, lane, span, sights == nullptr ? nowhere : sights->of[&span - lane.span]);
  }
  return answered;
}

}  // namespace detail
TAKT_END_NAMESPACE
