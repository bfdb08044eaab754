// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "driver.hpp"

#include <takt/takt.hpp>

#include <chrono>
#include <mutex>
#include <string>
#include <unordered_map>

namespace takt_bench {
namespace {

template <class T>
void keep(T value) {
  asm volatile("" : : "r"(value) : "memory");
}

/// Typical hand-written timer: a map from names to sums, and a mutex.
class HandWritten {
 public:
  void add(const std::string& name, std::chrono::steady_clock::duration length) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entries_[name];
    ++entry.n;
    entry.total += length;
  }

 private:
  struct Entry {
    std::uint64_t n = 0;
    std::chrono::steady_clock::duration total{};
  };
  std::mutex mutex_;
  std::unordered_map<std::string, Entry> entries_;
};

}  // namespace

void read_twice(std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) {
    keep(takt::detail::ticks());
    keep(takt::detail::ticks());
  }
}

double two_tsc_reads(std::uint64_t n) {
  return timed(n, [n] { read_twice(n); });
}

void add_floors(Rounds& rounds) {
  rounds.add({"floor: two TSC reads", 200'000, two_tsc_reads});
  rounds.add({"floor: two steady_clock::now()", 200'000, [](std::uint64_t n) {
                return timed(n, [n] {
                  for (std::uint64_t i = 0; i < n; ++i) {
                    keep(std::chrono::steady_clock::now().time_since_epoch().count());
                    keep(std::chrono::steady_clock::now().time_since_epoch().count());
                  }
                });
              }});
  rounds.add({"floor: two TSC reads, two threads at once", 200'000,
              [](std::uint64_t n) { return on_two_threads(n, read_twice); }});
  rounds.add({"by hand: steady_clock, map, mutex", 60'000, [](std::uint64_t n) {
                static HandWritten timers;
                return timed(n, [n] {
                  for (std::uint64_t i = 0; i < n; ++i) {
                    const auto begin = std::chrono::steady_clock::now();
                    barrier();
                    timers.add("Forward", std::chrono::steady_clock::now() - begin);
                  }
                });
              }});
}

}  // namespace takt_bench
