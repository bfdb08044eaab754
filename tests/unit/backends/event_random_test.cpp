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
#include "support/wide_streams.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
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

/// Returns TAKT_TEST_OPERATIONS, or a million.
int operations() {
  const char* text = std::getenv("TAKT_TEST_OPERATIONS");
  return takt_test::scaled(text == nullptr ? 1'000'000 : std::atoi(text));
}

/// The test's record of a stream: the work queued so far, so that a mark's time is known in advance.
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
  takt_test::FakeEvent* event = nullptr;  // the event at its start
};
struct Expected {
  std::uint64_t n = 0;
  std::uint64_t total_ns = 0;
};

/// Converts as a driver does, which reports times as a float in milliseconds.
std::uint64_t as_reported(std::int64_t ns) {
  const auto ms = static_cast<float>(static_cast<double>(ns) * 1e-6);
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(ms) * 1e6));
}

struct RandomTag {};

/// Applies random operations to a recorder and to a simple oracle.
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
        // Captures are short and rare: results wait during a capture, and rings would fill up.
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
    CHECK(losses(LossKind::device_skipped) == skipped_);
    CHECK(losses(LossKind::device_failed) == 0);
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
    driver_.owe(1);
    const Region region = recorder->begin_device(static_cast<KeyIndex>(kA + key), 0, ref);
    driver_.owe(0);
    open_.push_back({region, key, stream, streams_[stream].scheduled_ns, marks(streams_[stream]), last(stream)});
  }
  void ended(const Open& open) {
    const Stream& stream = streams_[open.stream];
    if (!open.marked || !marks(stream)) {
      ++skipped_;
      return;
    }
    ++expected_[open.key].n;
    expected_[open.key].total_ns += as_reported(stream.scheduled_ns - open.begin_ns);
  }
  takt_test::FakeEvent* last(unsigned stream) { return driver_.last(streams_[stream].fake); }
  /// The times of an ending region's events will be read, or not.
  void owe(const Open& open, int more) {
    driver_.owe(more + (open.marked ? 1 : 0));
    if (open.marked && !marks(streams_[open.stream])) { driver_.forgive(open.event); }
  }
  void end(std::size_t at) {
    const Open open = open_[at];
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(at));
    ragged_ = !open_.empty() && (ragged_ || at != open_.size());
    owe(open, 0);
    recorder->end(open.region);
    driver_.owe(0);
    ended(open);
  }
  void lap() {
    Open& open = open_.back();
    ended(open);
    const auto key = static_cast<unsigned>(random_.below(kKeys));
    owe(open, 1);
    open.region = recorder->lap(open.region, static_cast<KeyIndex>(kA + key), 0);
    open.key = key;
    open.begin_ns = streams_[open.stream].scheduled_ns;
    driver_.owe(0);
    open.marked = marks(streams_[open.stream]);
    open.event = last(open.stream);
  }
  void work(Stream& stream, std::int64_t ns) {
    driver_.work(stream.fake, nanoseconds(ns));
    if (!stream.capturing) { stream.scheduled_ns += ns; }
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
  bool ragged_ = false;  // a region ended before an inner one; further ones would nest ever deeper
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

TEST_CASE("EventBackend: threads that share a stream, end each other's regions and exit lose nothing", "[timed]") {
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
  const takt_test::WideStreams wide(driver);
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
      // Passes a region to the next thread, which ends it unless it is slow, and ends one from the previous thread.
      const auto here = static_cast<std::size_t>(number);
      const auto next = (here + 1) % kThreads;
      if (const takt::Handle* before = handed[next].exchange(nullptr)) { timer.end(*before); }
      if (const takt::Handle* given = handed[here].exchange(nullptr)) { timer.end(*given); }
      kept.push_back(timer.start(takt::Comm));
      handed[next].store(&kept.back());
      while (driver.queued(shared) > 500) { std::this_thread::yield(); }
    }
    const std::lock_guard<std::mutex> lock(outliving);  // others may still end regions started here
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
  REQUIRE(takt::complete(std::chrono::seconds(60)));
  REQUIRE(timer.complete(std::chrono::seconds(60)));
  const takt::Snapshot snapshot = session.snapshot();
  std::uint64_t spans = 0;
  for (const takt::PathStats& path : snapshot.paths) {
    spans += path.device.n();
    CHECK(path.device_pending == 0);
  }
  CHECK(spans + takt_test::losses_of(snapshot, "device_skipped") == 2U * kThreads * static_cast<unsigned>(rounds));
  CHECK(spans > static_cast<unsigned>(kThreads * rounds));
  CHECK(timer.mistakes() == 0);
  // A region inside one of its own kind counts as part of it.
  CHECK(timer.stats(takt::Comm).n > static_cast<unsigned>(rounds));
  const auto& events = EventDevice<ThreadsApi>::instance();
  CHECK(events.events() == events.free_events());
  CHECK(driver.misuses() == std::vector<std::string>{});
  CHECK(driver.unbalanced() == 0);
}

namespace {

struct PairTag {};
using PairApi = FakeApi<PairTag>;
using PairBackend = takt::EventBackend<PairApi>;
constexpr takt::Key PairOwn{"pair: own", takt::Kind::compute};
constexpr takt::Key PairHanded{"pair: handed", takt::Kind::comm};

/// Regions that one thread has started, for the other thread to end.
class Mailbox {
 public:
  using Letter = std::unique_ptr<std::optional<takt::Scope>>;

  void put(Letter letter) {
    ++open_;
    const std::lock_guard<std::mutex> lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  /// Ends one; returns false if there is none.
  bool end_one(std::size_t which) {
    Letter letter = take(which);
    if (letter == nullptr) { return false; }
    letter.reset();
    --open_;
    return true;
  }
  /// Runs until the last region has ended on either thread: regions that always overlap would nest ever deeper.
  void end_all() {
    while (end_one(0)) {}
    while (open_ != 0) { std::this_thread::yield(); }
  }

 private:
  Letter take(std::size_t which) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (letters_.empty()) { return nullptr; }
    const auto at = letters_.begin() + static_cast<std::ptrdiff_t>(which % letters_.size());
    Letter letter = std::move(*at);
    letters_.erase(at);
    return letter;
  }

  std::atomic<int> open_{0};
  std::mutex mutex_;
  std::vector<Letter> letters_;
};

/// One of two threads. Only it queues work on its stream, so it knows the length of its own regions.
class PairThread {
 public:
  PairThread(FakeStream* stream, unsigned number) : stream_(stream), random_(takt_test::test_seed() + number) {}

  void run(int operations, PairThread& other) {
    FakeDriver::owe(1);
    while (operations > 0) {
      const takt::Scope batch(takt::Batch, PairBackend(stream_));
      for (int left = 20; left > 0; --left, --operations) { step(other); }
      mailbox_.end_all();
    }
  }

  Expected own;
  std::uint64_t handed = 0;

 private:
  void step(PairThread& other) {
    switch (random_.below(6)) {
      case 0:
        nest(static_cast<int>(random_.below(4)));
        break;
      case 1:
        hand();
        break;
      case 2:
        other.mailbox_.end_one(random_.below(20));
        break;
      case 3:
        PairApi::driver().run(stream_, random_.below(40));
        break;
      default:
        work();
    }
    if (PairApi::driver().queued(stream_) > kLongestQueue) { PairApi::driver().run(stream_, kLongestQueue); }
  }
  void work() {
    const auto ns = static_cast<std::int64_t>(random_.below(3000));
    PairApi::driver().work(stream_, nanoseconds(ns));
    scheduled_ns_ += ns;
  }
  void nest(int depth) {
    std::int64_t begin_ns = scheduled_ns_;
    const auto ended = [&] {
      ++own.n;
      own.total_ns += as_reported(scheduled_ns_ - std::exchange(begin_ns, scheduled_ns_));
    };
    takt::Scope s(PairOwn, PairBackend(stream_));
    work();
    if (random_.chance(30)) {
      ended();
      FakeDriver::owe(2);
      s.lap(PairOwn);
      FakeDriver::owe(1);
    }
    if (depth > 0) { nest(depth - 1); }
    work();
    ended();
  }
  void hand() {
    auto letter = std::make_unique<std::optional<takt::Scope>>();
    letter->emplace(PairHanded, PairBackend(stream_));
    ++handed;
    mailbox_.put(std::move(letter));
  }

  FakeStream* stream_;
  Random random_;
  Mailbox mailbox_;
  std::int64_t scheduled_ns_ = 0;
};

}  // namespace

TEST_CASE("EventBackend: two random threads that end each other's regions lose nothing and record correct times",
          "[timed]") {
  INFO("TAKT_TEST_SEED=" << takt_test::test_seed());
  FakeDriver& driver = PairApi::driver();
  driver.hold(true);
  const takt_test::WideStreams wide(driver);
  PairThread first(driver.stream(), 1);
  PairThread second(driver.stream(), 2);
  const int operations = takt_test::scaled(200'000);
  std::thread one([&] { first.run(operations, second); });
  std::thread two([&] { second.run(operations, first); });
  one.join();
  two.join();
  driver.finish();
  REQUIRE(takt::complete(std::chrono::seconds(60)));
  const takt::Snapshot snapshot = takt::snapshot();
  Expected own;
  std::uint64_t handed = 0;
  for (const takt::PathStats& path : snapshot.paths) {
    if (path.name == PairHanded.name()) { handed += path.device.n(); }
    if (path.name != PairOwn.name()) { continue; }
    own.n += path.device.n();
    own.total_ns += path.device.total_ns();
  }
  CHECK(takt_test::losses_of(snapshot, "device_skipped") == 0);
  CHECK(own.n == first.own.n + second.own.n);
  CHECK(own.total_ns == first.own.total_ns + second.own.total_ns);
  CHECK(handed == first.handed + second.handed);
  CHECK(handed > 500);
  const auto& events = EventDevice<PairApi>::instance();
  CHECK(events.events() == events.free_events());
  CHECK(driver.misuses() == std::vector<std::string>{});
  CHECK(driver.unbalanced() == 0);
}

namespace {

struct FateTag {};

/// Regions on streams that are captured, destroyed and remade at the same address, in a context that is reset. Results
/// are polled on this and other threads, with and without a context. Each region's work has a length that its key
/// determines.
class FateTest : public RecorderFixture {
 public:
  using Api = FakeApi<FateTag>;
  static constexpr std::int64_t kLengths[] = {10, 1000, 100'000};

  FateTest() : driver_(Api::driver()), random_(takt_test::test_seed()) {
    driver_.hold(true);
    driver_.check_streams();
    Api::looks = true;
    for (FakeStream*& each : streams_) { each = driver_.stream(); }
  }

  void step() {
    FakeStream*& stream = streams_[random_.below(kStreams)];
    switch (random_.below(16)) {
      case 0:
        if (random_.chance(15) && !stream->capturing) { driver_.begin_capture(stream, random_.chance(50)); }
        break;
      case 1:
        end_capture(stream);
        break;
      case 2:
        if (random_.chance(20)) { destroy(stream); }
        break;
      case 3:
        if (random_.chance(2)) { reset(); }
        break;
      case 4:
      case 5:
        look();
        break;
      case 6:
        Api::pauses = random_.chance(50);
        break;
      case 7:
      case 8:
        driver_.run(stream, random_.below(40));
        break;
      case 9:
        if (random_.chance(5)) { recorder->drop_devices(); }
        break;
      default:
        region(stream);
    }
    if (driver_.queued(stream) > kLongestQueue) { driver_.run(stream, kLongestQueue); }
    driver_.pass(nanoseconds(1'000'000));
  }

  void finish() {
    for (FakeStream* each : streams_) { end_capture(each); }
    driver_.finish();
    driver_.pass(nanoseconds(1'000'000'000));
    recorder->poll(true);
  }

  void compare() {
    std::uint64_t timed = 0;
    for (std::uint32_t index = 0; index < recorder->tree().nodes(); ++index) {
      const Node* each = recorder->tree().node(index);
      const takt::Summary* spans = each->device.load();
      if (spans == nullptr) { continue; }
      CHECK(spans->total_ns() == spans->n() * as_reported(kLengths[each->key - kA]));
      timed += spans->n();
    }
    CHECK(!recorder->device_pending());
    CHECK(timed + losses(LossKind::device_skipped) + losses(LossKind::device_failed) +
              losses(LossKind::device_unresolved) ==
          entered_);
    CHECK(timed > entered_ / 10);
    CHECK(captures_lost_ == 0);
    CHECK(lost_with_a_stream() > 0);
    CHECK(driver_.misuses() == std::vector<std::string>{});
    CHECK(driver_.unbalanced() == 0);
    CHECK(Api::visits == 0);
  }

 private:
  void region(FakeStream* stream) {
    const auto key = random_.below(kKeys);
    Api::is_without_context = random_.chance(20);
    const Region open =
        recorder->begin_device(static_cast<KeyIndex>(kA + key), 0, StreamRef{&takt::event_ops<Api>, stream});
    driver_.work(stream, nanoseconds(kLengths[key]));
    recorder->end(open);
    Api::is_without_context = false;
    ++entered_;
  }
  void look() {
    const bool has_context = random_.chance(50);
    const auto poll = [&] {
      Api::is_without_context = !has_context;
      recorder->poll(true);
      Api::is_without_context = false;
    };
    random_.chance(50) ? poll() : std::thread(poll).join();
  }
  void end_capture(FakeStream* stream) {
    if (stream->capturing && !driver_.end_capture(stream)) { ++captures_lost_; }
  }
  void destroy(FakeStream*& stream) {
    end_capture(stream);
    driver_.destroy(stream);
    if (random_.chance(50)) { look(); }
    if (random_.chance(50)) {
      driver_.make_again(stream);
    } else {
      stream = driver_.stream();
    }
  }
  /// Resets the context with all its streams.
  void reset() {
    for (FakeStream*& each : streams_) { destroy(each); }
    driver_.reset(driver_.context());
    if (random_.chance(50)) { look(); }
  }
  std::uint64_t lost_with_a_stream() {
    for (const auto& skips : EventDevice<Api>::instance().report().skips) {
      if (skips.what != nullptr && skips.what == std::string("lost_stream_destroyed")) { return skips.count; }
    }
    return 0;
  }

  FakeDriver& driver_;
  Random random_;
  std::array<FakeStream*, kStreams> streams_{};
  std::uint64_t entered_ = 0;
  int captures_lost_ = 0;
};

}  // namespace

TEST_CASE_METHOD(FateTest,
                 "EventBackend: captured, destroyed or remade streams and reset contexts lose only their own spans") {
  INFO("TAKT_TEST_SEED=" << takt_test::test_seed());
  const int count = operations() / 5;
  for (int operation = 0; operation < count; ++operation) { step(); }
  finish();
  compare();
}
