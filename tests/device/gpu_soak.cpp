// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G11: many regions. All dropped data is counted, memory does not grow, and no call waits for the device.
#include "device/gpu_check.hpp"

#include <cstdio>
#include <thread>

#include <unistd.h>

namespace gpu_check {
namespace {

constexpr int kThreads = 4;
constexpr int kBetweenWaits = 200;  // regions of a thread between the application's own waits
constexpr takt::Key Soak{"Soak", takt::Kind::compute};

/// Returns the resident memory of the process, in bytes.
long resident() {
  long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%*d %ld", &pages) != 1) { pages = 0; }
    std::fclose(file);
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

void regions(long count) {
  const Stream first;
  const Stream second;
  for (long region = 0; region < count; ++region) {
    const bool odd = region % 2 != 0;
    {
      takt::Scope s(Soak, static_cast<cudaStream_t>(odd ? second : first));
      if (region % 64 == 0) { spin(odd ? second : first, 1000); }
    }
    if (region % kBetweenWaits == kBetweenWaits - 1) {
      first.poll();
      second.poll();
    }
  }
  first.poll();
  second.poll();
  takt::complete(std::chrono::seconds(10));
}

void on_threads(long count) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([=] { regions(count / kThreads); });
  }
  for (std::thread& thread : threads) { thread.join(); }
  takt::complete(std::chrono::seconds(10));
}

}  // namespace

void soak(long count) {
  on_threads(count / 10);
  const long memory = resident();
  const long events = driver_calls("EventCreate");
  const long waits = driver_calls("Synchronize");
  const std::uint64_t begin = host_ns();
  on_threads(count);
  const auto taken = static_cast<double>(host_ns() - begin);
  const Spans spans = spans_of(Soak);
  const auto grown = static_cast<double>(resident() - memory) / 1024;
  const long made = driver_calls("EventCreate") - events;
  const long waited = driver_calls("Synchronize") - waits;
  say("G11", takt::detail::format("regions without a span, of {}", spans.entered), "0",
      takt::detail::format("{} lost, {} pending, {} skipped", spans.lost, spans.pending, losses("device_skipped")),
      spans.timed == spans.entered && spans.entered != 0);
  report("G11", "regions a second, 4 threads with 2 streams each",
         takt::detail::format("{:.0f}", static_cast<double>(count) / (taken / 1e9)));
  say("G11", "events made after the first tenth", "0", events < 0 ? "not counted" : takt::detail::format("{}", made),
      events >= 0 && made == 0);
  say("G11", "calls in that time that wait for the device", "0",
      waits < 0 ? "not counted" : takt::detail::format("{}", waited), waits >= 0 && waited == 0);
  say("G11", "growth of the process after the first tenth", "at most 1 024 KiB",
      takt::detail::format("{:.0f} KiB", grown), grown <= 1024);
}

}  // namespace gpu_check
