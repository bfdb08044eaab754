// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/graph.hpp>

#include <takt/backends/event.hpp>
#include <takt/backends/manual.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/random.hpp"
#include "support/session_helpers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

using std::chrono::nanoseconds;
using takt::detail::EventDevice;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeGraph;
using takt_test::FakeStream;

namespace {

/// A Session and a graph of Forward and Backward, with Comm inside Backward.
template <class Tag>
struct GraphFixture {
  using Api = FakeApi<Tag>;
  using Device = EventDevice<Api>;
  using Backend = takt::EventBackend<Api>;

  GraphFixture() : driver(Api::driver()), stream(driver.stream()), session("graphs", takt_test::by_hand()) {
    driver.hold(true);
  }
  Backend on() { return stream; }

  FakeGraph capture(takt::GraphRegions& regions, std::int64_t scale = 1) {
    driver.begin_capture(stream);
    {
      takt::GraphRegion r(regions, takt::Forward, on());
      driver.work(stream, nanoseconds(100 * scale));
    }
    {
      takt::GraphRegion r(regions, takt::Backward, on());
      driver.work(stream, nanoseconds(200 * scale));
      takt::GraphRegion inner(regions, takt::Comm, on());
      driver.work(stream, nanoseconds(30 * scale));
    }
    REQUIRE(driver.end_capture(stream));
    return driver.graph(stream);
  }
  void replay(takt::GraphRegions& regions, const FakeGraph& graph) {
    takt::GraphReplay each(regions, on());
    driver.launch(graph, stream);
  }
  takt::PathStats path(const std::string& name) { return takt_test::path_called(session.snapshot(), name); }
  std::uint64_t losses(const std::string& what) { return takt_test::losses_of(session.snapshot(), what); }
  std::uint32_t used() { return Device::instance().events() - Device::instance().free_events(); }
  void all_well() {
    const std::vector<std::string> none;
    REQUIRE(driver.misuses() == none);
    REQUIRE(driver.unbalanced() == 0);
  }

  FakeDriver& driver;
  FakeStream* stream;
  takt::Session session;
};

template <int>
struct Tag {};

}  // namespace

using Nodes = GraphFixture<Tag<1>>;
TEST_CASE_METHOD(Nodes, "GraphRegion: adds two nodes to a graph, an ordinary region adds none") {
  takt::GraphRegions regions;
  REQUIRE(capture(regions).nodes.size() == 3 + 2 * 3);
  driver.begin_capture(stream);
  for (int region = 0; region < 5; ++region) {
    takt::Scope s(takt::Forward, on());
    driver.work(stream, nanoseconds(100));
  }
  REQUIRE(driver.end_capture(stream));
  REQUIRE(driver.graph(stream).nodes.size() == 5);
  REQUIRE(losses("skipped_capturing") == 5);
  all_well();
}

using Sampled = GraphFixture<Tag<2>>;
TEST_CASE_METHOD(Sampled, "GraphRegion: a finished replay adds its times below the region of its launch") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  for (int step = 0; step < 20; ++step) {
    takt::Scope batch(takt::Batch, on());
    replay(regions, graph);
    driver.finish();
  }
  driver.finish();  // end of the last Batch
  REQUIRE(takt::complete(std::chrono::seconds(0)));
  const takt::PathStats forward = path("Forward");
  CHECK(forward.device.n() == 20);
  CHECK(forward.device.total_ns() == 20 * 100);
  CHECK(forward.device.warmup_n() == 10);
  CHECK(forward.host.n() == 0);
  CHECK(forward.depth == 1);
  CHECK(path("Backward").device.total_ns() == 20 * 230);
  CHECK(path("Comm").device.total_ns() == 20 * 30);
  CHECK(path("Comm").depth == 2);
  CHECK(losses("graph_samples_missed") == 0);
  all_well();
}

using InFlight = GraphFixture<Tag<3>>;
TEST_CASE_METHOD(InFlight, "GraphRegion: replays in flight are counted as missed and never give wrong times") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  const FakeGraph longer = [&] {  // the same events, as if the work had taken longer
    FakeGraph other = graph;
    for (auto& node : other.nodes) { node.work_ns *= 1000; }
    return other;
  }();
  replay(regions, graph);
  driver.finish();
  for (int round = 0; round < 10; ++round) {
    replay(regions, longer);
    takt::complete(std::chrono::milliseconds(0));
    driver.run(stream, static_cast<std::size_t>(round));  // stops before, between and after its events
    takt::complete(std::chrono::milliseconds(0));
    replay(regions, longer);
    driver.finish();
    replay(regions, graph);
    driver.finish();
    takt::complete(std::chrono::milliseconds(0));
  }
  const takt::Summary forward = path("Forward").device;
  CHECK(forward.n() == 1 + 2 * 10);
  CHECK(forward.total_ns() == 100 + 10 * (100'000 + 100));
  CHECK(losses("graph_samples_missed") == 10U * 3);
  all_well();
}

using Late = GraphFixture<Tag<4>>;
TEST_CASE_METHOD(Late, "GraphRegion: reads events only after the mark behind their launch is reached") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  replay(regions, graph);
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  replay(regions, graph);
  REQUIRE(!takt::complete(std::chrono::milliseconds(0)));  // the events still have the times of the first replay
  REQUIRE(path("Forward").device.n() == 1);
  REQUIRE(path("Forward").device_pending == 1);
  driver.finish();
  REQUIRE(takt::complete(std::chrono::milliseconds(0)));
  REQUIRE(path("Forward").device.n() == 2);
  all_well();
}

using Destroyed = GraphFixture<Tag<5>>;
TEST_CASE_METHOD(Destroyed, "GraphRegions: returns events after the last replay, but not while one may be in flight") {
  auto regions = std::make_unique<takt::GraphRegions>();
  FakeGraph graph = capture(*regions);
  REQUIRE(used() == 6);
  replay(*regions, graph);
  regions.reset();
  REQUIRE(used() == 7);
  for (int region = 0; region < 500; ++region) {  // uses every free event
    takt::Scope s(takt::IO, on());
    driver.work(stream, nanoseconds(1));
  }
  all_well();
  driver.finish();
  REQUIRE(takt::complete(std::chrono::milliseconds(0)));
  CHECK(path("Forward").device.n() == 1);  // was pending
  { takt::Scope s(takt::IO, on()); }
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  // The six are among those that are queried before reuse.
  CHECK(used() <= 6);
  for (int round = 0; round < 200; ++round) {
    auto again = std::make_unique<takt::GraphRegions>();
    graph = capture(*again);
    replay(*again, graph);
    driver.finish();
    takt::complete(std::chrono::milliseconds(0));
  }
  CHECK(Device::instance().events() <= 1200);
  all_well();
}

using LeftBehind = GraphFixture<Tag<6>>;
TEST_CASE_METHOD(LeftBehind, "GraphRegions: never reuses events dropped at the end of the run") {
  auto regions = std::make_unique<takt::GraphRegions>();
  const FakeGraph graph = capture(*regions);
  replay(*regions, graph);
  session.close();
  regions.reset();
  for (int region = 0; region < 200; ++region) {
    takt::Scope s(takt::IO, on());
    driver.work(stream, nanoseconds(1));
  }
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  CHECK(used() >= 6);
  all_well();
}

using Unsupported = GraphFixture<Tag<7>>;
TEST_CASE_METHOD(Unsupported,
                 "GraphRegion: without graph support it counts and reports that, and leaves the graph unchanged") {
  Api::has_graphs = false;
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  REQUIRE(graph.nodes.size() == 3);
  for (int step = 0; step < 5; ++step) {
    replay(regions, graph);
    driver.finish();
  }
  const takt::Snapshot snapshot = session.snapshot();
  CHECK(path("Forward").device.n() == 0);
  CHECK(losses("skipped_graph_unsupported") == 3);
  CHECK(losses("device_skipped") == 5 * 3);
  REQUIRE(snapshot.devices.size() == 1);
  CHECK(snapshot.devices[0].caveat.find("graphs") != std::string::npos);
  all_well();
}

using Clumsy = GraphFixture<Tag<8>>;
TEST_CASE_METHOD(Clumsy,
                 "GraphRegion: times nothing and breaks nothing without a capture, a stream or a successful launch") {
  takt::GraphRegions regions;
  {
    takt::GraphRegion r(regions, takt::Forward, on());
    driver.work(stream, nanoseconds(10));
  }
  CHECK(losses("skipped_not_capturing") == 1);
  takt::ManualClock clock;
  takt::GraphRegions elsewhere;
  { takt::GraphRegion r(elsewhere, takt::Forward, takt::ManualBackend(clock)); }
  { takt::GraphReplay each(elsewhere, takt::ManualBackend(clock)); }
  CHECK(losses("device_skipped") == 1);
  takt::GraphRegions good;
  const FakeGraph graph = capture(good);
  replay(good, graph);
  driver.finish();
  {
    takt::GraphReplay each(good, on());
    each.failed();
  }
  takt::complete(std::chrono::milliseconds(0));
  CHECK(path("Forward").device.n() == 1);
  takt::GraphRegions many;
  driver.begin_capture(stream);
  for (int region = 0; region < 70; ++region) { takt::GraphRegion r(many, takt::IO, on()); }
  REQUIRE(driver.end_capture(stream));
  CHECK(driver.graph(stream).nodes.size() == 128);
  CHECK(losses("no_place") == 6);
  all_well();
}

using TwoExecutables = GraphFixture<Tag<112>>;
TEST_CASE_METHOD(TwoExecutables, "GraphReplay: two executables of one graph share events and get no times") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  FakeStream* const other = driver.stream();
  const int first = 0;
  const int second = 0;
  const auto replay_on = [&](FakeStream* where, const int& executable) {
    takt::GraphReplay each(regions, Backend(where), &executable);
    driver.launch(graph, where);
  };
  replay_on(stream, first);
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  CHECK(path("Forward").device.total_ns() == 100);
  replay_on(stream, first);
  replay_on(other, second);
  driver.finish();
  replay_on(stream, first);
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  CHECK(path("Forward").device.n() == 1);
  CHECK(losses("graph_samples_missed") == 3U * 3);
  all_well();
}

using Thrown = GraphFixture<Tag<12>>;
TEST_CASE_METHOD(Thrown, "GraphReplay: an exception before or after the launch gives no sample") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  const auto throws = [&](bool launches) {
    takt::GraphReplay each(regions, on());
    if (launches) { driver.launch(graph, stream); }
    throw 1;
  };
  replay(regions, graph);
  driver.finish();
  for (const bool launches : {false, true, false}) {
    const takt::Scope step(takt::IO);
    CHECK_THROWS_AS(throws(launches), int);
    driver.finish();
    takt::complete(std::chrono::milliseconds(0));
  }
  CHECK(path("Forward").device.n() == 1);
  CHECK(path("Forward").device_pending == 0);
  CHECK(losses("graph_samples_missed") == 3U * 3);
  replay(regions, graph);
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  CHECK(losses("graph_samples_missed") == 3U * 3);
  CHECK(path("Forward").device.total_ns() == 2 * 100);
  {
    // A destructor may replay during unwinding: no exception leaves this replay.
    struct AtTheEnd {
      ~AtTheEnd() { test.replay(regions, graph); }
      Thrown& test;
      takt::GraphRegions& regions;
      const FakeGraph& graph;
    };
    const auto unwinds = [&] {
      const AtTheEnd last{*this, regions, graph};
      throw 1;
    };
    CHECK_THROWS_AS(unwinds(), int);
  }
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  CHECK(path("Forward").device.total_ns() == 3 * 100);
  all_well();
}

using Refused = GraphFixture<Tag<13>>;
TEST_CASE_METHOD(Refused, "GraphReplay: an unreported missing launch loses only its own samples") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  { const takt::GraphReplay each(regions, on()); }
  driver.finish();
  REQUIRE(takt::complete(std::chrono::milliseconds(0)));
  CHECK(losses("graph_samples_missed") == 3);
  for (int region = 0; region < 1000; ++region) {
    const takt::Scope s(takt::IO, on());
    driver.work(stream, nanoseconds(10));
    driver.finish();
  }
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  CHECK(path("IO").device.n() == 1000);
  CHECK(losses("lost_device_error") == 0);
  CHECK(session.snapshot().devices.front().unavailable.empty());
  all_well();
}

using Off = GraphFixture<Tag<9>>;
TEST_CASE_METHOD(Off, "GraphReplay: replays while recording is off are not recorded or mistaken for others") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  replay(regions, graph);
  takt::set_enabled(false);
  replay(regions, graph);
  driver.finish();
  takt::set_enabled(true);
  takt::complete(std::chrono::milliseconds(0));
  CHECK(path("Forward").device.n() == 0);
  CHECK(losses("graph_samples_missed") == 3);
  all_well();
}

using Rows = GraphFixture<Tag<10>>;
TEST_CASE_METHOD(Rows,
                 "GraphRegion: rows have the spans of their replay without host time, and missed ones are absent") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  takt::MemoryExporter* memory = nullptr;
  {
    auto made = std::make_unique<takt::MemoryExporter>();
    memory = made.get();
    session.add(std::move(made));
  }
  const auto step = [&] {
    takt::Scope batch(takt::Batch);
    replay(regions, graph);
  };
  step();
  driver.finish();
  step();
  step();
  driver.finish();
  takt::complete(std::chrono::milliseconds(0));
  const takt::Snapshot snapshot = session.snapshot();
  session.poll();
  const auto& rows = memory->rows();
  REQUIRE(rows.size() == 3);
  for (std::size_t row = 0; row < 3; ++row) {
    INFO("row " << row);
    CHECK(rows[row].complete == (row != 1));
    for (const takt::Cell& cell : rows[row].cells) {
      CHECK(row != 1);
      CHECK(cell.calls == 0);
      CHECK(cell.host_ns == 0);
      if (snapshot.paths[cell.path].name == "Forward") { CHECK(cell.device_ns == 100); }
    }
    CHECK(rows[row].cells.size() == (row == 1 ? 0U : 3U));
  }
  all_well();
}

using ReplayThreads = GraphFixture<Tag<11>>;
TEST_CASE_METHOD(ReplayThreads,
                 "GraphRegion: replays of alternating threads with concurrent polls give correct times or none",
                 "[timed]") {
  takt::GraphRegions regions;
  const FakeGraph graph = capture(regions);
  FakeGraph longer = graph;
  for (auto& node : longer.nodes) { node.work_ns *= 10; }
  std::atomic<bool> stop{false};
  std::thread device([&] {
    while (!stop) {
      driver.run(stream, 3);
      std::this_thread::yield();
    }
  });
  std::thread reader([&] {
    while (!stop) {
      takt::complete(std::chrono::milliseconds(0));
      std::this_thread::yield();
    }
  });
  const int rounds = takt_test::scaled(300);
  for (int round = 0; round < rounds; ++round) {
    std::thread([&] {
      for (int each = 0; each < 5; ++each) {
        replay(regions, (round + each) % 2 == 0 ? graph : longer);
        while (each % 2 == 0 && driver.queued(stream) != 0) { std::this_thread::yield(); }
      }
    }).join();
  }
  stop = true;
  device.join();
  reader.join();
  driver.finish();
  REQUIRE(takt::complete(std::chrono::seconds(60)));
  const takt::Summary spans = path("Forward").device;
  const std::uint64_t all = static_cast<std::uint64_t>(rounds) * 5;
  CHECK(spans.n() + losses("graph_samples_missed") / 3 == all);
  CHECK(spans.n() >= static_cast<std::uint64_t>(rounds));
  CHECK(spans.min_ns() == 100);
  CHECK(spans.max_ns() == 1000);
  CHECK(spans.total_ns() % 100 == 0);
  all_well();
}
