// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A Timer keeps the statistics of its regions and returns them as plain numbers. With the Manual backend its clock
// moves only on request, so a test of your own code gets the same numbers every time and never sleeps. The same Timer
// times the host with CpuBackend and a GPU stream with CudaBackend or HipBackend.
#include <takt/backends/manual.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  // [snippet: manual]
  takt::ManualClock clock;
  takt::Timer<takt::ManualBackend> timer(clock);
  for (const int milliseconds : {4, 1, 3, 2}) {
    timer.start(takt::Forward);
    clock.advance(std::chrono::milliseconds(milliseconds));  // in place of work
    timer.end(takt::Forward);
  }
  timer.complete(std::chrono::seconds(1));
  const takt::Stats stats = timer.stats(takt::Forward);
  // [end]

  std::printf("n %llu, mean %.3f ms, stdev %.3f ms, min %.1f ms, max %.1f ms, p50 %.1f ms\n",
              static_cast<unsigned long long>(stats.n), stats.mean_ns / 1e6, stats.stdev_ns / 1e6,
              static_cast<double>(stats.min_ns) / 1e6, static_cast<double>(stats.max_ns) / 1e6,
              static_cast<double>(stats.p50_ns) / 1e6);
  std::vector<std::int64_t> times;
  for (const std::int64_t ns : timer.times(takt::Forward)) { times.push_back(ns); }

  const bool exact = stats.n == 4 && stats.total_ns == 10'000'000 && stats.mean_ns == 2'500'000 &&
                     stats.min_ns == 1'000'000 && stats.max_ns == 4'000'000 && stats.first_ns == 4'000'000 &&
                     stats.p50_ns == 2'500'000;                        // the mean of 2 and 3 ms
  const bool close = std::abs(stats.stdev_ns - 1'290'994.449) < 0.01;  // sqrt(5 / 3) ms
  const bool listed = times == std::vector<std::int64_t>{4'000'000, 1'000'000, 3'000'000, 2'000'000};
  return exact && close && listed ? 0 : 1;
}
