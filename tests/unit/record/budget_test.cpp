// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The memory that recording takes from its budget: it depends on paths and threads, never on the number or length of
// calls. Each test runs in its own child with empty statistics.
#include <takt/detail/memory.hpp>

#include "process/process.hpp"

#include <takt/takt.hpp>

#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/child.hpp"
#include "support/random.hpp"
#include "support/session_helpers.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <vector>

using takt::Scope;
using takt::Snapshot;
using takt_test::calls_of;
using takt_test::losses_of;
using takt_test::scaled;

namespace {

constexpr std::size_t kMaxOfPath = 12U << 10U;  // bytes on one thread, for any durations
constexpr std::size_t kUsualOfPath = 4U << 10U;
constexpr int kLengths = 2 * 48;

takt::detail::MemoryBudget& budget() { return takt::detail::registry().shared().budget; }

/// Returns the result of `work` in a child that has recorded nothing yet.
template <class Work>
std::string alone(const Work& work) {
  support::Child child([&work] {
    takt::detail::adopt_process();
    return work();
  });
  const std::string result = child.result();
  REQUIRE(child.wait() == 0);
  return result;
}

/// Records durations of every length at one path, so that later ones need no further page. Twice, because histograms
/// exclude warm-up and the first call.
void record_every_length(const takt::Key& key) {
  for (int octave = 0; octave < kLengths; ++octave) {
    takt::record(key, std::chrono::nanoseconds(std::int64_t{1} << (octave % 48)));
  }
}

/// Returns the bytes taken by `count` concurrent threads with two paths each.
std::size_t bytes_of_threads(int count) {
  std::vector<std::promise<void>> recorded(static_cast<std::size_t>(count));
  std::promise<void> leave;
  const std::shared_future<void> left = leave.get_future().share();
  std::vector<std::thread> threads;
  for (std::promise<void>& mine : recorded) {
    threads.emplace_back([&mine, left] {
      record_every_length(takt::IO);
      {
        const Scope outer(takt::IO);
        record_every_length(takt::Other);
      }
      mine.set_value();
      left.wait();
    });
  }
  for (std::promise<void>& theirs : recorded) { theirs.get_future().wait(); }
  const std::size_t bytes = budget().used();
  leave.set_value();
  for (std::thread& thread : threads) { thread.join(); }
  takt::snapshot();  // takes over their data, even if two ended at once
  return bytes;
}

/// Records steps of 100 regions until `done` reaches `count`.
void regions_up_to(int count, int& done) {
  for (; done < count; done += 100) {
    const Scope batch(takt::Batch);
    for (int region = 0; region < 99; ++region) { const Scope forward(takt::Forward); }
  }
}

/// Runs `work` with the inner keys of 71 paths, below and including each outer key from `first` on.
template <class Work>
void paths(int first, int last, const Work& work) {
  for (int outer = first; outer < last; ++outer) {
    const Scope above(takt::key(("outer " + std::to_string(outer)).c_str()));
    for (int inner = 0; inner < 70; ++inner) { work(takt::key(("inner " + std::to_string(inner)).c_str())); }
  }
}

std::string more_than(std::size_t bytes) { return std::to_string(budget().used() - bytes) + " bytes more"; }
std::string text_of(bool held) { return held ? "yes " : "no "; }

}  // namespace

TEST_CASE("Memory: ten times as many regions take no further byte") {
  constexpr int regions = scaled(10'000'000);
  REQUIRE(alone([] {
            record_every_length(takt::Batch);  // warm-up is over
            {
              const Scope batch(takt::Batch);
              record_every_length(takt::Forward);
            }
            int done = 0;
            regions_up_to(regions / 10, done);
            const std::size_t before = budget().used();
            regions_up_to(regions, done);
            const std::uint64_t calls = calls_of(takt::snapshot(), "Batch/Forward") - kLengths;
            return std::to_string(calls / 99 * 100) + " regions, " + more_than(before);
          }) == std::to_string(regions) + " regions, 0 bytes more");
}

TEST_CASE("Memory: consecutive threads take as much as the first one") {
  constexpr int threads = scaled(1'000);
  REQUIRE(alone([] {
            bytes_of_threads(1);
            const std::size_t before = budget().used();
            for (int thread = 1; thread < threads; ++thread) { bytes_of_threads(1); }
            const std::uint64_t calls = calls_of(takt::snapshot(), "IO/Other");
            return std::to_string(calls / kLengths) + " threads, " + more_than(before);
          }) == std::to_string(threads) + " threads, 0 bytes more");
}

TEST_CASE("Memory: 64 concurrent threads take 64 times as much as one, the next 64 nothing more") {
  REQUIRE(alone([] {
            const std::size_t before = budget().used();
            const std::size_t one = bytes_of_threads(1) - before;
            const std::size_t max = sizeof(takt::detail::Recorder) + 4096 + 2 * kMaxOfPath;
            const std::size_t many = bytes_of_threads(64) - before;
            const std::size_t again = bytes_of_threads(64) - before;
            return text_of(one <= max) + text_of(many == 64 * one) + text_of(again == many);
          }) == "yes yes yes ");
}

TEST_CASE("Memory: threads beyond the limit are not timed, their regions are counted, and the limit holds") {
  REQUIRE(alone([] {
            const support::CaughtErrors errors;
            const std::size_t one = bytes_of_threads(1);
            budget().set_limit(8 * one);
            const std::size_t many = bytes_of_threads(64);
            const Snapshot snapshot = takt::snapshot();
            std::uint64_t calls = losses_of(snapshot, "threads_without_memory");
            const bool some_without = calls > 0;  // the number depends on the order of threads
            for (const takt::PathStats& each : snapshot.paths) { calls += each.host.n(); }
            return text_of(many <= 8 * one) + text_of(some_without) + std::to_string(calls) + " calls";
          }) == "yes yes " + std::to_string(65 * (2 * kLengths + 1)) + " calls");
}

TEST_CASE("Memory: 4 096 paths called once take 4 kB each, and further ones nothing") {
  REQUIRE(alone([] {
            const auto once = [](const takt::Key& key) { const Scope region(key); };
            paths(0, 60, once);  // 60 x 71, so that the last ones have no space
            const std::size_t full = budget().used();
            record_every_length(takt::key("one of those without a place"));
            const std::size_t before = budget().used();
            paths(60, 90, once);
            const std::size_t count = takt::snapshot().paths.size();
            return std::to_string(count) + " paths, " + text_of(full <= count * kUsualOfPath) + more_than(before);
          }) == "4096 paths, yes 0 bytes more");
}

TEST_CASE("Memory: a path takes at most 12 kB, and regions beyond the limit are counted") {
  REQUIRE(alone([] {
            record_every_length(takt::IO);
            const std::size_t before = budget().used();
            record_every_length(takt::Forward);
            const std::size_t path = budget().used() - before;
            budget().set_limit(4U << 20U);
            paths(0, 7, record_every_length);
            const Snapshot snapshot = takt::snapshot();
            std::uint64_t calls = 0;
            std::uint64_t unbinned = 0;
            for (const takt::PathStats& each : snapshot.paths) {
              calls += each.host.n();
              unbinned += each.host.histogram().unbinned();
            }
            return text_of(path <= kMaxOfPath) + text_of(budget().used() <= budget().limit()) + text_of(unbinned > 0) +
                   std::to_string(calls) + " calls";
          }) == "yes yes yes " + std::to_string((2 + 7 * 70) * kLengths + 7) + " calls");
}

TEST_CASE("Memory: threads beyond the maximum number of names share one and lose nothing") {
  constexpr int kMore = 100;
  REQUIRE(alone([] {
            for (int thread = 0; thread < 4096 + kMore; ++thread) {
              std::thread([thread] {
                takt::name_thread(("number " + std::to_string(thread)).c_str());
                const Scope region(takt::IO);
              }).join();
            }
            const Snapshot snapshot = takt::snapshot();
            return std::to_string(snapshot.threads.size()) + " threads, the last but one " +
                   snapshot.threads[4094].name + ", the last " + snapshot.threads[4095].name + ", " +
                   std::to_string(calls_of(snapshot, "IO")) + " calls";
          }) == "4096 threads, the last but one number 4094, the last further threads, 4196 calls");
}
