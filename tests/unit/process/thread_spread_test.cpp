// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/session_helpers.hpp"

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

using std::chrono::milliseconds;
using takt::Snapshot;

namespace {

constexpr std::uint64_t kMsOfThread = 1'000'000;
constexpr takt::Key Work{"work of a pool"};
constexpr takt::Key Inner{"inner"};

void work(const char* name, const std::vector<int>& ms) {
  takt::name_thread(name);
  for (const int each : ms) { takt::record(Work, milliseconds(each)); }
}

takt::PathStats work_now(const Snapshot& snapshot) { return takt_test::path_called(snapshot, Work.name()); }

}  // namespace

TEST_CASE(
    "Snapshot: a region of two threads has the mean and the longest time of a thread, before and after they end") {
  std::promise<void> recorded[2];
  std::promise<void> go_on;
  const std::shared_future<void> read = go_on.get_future().share();
  const auto run = [&](int number, const char* name, const std::vector<int>& ms) {
    return std::thread([&recorded, read, number, name, ms] {
      work(name, ms);
      recorded[number].set_value();
      read.wait();
    });
  };
  std::thread first = run(0, "pool 0", {1});
  std::thread second = run(1, "pool 1", {1, 3});
  for (std::promise<void>& each : recorded) { each.get_future().wait(); }
  const auto check = [](const Snapshot& now) {
    const takt::PathStats path = work_now(now);
    CHECK(path.spread.threads == 2);
    CHECK(path.ns_a_thread() == 2.5 * kMsOfThread);
    CHECK(path.spread.longest_ns == 4 * kMsOfThread);
    REQUIRE(path.spread.longest < now.threads.size());
    CHECK(now.threads[path.spread.longest].name == "pool 1");
  };
  check(takt::snapshot());
  go_on.set_value();
  first.join();
  check(takt::snapshot());
  second.join();
  check(takt::snapshot());
  check(takt::snapshot());  // both are in the totals now
}

TEST_CASE("Snapshot: a thread that follows an ended one counts as another, and only with calls of the region") {
  for (int number = 0; number < 3; ++number) {
    std::thread([number] { work(("worker " + std::to_string(number)).c_str(), {2 + number}); }).join();
    takt::snapshot();  // the next thread gets the recorder of this one
  }
  std::thread([] { takt::record(Inner, milliseconds(9)); }).join();
  const Snapshot now = takt::snapshot();
  const takt::PathStats path = work_now(now);
  CHECK(path.spread.threads == 3);
  CHECK(path.spread.longest_ns == 4 * kMsOfThread);
  CHECK(now.threads.at(path.spread.longest).name == "worker 2");
  CHECK(takt_test::path_called(now, Inner.name()).spread.threads == 1);
}

TEST_CASE("Snapshot: a region that ends on another thread counts there, and an open one nowhere") {
  takt::Timer<takt::CpuBackend> timer = takt::Timer<takt::CpuBackend>::joined();
  const takt::Handle handle = timer.start(Work);
  CHECK(work_now(takt::snapshot()).spread.threads == 0);
  std::thread([&] {
    takt::name_thread("ender");
    timer.end(handle);
  }).join();
  const Snapshot now = takt::snapshot();
  const takt::PathStats path = work_now(now);
  CHECK(path.spread.threads == 1);
  CHECK(path.spread.longest_ns == path.host.total_ns());
  CHECK(now.threads.at(path.spread.longest).name == "ender");
}

TEST_CASE("Snapshot: regions that share the overflow path have no figures of threads") {
  std::thread([] {
    for (int number = 0; number < 4200; ++number) {
      takt::Scope outer(Work);
      takt::record(takt::key(("many " + std::to_string(number % 3900)).c_str()), milliseconds(1));
      takt::Scope deeper(Inner);
      takt::record(takt::key(("many " + std::to_string(number % 3900)).c_str()), milliseconds(1));
    }
  }).join();
  const Snapshot now = takt::snapshot();
  const takt::PathStats overflow = takt_test::path_called(now, "(overflow)");
  CHECK(overflow.host.n() > 0);
  CHECK(overflow.spread.threads == 0);
  CHECK(work_now(now).spread.threads == 1);
}
