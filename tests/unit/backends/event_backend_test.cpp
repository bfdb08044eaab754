// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/recorder_fixture.hpp"
#include "support/wide_streams.hpp"

#include <takt/testing/conformance.hpp>
#include <takt/timer.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

using namespace takt::detail;
using takt::EventStatus;
using takt::StreamRef;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;
using takt_test::RecorderFixture;
using Call = FakeDriver::Call;
using std::chrono::nanoseconds;

namespace {

constexpr std::uint32_t kPending = DeviceQueue::kPending;

/// Regions of a recorder on streams of a fake driver, which stop until run.
template <class Tag>
struct EventFixture : RecorderFixture {
  using Api = FakeApi<Tag>;
  using Device = EventDevice<Api>;

  EventFixture() : driver(Api::driver()), stream(driver.stream()) { driver.hold(true); }

  StreamRef ref(FakeStream* of) { return {&takt::event_ops<Api>, of}; }
  Region begin_on(KeyIndex key, FakeStream* on) {
    return recorder->begin_device(key, key == kBatch ? takt::detail::kRegionFolds : 0, ref(on));
  }
  void region_on(KeyIndex key, std::int64_t ns, FakeStream* on = nullptr) {
    FakeStream* const where = on == nullptr ? stream : on;
    const Region open = begin_on(key, where);
    driver.work(where, nanoseconds(ns));
    end(open);
  }
  const takt::Summary* spans(KeyIndex key) {
    const Node* found = node({key});
    return found == nullptr ? nullptr : found->device.load();
  }
  std::uint64_t count(const std::string& what) {
    for (const auto& skips : Device::instance().report().skips) {
      if (skips.what != nullptr && skips.what == what) { return skips.count; }
    }
    return 0;
  }
  void all_well() {
    REQUIRE(driver.misuses() == std::vector<std::string>{});
    REQUIRE(driver.unbalanced() == 0);
  }

  FakeDriver& driver;
  FakeStream* stream;
};

struct DurationsTag {};
struct ProbingTag {};
struct SteadyTag {};
struct FirstTag {};
struct CaptureTag {};
struct PauseTag {};
struct LookTag {};
struct LostContextTag {};
struct ManyContextsTag {};
struct PatienceTag {};
struct OneMarkTag {};
struct AbsurdTag {};
struct OtherThreadTag {};
struct LegacyTag {};
struct ErrorTag {};
struct PendingErrorTag {};
struct FullTag {};
struct DropTag {};
struct NoEventTag {};
struct MissingTag {};
struct NoContextTag {};
struct VisitTag {};
struct VisitStreamTag {};
struct NegativeTag {};
struct ResetTag {};
struct OtherStreamTag {};
struct LapTag {};
struct CaptureAfterTag {};
struct WaitAndLocateTag {};
struct GoneTag {};
struct AgainTag {};
struct ConformanceTag {};

}  // namespace

using DurationsTest = EventFixture<DurationsTag>;
TEST_CASE_METHOD(DurationsTest, "EventBackend: durations are exact and arrive when the stream reaches the event") {
  for (const std::int64_t ns : {1, 1000, 123'457}) { region_on(kA, ns); }
  REQUIRE(spans(kA) == nullptr);
  driver.finish();
  recorder->poll();
  REQUIRE(spans(kA)->n() == 3);
  REQUIRE(spans(kA)->total_ns() == 1 + 1000 + 123'457);
  REQUIRE(spans(kA)->max_ns() == 123'457);
  REQUIRE(Device::instance().events() == Device::instance().free_events());
  all_well();
}

using ProbingTest = EventFixture<ProbingTag>;
TEST_CASE_METHOD(ProbingTest, "EventBackend: draining n spans takes at most 2 + log2(n) queries") {
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    for (std::uint32_t region = 0; region < kPending; ++region) { region_on(kA, 1); }
    driver.finish();
    recorder->poll(true);
  }
  for (const std::uint32_t size : {1U, 2U, 3U, 10U, 100U, 1000U, kPending}) {
    for (std::uint32_t region = 0; region < size; ++region) { region_on(kA, 1); }
    driver.finish();
    const std::uint64_t before = driver.calls(Call::query);
    recorder->poll();
    const std::uint64_t queries = driver.calls(Call::query) - before;
    INFO(size << " spans");
    REQUIRE(static_cast<double>(queries) <= 2 + std::log2(size));
    REQUIRE(!recorder->device_pending());
  }
  all_well();
}

TEST_CASE_METHOD(ProbingTest, "EventBackend: ends of regions rarely query while nothing is ready") {
  const takt_test::WideStreams wide(driver);
  const std::uint64_t before = driver.calls(Call::query);
  for (int region = 0; region < 160; ++region) { region_on(kB, 1); }
  REQUIRE(driver.calls(Call::query) - before <= 10);
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kB)->n() == 160);
}

using SteadyTest = EventFixture<SteadyTag>;
TEST_CASE_METHOD(SteadyTest, "EventBackend: creates no events after warm-up") {
  const takt_test::WideStreams wide(driver);
  std::uint32_t warm = 0;
  for (int step = 0; step < 2000; ++step) {
    const Region batch = begin_on(kBatch, stream);
    for (int region = 0; region < 20; ++region) { region_on(kA, 7); }
    end(batch);
    // Keep the device a few steps behind.
    if (step > 3) { driver.run(stream, driver.queued(stream) > 180 ? driver.queued(stream) - 180 : 0); }
    if (step == 100) { warm = Device::instance().events(); }
  }
  REQUIRE(Device::instance().events() == warm);
  REQUIRE(warm <= 512);
  driver.finish();
  recorder->poll(true);
  REQUIRE(node({kBatch, kA})->device.load()->n() == 40'000);
  REQUIRE(losses(LossKind::device_skipped) == 0);
  all_well();
}

using FirstTest = EventFixture<FirstTag>;
TEST_CASE_METHOD(FirstTest, "EventBackend: the first region creates the events that a stream may have in flight") {
  region_on(kA, 7);
  const std::uint32_t first = Device::instance().events();
  CHECK(first == 256);
  for (int region = 0; region < 300; ++region) { region_on(kA, 7); }  // the device stops and the stream's queue fills
  CHECK(Device::instance().events() == first);
  CHECK(count("skipped_stream_full") > 0);
  CHECK(count("skipped_no_event") == 0);
  driver.finish();
  recorder->poll(true);
  all_well();
}

using CaptureTest = EventFixture<CaptureTag>;
TEST_CASE_METHOD(CaptureTest, "EventBackend: leaves a stream alone during capture and keeps the capture valid") {
  region_on(kA, 10);
  driver.finish();
  driver.begin_capture(stream);
  for (int region = 0; region < 5; ++region) { region_on(kB, 10); }
  const Region open = begin_on(kC, stream);
  recorder->poll(true);
  REQUIRE(spans(kA)->total_ns() == 10);  // a program that captures all the time still gets results
  REQUIRE(driver.end_capture(stream));
  end(open);
  REQUIRE(count("skipped_capturing") == 6);
  REQUIRE(losses(LossKind::device_skipped) == 6);
  REQUIRE(spans(kB) == nullptr);
  all_well();
}

using HushTest = EventFixture<PauseTag>;
TEST_CASE_METHOD(HushTest, "EventBackend: queries nothing after a capture if the relaxed mode is unreliable") {
  Api::pauses = true;
  region_on(kA, 10);
  driver.begin_capture(stream);
  for (int region = 0; region < 5; ++region) { region_on(kB, 10); }
  const Region open = begin_on(kC, stream);
  recorder->poll(true);
  REQUIRE(driver.end_capture(stream));
  end(open);
  REQUIRE(count("skipped_capturing") == 6);
  REQUIRE(losses(LossKind::device_skipped) == 6);
  REQUIRE(spans(kB) == nullptr);
  driver.finish();
  const std::uint64_t before = driver.calls(Call::query);
  recorder->poll(true);
  REQUIRE(driver.calls(Call::query) == before);  // a capture ended recently
  driver.pass(nanoseconds(Device::kPauseNs));
  recorder->poll(true);
  REQUIRE(spans(kA)->total_ns() == 10);
  all_well();
}

using OtherThreadTest = EventFixture<OtherThreadTag>;
TEST_CASE_METHOD(OtherThreadTest, "EventBackend: queries of one stream keep a global capture of another valid") {
  region_on(kA, 10);
  driver.finish();
  FakeStream* const other = driver.stream();
  driver.begin_capture(other);
  region_on(kA, 20);
  recorder->poll(true);
  REQUIRE(driver.end_capture(other));
  REQUIRE(spans(kA)->n() >= 1);
  all_well();
}

using LegacyTest = EventFixture<LegacyTag>;
TEST_CASE_METHOD(LegacyTest, "EventBackend: leaves the legacy stream alone while any stream is being captured") {
  stream->is_legacy = true;
  FakeStream* const other = driver.stream();
  driver.begin_capture(other);
  region_on(kA, 10);
  REQUIRE(driver.end_capture(other));
  REQUIRE(count("skipped_capturing") == 1);
  all_well();
}

using ErrorTest = EventFixture<ErrorTag>;
TEST_CASE_METHOD(ErrorTest, "EventBackend: a refused span is lost alone and a broken context is not used again") {
  region_on(kA, 10);
  region_on(kA, 20);
  driver.finish();
  driver.script(Call::elapsed, EventStatus::refused);
  recorder->poll(true);
  REQUIRE(spans(kA)->n() == 1);
  REQUIRE(losses(LossKind::device_failed) == 1);
  driver.script(Call::record, EventStatus::refused);
  region_on(kA, 30);
  REQUIRE(count("skipped_refused") == 1);

  region_on(kB, 10);
  region_on(kB, 10);
  driver.script(Call::query, EventStatus::lost);
  recorder->poll(true);
  REQUIRE(losses(LossKind::device_failed) == 3);
  REQUIRE(count("lost_device_error") == 2);
  const auto calls = [this] {
    return driver.calls(Call::record) + driver.calls(Call::query) + driver.calls(Call::elapsed);
  };
  const std::uint64_t before = calls();
  region_on(kB, 10);
  REQUIRE(calls() == before);
  REQUIRE(std::string(Device::instance().report().unavailable) == "the fake device is broken");
  REQUIRE(node({kB})->host.n() == 3);
  all_well();
}

using PendingErrorTest = EventFixture<PendingErrorTag>;
TEST_CASE_METHOD(PendingErrorTest, "EventBackend: does not call the driver while the application has an unread error") {
  region_on(kA, 10);
  driver.finish();
  Api::error_pending = true;
  region_on(kB, 10);
  recorder->poll(true);
  REQUIRE(spans(kA) == nullptr);
  REQUIRE(count("skipped_pending_error") == 1);
  Api::error_pending = false;
  recorder->poll(true);
  REQUIRE(spans(kA)->n() == 1);
  all_well();
}

using FullTest = EventFixture<FullTag>;
TEST_CASE_METHOD(FullTest, "EventBackend: a stream that never finishes costs a bounded number of events and calls") {
  const takt_test::WideStreams wide(driver);
  for (std::uint32_t region = 0; region < kPending; ++region) { region_on(kA, 1); }
  recorder->poll();
  const std::uint32_t events = Device::instance().events();
  const std::uint64_t records = driver.calls(Call::record);
  const std::uint64_t queries = driver.calls(Call::query);
  for (int region = 0; region < 5000; ++region) { region_on(kA, 1); }
  REQUIRE(Device::instance().events() == events);
  REQUIRE(driver.calls(Call::record) == records);
  REQUIRE(driver.calls(Call::query) - queries <= 5000 + 5000 / 15);
  REQUIRE(losses(LossKind::device_skipped) == 5000);
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kA)->n() == kPending);
  REQUIRE(node({kA})->host.n() == kPending + 5000);
  all_well();
}

using DropTest = EventFixture<DropTag>;
TEST_CASE_METHOD(DropTest, "EventBackend: reuses events of dropped spans only after they have finished") {
  const takt_test::WideStreams wide(driver);
  for (int round = 0; round < 50; ++round) {
    for (int region = 0; region < 40; ++region) { region_on(kA, 3); }
    const Region open = begin_on(kB, stream);
    recorder->drop_devices();
    end(open);
    recorder->drop_devices();
    if (round % 5 == 4) { driver.run(stream, 250); }
  }
  all_well();
  driver.finish();
  for (int region = 0; region < 500; ++region) { region_on(kC, 3); }
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kC)->total_ns() == 1500);
  all_well();
}

using NoEventTest = EventFixture<NoEventTag>;
TEST_CASE_METHOD(NoEventTest, "EventBackend: times only the host if no event is available") {
  driver.script(Call::create, EventStatus::refused, 2);
  region_on(kA, 10);
  region_on(kA, 10);
  REQUIRE(count("skipped_no_event") == 2);
  region_on(kA, 10);
  driver.finish();
  recorder->poll();
  REQUIRE(node({kA})->host.n() == 3);
  REQUIRE(spans(kA)->n() == 1);
  all_well();
}

using MissingTest = EventFixture<MissingTag>;
TEST_CASE_METHOD(MissingTest, "EventBackend: without a driver it calls nothing and reports the reason") {
  Api::missing = "there is no driver";
  region_on(kA, 10);
  REQUIRE(std::string(Device::instance().report().unavailable) == "there is no driver");
  REQUIRE(driver.calls(Call::enter) == 0);
  REQUIRE(node({kA})->host.n() == 1);
  REQUIRE(losses(LossKind::device_skipped) == 1);
  Api::missing = nullptr;
}

using NoContextTest = EventFixture<NoContextTag>;
TEST_CASE_METHOD(NoContextTest, "EventBackend: skips regions of a thread until it has a context") {
  driver.context().gone = true;
  region_on(kA, 10);
  REQUIRE(count("skipped_no_context") == 1);
  REQUIRE(driver.calls(Call::create) == 0);
  REQUIRE(Device::instance().report().unavailable != nullptr);
  driver.context().gone = false;
  region_on(kA, 10);
  driver.finish();
  recorder->poll();
  REQUIRE(spans(kA)->n() == 1);
  REQUIRE(Device::instance().report().unavailable == nullptr);
}

using VisitTest = EventFixture<VisitTag>;
TEST_CASE_METHOD(VisitTest, "EventBackend: a thread without a context collects results and still has none afterwards") {
  region_on(kA, 7);
  region_on(kA, 8);
  driver.finish();
  Api::is_without_context = true;
  recorder->poll();
  Api::is_without_context = false;
  REQUIRE(spans(kA)->n() == 2);
  REQUIRE(spans(kA)->total_ns() == 15);
  REQUIRE(Api::visits == 0);
  all_well();
}

using VisitStreamTest = EventFixture<VisitStreamTag>;
TEST_CASE_METHOD(
    VisitStreamTest,
    "EventBackend: a thread without a context is timed on a stream that has one, from its first region on") {
  FakeStream* const legacy = driver.stream();
  legacy->is_legacy = true;
  Api::is_without_context = true;
  region_on(kA, 7);
  region_on(kB, 9, legacy);
  driver.finish();
  recorder->poll();
  takt::EventBackend<Api> backend(stream);
  takt::Mark mark = 0;
  REQUIRE(backend.mark(mark));
  backend.offer(mark);
  driver.finish();
  takt::DevicePlace place;
  REQUIRE(backend.locate(mark, place));
  driver.allow_waiting();
  REQUIRE(backend.wait(mark));
  REQUIRE(backend.elapsed(mark, mark).state == takt::Elapsed::State::ready);
  Api::is_without_context = false;
  REQUIRE(spans(kA)->total_ns() == 7);
  REQUIRE(spans(kB) == nullptr);
  REQUIRE(count("skipped_no_context") == 1);
  REQUIRE(Api::visits == 0);
  all_well();
}

namespace {

struct AbsurdApi : FakeApi<AbsurdTag> {
  static inline float reported = 0;
  static takt::EventStatus elapsed(Event /*begin*/, Event /*end*/, float& ms) noexcept {
    ms = reported;
    return takt::EventStatus::done;
  }
};

}  // namespace

TEST_CASE("EventBackend: rejects spans of impossible length") {
  FakeStream* const stream = AbsurdApi::driver().stream();
  takt::EventBackend<AbsurdApi> backend(stream);
  for (const float reported :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38F}) {
    AbsurdApi::reported = reported;
    takt::Mark mark = 0;
    takt::Mark end = 0;
    REQUIRE((backend.mark(mark) && backend.mark(end)));
    AbsurdApi::driver().finish();
    CHECK(backend.elapsed(mark, end).state == takt::Elapsed::State::failed);
    backend.release(mark);
    backend.release(end);
  }
}

using NegativeTest = EventFixture<NegativeTag>;
TEST_CASE_METHOD(NegativeTest, "EventBackend: records a negative span as 0 and counts it") {
  const Region open = begin_on(kA, stream);
  driver.work(stream, nanoseconds(-50));
  end(open);
  driver.finish();
  recorder->poll();
  REQUIRE(spans(kA)->n() == 1);
  REQUIRE(spans(kA)->total_ns() == 0);
  REQUIRE(count("clamped_negative") == 1);
  takt::EventBackend<Api> backend(stream);
  takt::Mark begin = 0;
  takt::Mark end_mark = 0;
  REQUIRE(backend.mark(begin));
  driver.work(stream, nanoseconds(-50));
  REQUIRE(backend.mark(end_mark));
  driver.finish();
  REQUIRE(backend.elapsed(begin, end_mark).ns == 0);
}

using ResetTest = EventFixture<ResetTag>;
TEST_CASE_METHOD(ResetTest, "EventBackend: contexts have separate events, so a lost one does not affect others") {
  takt_test::FakeContext second;
  FakeStream* const other = driver.stream(&second);
  region_on(kA, 10);
  driver.script(Call::query, EventStatus::lost);
  recorder->poll(true);
  region_on(kB, 20, other);
  region_on(kA, 10);
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kB)->total_ns() == 20);
  REQUIRE(spans(kA) == nullptr);
  REQUIRE(Device::instance().report().unavailable == nullptr);
  REQUIRE(count("lost_device_error") == 2);
  all_well();
}

using LostContextTest = EventFixture<LostContextTag>;
TEST_CASE_METHOD(LostContextTest, "EventBackend: never queries a context that was reset, and reports it once") {
  for (int region = 0; region < 10; ++region) { region_on(kA, 10); }
  driver.finish();
  region_on(kA, 10);
  recorder->poll(true);
  region_on(kA, 10);
  driver.reset(driver.context());
  const auto queries = [this] { return driver.calls(Call::query) + driver.calls(Call::elapsed); };
  const std::uint64_t before = queries();
  recorder->poll(true);
  REQUIRE(queries() == before);
  REQUIRE(!recorder->device_pending());
  REQUIRE(spans(kA)->n() == 10);
  REQUIRE(count("lost_device_error") == 2);
  REQUIRE(Device::instance().report().unavailable != nullptr);
  region_on(kB, 20);  // on the new context
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kB)->total_ns() == 20);
  REQUIRE(Device::instance().report().unavailable == nullptr);
  all_well();
}

using PollTest = EventFixture<LookTag>;
TEST_CASE_METHOD(PollTest, "EventBackend: a drain sets the capture mode twice and checks the context once") {
  const takt_test::WideStreams wide(driver);
  for (std::uint32_t region = 0; region < kPending; ++region) { region_on(kA, 1); }
  driver.finish();
  recorder->poll(true);
  for (int region = 0; region < 500; ++region) { region_on(kA, 1); }
  driver.finish();
  const std::uint64_t exchanges = driver.calls(Call::exchange);
  const std::uint64_t alive = driver.calls(Call::alive);
  recorder->poll();
  REQUIRE(!recorder->device_pending());
  REQUIRE(driver.calls(Call::exchange) - exchanges == 2);
  REQUIRE(driver.calls(Call::alive) - alive == 1);
  takt::Timer<takt::EventBackend<Api>> timer{takt::EventBackend<Api>(stream)};
  for (int region = 0; region < 500; ++region) {
    timer.start(takt::Comm);
    timer.end(takt::Comm);
  }
  driver.finish();
  const std::uint64_t before = driver.calls(Call::exchange);
  REQUIRE(timer.complete(std::chrono::milliseconds(0)));
  REQUIRE(driver.calls(Call::exchange) - before <= 4);
  REQUIRE(timer.stats(takt::Comm).n == 500);
  all_well();
}

using ManyContextsTest = EventFixture<ManyContextsTag>;
TEST_CASE_METHOD(ManyContextsTest, "EventBackend: skips and counts regions of contexts beyond 64") {
  std::vector<takt_test::FakeContext> contexts(Device::kContexts + 3);
  for (takt_test::FakeContext& each : contexts) {
    region_on(kA, 10, driver.stream(&each));
    driver.finish();
    recorder->poll(true);
  }
  REQUIRE(spans(kA)->n() == Device::kContexts);
  REQUIRE(count("skipped_contexts") == 3);
  REQUIRE(count("lost_device_error") == 0);
  all_well();
}

using PatienceTest = EventFixture<PatienceTag>;
TEST_CASE_METHOD(PatienceTest,
                 "EventBackend: ends of a Timer rarely query while nothing is ready, without losing data") {
  const takt_test::WideStreams wide(driver);
  takt::Timer<takt::EventBackend<Api>> timer{takt::EventBackend<Api>(stream)};
  const auto region = [&] {
    timer.start(takt::Comm);
    driver.work(stream, nanoseconds(5));
    timer.end(takt::Comm);
  };
  const std::uint64_t before = driver.calls(Call::query);
  for (int count = 0; count < 160; ++count) { region(); }
  REQUIRE(driver.calls(Call::query) - before <= 11);
  for (int count = 160; count < 1024; ++count) { region(); }  // until the queue is full
  driver.finish();
  region();
  REQUIRE(timer.mistakes() == 0);
  driver.finish();
  REQUIRE(timer.complete(std::chrono::milliseconds(0)));
  REQUIRE(timer.stats(takt::Comm).n == 1025);
  all_well();
}

using OneMarkTest = EventFixture<OneMarkTag>;
TEST_CASE_METHOD(OneMarkTest, "EventBackend: queries the driver about a single mark, not the stream's progress") {
  Api::has_one_order = true;  // as if a new stream had the address of an old one
  FakeStream* const other = driver.stream();
  takt::EventBackend<Api> here(stream);
  takt::EventBackend<Api> there(other);
  takt::Mark first = 0;
  takt::Mark second = 0;
  REQUIRE(here.mark(first));
  REQUIRE(there.mark(second));
  driver.run(other, 1);
  REQUIRE(there.elapsed(second, second).state == takt::Elapsed::State::ready);
  REQUIRE(here.elapsed(first, first).state == takt::Elapsed::State::pending);
  driver.finish();
  REQUIRE(here.elapsed(first, first).state == takt::Elapsed::State::ready);
  here.release(first);
  there.release(second);
  all_well();
}

using OtherStreamTest = EventFixture<OtherStreamTag>;
TEST_CASE_METHOD(OtherStreamTest,
                 "EventBackend: rejects intervals between two streams or devices without harm to a context") {
  takt_test::FakeContext second;
  for (FakeStream* const other : {driver.stream(), driver.stream(&second)}) {
    takt::EventBackend<Api> here(stream);
    takt::EventBackend<Api> there(other);
    takt::Mark begin = 0;
    takt::Mark end_mark = 0;
    REQUIRE(here.mark(begin));
    REQUIRE(there.mark(end_mark));
    driver.finish();
    const std::uint64_t before = driver.calls(Call::elapsed);
    REQUIRE(here.elapsed(begin, end_mark).state == takt::Elapsed::State::failed);
    REQUIRE(driver.calls(Call::elapsed) == before);
    here.release(begin);
    there.release(end_mark);
  }
  REQUIRE(count("skipped_other_stream") == 2);
  region_on(kA, 10);
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kA)->total_ns() == 10);
  all_well();
}

using CaptureAfterTest = EventFixture<CaptureAfterTag>;
TEST_CASE_METHOD(CaptureAfterTest,
                 "EventBackend: a capture started after the event stays valid if queries read the event's stream") {
  driver.check_streams();
  Api::looks = true;
  const bool pauses = GENERATE(false, true);
  Api::pauses = pauses;
  const std::uint64_t before = spans(kA) == nullptr ? 0 : spans(kA)->n();
  for (int region = 0; region < 3; ++region) { region_on(kB, 10); }
  recorder->drop_devices();  // its events are reused once they have finished
  region_on(kA, 10);
  driver.finish();
  driver.begin_capture(stream);
  recorder->poll(true);
  std::thread([this] { recorder->poll(true); }).join();
  FakeStream* const other = driver.stream();
  for (int region = 0; region < 200; ++region) { region_on(kC, 10, other); }  // creates more events
  REQUIRE(driver.end_capture(stream));
  driver.finish();
  driver.pass(nanoseconds(Device::kPauseNs));
  recorder->poll(true);
  REQUIRE(spans(kA)->n() == before + 1);
  REQUIRE(count("lost_stream_destroyed") == 0);
  all_well();
}

using WaitAndLocateTest = EventFixture<WaitAndLocateTag>;
TEST_CASE_METHOD(WaitAndLocateTest,
                 "EventBackend: waiting and the time line skip streams that are captured or destroyed") {
  driver.check_streams();
  driver.allow_waiting();
  Api::looks = true;
  takt::EventBackend<Api> here(stream);
  takt::EventBackend<Api> elsewhere(driver.stream());
  takt::Mark mark = 0;
  REQUIRE(here.mark(mark));
  here.offer(mark);
  driver.finish();
  takt::DevicePlace place;
  driver.begin_capture(stream);
  REQUIRE_FALSE(elsewhere.wait(mark));
  REQUIRE_FALSE(here.locate(mark, place));
  REQUIRE(driver.end_capture(stream));
  driver.destroy(stream);
  REQUIRE_FALSE(elsewhere.wait(mark));
  REQUIRE_FALSE(here.locate(mark, place));
  driver.make_again(stream);
  REQUIRE(elsewhere.wait(mark));
  REQUIRE(here.locate(mark, place));
  all_well();
}

using GoneTest = EventFixture<GoneTag>;
TEST_CASE_METHOD(GoneTest, "EventBackend: never queries events of a destroyed stream if queries read the stream") {
  const takt_test::WideStreams wide(driver);
  driver.check_streams();
  Api::looks = true;
  FakeStream* const other = driver.stream();
  for (int region = 0; region < 5; ++region) { region_on(kA, 10); }
  region_on(kB, 20, other);
  driver.destroy(stream);
  driver.finish();
  const auto queries = [this] { return driver.calls(Call::query) + driver.calls(Call::elapsed); };
  const std::uint64_t before = queries();
  recorder->poll(true);
  REQUIRE(queries() - before == 2);  // those of the other stream
  REQUIRE(spans(kA) == nullptr);
  REQUIRE(spans(kB)->total_ns() == 20);
  REQUIRE(count("lost_stream_destroyed") == 5);
  REQUIRE(losses(LossKind::device_failed) == 5);
  REQUIRE(Device::instance().report().unavailable == nullptr);
  for (int region = 0; region < 200; ++region) { region_on(kB, 20, other); }
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kB)->n() == 201);
  REQUIRE(Device::instance().events() - Device::instance().free_events() == 10);  // never reused
  all_well();
}

using AgainTest = EventFixture<AgainTag>;
TEST_CASE_METHOD(AgainTest, "EventBackend: a new stream at the address of a destroyed one gets its own times") {
  driver.check_streams();
  Api::looks = true;
  region_on(kA, 10);
  driver.destroy(stream);
  driver.make_again(stream);
  region_on(kB, 30);
  driver.run(stream, 100);
  recorder->poll(true);  // the old stream has not reached its events
  REQUIRE(spans(kA) == nullptr);
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kA)->total_ns() == 10);  // its events report the same times
  REQUIRE(spans(kB)->total_ns() == 30);
  REQUIRE(!recorder->device_pending());
  REQUIRE(count("lost_stream_destroyed") == 0);
  all_well();
}

using LapTest = EventFixture<LapTag>;
TEST_CASE_METHOD(LapTest, "EventBackend: n laps take n + 1 events and add up") {
  const std::uint64_t before = driver.calls(Call::record);
  Region lap = begin_on(kA, stream);
  for (int count = 0; count < 99; ++count) {
    driver.work(stream, nanoseconds(11));
    lap = recorder->lap(lap, kA, 0);
    if (count % 3 == 0) { driver.finish(); }  // returns events for reuse
    if (count % 5 == 0) { recorder->poll(); }
  }
  driver.work(stream, nanoseconds(11));
  end(lap);
  REQUIRE(driver.calls(Call::record) - before == 101);
  driver.finish();
  recorder->poll(true);
  REQUIRE(spans(kA)->n() == 100);
  REQUIRE(spans(kA)->total_ns() == 1100);
  REQUIRE(Device::instance().events() == Device::instance().free_events());
  all_well();
}

namespace {

struct ConformanceDriver {
  using Api = FakeApi<ConformanceTag>;

  takt::EventBackend<Api> backend() { return stream; }
  void work() { Api::driver().work(stream, nanoseconds(10'000)); }
  void finish() { Api::driver().finish(); }
  bool can_hold() { return true; }
  void hold(bool on) { Api::driver().hold(on); }
  std::int64_t outstanding() {
    const auto& device = EventDevice<Api>::instance();
    return static_cast<std::int64_t>(device.events()) - static_cast<std::int64_t>(device.free_events());
  }

  FakeStream* stream = Api::driver().stream();
};

}  // namespace

TEST_CASE("EventBackend: passes check_conformance") {
  ConformanceDriver driver;
  CHECK(takt::check_conformance(driver) == std::vector<std::string>{});
  CHECK(ConformanceDriver::Api::driver().misuses() == std::vector<std::string>{});
}
