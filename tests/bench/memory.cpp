// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include "process/process.hpp"

#include <takt/takt.hpp>

#include <unistd.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace takt_bench {
namespace {

double resident_mib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0;
  unsigned long resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &size, &resident) != 2) { resident = 0; }
  if (file != nullptr) { std::fclose(file); }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

void say(const std::string& when) {
  std::printf("%-44s %10.2f %10.2f\n", when.c_str(),
              static_cast<double>(takt::detail::registry().shared().budget.used()) / (1 << 20), resident_mib());
}

void regions(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    takt::Scope s(takt::Forward);
    barrier();
  }
}

/// Runs `count` threads at once, each with its own small tree.
void with_threads(unsigned count) {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned recorded = 0;
  bool leave = false;
  std::vector<std::thread> threads;
  for (unsigned index = 0; index < count; ++index) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        takt::Scope outer(takt::IO);
        takt::Scope inner(takt::Other);
      }
      std::unique_lock<std::mutex> lock(mutex);
      ++recorded;
      changed.notify_all();
      changed.wait(lock, [&] { return leave; });
    });
  }
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return recorded == count; });
  say(std::to_string(count) + " threads at once");
  leave = true;
  changed.notify_all();
  lock.unlock();
  for (std::thread& thread : threads) { thread.join(); }
  say("after they have ended");
}

}  // namespace

void print_memory(bool quick) {
  std::printf("\nmemory in MiB                                   recording   resident\n");
  say("before");
  std::uint64_t total = 0;
  for (const std::uint64_t upto : {std::uint64_t{1'000'000}, std::uint64_t{10'000'000}, std::uint64_t{100'000'000}}) {
    if (quick && upto > 1'000'000) { break; }
    regions(upto - total);
    total = upto;
    say(std::to_string(upto / 1'000'000) + " million regions");
  }
  with_threads(quick ? 100 : 1000);
  for (unsigned path = 0; path < 4200; ++path) {
    takt::Scope outer(takt::key(("path " + std::to_string(path % 70)).c_str()));
    takt::Scope inner(takt::key(("below " + std::to_string(path / 70)).c_str()));
  }
  say("4 200 paths");
}

}  // namespace takt_bench
