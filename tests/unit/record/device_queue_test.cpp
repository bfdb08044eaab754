// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/device_queue.hpp"

#include <takt/backends/manual.hpp>

#include "support/catch.hpp"
#include "support/recorder_fixture.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

using namespace takt::detail;
using std::chrono::nanoseconds;
using takt::Cell;
using takt::ManualBackend;
using takt::ManualClock;
using takt::Mark;
using takt::StreamRef;
using takt_test::RecorderFixture;

namespace {

struct DeviceQueueTest : RecorderFixture {
  StreamRef stream() { return ManualBackend(device).stream(); }
  Region begin_on(KeyIndex key, StreamRef on) {
    return recorder->begin_device(key, key == kBatch ? kRegionFolds : 0, on);
  }
  void region_on(KeyIndex key, std::uint64_t ns) {
    const Region open = begin_on(key, stream());
    device.advance(nanoseconds(ns));
    end(open);
    recorder->poll();
  }
  const takt::Summary& span_of(std::initializer_list<std::uint64_t> path) { return *node(path)->device.load(); }

  ManualClock device;
};

}  // namespace

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: a region has its host time and the span between its marks") {
  const Region open = begin_on(kA, stream());
  pass(10);
  device.advance(nanoseconds(70));
  end(open);
  recorder->poll();
  REQUIRE(node({kA})->host.total_ns() == 10);
  REQUIRE(span_of({kA}).total_ns() == 70);
  REQUIRE(span_of({kA}).first_n() == 1);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: results may arrive in any order") {
  device.hold(true);
  for (const std::uint64_t ns : {10U, 20U, 40U}) { region_on(kA, ns); }
  REQUIRE(node({kA})->device_pending.get() == 3);
  REQUIRE(recorder->device_pending());
  const std::vector<Mark> held = device.held();  // start and end of each
  REQUIRE(held.size() == 6);
  device.resolve(held[5]);
  recorder->poll(true);
  REQUIRE(node({kA})->device_pending.get() == 2);
  REQUIRE(span_of({kA}).total_ns() == 40);
  device.resolve_all();
  recorder->poll();
  REQUIRE(span_of({kA}).total_ns() == 70);
  REQUIRE(!recorder->device_pending());
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: finds a span behind a stuck one without polling all") {
  device.hold(true);
  for (int count = 0; count < 10; ++count) { region_on(kA, 1); }
  const std::vector<Mark> held = device.held();
  for (std::size_t at = 2; at < held.size(); ++at) { device.resolve(held[at]); }
  for (int look = 0; look < 9; ++look) { recorder->poll(); }
  REQUIRE(node({kA})->device_pending.get() == 1);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: counts failed spans as lost") {
  device.hold(true);
  region_on(kA, 10);
  region_on(kA, 10);
  const std::vector<Mark> held = device.held();
  device.fail(held[0]);  // start of the first
  device.fail(held[3]);  // end of the second
  recorder->poll(true);
  REQUIRE(node({kA})->device_lost.get() == 2);
  REQUIRE(node({kA})->device_pending.get() == 0);
  REQUIRE(losses(LossKind::device_failed) == 2);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: times only the host if a mark is refused, and counts that") {
  device.refuse(true);
  region_on(kA, 10);
  device.refuse(false);
  Region open = begin_on(kA, stream());
  device.refuse(true);
  end(open);
  REQUIRE(node({kA})->host.n() == 2);
  REQUIRE(node({kA})->device.load() == nullptr);
  REQUIRE(losses(LossKind::device_skipped) == 2);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest,
                 "DeviceQueue: skips regions beyond 1 024 pending spans on a stream until there is space") {
  device.hold(true);
  for (std::uint32_t count = 0; count < DeviceQueue::kPending + 5; ++count) { region_on(kA, 1); }
  REQUIRE(node({kA})->device_pending.get() == DeviceQueue::kPending);
  REQUIRE(losses(LossKind::device_skipped) == 5);
  REQUIRE(device.outstanding() == 2 * DeviceQueue::kPending);
  ManualClock other;
  const Region elsewhere = begin_on(kB, ManualBackend(other).stream());
  other.advance(nanoseconds(3));
  end(elsewhere);
  recorder->poll();
  REQUIRE(span_of({kB}).total_ns() == 3);
  device.hold(false);
  device.resolve_all();
  region_on(kA, 1);  // not polled since
  REQUIRE(losses(LossKind::device_skipped) == 5);
  recorder->poll(true);
  REQUIRE(span_of({kA}).n() == DeviceQueue::kPending + 1);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: laps share marks and continue after the queue was full") {
  device.hold(true);
  Region lap = begin_on(kA, stream());
  for (std::uint32_t count = 0; count < DeviceQueue::kPending + 10; ++count) {
    device.advance(nanoseconds(4));
    lap = recorder->lap(lap, kA, 0);
  }
  REQUIRE(losses(LossKind::device_skipped) >= 10);
  device.hold(false);
  device.resolve_all();
  for (int count = 0; count < 3; ++count) {
    device.advance(nanoseconds(4));
    lap = recorder->lap(lap, kA, 0);
  }
  end(lap);
  recorder->poll(true);
  REQUIRE(node({kA})->host.n() == DeviceQueue::kPending + 14);
  REQUIRE(span_of({kA}).n() == DeviceQueue::kPending + 3);
  REQUIRE(span_of({kA}).max_ns() == 4);
  REQUIRE(device.outstanding() == 0);
  REQUIRE(device.misuses() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: up to 64 busy streams displace idle ones") {
  std::deque<ManualClock> clocks(DeviceQueue::kStreams + 2);
  for (ManualClock& clock : clocks) {
    const Region open = begin_on(kA, ManualBackend(clock).stream());
    end(open);
  }
  recorder->poll();
  REQUIRE(span_of({kA}).n() == clocks.size());
  for (ManualClock& clock : clocks) {
    clock.hold(true);
    const Region open = begin_on(kB, ManualBackend(clock).stream());
    end(open);
  }
  REQUIRE(node({kB})->device_pending.get() == DeviceQueue::kStreams);
  REQUIRE(losses(LossKind::device_skipped) == 2);
  for (ManualClock& clock : clocks) { clock.resolve_all(); }
  recorder->poll(true);
  for (ManualClock& clock : clocks) { REQUIRE(clock.outstanding() == 0); }
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: drops and counts spans that are pending at the end") {
  device.hold(true);
  region_on(kA, 1);
  region_on(kB, 1);
  const Region open = begin_on(kC, stream());
  recorder->drop_devices();
  REQUIRE(node({kA})->device_lost.get() == 1);
  REQUIRE(losses(LossKind::device_unresolved) == 2);
  REQUIRE(!recorder->device_pending());
  end(open);
  recorder->drop_devices();
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: keeps regions that are too deep off the device and counts them") {
  std::vector<Region> open;
  for (int level = 0; level < 80; ++level) { open.push_back(begin_on(kA, stream())); }
  while (!open.empty()) {
    end(open.back());
    open.pop_back();
  }
  REQUIRE(losses(LossKind::device_skipped) == 16);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE_METHOD(DeviceQueueTest,
                 "DeviceQueue: spans in warm-up Batches count as warm-up, including that of the Batch") {
  for (int step = 0; step < 12; ++step) {
    const Region batch = begin_on(kBatch, stream());
    region_on(kA, 5);
    end(batch);
  }
  REQUIRE(span_of({kBatch}).warmup_n() == 10);
  REQUIRE(span_of({kBatch, kA}).warmup_n() == 10);
  REQUIRE(span_of({kBatch, kA}).measured_total_ns() == 10);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: a row has the device values of its regions, at once or later") {
  device.hold(true);
  const Region batch = begin_on(kBatch, stream());
  region_on(kA, 5);
  region_on(kA, 6);
  region(kB, 1);
  device.advance(nanoseconds(100));
  const std::vector<Mark> of_a = device.held();
  pass(77);
  device.resolve(of_a[2]);  // end of the first
  end(batch);
  REQUIRE(rows().empty());
  device.resolve_all();
  recorder->poll(true);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].complete);
  REQUIRE(cell(all[0], node({kBatch, kA}))->device_ns == 11);
  REQUIRE(cell(all[0], node({kBatch, kA}))->calls == 2);
  REQUIRE(cell(all[0], node({kBatch, kB}))->device_ns == Cell::kAbsent);
  REQUIRE(cell(all[0], node({kBatch}))->device_ns == 111);
  REQUIRE(cell(all[0], node({kBatch}))->host_ns == 78);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: a Batch's own span is in its row even if ready at once") {
  const Region batch = begin_on(kBatch, stream());
  device.advance(nanoseconds(100));
  pass(9);
  end(batch);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].cells.size() == 1);
  REQUIRE(cell(all[0], node({kBatch}))->device_ns == 100);
  REQUIRE(cell(all[0], node({kBatch}))->host_ns == 9);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: a row that lacks a device value is not complete") {
  const auto step = [&](auto inside) {
    const Region batch = begin(kBatch);
    inside();
    end(batch);
    recorder->poll(true);
    const std::vector<takt::Row> all = rows(true);
    REQUIRE(all.size() == 1);
    return all[0].complete;
  };
  REQUIRE(step([&] { region_on(kA, 1); }));
  REQUIRE(!step([&] {
    device.refuse(true);
    region_on(kA, 1);
    device.refuse(false);
  }));
  REQUIRE(!step([&] {  // lost before its row is made
    device.hold(true);
    region_on(kA, 1);
    device.fail(device.held().back());
    recorder->fold();
    recorder->poll(true);
    device.hold(false);
  }));
  REQUIRE(!step([&] {  // and after
    device.hold(true);
    region_on(kA, 1);
    device.hold(false);
  }));
  device.resolve_all();
  REQUIRE(step([&] { region_on(kA, 1); }));
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: a region that began before its Batch is not in the Batch's row") {
  const Region outer = begin_on(kA, stream());
  const Region batch = begin(kBatch);
  end(outer);
  end(batch);
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].cells.empty());
  REQUIRE(span_of({kA}).n() == 1);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: a row leaves without pending values after 1 024 later rows") {
  device.hold(true);
  const auto step = [&](bool on_device) {
    const Region batch = begin(kBatch);
    if (on_device) { region_on(kA, 1); }
    region(kB, 1);
    end(batch);
  };
  step(true);
  std::vector<takt::Row> all;
  for (int later = 0; later < 1023; ++later) {
    step(false);
    for (takt::Row& row : rows()) { all.push_back(row); }
  }
  REQUIRE(all.size() == 1023);
  REQUIRE(all[0].step == 1);
  step(false);
  for (takt::Row& row : rows()) { all.push_back(row); }
  REQUIRE(all.size() == 1025);
  REQUIRE(all[1023].step == 0);
  REQUIRE(!all[1023].complete);
  REQUIRE(cell(all[1023], node({kBatch, kA}))->device_ns == Cell::kAbsent);
  REQUIRE(collector->incomplete_rows() == 1);
  device.resolve_all();
  recorder->poll(true);
  REQUIRE(rows(true).empty());
  REQUIRE(span_of({kBatch, kA}).n() == 1);
}

TEST_CASE_METHOD(DeviceQueueTest, "DeviceQueue: adds up device values of paths without a column") {
  for (int step = 0; step < 2; ++step) {
    device.hold(step == 1);
    const Region batch = begin(kBatch);
    for (KeyIndex key = 10; key < 10 + 70; ++key) { region_on(key, 2); }
    end(batch);
    device.resolve_all();
    recorder->poll(true);
    const std::vector<takt::Row> all = rows();
    REQUIRE(all.size() == 1);
    REQUIRE(all[0].cells.size() == 65);
    const takt::Cell& rest = all[0].cells.back();
    REQUIRE(rest.path == takt::kNoIndex);
    REQUIRE(rest.calls == 6);
    REQUIRE(rest.device_ns == 12);
    REQUIRE(all[0].complete);
  }
}
