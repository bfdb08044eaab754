// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions need not nest. Timer::start() returns a handle, and end(handle) ends exactly that region: in any order, and
// on any thread. Here a read overlaps the computation that started after it, and the computation ends on a different
// thread than it started on.
#include <takt/takt.hpp>

#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

int main() {
  takt::Timer<takt::CpuBackend> timer;
  std::vector<double> values(20'000);
  double sum = 0;
  for (int step = 0; step < 10; ++step) {
    // [snippet: overlap]
    const takt::Handle read = timer.start(takt::IO);
    std::iota(values.begin(), values.end(), step);
    const takt::Handle compute = timer.start(takt::Forward);
    sum += std::accumulate(values.begin(), values.begin() + 10'000, 0.0);
    timer.end(read);  // started first, ends first
    std::thread helper([&] {
      sum += std::accumulate(values.begin() + 10'000, values.end(), 0.0);
      timer.end(compute);  // started by another thread
    });
    helper.join();
    // [end]
  }

  const takt::Stats io = timer.stats(takt::IO);
  const takt::Stats forward = timer.stats(takt::Forward);
  std::printf("IO      %2llu calls, %.1f us each\n", static_cast<unsigned long long>(io.n), io.mean_ns / 1e3);
  std::printf("Forward %2llu calls, %.1f us each\n", static_cast<unsigned long long>(forward.n), forward.mean_ns / 1e3);
  return io.n == 10 && forward.n == 10 && sum == 2'000'800'000.0 ? 0 : 1;
}
