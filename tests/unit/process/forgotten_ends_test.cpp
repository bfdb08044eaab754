// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Missing ends in Timers, and their reports.
#include <takt/backends/cpu.hpp>
#include <takt/takt.hpp>
#include <takt/timer.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/mentions.hpp"
#include "support/session_helpers.hpp"

#include <string>
#include <thread>

using takt::CpuBackend;
using takt::Timer;
using takt_test::mentions;

namespace {

constexpr takt::Key kLost{"forgotten one"};
constexpr takt::Key kTrain{"forgetful training"};

/// Runs Batch { Forward { kLost } Backward } a thousand times, missing one end.
template <class T>
void train(T& timer) {
  for (int step = 0; step < 1000; ++step) {
    timer.start(takt::Batch);
    timer.start(takt::Forward);
    timer.start(kLost);
    if (step != 500) { timer.end(kLost); }
    timer.end(takt::Forward);
    timer.start(takt::Backward);
    timer.end(takt::Backward);
    timer.end(takt::Batch);
  }
}

/// Returns the number of lines that name a region without an end and the path at its start.
std::uint64_t lines_about(const support::CaughtErrors& errors, const std::string& region, const std::string& place) {
  std::uint64_t count = 0;
  for (const std::string& line : errors.lines()) { count += mentions(line, {"\"" + region + "\"", place}) ? 1 : 0; }
  return count;
}

std::uint64_t losses_of_path(const takt::Snapshot& snapshot, const std::string& path) {
  std::uint64_t count = 0;
  for (const takt::Loss& loss : snapshot.losses) {
    count += loss.what == "never_ended" && loss.where == path ? loss.count : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("A forgotten end: in a separate Timer it costs one region, and the report names region and path") {
  const support::CaughtErrors errors;
  Timer<CpuBackend> timer;
  train(timer);
  REQUIRE(timer.stats(takt::Batch).n == 1000);
  REQUIRE(timer.stats(takt::Forward).n == 1000);
  REQUIRE(timer.stats(takt::Backward).n == 1000);
  REQUIRE(timer.stats(kLost).n == 999);
  REQUIRE(timer.mistakes() == 1);
  REQUIRE(errors.lines().size() == 1);
  REQUIRE(mentions(errors.text(), {"\"forgotten one\"", "Batch/Forward"}));
}

TEST_CASE("A forgotten end: a Timer can still end the dropped region by its handle") {
  const support::CaughtErrors errors;
  Timer<CpuBackend> timer;
  timer.start(takt::Batch);
  const takt::Handle lost = timer.start(kLost);
  timer.end(takt::Batch);
  timer.start(takt::Batch);
  timer.end(takt::Batch);
  REQUIRE(timer.mistakes() == 1);
  timer.end(lost);
  REQUIRE(timer.stats(kLost).n == 1);
  REQUIRE(timer.mistakes() == 0);
  timer.end(lost);
  REQUIRE(timer.mistakes() == 1);
}

TEST_CASE("A forgotten end: thousands, one per step, do not exhaust a Timer's places") {
  const support::CaughtErrors errors;
  Timer<CpuBackend> timer;
  for (int step = 0; step < 6000; ++step) {
    timer.start(takt::Batch);
    timer.start(kLost);
    timer.end(takt::Batch);
  }
  REQUIRE(timer.stats(takt::Batch).n == 6000);
  REQUIRE(timer.mistakes() == 5999);
  REQUIRE(errors.lines().size() == 1);
}

TEST_CASE("A forgotten end: a joined Timer keeps one series of steps and lists the loss first") {
  const support::CaughtErrors errors;
  takt::Snapshot snapshot;
  std::thread([&] {
    auto timer = Timer<CpuBackend>::joined();
    timer.start(kTrain);
    train(timer);
    snapshot = takt::snapshot();
    timer.end(kTrain);
  }).join();
  std::uint64_t batches = 0;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const std::string name = snapshot.path_name(path);
    if (name.rfind("forgetful training", 0) != 0) { continue; }
    INFO(name);
    const bool known = name == "forgetful training" || name == "forgetful training/Batch" ||
                       name == "forgetful training/Batch/Forward" || name == "forgetful training/Batch/Backward" ||
                       name == "forgetful training/Batch/Forward/forgotten one";
    CHECK(known);
    batches += snapshot.paths[path].name == "Batch" ? snapshot.paths[path].host.n() : 0;
  }
  REQUIRE(batches == 1000);
  REQUIRE(!snapshot.losses.empty());
  REQUIRE(snapshot.losses[0].what == "never_ended");
  REQUIRE(losses_of_path(snapshot, "forgetful training/Batch/Forward/forgotten one") == 1);
  REQUIRE(lines_about(errors, "forgotten one", "forgetful training/Batch/Forward") == 1);
}
