// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/gpu_poller.hpp"

#include <takt/backends/event.hpp>
#include <takt/backends/manual.hpp>
#include <takt/exporters/memory.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/random.hpp"
#include "support/recorder_fixture.hpp"
#include "support/session_helpers.hpp"
#include "support/wide_streams.hpp"

#include "process/process.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

using namespace takt::detail;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using takt::StreamRef;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;
using takt_test::RecorderFixture;
using Call = FakeDriver::Call;

namespace {

constexpr std::uint32_t kGpuPollingPending = DeviceQueue::kPending;

/// Regions of a recorder on a stream of a fake driver that stands still, while somebody else is to ask about them.
template <class Tag>
struct PollingFixture : RecorderFixture {
  using Api = FakeApi<Tag>;
  using Device = EventDevice<Api>;

  PollingFixture() : driver(Api::driver()), stream(driver.stream()) {
    driver.hold(true);
    gpu_polling = true;
  }
  ~PollingFixture() { gpu_polling = false; }
  PollingFixture(const PollingFixture&) = delete;
  PollingFixture& operator=(const PollingFixture&) = delete;

  void region_on(KeyIndex key, std::int64_t ns) {
    const Region open = recorder->begin_device(key, 0, StreamRef{&takt::event_ops<Api>, stream});
    driver.work(stream, nanoseconds(ns));
    end(open);
  }
  /// As Takt's own thread does.
  void ask() {
    std::thread([this] {
      Api::is_without_context = true;
      recorder->ask_devices([] {});
      CHECK(Api::visits == 0);
    }).join();
  }
  std::uint64_t questions() { return driver.calls(Call::query) + driver.calls(Call::elapsed); }
  std::uint64_t found(KeyIndex key) {
    const Node* at = node({key});
    return at == nullptr || at->device.load() == nullptr ? 0 : at->device.load()->n();
  }
  std::uint64_t lost(KeyIndex key) { return node({key})->device_lost.get(); }
  void all_well() {
    REQUIRE(driver.misuses() == std::vector<std::string>{});
    REQUIRE(driver.unbalanced() == 0);
  }

  FakeDriver& driver;
  FakeStream* stream;
};

struct AnswerTag {};
struct LeaveTag {};
struct GpuPollingFullTag {};
struct OffTag {};
struct GpuPollingCaptureTag {};
struct SeenTag {};
struct PaceTag {};
struct RingTag {};
struct EndlessTag {};
struct ModeTag {};
struct GpuPollingPauseTag {};
struct FailTag {};
struct PartTag {};
struct StuckTag {};
struct IdleTag {};
struct HungTag {};
struct StressTag {};

}  // namespace

TEST_CASE("LaneUse: the owner wants to be alone, and the others do not mind each other") {
  LaneUse use;
  REQUIRE(use.enter(LaneUse::kOwner));
  REQUIRE_FALSE(use.enter(LaneUse::kOwner));
  REQUIRE_FALSE(use.enter(LaneUse::kAsker));
  REQUIRE_FALSE(use.enter(LaneUse::kReader));
  use.leave(LaneUse::kOwner);
  REQUIRE(use.enter(LaneUse::kAsker));
  REQUIRE_FALSE(use.enter(LaneUse::kAsker));
  REQUIRE(use.enter(LaneUse::kReader));
  use.leave(LaneUse::kAsker);
  REQUIRE_FALSE(use.enter_soon(LaneUse::kOwner));
  use.leave(LaneUse::kReader);
  REQUIRE(use.enter_soon(LaneUse::kOwner));
}

using PollingAnswerTest = PollingFixture<AnswerTag>;
TEST_CASE_METHOD(PollingAnswerTest,
                 "GPU polling: what another thread has asked for, the owner takes in without a question") {
  const takt_test::WideStreams wide(driver);
  for (int region = 1; region <= 200; ++region) { region_on(kA, region); }
  ask();
  REQUIRE(driver.calls(Call::elapsed) == 0);
  driver.finish();
  ask();
  REQUIRE(Device::instance().events() == Device::instance().free_events());  // while the owner idles
  REQUIRE(recorder->device_pending());
  const std::uint64_t before = questions();
  recorder->poll();
  REQUIRE(found(kA) == 200);
  REQUIRE(node({kA})->device.load()->total_ns() == 200 * 201 / 2);
  REQUIRE(node({kA})->device_pending.get() == 0);
  REQUIRE_FALSE(recorder->device_pending());
  REQUIRE(questions() == before);
  all_well();
}

using PollingLeaveTest = PollingFixture<LeaveTag>;
TEST_CASE_METHOD(PollingLeaveTest,
                 "GPU polling: the owner asks itself where it has to know, and when nobody does it any more") {
  for (int region = 0; region < 100; ++region) { region_on(kA, 1); }
  driver.finish();
  recorder->poll();
  REQUIRE(questions() == 0);
  recorder->poll(true);
  REQUIRE(found(kA) == 100);
  region_on(kA, 1);
  driver.finish();
  gpu_polling = false;
  recorder->poll();
  REQUIRE(found(kA) == 101);
  all_well();
}

using PollingFullTest = PollingFixture<GpuPollingFullTag>;
TEST_CASE_METHOD(PollingFullTest, "GPU polling: a ring that is full of results, asked for or not, has room for more") {
  const takt_test::WideStreams wide(driver);
  for (std::uint32_t region = 0; region < kGpuPollingPending; ++region) { region_on(kA, 1); }
  driver.finish();
  region_on(kA, 1);  // nobody has asked yet
  for (std::uint32_t region = 1; region < kGpuPollingPending; ++region) { region_on(kA, 1); }
  driver.finish();
  ask();
  const std::uint64_t before = questions();
  region_on(kA, 1);
  REQUIRE(questions() == before);
  REQUIRE(losses(LossKind::device_skipped) == 0);
  REQUIRE(found(kA) == 2 * kGpuPollingPending);
  all_well();
}

using PollingOffTest = PollingFixture<OffTag>;
TEST_CASE_METHOD(PollingOffTest, "GPU polling: nobody asks about a ring whose owner has not been told to share it") {
  gpu_polling = false;
  region_on(kA, 1);
  driver.finish();
  const std::uint64_t before = questions();
  ask();
  REQUIRE(questions() == before);
  gpu_polling = true;
  region_on(kA, 1);
  ask();
  REQUIRE(driver.calls(Call::elapsed) == 1);  // the first one; the second is not ready
  recorder->poll();
  REQUIRE(found(kA) == 1);
  all_well();
}

using PollingCaptureTest = PollingFixture<GpuPollingCaptureTag>;
TEST_CASE_METHOD(PollingCaptureTest,
                 "GPU polling: a global capture of another thread stays valid, and starves nobody") {
  region_on(kA, 10);
  driver.finish();
  FakeStream* const other = driver.stream();
  driver.begin_capture(other);
  ask();
  REQUIRE(driver.end_capture(other));
  recorder->poll();
  REQUIRE(found(kA) == 1);
  all_well();
}

using PollingSeenTest = PollingFixture<SeenTag>;
TEST_CASE_METHOD(PollingSeenTest,
                 "GPU polling: while something is captured the owner asks, and the other thread rests") {
  region_on(kA, 10);
  driver.finish();
  FakeStream* const other = driver.stream();
  driver.begin_capture(other);
  end(recorder->begin_device(kB, 0, StreamRef{&takt::event_ops<Api>, other}));  // skipped: so it is seen
  ask();
  REQUIRE(questions() == 0);
  recorder->poll();
  REQUIRE(found(kA) == 1);
  REQUIRE(driver.end_capture(other));
  region_on(kA, 10);
  driver.finish();
  driver.pass(nanoseconds(Device::kPauseNs));
  const std::uint64_t before = questions();
  ask();
  REQUIRE(questions() > before);
  all_well();
}

using PollingPaceTest = PollingFixture<PaceTag>;
TEST_CASE_METHOD(PollingPaceTest, "GPU polling: after a few questions the other thread rests, and keeps nobody out") {
  const takt_test::WideStreams wide(driver);
  constexpr std::uint64_t kMost = 30;  // 16 spans: their times, and how far the stream has come
  for (int region = 0; region < 500; ++region) { region_on(kA, 1); }
  driver.finish();
  std::uint64_t before = 0;
  std::uint64_t most = 0;
  int rests = 0;
  std::uint64_t taken_in = 0;
  std::thread([&] {
    Api::is_without_context = true;
    recorder->ask_devices([&] {
      most = std::max(most, questions() - before);
      before = questions();
      if (++rests == 3) {
        std::thread([&] { recorder->poll(); }).join();  // as the owner, which is at work elsewhere
        taken_in = found(kA);
      }
    });
  }).join();
  CHECK(most <= kMost);
  CHECK(rests > 500 / 16);
  CHECK(taken_in > 16);
  recorder->poll();
  CHECK(found(kA) == 500);
  all_well();
}

using PollingEndlessTest = PollingFixture<EndlessTag>;
TEST_CASE_METHOD(PollingEndlessTest,
                 "GPU polling: a stream whose regions got no ends is timed again, though nobody waits for them") {
  region_on(kA, 1);
  driver.finish();
  ask();
  for (std::uint32_t region = 0; region < 2 * kRecordsInFlight; ++region) {
    const Region open = recorder->begin_device(kA, 0, StreamRef{&takt::event_ops<Api>, stream});
    driver.begin_capture(stream);
    end(open);
    REQUIRE(driver.end_capture(stream));
  }
  driver.finish();
  for (int region = 0; region < 100; ++region) { region_on(kB, 1); }
  driver.finish();
  driver.pass(nanoseconds(Device::kPauseNs));
  ask();
  recorder->poll(true);
  REQUIRE(found(kB) >= 100 - takt::detail::Patience::kEnds);
  all_well();
}

using RingApi = FakeApi<RingTag>;
TEST_CASE("GPU polling: a stream that is about to be full wakes the other thread before its period is over") {
  FakeDriver& driver = RingApi::driver();
  FakeStream* const stream = driver.stream();
  takt::SessionOptions options = takt_test::by_hand();
  options.background = true;
  options.gpu_poll_ms = 3'600'000;
  takt::Session session("ring", options);
  static constexpr takt::Key kRing{"Ring", takt::Kind::compute};
  for (std::uint32_t region = 0; region < kRecordsInFlight / 4; ++region) {
    const takt::Scope s(kRing, takt::EventBackend<RingApi>(stream));
  }
  while (driver.calls(Call::elapsed) == 0) { std::this_thread::yield(); }
  CHECK(session.close());
  CHECK(driver.misuses() == std::vector<std::string>{});
}

using PollingModeTest = PollingFixture<ModeTag>;
TEST_CASE_METHOD(PollingModeTest, "GPU polling: where the relaxed mode cannot be had, Takt's own thread asks nothing") {
  region_on(kA, 10);
  driver.finish();
  Api::exchanges_modes = false;
  ask();
  REQUIRE(questions() == 0);
  Api::exchanges_modes = true;
  ask();
  recorder->poll();
  REQUIRE(found(kA) == 1);
  all_well();
}

using PollingHushTest = PollingFixture<GpuPollingPauseTag>;
TEST_CASE_METHOD(PollingHushTest, "GPU polling: of a kind whose captures other threads can harm, only the owner asks") {
  Api::pauses = true;
  region_on(kA, 10);
  driver.finish();
  const std::uint64_t before = questions();
  ask();
  REQUIRE(questions() == before);
  recorder->poll();
  REQUIRE(found(kA) == 1);
  all_well();
}

TEST_CASE_METHOD(PollingHushTest, "GPU polling: a backend that does not know of it is left to its owner") {
  takt::ManualClock device;
  device.hold(true);
  const Region open = recorder->begin_device(kB, 0, takt::ManualBackend(device).stream());
  device.advance(nanoseconds(7));
  end(open);
  device.resolve_all();
  recorder->ask_devices([] {});
  REQUIRE(device.outstanding() == 2);
  recorder->poll();
  REQUIRE(found(kB) == 1);
  REQUIRE(device.outstanding() == 0);
}

using PollingFailTest = PollingFixture<FailTag>;
TEST_CASE_METHOD(PollingFailTest, "GPU polling: a span that the driver refuses is lost once, and alone") {
  region_on(kA, 10);
  region_on(kA, 20);
  driver.finish();
  driver.script(Call::elapsed, takt::EventStatus::refused);
  ask();
  REQUIRE(lost(kA) == 0);  // until the owner takes it in
  recorder->poll();
  REQUIRE(found(kA) == 1);
  REQUIRE(lost(kA) == 1);
  REQUIRE(losses(LossKind::device_failed) == 1);
  REQUIRE(Device::instance().events() == Device::instance().free_events());
  all_well();
}

using PollingPartTest = PollingFixture<PartTag>;
TEST_CASE_METHOD(PollingPartTest,
                 "GPU polling: a row that was told a part of its values gets the rest, and none twice") {
  const Region batch = begin(kBatch);
  region_on(kA, 5);
  region_on(kA, 7);
  end(batch);
  REQUIRE(rows().empty());
  driver.run(stream, 3);  // mark, work, mark
  ask();
  {
    const DeviceQueue::Hold answers(*recorder);
    unsigned answered = 0;
    answers.each([&](AnsweredSpan& span) {
      ++answered;
      collector->take(span, {0, 1});
      REQUIRE(span.told);
    });
    REQUIRE(answered == 1);
    recorder->poll(true);
    REQUIRE(node({kBatch, kA})->device_pending.get() == 2);  // it is kept out
  }
  recorder->poll();
  REQUIRE(node({kBatch, kA})->device_pending.get() == 1);
  REQUIRE(rows().empty());
  driver.finish();
  ask();
  recorder->poll();
  const std::vector<takt::Row> all = rows();
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].complete);
  REQUIRE(cell(all[0], node({kBatch, kA}))->device_ns == 12);
  all_well();
}

using PollingStuckTest = PollingFixture<StuckTag>;
TEST_CASE_METHOD(PollingStuckTest, "GPU polling: an owner goes on while the other thread is stuck in the driver") {
  const takt_test::WideStreams wide(driver);
  region_on(kA, 10);
  driver.finish();
  Api::holds_questions = true;
  std::thread asker([this] { recorder->ask_devices([] {}); });
  while (Api::held_questions == 0) { std::this_thread::yield(); }
  for (std::uint32_t region = 1; region < kGpuPollingPending + 5; ++region) { region_on(kA, 1); }
  recorder->poll();
  recorder->poll(true);
  REQUIRE(losses(LossKind::device_skipped) == 5);
  recorder->abandon_devices();
  REQUIRE(recorder->device_pending());  // what somebody is asking about is not touched
  REQUIRE(node({kA})->device_pending.get() == kGpuPollingPending);
  REQUIRE(Api::held_questions == 1);
  Api::holds_questions = false;
  asker.join();
  driver.finish();
  recorder->poll(true);
  REQUIRE(found(kA) == kGpuPollingPending);
  all_well();
}

namespace {

// Paths of this file's own: other tests leave theirs behind in the process.
inline constexpr takt::Key Idling{"Idling", takt::Kind::compute};
inline constexpr takt::Key Hung{"Hung", takt::Kind::compute};
inline constexpr takt::Key Stressed{"Stressed", takt::Kind::compute};

using IdleApi = FakeApi<IdleTag>;
using IdleBackend = takt::EventBackend<IdleApi>;

void step(FakeDriver& driver, FakeStream* stream) {
  const takt::Scope batch(takt::Batch, IdleBackend(stream));
  const takt::Scope s(Idling, IdleBackend(stream));
  driver.work(stream, nanoseconds(5));
}

}  // namespace

TEST_CASE("GPU polling: results of a thread that idles are in reports and rows, and in none twice when it goes on") {
  FakeDriver& driver = IdleApi::driver();
  driver.hold(true);
  FakeStream* const stream = driver.stream();
  takt::SessionOptions options = takt_test::by_hand();
  options.gpu_poll_ms = 1;
  const takt::MemoryExporter memory;
  takt::Session session("idle", options);
  session.add(memory);
  const std::uint64_t incomplete = takt_test::losses_of(session.snapshot(), "rows_incomplete");
  std::promise<void> idle;
  std::promise<void> wake;
  std::promise<void> awake;
  std::promise<void> leave;
  std::thread owner([&] {
    for (int count = 0; count < 3; ++count) { step(driver, stream); }
    idle.set_value();
    wake.get_future().wait();
    { const takt::Scope batch(takt::Batch); }
    awake.set_value();
    leave.get_future().wait();
  });
  const auto spans = [&](std::uint64_t pending) {
    session.poll();
    const takt::Snapshot snapshot = session.snapshot();
    const takt::PathStats& path = snapshot.paths.at(takt_test::find_path(snapshot, "Batch/Idling"));
    CHECK(path.device_pending == pending);
    CHECK(path.device.total_ns() == 5 * path.device.n());
    return path.device.n();
  };
  idle.get_future().wait();
  CHECK(spans(3) == 0);
  CHECK(takt_test::rows_of(memory, "Batch").empty());
  driver.finish();
  CHECK(spans(0) == 3);
  const auto is_whole = [&](const takt::Row& row) {
    const takt::Cell* cell = takt_test::cell_of(row, takt_test::find_path(memory.last(), "Batch/Idling"));
    return row.complete && cell != nullptr && cell->device_ns == 5;
  };
  const std::vector<takt::Row> rows = takt_test::rows_of(memory, "Batch");
  REQUIRE(rows.size() == 3);
  for (const takt::Row& row : rows) {
    CHECK(is_whole(row));
    CHECK(takt_test::cell_of(row, takt_test::find_path(memory.last(), "Batch"))->device_ns == 5);
  }
  const auto& events = EventDevice<IdleApi>::instance();
  CHECK(events.events() == events.free_events());
  CHECK(spans(0) == 3);  // still, and not more
  const std::uint64_t asked = driver.calls(Call::query) + driver.calls(Call::elapsed);
  wake.set_value();
  awake.get_future().wait();
  CHECK(spans(0) == 3);
  CHECK(takt_test::rows_of(memory, "Batch").size() == 4);
  leave.set_value();
  owner.join();
  CHECK(spans(0) == 3);
  CHECK(driver.calls(Call::query) + driver.calls(Call::elapsed) == asked);
  CHECK(session.close());
  CHECK(takt_test::losses_of(memory.last(), "rows_incomplete") == incomplete);
  CHECK(driver.misuses() == std::vector<std::string>{});
  CHECK_FALSE(gpu_polling);
}

TEST_CASE("GPU polling: a driver that does not come back holds up neither the training thread nor the end of the run",
          "[timed]") {
  using Api = FakeApi<HungTag>;
  FakeDriver& driver = Api::driver();
  FakeStream* const stream = driver.stream();
  takt::SessionOptions options = takt_test::by_hand();
  options.background = true;
  options.gpu_poll_ms = 1;
  options.period_ms = 10;
  options.exit_ms = 60000;  // of which a driver may have little
  const takt::MemoryExporter memory;
  takt::Session session("hung", options);
  session.add(memory);
  Api::holds_questions = true;
  { const takt::Scope s(Hung, takt::EventBackend<Api>(stream)); }
  while (Api::held_questions == 0) { std::this_thread::yield(); }
  for (int count = 0; count < 2000; ++count) { const takt::Scope s(Hung, takt::EventBackend<Api>(stream)); }
  CHECK(session.close());
  CHECK(Api::held_questions == 1);
  const takt::Snapshot last = memory.last();
  CHECK(takt_test::calls_of(last, "Hung") == 2001);
  CHECK(last.finished);
  Api::holds_questions = false;
  while (Api::held_questions != 0) { std::this_thread::yield(); }
  CHECK(takt::complete(std::chrono::seconds(60)));
  CHECK(driver.misuses() == std::vector<std::string>{});
}

TEST_CASE("GPU polling: threads that push, idle and end while others ask and read lose nothing and count nothing twice",
          "[timed]") {
  using Api = FakeApi<StressTag>;
  using Backend = takt::EventBackend<Api>;
  FakeDriver& driver = Api::driver();
  driver.hold(true);
  constexpr std::size_t kThreads = 3;
  std::vector<FakeStream*> streams;
  for (std::size_t each = 0; each <= kThreads; ++each) { streams.push_back(driver.stream()); }
  std::atomic<bool> stop{false};
  std::thread device([&] {
    while (!stop) {
      for (FakeStream* each : streams) { driver.run(each, 8); }
      std::this_thread::yield();
    }
  });
  takt::SessionOptions options = takt_test::by_hand();
  options.background = true;
  options.gpu_poll_ms = 1;
  options.period_ms = 10;
  const takt::MemoryExporter memory;
  takt::Session session("stress", options);
  session.add(memory);
  const int rounds = takt_test::scaled(2000);
  std::atomic<std::uint64_t> regions{0};
  const auto work = [&](std::size_t number, int count) {
    FakeStream* const own = streams[number];
    for (int round = 0; round < count; ++round) {
      const takt::Scope batch(takt::Batch, Backend(own));
      driver.work(own, nanoseconds(10));
      const takt::Scope s(Stressed, Backend(streams[kThreads]));
      driver.work(streams[kThreads], nanoseconds(5));
      ++regions;
      if (round % 256 == 0) { takt::complete(milliseconds(1)); }
    }
  };
  std::thread asker([&] {
    while (!stop) { GpuPoller::ask(); }
  });
  std::thread reader([&] {
    std::uint64_t too_many = 0;
    while (!stop) {
      const takt::Snapshot snapshot = takt::snapshot();
      const std::uint32_t index = takt_test::find_path(snapshot, "Batch/Stressed");
      if (index == takt_test::kNowhere) { continue; }
      const takt::PathStats& path = snapshot.paths[index];
      too_many += path.device.n() + path.device_pending + path.device_lost > path.host.n() ? 1 : 0;
      std::this_thread::yield();
    }
    CHECK(too_many == 0);
  });
  std::atomic<bool> closed{false};
  std::thread outliving([&] {
    while (!closed) { work(0, 50); }
  });
  for (int generation = 0; generation < 4; ++generation) {  // whose recorders are used again
    std::vector<std::thread> threads;
    for (std::size_t thread = 1; thread < kThreads; ++thread) { threads.emplace_back(work, thread, rounds / 4); }
    for (std::thread& thread : threads) { thread.join(); }
  }
  CHECK(session.close());
  closed = true;
  outliving.join();
  stop = true;
  device.join();
  asker.join();
  reader.join();
  driver.finish();
  REQUIRE(takt::complete(std::chrono::seconds(60)));
  const takt::Snapshot snapshot = takt::snapshot();
  const takt::PathStats& path = snapshot.paths.at(takt_test::find_path(snapshot, "Batch/Stressed"));
  std::uint64_t skipped = 0;
  for (const takt::Loss& loss : snapshot.losses) {
    skipped += loss.what == "device_skipped" && loss.where == "Stressed" ? loss.count : 0;
  }
  CHECK(path.host.n() == regions);
  CHECK(path.device_pending == 0);
  CHECK(path.device.n() + path.device_lost + skipped == regions);
  CHECK(path.device.n() > 0);
  const auto& events = EventDevice<Api>::instance();
  CHECK(events.events() == events.free_events());
  CHECK(driver.misuses() == std::vector<std::string>{});
  CHECK(driver.unbalanced() == 0);
}
