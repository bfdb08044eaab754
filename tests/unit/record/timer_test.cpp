// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/timer.hpp>

#include <takt/backends/manual.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/session_helpers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using takt::CpuBackend;
using takt::Handle;
using takt::Key;
using takt::ManualBackend;
using takt::ManualClock;
using takt::Mark;
using takt::Timer;

namespace {

inline constexpr Key A{"timer A"};
inline constexpr Key B{"timer B"};
inline constexpr Key C{"timer C"};

struct TimerTest {
  // In this order: the clock outlives its users.
  ManualClock clock;
  Timer<ManualBackend> timer{clock};

  void pass(std::uint64_t ns) { clock.advance(nanoseconds(ns)); }
  void region(const Key& key, std::uint64_t ns) {
    timer.start(key);
    pass(ns);
    timer.end(key);
  }
  /// Checks that at the end no mark is held, and that only held marks were queried.
  void require_balance() {
    REQUIRE(clock.outstanding() == 0);
    REQUIRE(clock.misuses() == 0);
  }
};

/// A host clock that is moved by hand, with immediate results.
class HostBackend {
 public:
  static constexpr const char* name = "host by hand";
  static constexpr bool immediate = true;
  explicit HostBackend(std::atomic<std::uint64_t>& ns) noexcept : ns_(&ns) {}
  bool mark(Mark& mark) noexcept {
    mark = host_ns();
    return true;
  }
  void retain(Mark) noexcept {}
  takt::Elapsed elapsed(Mark begin, Mark end) noexcept {
    return takt::Elapsed::ready(static_cast<std::int64_t>(end - begin));
  }
  void release(Mark) noexcept {}
  std::uint64_t host_ns() noexcept { return ns_->load(); }

 private:
  std::atomic<std::uint64_t>* ns_;
};
static_assert(takt::is_backend<HostBackend>);

}  // namespace

TEST_CASE_METHOD(TimerTest, "Timer: keeps the statistics of its regions") {
  for (const std::uint64_t ns : {40U, 10U, 30U, 20U}) { region(A, ns); }
  const takt::Stats stats = timer.stats(A);
  REQUIRE(stats.n == 4);
  REQUIRE(stats.total_ns == 100);
  REQUIRE(stats.mean_ns == 25);
  REQUIRE(stats.first_ns == 40);
  REQUIRE(stats.min_ns == 10);
  REQUIRE(stats.max_ns == 40);
  REQUIRE(stats.p50_ns == 25);
  REQUIRE(timer.times(A) == std::vector<std::int64_t>{40, 10, 30, 20});
  REQUIRE(timer.host_summary(A).total_ns() == 100);
  REQUIRE(timer.stats(B).n == 0);
  REQUIRE(timer.times(B).empty());
  REQUIRE(timer.mistakes() == 0);
  require_balance();
}

TEST_CASE("Timer: the median of few calls is exact, over all threads") {
  constexpr std::uint64_t kMs = 1'000'000;
  Timer<CpuBackend> timer;
  const auto median = [&timer] { return timer.stats(A).p50_ns; };
  for (const int ms : {7, 1, 10, 4}) { timer.record(A, milliseconds(ms)); }
  CHECK(median() == 5'500'000);
  std::thread([&] {
    for (const int ms : {2, 3, 1, 7}) { timer.record(A, milliseconds(ms)); }
  }).join();
  CHECK(median() == 3'500'000);  // numpy.median([1, 1, 2, 3, 4, 7, 7, 10]) is 3.5
  timer.record(A, milliseconds(3));
  CHECK(median() == 3 * kMs);
  while (timer.stats(A).n < 100) { timer.record(A, milliseconds(timer.stats(A).n % 2 == 0 ? 20 : 30)); }
  // numpy.median([1, 1, 2, 3, 3, 4, 7, 7, 10] + 46 * [30] + 45 * [20]) is 20
  CHECK(median() == 20 * kMs);
  timer.record(A, milliseconds(30));  // from here on by the histogram
  CHECK(median() == timer.summary(A).percentile_ns(0.5));
  CHECK(median() != 20 * kMs);
}

TEST_CASE("Timer: results are immediate on the CPU", "[timed]") {
  Timer<CpuBackend> timer;
  for (int round = 0; round < 3; ++round) {
    timer.start(A);
    const std::uint64_t begin = takt::detail::posix_ns(CLOCK_MONOTONIC);
    while (takt::detail::posix_ns(CLOCK_MONOTONIC) - begin < 100'000) {}
    timer.end(A);
  }
  REQUIRE(timer.stats(A).n == 3);
  REQUIRE(timer.stats(A).min_ns >= 100'000);
  REQUIRE(timer.times(A).size() == 3);
  REQUIRE(static_cast<std::uint64_t>(timer.times(A)[0]) == timer.stats(A).first_ns);
  REQUIRE(timer.pending() == 0);
  REQUIRE(timer.complete(milliseconds(0)));
}

TEST_CASE("Timer: Batches of a separate Timer have no warm-up on any backend") {
  ManualClock clock;
  Timer<ManualBackend> manual(clock);
  std::atomic<std::uint64_t> ns{0};
  Timer<HostBackend> host{HostBackend(ns)};
  for (int round = 0; round < 3; ++round) {
    manual.start(takt::Batch);
    host.start(takt::Batch);
    clock.advance(nanoseconds(10));
    ns += 10;
    manual.end(takt::Batch);
    host.end(takt::Batch);
  }
  REQUIRE(manual.stats(takt::Batch).mean_ns == 10);
  REQUIRE(host.stats(takt::Batch).mean_ns == 10);
  REQUIRE(manual.host_summary(takt::Batch).warmup_n() == 0);
}

TEMPLATE_TEST_CASE("Timer: counts every call of a recursion, even inside one without an end", "", ManualBackend,
                   HostBackend) {
  ManualClock clock;
  std::atomic<std::uint64_t> ns{0};
  const auto make = [&] {
    if constexpr (std::is_same_v<TestType, ManualBackend>) {
      return ManualBackend(clock);
    } else {
      return HostBackend(ns);
    }
  };
  Timer<TestType> timer(make());
  const auto pass = [&](std::uint64_t by) {
    clock.advance(nanoseconds(by));
    ns += by;
  };
  timer.start(A);
  pass(1);
  timer.start(B);
  timer.start(A);
  pass(10);
  timer.end(A);
  timer.end(B);
  pass(100);
  timer.end(A);
  timer.complete(milliseconds(0));
  REQUIRE(timer.stats(A).n == 2);
  REQUIRE(timer.stats(A).total_ns == 121);
  REQUIRE(timer.stats(B).total_ns == 10);
  REQUIRE(timer.times(A) == std::vector<std::int64_t>{10, 111});
  REQUIRE(timer.host_summary(A).total_ns() == 121);
  timer.start(B);
  for (int call = 0; call < 1000; ++call) {
    timer.start(B);
    pass(2);
    timer.end(B);
  }
  timer.complete(milliseconds(0));
  REQUIRE(timer.stats(B).n == 1001);
  REQUIRE(timer.stats(B).total_ns == 2010);
  REQUIRE(timer.host_summary(B).total_ns() == 2010);
}

TEST_CASE_METHOD(TimerTest, "Timer: regions may overlap and end(key) ends the innermost of its key") {
  const Handle first = timer.start(A);
  pass(1);
  timer.start(B);
  pass(10);
  timer.end(first);
  pass(100);
  timer.end(B);
  REQUIRE(timer.stats(A).total_ns == 11);
  REQUIRE(timer.stats(B).total_ns == 110);
  timer.start(C);
  pass(1);
  timer.start(C);
  pass(10);
  timer.end(C);  // the inner one
  pass(100);
  timer.end(C);
  REQUIRE(timer.host_summary(C).total_ns() == 10 + 111);
  REQUIRE(timer.host_summary(C).n() == 2);
  REQUIRE(timer.mistakes() == 0);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: counts ends of closed regions and otherwise ignores them") {
  timer.end(A);
  REQUIRE(timer.mistakes() == 1);
  const Handle handle = timer.start(A);
  pass(5);
  timer.end(handle);
  timer.end(handle);
  timer.end(handle);
  REQUIRE(timer.mistakes() == 3);
  std::thread([&] { timer.end(handle); }).join();
  REQUIRE(timer.mistakes() == 4);
  timer.end(Handle{});  // a region that was not started: no effect
  REQUIRE(timer.mistakes() == 4);
  REQUIRE(timer.stats(A).n == 1);
  region(A, 7);
  REQUIRE(timer.stats(A).total_ns == 12);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: adds items and bytes to open regions of this thread") {
  for (const int items : {64, 36}) {
    timer.start(A);
    const Handle batch = timer.start(B);
    timer.items(batch, items);
    timer.bytes(batch, 1000);
    timer.bytes(batch, 1);
    timer.end(B);
    timer.items(batch, 7);  // has ended
    timer.end(A);
  }
  REQUIRE(timer.mistakes() == 2);
  const Handle open = timer.start(B);  // another path of the same key
  timer.items(open, 1);
  timer.items(open, 0);
  timer.items(open, -1);
  timer.items(Handle{}, 1);
  std::thread([&] { timer.items(open, 5); }).join();
  timer.end(open);
  REQUIRE(timer.mistakes() == 5);
  REQUIRE(timer.items(B) == 101);
  REQUIRE(timer.bytes(B) == 2002);
  REQUIRE(timer.items(A) == 0);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: a handle ends its region on any thread, once") {
  timer.start(A);
  const Handle handle = timer.start(B);
  pass(10);
  std::thread([&] {
    timer.end(handle);
    timer.end(handle);
  }).join();
  pass(1);
  timer.end(handle);
  const Handle next = timer.start(C);  // inside A again
  pass(100);
  timer.end(next);
  timer.end(A);
  REQUIRE(timer.stats(B).n == 1);
  REQUIRE(timer.stats(B).total_ns == 10);
  REQUIRE(timer.host_summary(B).total_ns() == 10);
  REQUIRE(timer.stats(A).total_ns == 111);
  REQUIRE(timer.mistakes() == 2);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: does not lose marks of regions that end on other threads") {
  for (int round = 0; round < 200; ++round) {
    const Handle handle = timer.start(A);
    pass(1);
    std::thread([&] { timer.end(handle); }).join();
  }
  region(A, 1);
  REQUIRE(timer.stats(A).n == 201);
  REQUIRE(timer.mistakes() == 0);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: a region outlives the thread that started it") {
  std::vector<Handle> handles;
  for (int count = 0; count < 3; ++count) {
    std::thread([&] {
      handles.push_back(timer.start(A));
      pass(10);
    }).join();
  }
  for (const Handle& handle : handles) { timer.end(handle); }
  REQUIRE(timer.stats(A).n == 3);
  REQUIRE(timer.stats(A).total_ns == 30 + 20 + 10);
  REQUIRE(timer.mistakes() == 0);
  require_balance();
}

TEST_CASE("Timer: threads that exit with open regions leave little data") {
  ManualClock clock;
  {
    Timer<ManualBackend> timer(clock);
    for (int count = 0; count < 100; ++count) {
      std::thread([&] {
        timer.start(A);
        timer.start(B);
        timer.start(C);
        timer.end(C);
      }).join();
    }
    REQUIRE(timer.stats(C).n == 100);
    REQUIRE(timer.stats(A).n == 0);
    // Dropped regions are counted; a few are kept because they may still end.
    REQUIRE(timer.mistakes() >= 2 * 80);
    REQUIRE(clock.outstanding() <= 2 * 20);
  }
  REQUIRE(clock.outstanding() == 0);
  REQUIRE(clock.misuses() == 0);
}

TEST_CASE_METHOD(TimerTest, "Timer: laps have no gaps and share marks") {
  clock.hold(true);
  for (int round = 0; round < 5; ++round) {
    timer.lap(A);
    pass(3);
    timer.lap(B);
    pass(4);
  }
  timer.end(B);
  REQUIRE(clock.outstanding() == 11);
  clock.resolve_all();
  REQUIRE(timer.complete(milliseconds(0)));
  REQUIRE(timer.stats(A).total_ns == 15);
  REQUIRE(timer.stats(B).total_ns == 20);
  REQUIRE(timer.host_summary(A).n() == 5);
  REQUIRE(timer.mistakes() == 0);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: a lap ended by its key or handle does not end again") {
  timer.lap(A);
  timer.end(A);
  const Handle second = timer.lap(B);
  timer.end(second);
  const Handle third = timer.lap(C);
  std::thread([&] { timer.end(third); }).join();
  timer.lap(A);
  timer.end(A);
  REQUIRE(timer.mistakes() == 0);
  for (const Key* key : {&B, &C}) { REQUIRE(timer.stats(*key).n == 1); }
  REQUIRE(timer.stats(A).n == 2);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: complete() waits for results, no longer than its timeout") {
  clock.hold(true);
  region(A, 10);
  region(A, 20);
  REQUIRE(timer.pending() == 2);
  REQUIRE(!timer.complete(milliseconds(0)));
  REQUIRE(!timer.complete(milliseconds(-1)));
  REQUIRE(!timer.complete(milliseconds(2)));
  REQUIRE(timer.stats(A).n == 0);
  REQUIRE(timer.host_summary(A).n() == 2);
  clock.resolve(clock.held()[3]);  // end of the second
  REQUIRE(!timer.complete(milliseconds(0)));
  REQUIRE(timer.pending() == 1);
  REQUIRE(timer.stats(A).total_ns == 20);
  std::thread helper([&] { clock.resolve_all(); });
  REQUIRE(timer.complete(milliseconds::max()));
  helper.join();
  REQUIRE(timer.stats(A).total_ns == 30);
  REQUIRE(timer.times(A) == std::vector<std::int64_t>{20, 10});  // in order of arrival
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: times() keeps the last 1 024, oldest first") {
  for (std::uint64_t ns = 1; ns <= 3000; ++ns) { region(A, ns); }
  const std::vector<std::int64_t> times = timer.times(A);
  REQUIRE(times.size() == 1024);
  for (std::size_t at = 0; at < times.size(); ++at) {
    REQUIRE(times[at] == static_cast<std::int64_t>(3000 - 1023 + at));
  }
  REQUIRE(timer.stats(A).n == 3000);
}

TEST_CASE_METHOD(TimerTest, "Timer: counts failed results and refused marks once") {
  clock.hold(true);
  region(A, 5);
  clock.fail(clock.held()[1]);
  REQUIRE(timer.complete(milliseconds(0)));
  REQUIRE(timer.mistakes() == 1);
  clock.hold(false);
  clock.refuse(true);
  region(A, 5);
  REQUIRE(timer.mistakes() == 2);
  clock.refuse(false);
  timer.start(A);
  clock.refuse(true);
  timer.end(A);
  REQUIRE(timer.mistakes() == 3);
  timer.lap(B);
  timer.lap(B);
  timer.end(B);
  REQUIRE(timer.mistakes() == 5);
  clock.refuse(false);
  region(A, 6);
  REQUIRE(timer.stats(A).n == 1);
  REQUIRE(timer.stats(A).total_ns == 6);
  REQUIRE(timer.host_summary(A).n() == 4);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: skips regions beyond 1 024 pending results of a thread") {
  clock.hold(true);
  for (int count = 0; count < 1030; ++count) { region(A, 1); }
  REQUIRE(timer.pending() == 1024);
  REQUIRE(timer.mistakes() == 6);
  clock.resolve_all();
  REQUIRE(timer.complete(milliseconds(0)));
  REQUIRE(timer.stats(A).n == 1024);
  clock.hold(false);
  region(A, 1);
  REQUIRE(timer.stats(A).n == 1025);
  require_balance();
}

TEMPLATE_TEST_CASE("Timer: record() adds a duration like any other", "", ManualBackend, HostBackend) {
  ManualClock clock;
  std::atomic<std::uint64_t> ns{0};
  const auto make = [&] {
    if constexpr (std::is_same_v<TestType, ManualBackend>) {
      return ManualBackend(clock);
    } else {
      return HostBackend(ns);
    }
  };
  Timer<TestType> timer(make());
  timer.record(A, nanoseconds(70));
  timer.record(A, std::chrono::microseconds(1));
  timer.record(A, nanoseconds(-1));
  timer.start(A);
  timer.record(A, nanoseconds(5));  // inside itself
  timer.end(A);
  timer.complete(milliseconds(0));
  REQUIRE(timer.stats(A).n == 4);
  REQUIRE(timer.stats(A).total_ns == 1075);
  REQUIRE(timer.host_summary(A).total_ns() == 1075);
  REQUIRE(timer.times(A) == std::vector<std::int64_t>{70, 1000, 5, 0});
  REQUIRE(timer.mistakes() == 1);
  REQUIRE(clock.outstanding() == 0);
  REQUIRE(clock.misuses() == 0);
}

TEST_CASE_METHOD(TimerTest, "Timer: 3 968 regions may be open, and further ones are counted") {
  std::vector<Handle> handles;
  for (int level = 0; level < 3974; ++level) { handles.push_back(timer.start(A)); }
  REQUIRE(timer.mistakes() == 6);
  pass(5);
  for (int level = 3974; level-- > 0;) { timer.end(handles[static_cast<std::size_t>(level)]); }
  REQUIRE(timer.mistakes() == 6);
  REQUIRE(timer.stats(A).n == 3968);
  REQUIRE(timer.stats(A).total_ns == 3968 * 5);
  region(B, 3);
  REQUIRE(timer.stats(B).total_ns == 3);
  timer.complete(std::chrono::milliseconds(0));
}

TEST_CASE_METHOD(TimerTest, "Timer: an end missing in each step neither hides calls nor uses up places") {
  Handle first;
  for (int step = 0; step < 10'000; ++step) {
    timer.start(takt::Batch);
    const Handle forgotten = timer.start(A);
    region(B, 3);
    timer.end(takt::Batch);
    if (step == 0) { first = forgotten; }
  }
  REQUIRE(timer.stats(B).n == 10'000);
  REQUIRE(timer.stats(takt::Batch).n == 10'000);
  REQUIRE(timer.mistakes() == 9'999);  // the last one may still be ended
  timer.end(first);                    // its place belongs to another region now
  REQUIRE(timer.mistakes() == 10'000);
  REQUIRE(timer.stats(A).n == 0);
}

TEST_CASE_METHOD(TimerTest, "Timer: a call whose key occurs too often for a path still has its time") {
  // Outside steps nothing is dropped: each call nests in the previous one.
  constexpr int kCalls = 200;
  for (int call = 0; call < kCalls; ++call) {
    timer.start(A);
    region(B, 3);
  }
  timer.record(B, nanoseconds(4));
  REQUIRE(timer.stats(B).n == kCalls + 1);
  REQUIRE(timer.stats(B).total_ns == kCalls * 3 + 4);
  REQUIRE(timer.host_summary(B).n() == kCalls + 1);
  REQUIRE(timer.times(B).size() == kCalls + 1);
  region(C, 7);
  REQUIRE(timer.stats(C).total_ns == 7);
  for (int call = 0; call < kCalls; ++call) { timer.end(A); }
  REQUIRE(timer.stats(A).n == kCalls);
  REQUIRE(timer.host_summary(A).n() == kCalls);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: regions that end on other threads return their places, each only once") {
  std::vector<Handle> handles;
  for (int round = 0; round < 3; ++round) {
    for (int level = 0; level < 3968; ++level) { handles.push_back(timer.start(level % 2 == 0 ? A : B)); }
    REQUIRE(timer.start(C).thread == nullptr);
    std::thread([&] {
      for (const Handle& handle : handles) { timer.end(handle); }
    }).join();
    handles.clear();
  }
  REQUIRE(timer.mistakes() == 3);
  REQUIRE(timer.stats(A).n == 3 * 1984);
  REQUIRE(timer.stats(B).n == 3 * 1984);
  timer.end(A);  // none is open
  REQUIRE(timer.mistakes() == 4);
  require_balance();
}

TEST_CASE_METHOD(TimerTest, "Timer: paths beyond the maximum still end by their keys") {
  std::vector<std::unique_ptr<std::string>> names;
  std::vector<std::unique_ptr<Key>> keys;
  for (int number = 0; number < 5000; ++number) {
    names.push_back(std::make_unique<std::string>("timer path " + std::to_string(number)));
    keys.push_back(std::make_unique<Key>(names.back()->c_str()));
  }
  for (const auto& key : keys) { region(*key, 1); }
  const std::uint64_t overflow = 5000 - 4095;
  REQUIRE(timer.stats(*keys[4094]).n == 1);
  REQUIRE(timer.stats(*keys[4095]).n == 1);  // without a path
  REQUIRE(timer.stats(*keys[4096]).n == 0);
  REQUIRE(timer.mistakes() == 2 * overflow - 1);  // no place in the tree or for the result
  region(*keys[0], 1);
  REQUIRE(timer.stats(*keys[0]).total_ns == 2);
  require_balance();
}

TEST_CASE("Timer: destruction with pending results and open regions returns every mark") {
  ManualClock clock;
  clock.hold(true);
  {
    Timer<ManualBackend> timer(clock);
    timer.start(A);
    timer.start(B);
    timer.end(B);
    timer.record(B, nanoseconds(3));
    timer.lap(C);
    timer.lap(C);
    std::thread([&] { timer.start(A); }).join();
    const Handle handle = timer.start(A);
    std::thread([&] { timer.end(handle); }).join();
    REQUIRE(clock.outstanding() > 0);
  }
  REQUIRE(clock.outstanding() == 0);
  REQUIRE(clock.misuses() == 0);
}

TEST_CASE("Timer: threads use one concurrently, pass regions on and read statistics", "[timed]") {
  ManualClock clock;
  constexpr int kThreads = 4;
  const int rounds = takt_test::scaled(4000);
  {
    Timer<ManualBackend> timer(clock);
    clock.hold(true);
    std::atomic<bool> done{false};
    std::thread asker([&] {
      std::uint64_t before = 0;
      while (!done) {
        clock.resolve_all();
        timer.complete(milliseconds(0));
        const takt::Summary summary = timer.summary(A);
        REQUIRE(summary.n() >= before);
        REQUIRE(summary.n() * 3 >= summary.histogram().total());
        before = summary.n();
        timer.times(A);
        timer.host_summary(B);
      }
    });
    // Threads in pairs: each ends its partner's region, and continues after its own has been ended.
    std::atomic<const Handle*> handed[kThreads] = {};
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        auto& mine = handed[thread];
        auto& partners = handed[thread ^ 1];
        for (int round = 0; round < rounds; ++round) {
          timer.start(A);
          const Handle started = timer.start(B);
          mine = &started;
          const Handle* other = nullptr;
          while ((other = partners.load()) == nullptr) { std::this_thread::yield(); }
          timer.end(*other);
          partners = nullptr;
          while (mine.load() != nullptr) { std::this_thread::yield(); }
          timer.end(A);
        }
      });
    }
    for (std::thread& thread : threads) { thread.join(); }
    done = true;
    asker.join();
    clock.hold(false);
    clock.resolve_all();
    REQUIRE(timer.complete(std::chrono::seconds(60)));
    const auto all = static_cast<std::uint64_t>(kThreads) * static_cast<std::uint64_t>(rounds);
    REQUIRE(timer.host_summary(A).n() == all);
    REQUIRE(timer.host_summary(B).n() == all);
    REQUIRE(timer.stats(A).n + timer.stats(B).n + timer.mistakes() == 2 * all);
  }
  REQUIRE(clock.outstanding() == 0);
  REQUIRE(clock.misuses() == 0);
}

TEST_CASE("Timer: a joined one records in the same paths as Scopes") {
  ManualClock clock;
  auto timer = Timer<ManualBackend>::joined(ManualBackend(clock));
  const auto calls = [](const std::string& path) { return takt_test::calls_of(takt::snapshot(), path); };
  const auto mistakes = [] { return takt_test::losses_of(takt::snapshot(), "end_without_start"); };
  const std::uint64_t before = mistakes();
  {
    const takt::Scope outer(takt::key("joined outer"));
    timer.start(A);
    clock.advance(nanoseconds(50));
    timer.end(A);
    const Handle handle = timer.start(B);
    timer.items(handle, 64);
    timer.bytes(handle, 4096);
    std::thread([&] { timer.end(handle); }).join();
    timer.record(C, nanoseconds(123));
    timer.end(C);  // not open
  }
  REQUIRE(takt::complete(std::chrono::seconds(5)));
  const takt::Snapshot snapshot = takt::snapshot();
  const auto& path = snapshot.paths[takt_test::find_path(snapshot, "joined outer/timer A")];
  REQUIRE(path.host.n() == 1);
  REQUIRE(path.device.total_ns() == 50);
  REQUIRE(calls("joined outer/timer B") == 1);
  REQUIRE(snapshot.paths[takt_test::find_path(snapshot, "joined outer/timer B")].items == 64);
  REQUIRE(snapshot.paths[takt_test::find_path(snapshot, "joined outer/timer B")].bytes == 4096);
  REQUIRE(calls("joined outer/timer C") == 1);
  REQUIRE(mistakes() == before + 1);
  REQUIRE(timer.stats(A).n == 0);
  REQUIRE(timer.times(A).empty());
  REQUIRE(timer.mistakes() == 0);
  REQUIRE(clock.outstanding() == 0);
}

TEST_CASE("Timer: laps of a joined one are on its stream and end only once") {
  ManualClock clock;
  auto timer = Timer<ManualBackend>::joined(ManualBackend(clock));
  const std::uint64_t before = takt_test::losses_of(takt::snapshot(), "end_without_start");
  {
    const takt::Scope outer(takt::key("joined laps"));
    timer.lap(A);
    clock.advance(nanoseconds(10));
    timer.lap(B);
    clock.advance(nanoseconds(20));
    timer.end(B);
    timer.lap(A);
    clock.advance(nanoseconds(30));
    const Handle handle = timer.lap(B);
    timer.end(handle);
    const Handle other = timer.lap(C);
    std::thread([&] { timer.end(other); }).join();
    timer.lap(C);
    timer.end(C);
  }
  REQUIRE(takt::complete(std::chrono::seconds(5)));
  const takt::Snapshot snapshot = takt::snapshot();
  const auto stats = [&](const char* name) {
    return snapshot.paths[takt_test::find_path(snapshot, std::string("joined laps/") + name)];
  };
  REQUIRE(stats("timer A").device.total_ns() == 40);
  REQUIRE(stats("timer B").device.total_ns() == 20);
  REQUIRE(stats("timer B").host.n() == 2);
  REQUIRE(stats("timer C").host.n() == 2);
  REQUIRE(takt_test::losses_of(snapshot, "end_without_start") == before);
  REQUIRE(clock.outstanding() == 0);
  REQUIRE(clock.misuses() == 0);
}

TEST_CASE("Timer: a handle of a joined one ends no later region") {
  ManualClock clock;
  auto timer = Timer<ManualBackend>::joined(ManualBackend(clock));
  const Handle ended = timer.start(A);
  timer.end(ended);
  // Until its place is reused.
  Handle again;
  for (int round = 0;
       round < 10'000 && (again.region & ~takt::detail::kRegionFlags) != (ended.region & ~takt::detail::kRegionFlags);
       ++round) {
    if (again.region != 0) { timer.end(again); }
    again = timer.start(B);
  }
  REQUIRE((again.region & ~takt::detail::kRegionFlags) == (ended.region & ~takt::detail::kRegionFlags));
  const std::uint64_t before = takt_test::losses_of(takt::snapshot(), "end_without_start");
  timer.end(ended);
  REQUIRE(takt::snapshot().open.size() == 1);
  REQUIRE(timer.mistakes() == 1);
  timer.end(again);
  REQUIRE(takt::snapshot().open.empty());
  REQUIRE(takt_test::losses_of(takt::snapshot(), "end_without_start") == before + 1);
}

TEST_CASE("Timer: a region of a joined one ends once, and the report counts further ends") {
  constexpr std::uint64_t kRounds = 100;
  const Key key{GENERATE(values<const char*>({"two others end it", "its own thread and another one end it"}))};
  const bool by_its_own = std::string_view(key.name()).substr(0, 3) == "its";
  const auto lost = [] {
    std::uint64_t count = 0;
    for (const takt::Loss& loss : takt::snapshot().losses) {
      count += loss.what == "end_without_start" ? loss.count : 0;
    }
    return count;
  };
  const std::uint64_t before = lost();
  auto timer = Timer<CpuBackend>::joined();
  std::atomic<std::uint64_t> round{0};
  std::atomic<std::uint64_t> done{0};
  Handle handle;
  const auto end_each = [&] {
    for (std::uint64_t mine = 1; mine <= kRounds; ++mine) {
      while (round.load() != mine) { std::this_thread::yield(); }
      timer.end(handle);
      ++done;
    }
  };
  std::thread opener([&] {
    // Another thread must copy all of these before it knows whether the region is open, which gives a third thread
    // time.
    for (int outer = 0; outer < 40; ++outer) {
      const takt::Scope around(takt::key(("around " + std::to_string(outer)).c_str()));
      for (int inner = 0; inner < 40; ++inner) {
        const takt::Scope inside(takt::key(("inside " + std::to_string(inner)).c_str()));
      }
    }
    for (std::uint64_t mine = 1; mine <= kRounds; ++mine) {
      handle = timer.start(key);
      round = mine;
      if (by_its_own) {  // during the other thread's check
        const auto begin = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() < begin + std::chrono::microseconds(2 * mine)) {}
        timer.end(handle);
        const takt::Scope folds(takt::Batch);
        ++done;
      }
      while (done.load() != 2 * mine) { std::this_thread::yield(); }
    }
  });
  std::thread other(by_its_own ? [] {} : std::function<void()>(end_each));
  end_each();
  other.join();
  opener.join();
  const std::uint64_t calls = takt_test::calls_of(takt::snapshot(), key.name());
  CHECK(lost() == before + kRounds);
  CHECK(calls >= kRounds);
  if (!by_its_own) { CHECK(calls == kRounds); }
}

TEST_CASE("Timer: the report names misuse of an ended region of a joined one") {
  const Key key{"stale in a joined Timer"};
  auto timer = Timer<CpuBackend>::joined();
  const auto named = [&key] {
    std::uint64_t count = 0;
    for (const takt::Loss& loss : takt::snapshot().losses) {
      count += loss.what == "end_without_start" && loss.where == key.name() ? loss.count : 0;
    }
    return count;
  };
  const std::uint64_t before = named();
  const Handle handle = timer.start(key);
  SECTION("that has ended here") {
    timer.end(handle);
    timer.end(handle);
  }
  SECTION("that has ended here, by its key") {
    timer.end(key);
    timer.end(handle);
  }
  SECTION("that has ended on another thread") {
    std::thread([&] { timer.end(handle); }).join();
    timer.end(handle);
  }
  SECTION("on another thread after its end") {
    std::thread([&] {
      timer.end(handle);
      timer.end(handle);
    }).join();
  }
  SECTION("on another thread") {
    timer.end(handle);
    std::thread([&] { timer.end(handle); }).join();
  }
  SECTION("an amount") {
    timer.end(handle);
    timer.items(handle, 5);
  }
  REQUIRE(named() == before + 1);
  REQUIRE(timer.mistakes() == 1);
  REQUIRE(takt_test::calls_of(takt::snapshot(), key.name()) >= 1);
  REQUIRE(takt::snapshot().open.empty());
}

TEMPLATE_TEST_CASE("Timer: a forked child reads data that other threads were writing at the fork", "", takt::CpuBackend,
                   HostBackend) {
  std::atomic<std::uint64_t> ns{0};
  std::atomic<bool> stop{false};
  const auto make = [&ns] {
    if constexpr (std::is_same_v<TestType, HostBackend>) {
      return HostBackend(ns);
    } else {
      static_cast<void>(ns);
      return takt::CpuBackend();
    }
  };
  Timer<TestType> timer(make());
  std::thread writer([&] {
    while (!stop) {
      timer.start(A);
      timer.end(A);
    }
  });
  while (timer.stats(A).n < 1000) { std::this_thread::yield(); }
  int bad = 0;
  for (int fork = 0; fork < 40; ++fork) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(20);  // kills a child that hangs
      bool right = timer.stats(A).n >= 1000;
      timer.start(B);
      timer.end(B);
      timer.complete(milliseconds(0));
      right = right && timer.stats(B).n == 1 && timer.host_summary(A).n() >= 1000;
      ::_exit(right ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    bad += status == 0 ? 0 : 1;
  }
  stop = true;
  writer.join();
  CHECK(bad == 0);
}

TEST_CASE("ThreadTable: spreads threads over its lists for any distance of their stacks") {
  struct Entry {
    const takt::detail::ThreadToken* token;
    Entry* next;
  };
  using Table = takt::detail::ThreadTable<Entry>;
  constexpr std::uintptr_t kMiB = 1U << 20U;
  for (const std::uintptr_t apart :
       {std::uintptr_t{0x1000}, std::uintptr_t{0x10000}, 2 * kMiB, 8 * kMiB + 0x1000, 8 * kMiB + 0x10000}) {
    INFO(apart << " bytes apart");
    std::array<int, Table::kBuckets> threads{};
    for (std::uintptr_t thread = 0; thread < 72; ++thread) {
      ++threads[Table::index_of(0xFFFF'8000'0000 - thread * apart)];
    }
    CHECK(*std::max_element(threads.begin(), threads.end()) <= 5);
  }
}
