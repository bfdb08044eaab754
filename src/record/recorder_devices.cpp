// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions that have a span on a device.
#include "record/recorder.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {

DeviceBegin Recorder::mark(StreamRef stream, bool begins) noexcept {
  const DeviceBegin none{stream, 0, false, 0};
  // Room is looked for first, so that no mark is made for nothing while a stream is stuck.
  if (!devices_.has_room(stream)) {
    fold();
    if (!devices_.make_room(*this, stream)) { return none; }
  }
  return DeviceBegin::now(stream, clock_, begins);
}

Region Recorder::begin_device(KeyIndex key, Region flags, StreamRef stream) noexcept {
  const DeviceBegin at = mark(stream, true);
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
  tree_.count(LossKind::device_skipped, key);
  if (series != nullptr) { series->device_lost(); }
}

void Recorder::device_region_ended(Region region, Node* node) noexcept {
  DeviceBegin begin;
  if (!devices_.take(region_id(region), begin)) { return; }
  const bool timed = begin.marked && node != tree_.overflow();
  device_ended(node, begin, timed ? DeviceBegin::now(begin.stream, clock_, false) : DeviceBegin{begin.stream});
  if (rows_.is_step(node)) {
    devices_.poll(*this, false);
  } else {
    poll_if_due(begin.stream);
  }
}

/// Takes over both marks.
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

std::uint32_t most_in_flight() noexcept { return detail::records_in_flight.load(std::memory_order_relaxed); }

TAKT_END_NAMESPACE
