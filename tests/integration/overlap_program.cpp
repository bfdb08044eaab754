// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions that overlap on purpose: with handles, in alternation and in any order, ended on other threads, ended twice,
// or open at the end. Prints how many have ended.
#include <takt/backends/cpu.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/random.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

using Timer = takt::Timer<takt::CpuBackend>;

constexpr const takt::Key* kKeys[] = {&takt::IO, &takt::Forward, &takt::Backward, &takt::Comm, &takt::Other};
std::atomic<std::uint64_t> ended{0};

const takt::Key& any_key(takt_test::Random& random) { return *kKeys[random.below(5)]; }

void end(Timer& timer, const takt::Handle& handle) {
  timer.end(handle);
  ++ended;
}

/// Two buffers: each region starts before the previous one has ended.
void in_turn(Timer& timer, int times) {
  takt::Handle last = timer.start(takt::IO);
  for (int time = 0; time < times; ++time) {
    const takt::Handle next = timer.start(time % 2 == 0 ? takt::Forward : takt::IO);
    end(timer, last);
    last = next;
  }
  end(timer, last);
}

/// Up to 16 open regions, ended in random order, some of them twice.
void in_any_order(Timer& timer, std::uint64_t seed, int times) {
  takt_test::Random random(seed);
  std::vector<takt::Handle> open;
  for (int time = 0; time < times; ++time) {
    const takt::Scope around(any_key(random));
    ++ended;
    if (open.size() < 16) { open.push_back(timer.start(any_key(random))); }
    if (!open.empty() && random.below(3) != 0) {
      const std::size_t at = random.below(open.size());
      end(timer, open[at]);
      if (random.below(4) == 0) { timer.end(open[at]); }
      open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const takt::Handle& each : open) { end(timer, each); }
}

/// Starts regions that another thread ends while this one continues.
void elsewhere(Timer& timer, int times) {
  for (int time = 0; time < times; ++time) {
    const takt::Scope around(takt::Comm);
    ++ended;
    std::vector<takt::Handle> open;
    open.reserve(4);
    for (int count = 0; count < 4; ++count) { open.push_back(timer.start(takt::IO)); }
    std::thread other([&] {
      for (const takt::Handle& each : open) { end(timer, each); }
    });
    in_turn(timer, 20);
    other.join();
    for (const takt::Handle& each : open) { timer.end(each); }  // ended
  }
}

}  // namespace

int main() {
  takt::Session session("overlap");
  Timer timer = Timer::joined();
  const takt::Handle epoch = timer.start(takt::Epoch);
  for (int step = 0; step < 50; ++step) {
    const takt::Scope batch(takt::Batch);
    ++ended;
    in_turn(timer, 10);
  }
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&timer, seed] {
      in_any_order(timer, seed, 2000);
      elsewhere(timer, 20);
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  takt::Handle open;
  {
    const takt::Scope batch(takt::Batch);
    ++ended;
    open = timer.start(takt::IO);
  }
  const bool good = session.close();
  std::printf("ended %llu\n", static_cast<unsigned long long>(ended.load()));
  timer.end(open);
  timer.end(epoch);
  return good ? 0 : 1;
}
