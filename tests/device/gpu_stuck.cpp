// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A blocked stream. G11: a region on it does not block any thread. G13: the capacity of its queue before the driver
// blocks the recording thread; Takt must use all of it.
#include "device/gpu_check.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace gpu_check {
namespace {

constexpr int kStuck = 3000;        // regions: more than may be pending on a stream
constexpr std::size_t kMax = 6000;  // records: more than the capacity of any known queue
constexpr std::size_t kFew = 256;
constexpr double kHeldNs = 100e6;
constexpr takt::Key Stuck{"Stuck", takt::Kind::compute};
constexpr takt::Key StuckForAll{"StuckForAll", takt::Kind::compute};
constexpr takt::Key Deep{"Deep", takt::Kind::compute};

/// Returns the number of regions of a key without a span because there was no space.
std::uint64_t skipped(const takt::Key& key) {
  std::uint64_t count = 0;
  for (const takt::Loss& loss : takt::snapshot().losses) {
    if (loss.what == "device_skipped" && loss.where == key.name()) { count += loss.count; }
  }
  return count;
}

/// Returns the duration of each of many regions on a blocked stream, in ns, over all threads.
std::vector<double> regions_on_stuck(const takt::Key& key, int threads) {
  const Stream stream;
  { takt::Scope s(takt::Other, static_cast<cudaStream_t>(stream)); }  // makes the stream known
  stream.finish();
  std::vector<double> taken;
  {
    const Gate closed(stream);
    std::mutex mutex;
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&] {
        const auto own = durations(kStuck / threads, [&] { takt::Scope s(key, static_cast<cudaStream_t>(stream)); });
        const std::lock_guard<std::mutex> lock(mutex);
        taken.insert(taken.end(), own.begin(), own.end());
      });
    }
    for (std::thread& each : running) { each.join(); }
  }
  stream.finish();
  takt::complete(std::chrono::seconds(10));
  return taken;
}

/// Opens a gate when no thread has made progress for a second.
class Opener {
 public:
  explicit Opener(Gate& gate) : thread_([this, &gate] { run(gate); }) {}
  ~Opener() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  Opener(const Opener&) = delete;
  Opener& operator=(const Opener&) = delete;
  void pass() noexcept { passed_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void run(Gate& gate) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (long last = -1; passed_.load(std::memory_order_relaxed) != last;) {
      last = passed_.load(std::memory_order_relaxed);
      if (changed_.wait_for(lock, std::chrono::seconds(1), [this] { return ended_; })) { return; }
    }
    gate.open();
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::atomic<long> passed_{0};
  std::thread thread_;
};

/// A thread that queries a finished event on another stream and keeps the duration of its slowest query, in ns.
class Asker {
 public:
  Asker() {
    REQUIRE_CUDA(cudaEventCreate(&event_));
    REQUIRE_CUDA(cudaEventRecord(event_, stream_));
    stream_.finish();
    thread_ = std::thread([this] {
      while (!ended_.load()) {
        const std::uint64_t begin = host_ns();
        REQUIRE_CUDA(cudaEventQuery(event_));
        slowest_ = std::max(slowest_, static_cast<double>(host_ns() - begin));
      }
    });
  }
  double end() {
    ended_ = true;
    thread_.join();
    REQUIRE_CUDA(cudaEventDestroy(event_));
    return slowest_;
  }

 private:
  const Stream stream_;
  cudaEvent_t event_ = nullptr;
  std::atomic<bool> ended_{false};
  double slowest_ = 0;
  std::thread thread_;
};

/// Returns the duration of each of many records on a blocked stream, up to and including the first that blocks.
std::vector<double> records_on_stuck(std::vector<cudaEvent_t>& events) {
  const Stream stream;
  std::vector<double> taken;
  {
    Gate closed(stream);
    Opener opener(closed);
    for (cudaEvent_t event : events) {
      const std::uint64_t begin = host_ns();
      REQUIRE_CUDA(cudaEventRecord(event, stream));
      taken.push_back(static_cast<double>(host_ns() - begin));
      opener.pass();
      if (taken.back() > kHeldNs) { break; }
    }
  }
  stream.finish();
  return taken;
}

std::string median_of(const std::vector<double>& all, std::size_t first, std::size_t last) {
  std::vector<double> some(all.begin() + static_cast<std::ptrdiff_t>(first),
                           all.begin() + static_cast<std::ptrdiff_t>(last));
  return micro(percentile(some, 0.5));
}

}  // namespace

void stuck() {
  for (const auto& [key, threads] : {std::make_pair(Stuck, 1), std::make_pair(StuckForAll, 6)}) {
    auto taken = regions_on_stuck(key, threads);
    const double longest = percentile(taken, 1);
    say("G11",
        takt::detail::format("{} regions of {} thread(s) on a stream that stands still, longest begin and end", kStuck,
                             threads),
        "at most 1 ms", micro(longest), longest <= 1e6);
    const Spans spans = spans_of(key);
    const std::uint64_t without = skipped(key);
    say("G11", "entered = timed + lost + skipped + pending", takt::detail::format("{}", spans.entered),
        takt::detail::format("{} + {} + {} + {}", spans.timed, spans.lost, without, spans.pending),
        spans.entered == kStuck && spans.timed + spans.lost + without == kStuck && spans.timed != 0 &&
            spans.pending == 0);
  }
}

void depth() {
  std::vector<cudaEvent_t> events(kMax);
  for (cudaEvent_t& event : events) { REQUIRE_CUDA(cudaEventCreate(&event)); }
  Asker asker;
  const auto taken = records_on_stuck(events);
  const double asked = asker.end();
  for (cudaEvent_t event : events) { REQUIRE_CUDA(cudaEventDestroy(event)); }
  const bool held = taken.back() > kHeldNs;
  const std::size_t entries = held ? taken.size() - 1 : taken.size();
  report("G13", "records that stand in a stream's queue before the next one holds up the host",
         held ? takt::detail::format("{}", entries) : takt::detail::format("more than {}", entries));
  report("G13", "a record on a stream that stands still, median of the first 256",
         median_of(taken, 0, std::min(kFew, entries)));
  report("G13", "the same, of the last 256 before the host is held",
         median_of(taken, entries - std::min(kFew, entries), entries));
  report("G13", "slowest question of another thread about another stream meanwhile", micro(asked));
  regions_on_stuck(Deep, 1);
  const std::uint64_t records = 2 * spans_of(Deep).timed;
  say("G13", "records of Takt's that stand in the queue of one stream", takt::detail::format("below {}", entries),
      takt::detail::format("{}", records), records != 0 && records < entries);
}

}  // namespace gpu_check
