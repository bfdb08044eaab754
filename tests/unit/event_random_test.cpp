// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/event.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/fake_driver.hpp"
#include "support/random.hpp"
#include "support/recorder_fixture.hpp"
#include "support/session_helpers.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace takt::detail;
using std::chrono::nanoseconds;
using takt::EventStatus;
using takt::StreamRef;
using takt_test::FakeApi;
using takt_test::FakeDriver;
using takt_test::FakeStream;
using takt_test::Random;
using takt_test::RecorderFixture;

namespace {

constexpr unsigned kKeys = 3;
constexpr unsigned kStreams = 4;
constexpr std::size_t kDeepest = 4;
constexpr std::size_t kLongestQueue = 400;

/// TAKT_TEST_OPERATIONS, or a million.
int operations() {
  const char* text = std::getenv("TAKT_TEST_OPERATIONS");
  return takt_test::scaled(text == nullptr ? 1'000'000 : std::atoi(text));
}

/// What the test knows of a stream: how much work was put on it, so that a mark's time is known before it has one.
struct Stream {
  FakeStream* fake = nullptr;
  std::int64_t scheduled_ns = 0;
  bool capturing = false;
};
struct Open {
  Region region = 0;
  unsigned key = 0;
  unsigned stream = 0;
  std::int64_t begin_ns = 0;
  bool marked = false;
};
struct Expected {
  std::uint64_t n = 0;
  std::uint64_t total_ns = 0;
};

struct RandomTag {};

/// Does to a recorder what a simple oracle follows beside it.
class RandomTest : public RecorderFixture {
 public:
  using Api = FakeApi<RandomTag>;

  RandomTest() : driver_(Api::driver()), random_(takt_test::test_seed()) {
    driver_.hold(true);
    for (Stream& each : streams_) { each.fake = driver_.stream(); }
  }

  void step() {
    Stream& stream = streams_[random_.below(kStreams)];
    switch (random_.below(16)) {
      case 0:
      case 1:
      case 2:
        if (open_.size() < kDeepest && !ragged_) { begin(static_cast<unsigned>(&stream - streams_.data())); }
        break;
      case 3:
      case 4:
        if (!open_.empty()) { end(open_.size() - 1); }
        break;
      case 5:
        if (!open_.empty()) { end(random_.below(open_.size())); }
        break;
      case 6:
        if (!open_.empty()) { lap(); }
        break;
      case 7:
        driver_.run(stream.fake, random_.below(40));
        break;
      case 8:
        recorder->poll(random_.chance(10));
        break;
      case 9:
        // Captures are short and rare: results wait while there is one, and rings would fill up.
        if (random_.chance(stream.capturing ? 80 : 1)) { toggle_capture(stream); }
        break;
      default:
        work(stream, static_cast<std::int64_t>(random_.below(3000)));
    }
    if (driver_.queued(stream.fake) > kLongestQueue) { driver_.run(stream.fake, kLongestQueue); }
    driver_.pass(nanoseconds(1'000'000));
  }

  void finish() {
    while (!open_.empty()) { end(open_.size() - 1); }
    for (Stream& each : streams_) {
      if (each.capturing) { toggle_capture(each); }
    }
    driver_.finish();
    driver_.pass(nanoseconds(1'000'000'000));
    recorder->poll(true);
  }

  void compare() {
    std::array<Expected, kKeys> found{};
    for (std::uint32_t index = 0; index < recorder->tree().nodes(); ++index) {
      const Node* each = recorder->tree().node(index);
      const takt::Summary* spans = each->device.load();
      if (spans == nullptr) { continue; }
      found[each->key - kA].n += spans->n();
      found[each->key - kA].total_ns += spans->total_ns();
    }
    for (unsigned key = 0; key < kKeys; ++key) {
      CHECK(found[key].n == expected_[key].n);
      CHECK(found[key].total_ns == expected_[key].total_ns);
    }
    CHECK(mishaps(Mishap::device_skipped) == skipped_);
    CHECK(mishaps(Mishap::device_failed) == 0);
    CHECK(!recorder->device_pending());
    CHECK(captures_lost_ == 0);
    CHECK(driver_.misuses() == std::vector<std::string>{});
    CHECK(driver_.unbalanced() == 0);
    const auto& device = EventDevice<Api>::instance();
    CHECK(device.events() <= 2 * (kStreams * kLongestQueue + 64));
    CHECK(expected_[0].n > 1000);
    CHECK(skipped_ > 10);
  }

 private:
  bool marks(const Stream& stream) const { return !stream.capturing; }

  void begin(unsigned stream) {
    const auto key = static_cast<unsigned>(random_.below(kKeys));
    const StreamRef ref{&takt::event_ops<Api>, streams_[stream].fake};
    const Region region = recorder->begin_device(static_cast<KeyIndex>(kA + key), 0, ref);
    open_.push_back({region, key, stream, streams_[stream].scheduled_ns, marks(streams_[stream])});
  }
  void ended(const Open& open) {
    const Stream& stream = streams_[open.stream];
    if (!open.marked || !marks(stream)) {
      ++skipped_;
      return;
    }
    // A driver tells times as a float of milliseconds.
    const auto ms = static_cast<float>(static_cast<double>(stream.scheduled_ns - open.begin_ns) * 1e-6);
    ++expected_[open.key].n;
    expected_[open.key].total_ns += static_cast<std::uint64_t>(std::llround(static_cast<double>(ms) * 1e6));
  }
  void end(std::size_t at) {
    const Open open = open_[at];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    ragged_ = !open_.empty() && (ragged_ || at != open_.size());
    recorder->end(open.region);
    ended(open);
  }
  void lap() {
    Open& open = open_.back();
    ended(open);
    const auto key = static_cast<unsigned>(random_.below(kKeys));
    open.region = recorder->lap(open.region, static_cast<KeyIndex>(kA + key), 0);
    open.key = key;
    open.begin_ns = streams_[open.stream].scheduled_ns;
    open.marked = marks(streams_[open.stream]);
  }
  void work(Stream& stream, std::int64_t ns) {
    driver_.work(stream.fake, nanoseconds(ns));
    stream.scheduled_ns += ns;
  }
  void toggle_capture(Stream& stream) {
    if (stream.capturing) {
      captures_lost_ += driver_.end_capture(stream.fake) ? 0 : 1;
    } else {
      driver_.begin_capture(stream.fake, random_.chance(50));
    }
    stream.capturing = !stream.capturing;
  }

  FakeDriver& driver_;
  Random random_;
  std::array<Stream, kStreams> streams_;
  std::vector<Open> open_;
  std::array<Expected, kKeys> expected_{};
  std::uint64_t skipped_ = 0;
  bool ragged_ = false;  // a region ended before one inside it; a further one would be one deeper in the tree, for ever
  int captures_lost_ = 0;
};

}  // namespace

TEST_CASE_METHOD(RandomTest, "EventBackend: random regions, laps, captures and polls agree with an oracle") {
  INFO("TAKT_TEST_SEED=" << takt_test::test_seed());
  const int count = operations();
  for (int operation = 0; operation < count; ++operation) { step(); }
  finish();
  compare();
}

namespace {

struct ThreadsTag {};
using ThreadsApi = FakeApi<ThreadsTag>;
using ThreadsBackend = takt::EventBackend<ThreadsApi>;

}  // namespace

TEST_CASE("EventBackend: threads that share a stream, end each other's regions, and end themselves lose nothing") {
  FakeDriver& driver = ThreadsApi::driver();
  driver.hold(true);
  FakeStream* const shared = driver.stream();
  std::vector<FakeStream*> own;
  constexpr int kThreads = 4;
  for (int thread = 0; thread < kThreads; ++thread) { own.push_back(driver.stream()); }
  std::atomic<bool> stop{false};
  std::thread device([&] {
    while (!stop) {
      driver.run(shared, 8);
      for (FakeStream* each : own) { driver.run(each, 8); }
      std::this_thread::yield();
    }
  });
  takt::Session session("threads", takt_test::by_hand());
  takt::Timer<ThreadsBackend> timer{ThreadsBackend(shared)};
  std::array<std::atomic<const takt::Handle*>, kThreads> handed{};
  constexpr int kRounds = 2000;
  const int rounds = takt_test::scaled(kRounds);
  std::mutex outliving;
  std::deque<std::deque<takt::Handle>> all;
  const auto work = [&](int number) {
    std::deque<takt::Handle> kept;
    for (int round = 0; round < rounds; ++round) {
      takt::Scope batch(takt::Batch, ThreadsBackend(own[static_cast<std::size_t>(number)]));
      driver.work(own[static_cast<std::size_t>(number)], nanoseconds(10));
      {
        takt::Scope s(takt::Forward, ThreadsBackend(shared));
        driver.work(shared, nanoseconds(5));
      }
      // To the next thread, which ends it, unless it is slow; and one from the thread before.
      const auto here = static_cast<std::size_t>(number);
      const auto next = (here + 1) % kThreads;
      if (const takt::Handle* before = handed[next].exchange(nullptr)) { timer.end(*before); }
      if (const takt::Handle* given = handed[here].exchange(nullptr)) { timer.end(*given); }
      kept.push_back(timer.start(takt::Comm));
      handed[next].store(&kept.back());
      while (driver.queued(shared) > 500) { std::this_thread::yield(); }
    }
    const std::lock_guard<std::mutex> lock(outliving);  // others may still end what began here
    all.push_back(std::move(kept));
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) { threads.emplace_back(work, thread); }
  for (std::thread& thread : threads) { thread.join(); }
  for (auto& each : handed) {
    if (const takt::Handle* last = each.exchange(nullptr)) { timer.end(*last); }
  }
  stop = true;
  device.join();
  driver.finish();
  REQUIRE(takt::complete(std::chrono::seconds(10)));
  REQUIRE(timer.complete(std::chrono::seconds(10)));
  const takt::Snapshot snapshot = session.snapshot();
  std::uint64_t spans = 0;
  for (const takt::PathStats& path : snapshot.paths) {
    spans += path.device.n();
    CHECK(path.device_pending == 0);
  }
  CHECK(spans + takt_test::losses_of(snapshot, "device_skipped") == 2U * kThreads * static_cast<unsigned>(rounds));
  CHECK(spans > static_cast<unsigned>(kThreads * rounds));
  CHECK(timer.mistakes() == 0);
  CHECK(timer.stats(takt::Comm).n > static_cast<unsigned>(rounds));  // a region inside one of its own kind is in that
  const auto& events = EventDevice<ThreadsApi>::instance();
  CHECK(events.events() == events.free_events());
  CHECK(driver.misuses() == std::vector<std::string>{});
  CHECK(driver.unbalanced() == 0);
}
