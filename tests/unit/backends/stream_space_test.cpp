// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/random.hpp"
#include "support/session_helpers.hpp"

#include "process/process.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using std::chrono::nanoseconds;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;

namespace {

takt::SessionOptions with_space(int records) {
  takt::SessionOptions options = takt_test::by_hand();
  options.gpu_records = records;
  return options;
}

/// A Session, and a stopped stream whose queue holds exactly the records that Takt may have in flight.
template <int Number, int Records>
struct SpaceFixture {
  struct Tag {};
  using Api = FakeApi<Tag>;
  using Backend = takt::EventBackend<Api>;

  SpaceFixture() : driver(Api::driver()), stream(driver.stream()), session("room", with_space(Records)) {
    driver.hold_records(Records);
    driver.hold(true);
  }
  void region(FakeStream* on, int ns = 10) {
    const takt::Scope s(takt::Forward, Backend(on));
    driver.work(on, nanoseconds(ns));
  }
  void regions(FakeStream* on, int count) {
    for (int each = 0; each < count; ++each) { region(on); }
  }
  void finish() {
    driver.finish();
    takt::complete(std::chrono::milliseconds(0));
  }
  takt::PathStats path(const std::string& name) { return takt_test::path_called(session.snapshot(), name); }
  std::uint64_t losses(const std::string& what) { return takt_test::losses_of(session.snapshot(), what); }
  /// Returns the number of events in use. Events returned unfinished are queried when others are needed.
  std::uint32_t out() {
    auto& device = takt::detail::EventDevice<Api>::instance();
    return device.events() - device.free_events();
  }
  void all_well() {
    REQUIRE(driver.misuses() == std::vector<std::string>{});
    REQUIRE(driver.unbalanced() == 0);
  }

  FakeDriver& driver;
  FakeStream* stream;
  takt::Session session;
};

}  // namespace

using StillSpace = SpaceFixture<1, 256>;
TEST_CASE_METHOD(StillSpace, "StreamSpace: a stopped stream gets at most 256 records and other streams continue") {
  FakeStream* const other = driver.stream();
  for (int each = 0; each < 1024; ++each) {
    region(stream);
    region(other);
    driver.run(other, 3);
  }
  CHECK(path("Forward").host.n() == 2048);
  CHECK(driver.calls(FakeDriver::Call::record) == 224 + 2048);  // an eighth is reserved for ends of enclosing regions
  CHECK(losses("skipped_stream_full") == 1024 - 112);
  CHECK(losses("device_skipped") == 1024 - 112);
  finish();
  CHECK(path("Forward").device.n() == 112 + 1024);
  regions(stream, 100);
  finish();
  CHECK(path("Forward").device.n() == 112 + 1024 + 100);
  all_well();
}

using NestedSpace = SpaceFixture<2, 64>;
TEST_CASE_METHOD(NestedSpace, "StreamSpace: ends of regions and laps find space after starts no longer do") {
  {
    const takt::Scope batch(takt::Batch, Backend(stream));
    takt::Scope s(takt::Backward, Backend(stream));
    regions(stream, 1000);
    s.lap(takt::Comm);
    regions(stream, 1000);
  }
  CHECK(driver.calls(FakeDriver::Call::record) == 56 + 3);
  CHECK(path("Batch").device_pending == 1);
  CHECK(path("Backward").device_pending == 1);
  CHECK(path("Comm").device_pending == 1);
  finish();
  CHECK(path("Batch").device.n() == 1);
  CHECK(out() == 0);
  all_well();
}

using IdleSpace = SpaceFixture<3, 64>;
TEST_CASE_METHOD(IdleSpace, "StreamSpace: results that an idle thread has not polled do not block other threads") {
  std::atomic<bool> filled{false};
  std::atomic<bool> done{false};
  std::thread idle([&] {
    regions(stream, 100);
    filled = true;
    while (!done) { std::this_thread::yield(); }
  });
  while (!filled) { std::this_thread::yield(); }
  regions(stream, 10);
  CHECK(losses("skipped_stream_full") == 100 - 28 + 10);
  driver.finish();
  regions(stream, 25);
  CHECK(losses("skipped_stream_full") <= 100 - 28 + 10 + takt::detail::PollBackoff::kEnds);
  done = true;
  idle.join();
  finish();
  CHECK(path("Forward").device.n() >= 28 + 10);
  all_well();
}

using VisitedSpace = SpaceFixture<4, 64>;
TEST_CASE_METHOD(VisitedSpace, "StreamSpace: a thread without a context finds the space of work that has finished") {
  std::thread([&] {
    Api::is_without_context = true;
    for (int each = 0; each < 1000; ++each) {
      region(stream);
      driver.finish();
    }
    Api::is_without_context = false;
  }).join();
  CHECK(losses("device_skipped") == 0);
  finish();
  CHECK(path("Forward").device.n() == 1000);
  all_well();
}

using RefusedSpace = SpaceFixture<5, 64>;
TEST_CASE_METHOD(RefusedSpace, "StreamSpace: refused records free their space") {
  driver.script(FakeDriver::Call::record, takt::EventStatus::refused, 1000);
  regions(stream, 1000);
  CHECK(losses("skipped_refused") == 1000);
  CHECK(losses("skipped_stream_full") == 0);
  regions(stream, 1);
  finish();
  regions(stream, 20);
  finish();
  CHECK(path("Forward").device.n() == 21);
  all_well();
}

using ManySpaces = SpaceFixture<6, 64>;
TEST_CASE_METHOD(ManySpaces, "StreamSpace: skips and counts regions on streams beyond the maximum") {
  std::vector<FakeStream*> streams;
  for (int each = 0; each < 1500; ++each) {
    streams.push_back(driver.stream());
    region(streams.back());
    driver.finish();
  }
  finish();
  const std::uint64_t timed = path("Forward").device.n();
  CHECK(timed >= 256);
  CHECK(timed <= takt::detail::StreamTable::kPlaces);
  CHECK(losses("skipped_streams") == 1500 - timed);
  CHECK(losses("device_skipped") == 1500 - timed);
  for (FakeStream* each : streams) {
    regions(each, 10);
    driver.finish();
    takt::complete(std::chrono::milliseconds(0));
  }
  finish();
  CHECK(path("Forward").device.n() == 11 * timed);
  CHECK(losses("skipped_streams") == 11 * (1500 - timed));
  CHECK(out() == 0);
  all_well();
}

using ThreadsSpace = SpaceFixture<7, 64>;
TEST_CASE_METHOD(ThreadsSpace, "StreamSpace: threads at ten times the limit never exceed it and count every loss") {
  FakeStream* const stuck = driver.stream();
  std::atomic<bool> stop{false};
  std::thread device([&] {
    while (!stop) {
      driver.run(stream, 7);
      std::this_thread::yield();
    }
  });
  constexpr int kThreads = 6;
  const int rounds = takt_test::scaled(300);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      takt_test::Random random(static_cast<std::uint64_t>(thread) + 1);
      for (int round = 0; round < rounds; ++round) {
        takt::Scope outer(takt::Comm, Backend(stream));
        for (std::uint64_t each = random.below(20); each != 0; --each) { region(stream); }
        outer.lap(takt::Comm);
        region(stuck);
      }
    });
  }
  for (std::thread& each : threads) { each.join(); }
  stop = true;
  device.join();
  finish();
  REQUIRE(takt::complete(std::chrono::seconds(60)));
  const takt::PathStats comm = path("Comm");
  const takt::Snapshot snapshot = session.snapshot();
  std::uint64_t host = 0;
  std::uint64_t spans = 0;
  for (const takt::PathStats& each : snapshot.paths) {
    host += each.host.n();
    spans += each.device.n();
  }
  CHECK(spans + losses("device_skipped") == host);
  CHECK(losses("skipped_stream_full") >= losses("device_skipped") / 2);
  CHECK(out() <= 64 + 64);
  all_well();
}
