// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/scope.hpp>

#include "process/process.hpp"

#include <takt/backends/cpu.hpp>
#include <takt/backends/manual.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/child.hpp"
#include "support/held.hpp"
#include "support/session_helpers.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using std::chrono::nanoseconds;
using takt::Key;
using takt::PathStats;
using takt::Scope;
using takt::Snapshot;
using takt_test::calls_of;
using takt_test::find_path;
using takt_test::Held;
using takt_test::losses_of;

namespace {

/// Returns the path from a new snapshot; empty if it does not exist.
PathStats stats_of(const std::string& name) {
  const Snapshot snapshot = takt::snapshot();
  const std::uint32_t path = find_path(snapshot, name);
  return path == takt_test::kNowhere ? PathStats() : snapshot.paths[path];
}

std::uint64_t loss_of(const std::string& what) { return losses_of(takt::snapshot(), what); }

void throw_through(int scopes) {
  const Scope scope(takt::key(("through " + std::to_string(scopes)).c_str()));
  if (scopes == 1) { throw std::runtime_error("through"); }
  throw_through(scopes - 1);
}

}  // namespace

TEST_CASE("Scope: times from its declaration to the end of the block") {
  { const Scope first(takt::key("block")); }  // starts the clock
  const std::uint64_t before = takt::detail::posix_ns(CLOCK_MONOTONIC_RAW);
  {
    const Scope scope(takt::key("block"));
    while (takt::detail::posix_ns(CLOCK_MONOTONIC_RAW) - before < 2'000'000) {}
  }
  const std::uint64_t passed = takt::detail::posix_ns(CLOCK_MONOTONIC_RAW) - before;
  const PathStats block = stats_of("block");
  REQUIRE(block.host.n() == 2);
  REQUIRE(block.host.max_ns() > 1'900'000);
  REQUIRE(block.host.total_ns() < passed + passed / 10);
  REQUIRE(block.self_ns == block.host.total_ns());
}

TEST_CASE("Scope: blocks of the first thread's events do not overwrite the mode next to them") {
  { const Scope first(takt::key("first")); }
  const auto* const at = reinterpret_cast<const char*>(takt::detail::load_cursor());
  const auto* const arena = reinterpret_cast<const char*>(&takt::detail::first_arena);
  REQUIRE((at > arena && at < arena + sizeof(takt::detail::FirstArena)));
  const std::uint32_t mode = takt::detail::mode();
  const takt::Key open_key = takt::key("open");
  const takt::Key filler = takt::key("filler");
  std::deque<Scope> open;
  for (int block = 0; block < 20; ++block) {
    open.emplace_back(open_key);
    for (int count = 0; count < 40; ++count) {  // more than a block holds
      const Scope scope(filler);
      REQUIRE(takt::detail::mode() == mode);
    }
  }
  while (!open.empty()) { open.pop_back(); }
  std::uint64_t found = 0;
  for (const PathStats& path : takt::snapshot().paths) { found += path.name == "filler" ? path.host.n() : 0; }
  REQUIRE(found == 20 * 40);
}

TEST_CASE("regions that overlap alternately keep the paths of the first ones, in joined and separate Timers") {
  constexpr int kTurns = 1000;
  const auto in_turn = [](takt::Timer<takt::CpuBackend>& timer) {
    takt::Handle buffer = timer.start(takt::IO);
    for (int turn = 0; turn < kTurns; ++turn) {
      const takt::Handle work = timer.start(takt::Forward);
      timer.end(buffer);
      buffer = timer.start(takt::IO);
      timer.end(work);
    }
    timer.end(buffer);
  };
  auto joined = takt::Timer<takt::CpuBackend>::joined();
  in_turn(joined);
  const Snapshot snapshot = takt::snapshot();
  REQUIRE(calls_of(snapshot, "IO") == kTurns + 1);
  REQUIRE(calls_of(snapshot, "IO/Forward") == kTurns);
  REQUIRE(snapshot.paths.size() == 2);
  REQUIRE(snapshot.open.empty());
  {
    const Scope batch(takt::Batch);
    in_turn(joined);
  }
  REQUIRE(calls_of(takt::snapshot(), "Batch/IO") == kTurns + 1);
  REQUIRE(calls_of(takt::snapshot(), "Batch/IO/Forward") == kTurns);

  takt::Timer<takt::CpuBackend> timer;
  in_turn(timer);
  REQUIRE(timer.stats(takt::IO).n == kTurns + 1);
  REQUIRE(timer.stats(takt::Forward).n == kTurns);
}

TEST_CASE("Scope: an exception ends all Scopes that it leaves") {
  REQUIRE_THROWS_AS(throw_through(5), std::runtime_error);
  REQUIRE(calls_of(takt::snapshot(), "through 5/through 4/through 3/through 2/through 1") == 1);
  REQUIRE(calls_of(takt::snapshot(), "through 5") == 1);
  { const Scope after(takt::key("after the exception")); }
  REQUIRE(calls_of(takt::snapshot(), "after the exception") == 1);
  REQUIRE(takt::snapshot().open.empty());
}

TEST_CASE("Scope: adds up items and bytes, and counts 0 and negative values as misuse") {
  const std::uint64_t mistakes = loss_of("items_or_bytes_not_positive");
  {
    Scope scope(takt::key("amounts"));
    scope.items(64);
    scope.items(1);
    scope.bytes(std::int64_t{1} << 40U);
    scope.items(0);
    scope.items(-3);
    scope.bytes(0);
  }
  REQUIRE(stats_of("amounts").items == 65);
  REQUIRE(stats_of("amounts").bytes == std::uint64_t{1} << 40U);
  REQUIRE(loss_of("items_or_bytes_not_positive") == mistakes + 3);
}

TEST_CASE("Scope: lap() ends one region and starts the next") {
  {
    Scope scope(takt::key("first lap"));
    scope.lap(takt::key("second lap"));
    scope.items(3);
    scope.lap(takt::key("first lap"));
  }
  REQUIRE(calls_of(takt::snapshot(), "first lap") == 2);
  REQUIRE(stats_of("second lap").items == 3);
  REQUIRE(calls_of(takt::snapshot(), "second lap/first lap") == 0);
}

TEST_CASE("Scope: every(n) times the first of n regions and counts the others") {
  for (int round = 0; round < 10; ++round) {
    const Scope scope(takt::key("sampled"), takt::every(4));
    const Scope inside(takt::key("inside"));
  }
  REQUIRE(stats_of("sampled").host.n() == 3);
  REQUIRE(stats_of("sampled").skipped == 7);
  REQUIRE(calls_of(takt::snapshot(), "sampled/inside") == 3);
  REQUIRE(calls_of(takt::snapshot(), "inside") == 7);
  for (int round = 0; round < 5; ++round) { const Scope scope(takt::key("every 0th"), takt::every(0)); }
  REQUIRE(stats_of("every 0th").host.n() == 5);
}

TEST_CASE("Scope: on a stream it has host time and a span, sampled or not") {
  takt::ManualClock device;
  const takt::ManualBackend stream(device);
  for (int round = 0; round < 6; ++round) {
    const Scope scope(takt::key("on a stream"), stream);
    const Scope sampled(takt::key("sampled stream"), stream, takt::every(3));
    device.advance(nanoseconds(10));
  }
  REQUIRE(takt::complete(std::chrono::seconds(5)));
  REQUIRE(stats_of("on a stream").device.total_ns() == 60);
  REQUIRE(stats_of("on a stream").host.n() == 6);
  REQUIRE(stats_of("on a stream/sampled stream").device.n() == 2);
  REQUIRE(device.outstanding() == 0);
  REQUIRE(device.misuses() == 0);
}

TEST_CASE("complete(): waits no longer than its timeout") {
  takt::ManualClock device;
  device.hold(true);
  { const Scope scope(takt::key("held"), takt::ManualBackend(device)); }
  REQUIRE(!takt::complete(std::chrono::milliseconds(0)));
  REQUIRE(!takt::complete(std::chrono::milliseconds(-5)));
  REQUIRE(stats_of("held").device_pending == 1);
  device.resolve_all();
  REQUIRE(takt::complete(std::chrono::milliseconds::max()));
  REQUIRE(stats_of("held").device_pending == 0);
}

TEST_CASE("Scope: may end on another thread, which counts it under the same path") {
  const std::uint64_t handed_over = loss_of("ended_on_another_thread");
  Held outer(takt::key("hands over"));
  Held inner(takt::key("handed over"));
  (*inner).items(2);
  const std::uint64_t elsewhere = loss_of("items_or_bytes_on_another_thread");
  std::thread([&] {
    const Scope own(takt::key("of the other"));
    (*inner).items(5);  // not possible on this thread
    inner.end();
  }).join();
  { const Scope next(takt::key("next")); }
  outer.end();
  REQUIRE(calls_of(takt::snapshot(), "hands over/handed over") == 1);
  REQUIRE(calls_of(takt::snapshot(), "of the other") == 1);
  REQUIRE(stats_of("hands over/handed over").self_ns == 0);
  REQUIRE(stats_of("hands over/handed over").items == 2);
  REQUIRE(loss_of("ended_on_another_thread") == handed_over + 1);
  REQUIRE(loss_of("items_or_bytes_on_another_thread") == elsewhere + 1);
  REQUIRE(takt::snapshot().open.empty());
}

TEST_CASE("Scope: a region that ends on another thread ends its span there") {
  takt::ManualClock device;
  Held scope(takt::key("span handed over"), takt::ManualBackend(device));
  device.advance(nanoseconds(33));
  std::thread([&] { scope.end(); }).join();
  REQUIRE(takt::complete(std::chrono::seconds(5)));
  REQUIRE(stats_of("span handed over").device.total_ns() == 33);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE("Scope: a lap on another thread continues on the stream") {
  takt::ManualClock device;
  Held held(takt::key("lap before"), takt::ManualBackend(device));
  device.advance(nanoseconds(33));
  std::thread([&] {
    (*held).lap(takt::key("lap elsewhere"));
    device.advance(nanoseconds(44));
    held.end();
  }).join();
  REQUIRE(takt::complete(std::chrono::seconds(5)));
  REQUIRE(stats_of("lap before").device.total_ns() == 33);
  REQUIRE(stats_of("lap elsewhere").device.total_ns() == 44);
  REQUIRE(stats_of("lap elsewhere").host.n() == 1);
  REQUIRE(device.outstanding() == 0);
}

TEST_CASE("Scope: may end after the thread that started it has exited") {
  std::unique_ptr<Held> left;
  std::thread([&] { left = std::make_unique<Held>(takt::key("left behind")); }).join();
  REQUIRE(calls_of(takt::snapshot(), "left behind") == 0);
  const Snapshot snapshot = takt::snapshot();
  REQUIRE(snapshot.open.size() == 1);
  REQUIRE(snapshot.path_name(snapshot.open[0].path) == "left behind");
  const std::uint64_t never = losses_of(snapshot, "never_ended");
  REQUIRE(never >= 1);
  left.reset();
  REQUIRE(calls_of(takt::snapshot(), "left behind") == 1);
  REQUIRE(takt::snapshot().open.empty());
  REQUIRE(loss_of("never_ended") == never - 1);
}

TEST_CASE("record(): adds an externally measured duration at the current path") {
  const std::uint64_t mistakes = loss_of("items_or_bytes_not_positive");
  {
    const Scope outer(takt::key("records"));
    takt::record(takt::key("recorded"), nanoseconds(1000));
    takt::record(takt::key("recorded"), std::chrono::milliseconds(2));
    takt::record(takt::key("recorded"), nanoseconds(-1));
    takt::record(takt::key("recorded"), nanoseconds(0));
  }
  REQUIRE(stats_of("records/recorded").host.n() == 3);
  REQUIRE(stats_of("records/recorded").host.total_ns() == 2'001'000);
  REQUIRE(stats_of("records/recorded").self_ns == 0);
  REQUIRE(stats_of("records").self_ns == stats_of("records").host.total_ns());
  REQUIRE(loss_of("items_or_bytes_not_positive") == mistakes + 1);
}

TEST_CASE("name_thread(): names the calling thread") {
  std::thread([] {
    takt::name_thread("lo\nader");
    const Scope scope(takt::key("on a named thread"));
  }).join();
  bool found = false;
  for (const takt::ThreadInfo& thread : takt::snapshot().threads) {
    found = found || (thread.name == "lo?ader" && thread.ended);
  }
  REQUIRE(found);
}

TEST_CASE("set_enabled(): while off it times open regions but no new ones") {
  REQUIRE(takt::enabled());
  auto timer = takt::Timer<takt::CpuBackend>::joined();
  const std::uint64_t mistakes = loss_of("end_without_start");
  {
    const Scope open(takt::key("open meanwhile"));
    timer.start(takt::key("started before"));
    takt::set_enabled(false);
    REQUIRE(!takt::enabled());
    {
      Scope off(takt::key("while off"));
      off.items(5);
      off.lap(takt::key("lap while off"));
      timer.start(takt::key("started while off"));
      timer.end(takt::key("started while off"));
      takt::record(takt::key("recorded while off"), nanoseconds(5));
    }
    timer.end(takt::key("started before"));
  }
  takt::set_enabled(true);
  { const Scope on(takt::key("on again")); }
  const Snapshot snapshot = takt::snapshot();
  REQUIRE(calls_of(snapshot, "open meanwhile") == 1);
  REQUIRE(calls_of(snapshot, "open meanwhile/started before") == 1);
  REQUIRE(calls_of(snapshot, "on again") == 1);
  for (const PathStats& path : snapshot.paths) { REQUIRE(path.name.find("while off") == std::string::npos); }
  REQUIRE(losses_of(snapshot, "end_without_start") == mistakes);
  REQUIRE(snapshot.open.empty());
}

TEST_CASE("Scope: a thread without memory is not timed, and its error handler may use Scopes") {
  struct Handler {
    static void hear(const char*, void* heard) {
      ++*static_cast<int*>(heard);
      const Scope scope(takt::key("in the handler"));
    }
  };
  { const Scope here(takt::key("on this thread")); }
  int heard = 0;
  takt::detail::forget_errors();
  takt::set_error_handler(&Handler::hear, &heard);
  const std::uint64_t before = loss_of("threads_without_memory");
  const std::size_t limit = takt::detail::registry().shared().budget.limit();
  takt::detail::registry().shared().budget.set_limit(0);
  constexpr int kThreads = 100;  // concurrently: more than there are recorders from earlier threads
  std::atomic<int> there{0};
  std::vector<std::thread> threads;
  for (int count = 0; count < kThreads; ++count) {
    threads.emplace_back([&there] {
      const Scope scope(takt::key("without memory"));
      ++there;
      while (there < kThreads) { std::this_thread::yield(); }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  takt::detail::registry().shared().budget.set_limit(limit);
  takt::set_error_handler(nullptr);
  const std::uint64_t missing = loss_of("threads_without_memory") - before;
  REQUIRE(missing >= 1);
  REQUIRE(heard >= 1);
  { const Scope here(takt::key("on this thread")); }
  REQUIRE(calls_of(takt::snapshot(), "on this thread") == 2);
}

TEST_CASE("Scope: times regions in destructors of thread_local objects") {
  struct AtExit {
    ~AtExit() { const Scope scope(takt::key("at the thread's end")); }
    void use() {}
  };
  std::thread([] {
    thread_local AtExit at_exit;
    at_exit.use();
    const Scope scope(takt::key("before the thread's end"));
  }).join();
  REQUIRE(calls_of(takt::snapshot(), "at the thread's end") == 1);
}

TEST_CASE("Scope: TAKT_SCOPE declares an unnamed Scope") {
  {
    TAKT_SCOPE(takt::key("by macro"));
    TAKT_SCOPE(takt::key("by macro, too"), takt::every(1));
  }
  REQUIRE(calls_of(takt::snapshot(), "by macro/by macro, too") == 1);
}

TEST_CASE("Scope: TAKT_SCOPE takes a name, or any expression that is a key") {
  const bool first = true;
  const auto timed = [](const Key& key) {
    TAKT_SCOPE(key);
    TAKT_SCOPE("by a name");
  };
  for (int round = 0; round < 3; ++round) {
    TAKT_SCOPE(first ? takt::Validation : takt::Checkpoint);
    timed(takt::Forward);
  }
  const std::pair<const Key&, int> named{takt::Checkpoint, 2};
  const auto& [key, sampled] = named;
  { TAKT_SCOPE(key, takt::every(static_cast<std::uint32_t>(sampled))); }
  { TAKT_SCOPE("every other", takt::every(2)); }
  const Snapshot snapshot = takt::snapshot();
  REQUIRE(calls_of(snapshot, "Validation/Forward/by a name") == 3);
  REQUIRE(calls_of(snapshot, "every other") == 1);
  REQUIRE(calls_of(snapshot, "Checkpoint") == 1);
}

TEST_CASE("Scope: end() ends it early and only once") {
  {
    Scope outer(takt::key("ended early"));
    outer.end();
    { const Scope behind(takt::key("after the end")); }
    outer.end();
    outer.items(1);
    outer.lap(takt::key("begun again"));
  }
  const Snapshot snapshot = takt::snapshot();
  REQUIRE(calls_of(snapshot, "ended early") == 1);
  REQUIRE(calls_of(snapshot, "after the end") == 1);
  REQUIRE(calls_of(snapshot, "begun again") == 1);
  REQUIRE(loss_of("end_without_start") == 0);
}

// These fill up a process, so each has its own.

TEST_CASE("Scope: keys beyond the maximum are counted together without other damage") {
  support::Child child([] {
    takt::detail::adopt_process();
    const support::CaughtErrors errors;
    const std::uint64_t refused = loss_of("keys_over_bound");
    for (int number = 0; number < 5000; ++number) {
      const Scope outer(takt::key("holds many keys"));
      const Scope scope(takt::key(("one of many " + std::to_string(number)).c_str()));
    }
    { const Scope known(takt::key("one of many 0")); }
    const Snapshot snapshot = takt::snapshot();
    const std::uint64_t more = losses_of(snapshot, "keys_over_bound") - refused;
    std::uint64_t inside = 0;
    for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
      if (snapshot.path_name(path).find("holds many keys/") == 0) { inside += snapshot.paths[path].host.n(); }
    }
    return "outer " + std::to_string(calls_of(snapshot, "holds many keys")) + ", known " +
           std::to_string(calls_of(snapshot, "one of many 0")) + ", inside " + std::to_string(inside) +
           (more > 1000 && calls_of(snapshot, "holds many keys/(overflow)") == more ? ", the rest together"
                                                                                    : ", or not");
  });
  REQUIRE(child.result() == "outer 5000, known 1, inside 5000, the rest together");
  REQUIRE(child.wait() == 0);
}

TEST_CASE("Scope: paths beyond the maximum are counted together, on this thread or an ended one") {
  const bool ended = GENERATE(false, true);
  CAPTURE(ended);
  support::Child child([ended] {
    takt::detail::adopt_process();
    { const Scope before(takt::key("a path that is there before")); }
    const auto work = [] {
      for (int round = 0; round < 70; ++round) {
        const Scope outer(takt::key(("outer " + std::to_string(round)).c_str()));
        for (int path = 0; path < 70; ++path) {
          const Scope inner(takt::key(("inner " + std::to_string(path)).c_str()));
        }
      }
    };
    if (ended) {
      std::thread(work).join();
    } else {
      work();
    }
    std::string text;
    for (int looks = 0; looks < 2; ++looks) {  // snapshots do not count anything
      const Snapshot snapshot = takt::snapshot();
      std::uint64_t placed = 0;
      for (const PathStats& path : snapshot.paths) { placed += path.name == "(overflow)" ? 0 : path.host.n(); }
      text += snapshot.paths.size() == 4096 && calls_of(snapshot, "(overflow)") > 0 ? "full, " : "not full, ";
      text += losses_of(snapshot, "overflow") == 70 * 71 + 1 - placed ? "all counted. " : "not all counted. ";
    }
    return text;
  });
  REQUIRE(child.result() == "full, all counted. full, all counted. ");
  REQUIRE(child.wait() == 0);
}
