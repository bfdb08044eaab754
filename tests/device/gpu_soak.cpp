// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G11: many regions, and a stream that does not move. Nothing is lost silently, and nothing grows.
#include "device/gpu_check.hpp"

#include <cstdio>
#include <thread>

#include <unistd.h>

namespace gpu_check {
namespace {

constexpr int kThreads = 4;
constexpr int kBetweenWaits = 200;  // regions of a thread, between waits of the application's own
constexpr int kStuck = 3000;        // regions on a stream that stands still: more than wait for one
constexpr std::uint64_t kMilli = 1'000'000;
constexpr takt::Key Soak{"Soak", takt::Kind::compute};
constexpr takt::Key Stuck{"Stuck", takt::Kind::compute};

/// Memory of the process, in bytes.
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
      first.finish();
      second.finish();
    }
  }
  first.finish();
  second.finish();
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

/// The longest that one action took, in ns.
template <class Action>
double longest(cudaStream_t stream, Action action) {
  const Gate closed(stream);
  auto taken = durations(kStuck, action);
  return percentile(taken, 1);
}

void stuck() {
  const Stream stream;
  std::vector<cudaEvent_t> events(2048);  // as many as Takt lets stand in the queue
  for (cudaEvent_t& event : events) { REQUIRE_CUDA(cudaEventCreate(&event)); }
  std::size_t at = 0;
  const double bare = longest(stream, [&] {
    for (int record = 0; record < 2 && at < events.size(); ++record) {
      REQUIRE_CUDA(cudaEventRecord(events[at++], stream));
    }
  });
  { takt::Scope s(takt::Other, static_cast<cudaStream_t>(stream)); }  // the stream is known
  stream.finish();
  const double ours = longest(stream, [&] { takt::Scope s(Stuck, static_cast<cudaStream_t>(stream)); });
  stream.finish();
  takt::complete(std::chrono::seconds(10));
  for (cudaEvent_t event : events) { REQUIRE_CUDA(cudaEventDestroy(event)); }
  tell("G11", "2 048 bare records on a stream that stands still, longest pair", micro(bare));
  say("G11", "3 000 regions there, longest begin and end", "at most 1 ms, or 1.2 times the bare ones", micro(ours),
      ours <= static_cast<double>(kMilli) || ours <= 1.2 * bare);
  const Spans spans = spans_of(Stuck);
  std::uint64_t skipped = 0;
  for (const takt::Loss& loss : takt::snapshot().losses) {
    if (loss.what == "device_skipped" && loss.where == Stuck.name()) { skipped += loss.count; }
  }
  say("G11", "entered = timed + lost + skipped + pending", fmt::format("{}", spans.entered),
      fmt::format("{} + {} + {} + {}", spans.timed, spans.lost, skipped, spans.pending),
      spans.entered == kStuck && spans.timed + spans.lost + skipped == kStuck && spans.timed != 0 &&
          spans.pending == 0);
}

}  // namespace

void soak(long count) {
  on_threads(count / 10);
  const long memory = resident();
  const long events = driver_calls("EventCreate");
  const std::uint64_t begin = host_ns();
  on_threads(count);
  const auto taken = static_cast<double>(host_ns() - begin);
  const Spans spans = spans_of(Soak);
  const auto grown = static_cast<double>(resident() - memory) / 1024;
  const long made = driver_calls("EventCreate") - events;
  say("G11", fmt::format("regions without a span, of {}", spans.entered), "0",
      fmt::format("{} lost, {} pending, {} skipped", spans.lost, spans.pending, losses("device_skipped")),
      spans.timed == spans.entered && spans.entered != 0);
  tell("G11", "regions a second, 4 threads with 2 streams each",
       fmt::format("{:.0f}", static_cast<double>(count) / (taken / 1e9)));
  say("G11", "events made after the first tenth", "0", events < 0 ? "not counted" : fmt::format("{}", made),
      events >= 0 && made == 0);
  say("G11", "growth of the process after the first tenth", "at most 1 024 KiB", fmt::format("{:.0f} KiB", grown),
      grown <= 1024);
  stuck();
}

}  // namespace gpu_check
