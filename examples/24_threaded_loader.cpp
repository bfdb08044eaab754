// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A loader with its own threads, which prefetch batches; trials show if it keeps up with the model. Run it with
// TAKT_TRIALS=all and different numbers:
//
//     TAKT_TRIALS=all example_24_threaded_loader [ms to load a batch] [ms of a step] [threads] [batches ahead]
#include <takt/takt.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
using Batch = std::vector<float>;

constexpr int kBatches = 100;
constexpr std::size_t kSamples = 32;

/// Loads batches from slow storage, with threads that mostly wait for it.
class ThreadedLoader {
 public:
  ThreadedLoader(Milliseconds load, int threads, std::size_t ahead) : load_(load), ahead_(ahead) {
    for (int thread = 0; thread < threads; ++thread) {
      threads_.emplace_back([this] { work(); });
    }
  }
  ~ThreadedLoader() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& each : threads_) { each.join(); }
  }
  ThreadedLoader(const ThreadedLoader&) = delete;
  ThreadedLoader& operator=(const ThreadedLoader&) = delete;

  /// Returns the next batch; empty at the end of the data.
  std::optional<Batch> next() {
    std::unique_lock lock(mutex_);
    if (given_ == kBatches) { return std::nullopt; }
    changed_.wait(lock, [this] { return !fetched_.empty(); });
    Batch batch = std::move(fetched_.front());
    fetched_.pop_front();
    ++given_;
    changed_.notify_all();
    return batch;
  }
  /// Starts another pass.
  void rewind() {
    const std::lock_guard lock(mutex_);
    given_ = 0;
    started_ = static_cast<int>(fetched_.size()) + fetching_;
    changed_.notify_all();
  }

 private:
  void work() {
    takt::name_thread("loader");
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] {
        return closed_ || (started_ < kBatches && fetched_.size() + static_cast<std::size_t>(fetching_) < ahead_);
      });
      if (closed_) { return; }
      ++started_;
      ++fetching_;
      lock.unlock();
      std::this_thread::sleep_for(load_);  // a disk, or a network
      Batch batch(kSamples, 1.0F);
      lock.lock();
      --fetching_;
      fetched_.push_back(std::move(batch));
      changed_.notify_all();
    }
  }

  const Milliseconds load_;
  const std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> fetched_;
  int fetching_ = 0;
  int started_ = 0;  // in this pass
  int given_ = 0;    // in this pass
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

/// The model: computes for a given time.
float compute(const Batch& batch, Milliseconds step) {
  float sum = 0;
  const auto end = std::chrono::steady_clock::now() + step;
  while (std::chrono::steady_clock::now() < end) {
    for (const float each : batch) { sum += each; }
  }
  return sum;
}

float train(takt::Session& session, ThreadedLoader& loader, Milliseconds step) {
  float sum = 0;
  // [snippet: pull]
  takt::TrialOptions options = takt::TrialOptions::from_env();
  options.reset = [&] { loader.rewind(); };
  auto trials = takt::trials(session, options);
  while (auto batch = trials.next([&] { return loader.next(); })) {
    takt::Scope scope(takt::Batch);
    sum += compute(*batch, step);
    scope.items(static_cast<std::int64_t>(batch->size()));
  }
  // [end]
  return sum;
}

double argument(int count, char** arguments, int index, double usual) {
  return count > index ? std::atof(arguments[index]) : usual;
}

}  // namespace

int main(int count, char** arguments) {
  const Milliseconds load(argument(count, arguments, 1, 8));
  const Milliseconds step(argument(count, arguments, 2, 2));
  const int threads = static_cast<int>(argument(count, arguments, 3, 2));
  const auto ahead = static_cast<std::size_t>(argument(count, arguments, 4, 4));
  if (load.count() < 0 || step.count() < 0 || threads < 1 || ahead < 1) {
    std::fprintf(stderr, "usage: %s [ms to load a batch] [ms of a step] [threads] [batches ahead]\n", arguments[0]);
    return 2;
  }
  takt::Session session("threaded loader");
  ThreadedLoader loader(load, threads, ahead);
  const float sum = train(session, loader, step);
  std::printf("sum of all batches %.0f\n", static_cast<double>(sum));
  return 0;
}
