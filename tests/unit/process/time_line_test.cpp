// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>
#include <takt/backends/manual.hpp>
#include <takt/snapshot.hpp>

#include "process/device_time_lines.hpp"
#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/random.hpp"
#include "support/recorder_fixture.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include "process/registry.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using namespace takt::detail;
using std::chrono::nanoseconds;
using takt::Kind;
using takt::Row;
using takt::Snapshot;
using takt::Span;
using takt::StreamRef;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;
using takt_test::RecorderFixture;

namespace {

constexpr std::uint64_t kMs = 1'000'000;

/// Regions of a recorder on a fake device, while a time line is recorded. The host clock is also the driver's. The
/// device clock is set by hand and by device_at().
template <class Tag>
struct TimeLineFixture : RecorderFixture {
  using Api = FakeApi<Tag>;
  static constexpr KeyIndex kForward = 3, kBackward = 4, kComm = 5, kIo = 6;

  TimeLineFixture() : driver(Api::driver()), stream(driver.stream()) {
    driver.hold(true);
    tracing = true;
  }
  ~TimeLineFixture() { tracing = false; }
  TimeLineFixture(const TimeLineFixture&) = delete;
  TimeLineFixture& operator=(const TimeLineFixture&) = delete;

  StreamRef ref(FakeStream* of) { return {&takt::event_ops<Api>, of}; }
  void pass(std::uint64_t ns) {
    RecorderFixture::pass(ns);
    driver.pass(nanoseconds(static_cast<std::int64_t>(ns)));
  }
  Region begin_on(KeyIndex key, FakeStream* on) {
    return recorder->begin_device(key, key == kBatch ? takt::detail::kRegionFolds : 0, ref(on));
  }
  /// Returns all new data, as the Session collects it.
  Drained drained(bool last = false) {
    recorder->fold();
    recorder->poll(true);
    std::vector<std::uint32_t> paths;
    for (std::uint32_t index = 0; index < recorder->tree().nodes(); ++index) { paths.push_back(index); }
    if (Outbox* outbox = recorder->outbox()) { collector->drain(*outbox, outbox->end(), recorder, 0, paths); }
    return collector->drained(last);
  }
  Snapshot lines() {
    Snapshot snapshot;
    collector->time_lines().read(snapshot);
    return snapshot;
  }
  void all_well() {
    REQUIRE(driver.misuses() == std::vector<std::string>{});
    REQUIRE(driver.unbalanced() == 0);
  }

  FakeDriver& driver;
  FakeStream* stream;
};

std::vector<Span> on_streams(const Drained& drained) {
  std::vector<Span> spans;
  for (const Span& span : drained.spans) {
    if (span.stream != takt::kNoIndex) { spans.push_back(span); }
  }
  return spans;
}

struct HourTag {};
struct LateTag {};
struct StuckTag {};
struct CaptureTag {};
struct TracksTag {};
struct OffTag {};
struct HiddenTag {};
struct ExposedTag {};
struct TwoDevicesTag {};
struct MissingTag {};
struct SteadyTag {};

using HourTest = TimeLineFixture<HourTag>;
using LateTest = TimeLineFixture<LateTag>;
using StuckTest = TimeLineFixture<StuckTag>;
using CaptureTest = TimeLineFixture<CaptureTag>;
using TracksTest = TimeLineFixture<TracksTag>;
using OffTest = TimeLineFixture<OffTag>;
using HiddenTest = TimeLineFixture<HiddenTag>;
using ExposedTest = TimeLineFixture<ExposedTag>;
using TwoDevicesTest = TimeLineFixture<TwoDevicesTag>;
using MissingTest = TimeLineFixture<MissingTag>;
using SteadyTest = TimeLineFixture<SteadyTag>;

}  // namespace

TEST_CASE_METHOD(HourTest, "time line: places an hour of a device 37 ppm slow within the published bound") {
  // The device clock at a host time, 37 ppm slow over a long uptime.
  static constexpr std::int64_t start_ns = 777'000'000'000'000;
  const auto device_at = [](std::uint64_t host_ns) -> std::int64_t {
    return start_ns + std::llround(static_cast<double>(host_ns) * (1 - 37e-6));
  };
  takt_test::Random random(3);
  stream->now_ns = device_at(time.now_ns());
  std::int64_t promised_ns = stream->now_ns;  // end of the work given to the stream
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  // The device reaches a mark some time after its submission, and is polled some time later.
  const auto work_until = [&](std::uint64_t host_ns) {
    const std::int64_t device_ns = std::max(device_at(host_ns), promised_ns);
    driver.work(stream, nanoseconds(device_ns - promised_ns));
    promised_ns = device_ns;
  };
  std::size_t placed = 0;
  std::int64_t farthest_ns = 0;
  const int seconds = takt_test::scaled(3600);
  for (int region = 0; region < 2 * seconds; ++region) {
    const std::uint64_t latency_ns = 2000 + random.below(20'000);
    begins.push_back(static_cast<std::int64_t>(time.now_ns() + latency_ns));
    work_until(time.now_ns() + latency_ns);
    const Region open = begin_on(kForward, stream);
    pass(latency_ns + random.below(30'000));
    driver.finish();
    pass(200 * kMs + random.below(200 * kMs));
    const std::uint64_t end_latency_ns = 2000 + random.below(20'000);
    ends.push_back(static_cast<std::int64_t>(time.now_ns() + end_latency_ns));
    work_until(time.now_ns() + end_latency_ns);
    end(open);
    pass(end_latency_ns + random.below(30'000));
    driver.finish();
    recorder->poll(true);
    pass(100 * kMs);
    if (region % 2 == 0) { continue; }
    const std::vector<Span> spans = on_streams(drained());
    const std::int64_t bound_ns = lines().time_lines.at(0).clock_error_ns;
    for (const Span& span : spans) {
      const std::int64_t off =
          std::max(std::abs(span.begin_ns - begins[placed]), std::abs(span.begin_ns + span.duration_ns - ends[placed]));
      REQUIRE(off <= bound_ns);
      farthest_ns = std::max(farthest_ns, off);
      ++placed;
    }
  }
  REQUIRE(placed == begins.size());
  const Snapshot snapshot = lines();
  INFO("farthest " << farthest_ns << " ns, bound " << snapshot.time_lines[0].clock_error_ns << " ns");
  REQUIRE(snapshot.time_lines[0].clock_error_ns < 60'000);  // half a digit of a float in ms at one hour is 122 us
  REQUIRE(snapshot.time_lines[0].spans == placed);
  REQUIRE(driver.longest_elapsed() <= std::chrono::seconds(4));  // no events further apart were compared
  all_well();
}

TEST_CASE_METHOD(SteadyTest, "time line: anchors return their events, and are taken only for a time line") {
  tracing = false;
  const auto turn = [this](int regions) {
    for (int region = 0; region < regions; ++region) {
      const Region open = begin_on(kForward, stream);
      driver.work(stream, nanoseconds(1000));
      pass(1000 * kMs);
      end(open);
      driver.finish();
      recorder->poll(true);
    }
    drained();
  };
  turn(100);
  auto& device = EventDevice<FakeApi<SteadyTag>>::instance();
  REQUIRE(device.events() == device.free_events());
  tracing = true;
  turn(1000);
  const std::uint32_t made = device.events();
  turn(1000);
  REQUIRE(device.events() == made);
  REQUIRE(device.events() - device.free_events() == AnchorChain<FakeApi<SteadyTag>>::kAnchors);
  all_well();
}

TEST_CASE_METHOD(LateTest, "time line: places a region of ten minutes, with the error that its length adds") {
  const Region epoch = begin_on(kEpoch, stream);
  driver.finish();
  const auto began = static_cast<std::int64_t>(time.now_ns());
  for (int second = 0; second < 600; ++second) {
    const Region open = begin_on(kForward, stream);
    driver.work(stream, nanoseconds(1000 * kMs));
    pass(1000 * kMs);
    driver.finish();
    end(open);
    driver.finish();
    recorder->poll(true);
  }
  end(epoch);
  driver.finish();
  const std::vector<Span> spans = on_streams(drained());
  REQUIRE(spans.size() == 601);
  const Span& longest = spans.back();
  REQUIRE(std::string(longest.name) == "Epoch");
  const std::int64_t bound_ns = lines().time_lines.at(0).clock_error_ns;
  REQUIRE(std::abs(longest.begin_ns - began) <= bound_ns);
  REQUIRE(bound_ns < 1'000'000);
  all_well();
}

TEST_CASE_METHOD(StuckTest, "time line: an anchor on a stopped stream does not delay spans of other streams") {
  FakeStream* const stuck = driver.stream();
  const Region first = begin_on(kForward, stream);
  driver.finish();
  end(first);
  driver.finish();
  recorder->poll(true);
  driver.work(stream, nanoseconds(3500 * kMs));
  pass(3500 * kMs);
  driver.run(stream, 100);
  driver.work(stuck, nanoseconds(1));
  const Region waits = begin_on(kComm, stuck);  // becomes the anchor
  const Region open = begin_on(kBackward, stream);
  driver.run(stream, 100);
  driver.work(stream, nanoseconds(5000));
  pass(5000);
  end(open);
  driver.run(stream, 100);
  const std::vector<Span> spans = on_streams(drained());
  REQUIRE(spans.size() == 2);
  REQUIRE(std::abs(spans[1].duration_ns - 5000) <= 250);  // resolution of a float at 3.5 s
  REQUIRE(collector->time_lines().unplaced().empty());
  end(waits);
  driver.finish();
  REQUIRE(on_streams(drained()).size() == 1);
  all_well();
}

TEST_CASE_METHOD(CaptureTest, "time line: takes no anchor during a capture and leaves captures valid") {
  driver.begin_capture(stream);
  FakeStream* const beside = driver.stream();
  for (int region = 0; region < 20; ++region) {
    const Region captured = begin_on(kForward, stream);
    const Region open = begin_on(kBackward, beside);
    driver.work(beside, nanoseconds(1000));
    pass(500 * kMs);
    driver.run(beside, 100);
    end(open);
    driver.run(beside, 100);
    recorder->poll(true);
    end(captured);
  }
  REQUIRE(driver.end_capture(stream));
  pass(1000 * kMs);
  REQUIRE(on_streams(drained()).size() == 20);
  all_well();
}

TEST_CASE_METHOD(TracksTest, "time line: each stream is a permanent track of its device") {
  FakeStream* const side = driver.stream();
  for (int step = 0; step < 3; ++step) {
    for (FakeStream* each : {stream, side}) {
      const Region open = begin_on(kForward, each);
      driver.work(each, nanoseconds(100));
      end(open);
    }
    driver.finish();
    const std::vector<Span> spans = on_streams(drained());
    REQUIRE(spans.size() == 2);
    REQUIRE(spans[0].stream == 0);
    REQUIRE(spans[1].stream == 1);
    REQUIRE(spans[1].kind == Kind::compute);
  }
  const Snapshot snapshot = lines();
  REQUIRE(snapshot.streams.size() == 2);
  REQUIRE(snapshot.streams[1].number == 1);
  REQUIRE(snapshot.time_lines.size() == 1);
  REQUIRE(snapshot.time_lines[0].device == "fake");
}

TEST_CASE_METHOD(OffTest, "time line: when off it queries and keeps nothing") {
  tracing = false;
  const Region open = begin_on(kForward, stream);
  driver.work(stream, nanoseconds(100));
  end(open);
  driver.finish();
  REQUIRE(drained().spans.empty());
  REQUIRE(driver.calls(FakeDriver::Call::elapsed) == 1);
  REQUIRE(lines().time_lines.empty());
}

namespace {

/// Runs one step: Backward computes on one stream while communication runs on another.
/// \param wait_ns time for which the first stream waits for it at its end.
template <class Test>
Row step_with(Test& test, bool waits, std::int64_t wait_ns, std::uint64_t& wait_path) {
  FakeStream* const side = test.driver.stream();
  const KeyIndex wait = key_table().resolve(takt::CommWait);
  const auto work = [&](FakeStream* on, std::int64_t ms) { test.driver.work(on, nanoseconds(ms * 1'000'000)); };
  const Region batch = test.begin_on(RecorderFixture::kBatch, test.stream);
  const Region backward = test.begin_on(Test::kBackward, test.stream);
  work(test.stream, 70);
  work(side, 40);
  const Region comm = test.begin_on(Test::kComm, side);
  work(side, waits ? 60 : 20);  // until 100 or 60
  test.end(comm);
  if (waits) {
    const Region open = test.begin_on(wait, test.stream);
    work(test.stream, wait_ns / 1'000'000);
    test.end(open);
  } else {
    work(test.stream, 30);
  }
  test.end(backward);
  test.pass(100 * kMs);  // everything is submitted before the device reaches it
  test.driver.finish();
  test.end(batch);
  test.driver.finish();
  const Drained drained = test.drained();
  REQUIRE(drained.rows.size() == 1);
  const auto* node = test.node({RecorderFixture::kBatch, Test::kBackward, wait});
  wait_path = node == nullptr ? ~std::uint64_t{0} : node->index;
  return drained.rows[0];
}

}  // namespace

TEST_CASE_METHOD(ExposedTest, "exposed: communication that Backward waits for is exposed for 30 ms") {
  std::uint64_t wait = 0;
  const Row row = step_with(*this, true, 30 * 1'000'000, wait);
  REQUIRE(row.complete);
  REQUIRE(row.overlaps.size() == 1);
  const takt::Overlap& overlap = row.overlaps[0];
  CHECK(overlap.comm_ns == 60 * 1'000'000);
  CHECK(overlap.compute_ns == 70 * 1'000'000);
  CHECK(overlap.comm_exposed_ns == 30 * 1'000'000);
  CHECK(overlap.undecided == 0);
  const takt::Cell* cell = this->cell(row, node({kBatch, kBackward, key_table().resolve(takt::CommWait)}));
  REQUIRE(cell != nullptr);
  CHECK(cell->path == wait);
  CHECK(cell->device_ns == 30 * 1'000'000);
  CHECK(lines().time_lines.at(0).steps == 1);
  CHECK(lines().time_lines.at(0).overlap.comm_exposed_ns == 30 * 1'000'000);
}

TEST_CASE_METHOD(HiddenTest, "exposed: communication during Backward appears hidden and is marked undecided") {
  std::uint64_t wait = 0;
  const Row row = step_with(*this, false, 0, wait);
  REQUIRE(row.overlaps.size() == 1);
  CHECK_FALSE(row.overlaps[0].comm_exposed_ns);
  CHECK(row.overlaps[0].comm_ns == 20 * 1'000'000);
  CHECK(row.overlaps[0].undecided == 1);
  const Row waited = step_with(*this, true, 0, wait);
  REQUIRE(waited.overlaps.size() == 1);
  CHECK(waited.overlaps[0].undecided == 0);  // a wait was reported and took no time
}

TEST_CASE_METHOD(
    TwoDevicesTest,
    "exposed: in one step each of two devices has its own result, hidden on one and waited for on the other") {
  takt_test::FakeContext second;
  FakeStream* const main[] = {stream, driver.stream(&second)};
  FakeStream* const side[] = {driver.stream(), driver.stream(&second)};
  const std::int64_t wait_ms[] = {0, 30};
  const KeyIndex wait = key_table().resolve(takt::CommWait);
  const auto work = [&](FakeStream* on, std::int64_t ms) { driver.work(on, nanoseconds(ms * 1'000'000)); };
  const Region batch = begin(kBatch);
  for (const int device : {0, 1}) {
    const Region backward = begin_on(kBackward, main[device]);
    work(main[device], 70);
    work(side[device], 10);
    const Region comm = begin_on(kComm, side[device]);
    work(side[device], 60 + wait_ms[device]);
    end(comm);
    const Region open = begin_on(wait, main[device]);
    work(main[device], wait_ms[device]);
    end(open);
    end(backward);
  }
  pass(100 * kMs);
  driver.finish();
  end(batch);
  const Drained drained = this->drained();
  REQUIRE(drained.rows.size() == 1);
  const Row& row = drained.rows[0];
  REQUIRE(row.overlaps.size() == 2);
  for (const std::uint32_t device : {0U, 1U}) {
    INFO("device " << device);
    const takt::Overlap& overlap = row.overlaps[device];
    CHECK(overlap.time_line == device);
    CHECK(takt::Exposed::on(overlap).comm_ns == wait_ms[device] * 1'000'000);
    CHECK_FALSE(takt::Exposed::on(overlap).io_ns);
    CHECK(lines().time_lines.at(device).number == device);
    CHECK(takt::Exposed::on(lines().time_lines.at(device).overlap).comm_ns == wait_ms[device] * 1'000'000);
  }
  // Without time lines of the devices only the sum is known.
  const takt::Cell* cell = this->cell(row, node({kBatch, kBackward, wait}));
  REQUIRE(cell != nullptr);
  CHECK(cell->device_ns == 30 * 1'000'000);
  all_well();
}

TEST_CASE_METHOD(MissingTest, "exposed: a step with an unknown span has no result") {
  driver.script(FakeDriver::Call::elapsed, takt::EventStatus::refused);
  std::uint64_t wait = 0;
  const Row row = step_with(*this, true, 30 * 1'000'000, wait);
  CHECK(!row.complete);
  CHECK(row.overlaps.empty());
}

TEST_CASE_METHOD(RecorderFixture, "time line: counts a device that cannot be placed, and its spans keep their length") {
  static constexpr takt::DeviceOps kBare{"bare",
                                         true,
                                         [](void*, takt::Mark& mark) noexcept { return (mark = 1) != 0; },
                                         [](void*, takt::Mark) noexcept {},
                                         [](void*, takt::Mark, takt::Mark) noexcept { return takt::Elapsed::ready(5); },
                                         [](void*, takt::Mark) noexcept {}};
  int handle = 0;
  tracing = true;
  const Region open = recorder->begin_device(kA, 0, StreamRef{&kBare, &handle});
  end(open);
  recorder->poll();
  REQUIRE(node({kA})->device.load()->total_ns() == 5);
  rows();
  REQUIRE(collector->time_lines().unplaced().at("bare") == 1);
  tracing = false;
}

TEST_CASE_METHOD(RecorderFixture,
                 "time line: supports a ManualClock, and places spans between submission and completion") {
  takt::ManualClock device;
  tracing = true;
  const StreamRef stream = takt::ManualBackend(device).stream();
  device.hold(true);
  device.advance(nanoseconds(1000));
  const std::uint64_t began = time.now_ns();
  const Region open = recorder->begin_device(kA, 0, stream);
  pass(400);
  device.advance(nanoseconds(400));
  end(open);
  pass(100);
  device.resolve_all();
  recorder->poll(true);
  std::vector<std::uint32_t> paths(recorder->tree().nodes(), 0);
  collector->drain(*recorder->outbox(), recorder->outbox()->end(), recorder, 0, paths);
  const std::vector<Span> spans = on_streams(collector->drained(false));
  REQUIRE(spans.size() == 1);
  REQUIRE(spans[0].begin_ns == static_cast<std::int64_t>(began) + 50);  // between submission and completion
  Snapshot snapshot;
  collector->time_lines().read(snapshot);
  REQUIRE(snapshot.time_lines.at(0).clock_error_ns >= 50);
  REQUIRE(device.outstanding() == 0);
  tracing = false;
}

TEST_CASE("time line: moves a span before its submission there and counts it") {
  DeviceTimeLines lines;
  DeviceSpanRecord record;
  record.line = &lines;
  record.device = "fake";
  const auto placed = [&](double device_ns, std::uint64_t submitted_ns, std::uint64_t seen_ns) {
    record.begin_ns = device_ns;
    record.end_ns = device_ns + 10;
    record.begin_submitted_ns = record.end_submitted_ns = submitted_ns;
    record.seen_ns = seen_ns;
    lines.add(record, Kind::compute);
    std::int64_t at_ns = 0;
    lines.place([&](const DeviceSpanRecord&, std::uint32_t, std::int64_t begin_ns, std::int64_t end_ns) {
      CHECK(end_ns >= begin_ns);
      at_ns = begin_ns;
    });
    return at_ns;
  };
  CHECK(std::abs(placed(0, 1000, 3000) - 2000) <= 10);
  CHECK(placed(100, 9000, 9100) == 9000);  // the line bends by at most 1 %, which does not reach so far
  Snapshot snapshot;
  lines.read(snapshot);
  CHECK(snapshot.time_lines[0].spans == 2);
  CHECK(snapshot.time_lines[0].clamped == 1);
  CHECK(snapshot.time_lines[0].clock_error_ns > 6000);
}

TEST_CASE("time line: limits spans of steps without rows, and gives no result for incomplete steps") {
  DeviceTimeLines lines;
  DeviceSpanRecord record;
  record.line = &lines;
  record.device = "fake";
  record.series = 0;
  const auto add = [&](std::uint64_t row) {
    record.row = row;
    record.end_ns = record.begin_ns + 10;
    lines.add(record, Kind::compute);
  };
  add(7);
  CHECK(lines.step(0, 7 + DeviceTimeLines::kMaxLag, 1).empty());
  CHECK(lines.step(0, 7, 1).empty());  // dropped as too old
  add(8);
  CHECK(lines.step(0, 8, 2).empty());  // one is missing
  add(9);
  CHECK(lines.step(0, 9, 1).size() == 1);
  add(10);
  for (std::size_t span = 0; span < DeviceTimeLines::kSpansOfSteps; ++span) { add(11); }
  CHECK(lines.step(0, 10, 1).empty());  // displaced
  CHECK(lines.step(0, 11, DeviceTimeLines::kSpansOfSteps).size() == 1);
}

TEST_CASE("time line: a Session's trace shows streams alongside threads") {
  const takt_test::Scratch scratch;
  takt::ManualClock device;
  takt::SessionOptions options = takt_test::by_hand();
  options.directory = scratch.path("runs");
  options.trace = true;
  takt::Session session("streams", options);
  for (int step = 0; step < 3; ++step) {
    const takt::Scope batch(takt::Batch, takt::ManualBackend(device));
    const takt::Scope forward(takt::Forward, takt::ManualBackend(device));
    device.advance(std::chrono::microseconds(10));
  }
  const std::string file = session.run().directory + "/trace.json";
  REQUIRE(session.close());
  const auto trace = nlohmann::json::parse(takt_test::read_text(file));
  int host = 0;
  int on_stream = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X") { continue; }
    ++(event["tid"] == 1'000'001 ? on_stream : host);
  }
  CHECK(host == 6);
  CHECK(on_stream == 6);
  const auto& line = trace["otherData"]["time_lines"].at(0);
  CHECK(line["device"] == "manual 0");
  CHECK(line["spans"] == 6);
  CHECK(line["gpu_clock_error_ns"] > 0);
  CHECK_FALSE(tracing.load());
}

TEST_CASE("time line: threads take anchors and measure with them concurrently", "[timed]") {
  struct ThreadsTag {};
  static constexpr std::uint64_t kRegions = 500;  // per thread
  using Api = FakeApi<ThreadsTag>;
  tracing = true;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([] {
      FakeDriver& driver = Api::driver();
      FakeStream* const mine = driver.stream();
      for (std::uint64_t region = 0; region < kRegions; ++region) {
        const takt::Scope batch(takt::Batch);
        const takt::Scope scope(takt::Forward, takt::EventBackend<Api>(mine));
        driver.work(mine, nanoseconds(300 * kMs));
        driver.pass(nanoseconds(300 * kMs));  // so that more anchors are taken than kept
      }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  REQUIRE(takt::complete(std::chrono::seconds(60)));
  tracing = false;
  auto& device = EventDevice<Api>::instance();
  REQUIRE(device.events() - device.free_events() == AnchorChain<Api>::kAnchors);
  REQUIRE(Api::driver().misuses() == std::vector<std::string>{});
  registry().collect(true);
  Snapshot snapshot;
  registry().read(snapshot, 0);
  REQUIRE(snapshot.time_lines.back().device == "fake");
  // Another thread may be taking the very first one.
  const std::uint64_t unplaced = takt_test::losses_of(snapshot, "device_spans_unplaced");
  REQUIRE(unplaced <= 4);
  REQUIRE(snapshot.time_lines.back().spans + unplaced == 4 * kRegions);
}
