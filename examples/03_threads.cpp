// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Threads need no set-up: each records for itself, and a name makes it readable in the reports. Here a loader thread
// makes batches while a trainer works on them; the time that one waits for the other is a region of kind `wait`. The
// loader's regions are kept when its thread ends.
#include <takt/takt.hpp>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

inline constexpr takt::Key Wait{"Wait", takt::Kind::wait};

static std::mutex mutex;
static std::condition_variable changed;
static std::vector<double> hatch;  // holds one batch, or none

static void exchange(std::vector<double>& images) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return hatch.empty() != images.empty(); });
  hatch.swap(images);
  changed.notify_one();
}

// [snippet: loader]
static void load(int steps) {
  takt::name_thread("loader");
  for (int step = 0; step < steps; ++step) {
    takt::Scope s(takt::IO);
    std::vector<double> images(10'000, step);
    s.lap(Wait);  // until the trainer has taken the previous batch
    exchange(images);
  }
}
// [end]

int main() {
  takt::name_thread("trainer");
  std::thread loader(load, 50);
  double sum = 0;
  for (int step = 0; step < 50; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope s(Wait);
    std::vector<double> images;
    exchange(images);
    s.lap(takt::Forward);
    sum += std::accumulate(images.begin(), images.end(), 0.0) / 10'000;
  }
  loader.join();
  bool named = true;
  const takt::Snapshot snapshot = takt::snapshot();
  for (const takt::ThreadInfo& thread : snapshot.threads) {
    named &= thread.name == "loader" || thread.name == "trainer";
  }
  std::printf("%zu threads, sum of means %.0f\n", snapshot.threads.size(), sum);
  return named && snapshot.threads.size() == 2 && sum == 1225 ? 0 : 1;
}
