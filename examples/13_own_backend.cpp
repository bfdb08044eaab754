// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A custom Backend: an accelerator that works through a queue on its own thread and stamps each timestamp when it
// reaches it. The conformance suite tests the Backend; then a Scope and a Timer use it.
#include <takt/backend.hpp>
#include <takt/takt.hpp>
#include <takt/testing/conformance.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

/// The accelerator as its vendor ships it: a queue of work and stamps, in order.
class Accelerator {
 public:
  Accelerator() : worker_([this] { serve(); }) {}
  ~Accelerator() {
    submit(-1);
    worker_.join();
  }
  /// Submits work, a number of rounds. 0 requests a stamp, under the returned ticket.
  takt::Mark submit(long rounds) {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back({rounds, ++tickets_});
    if (rounds == 0) { stamps_[tickets_] = {0, 1}; }
    changed_.notify_all();
    return tickets_;
  }
  void share(takt::Mark mark) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++stamps_.at(mark).users;
  }
  void drop(takt::Mark mark) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--stamps_.at(mark).users == 0) { dropped_.push_back(mark); }
  }
  /// Returns ns since some start; 0 until the queue reaches the stamp.
  std::int64_t stamp(takt::Mark mark) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stamps_.at(mark).ns;
  }
  void hold(bool on) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = on;
    changed_.notify_all();
  }

 private:
  struct Item {
    long rounds;
    takt::Mark ticket;
  };
  struct Stamp {
    std::int64_t ns;
    int users;
  };
  void serve() {
    volatile double value = 1;
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !held_ && !queue_.empty(); });
      const Item item = queue_.front();
      queue_.pop_front();
      if (item.rounds == 0) { stamps_[item.ticket].ns = std::chrono::steady_clock::now().time_since_epoch().count(); }
      lock.unlock();
      if (item.rounds < 0) { return; }
      for (long round = 0; round < item.rounds; ++round) { value = value * 1.0000001; }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> queue_;
  std::map<takt::Mark, Stamp> stamps_;
  std::deque<takt::Mark> dropped_;  // a real one reuses them
  takt::Mark tickets_ = 0;
  bool held_ = false;
  std::thread worker_;
};

// [snippet: own-backend]
class AcceleratorBackend {
 public:
  static constexpr const char* name = "accelerator";
  static constexpr bool immediate = false;

  AcceleratorBackend(Accelerator& device) noexcept : device_(&device) {}
  bool mark(takt::Mark& mark) noexcept {
    mark = device_->submit(0);
    return true;
  }
  void retain(takt::Mark mark) noexcept { device_->share(mark); }
  takt::Elapsed elapsed(takt::Mark begin, takt::Mark end) noexcept {
    const std::int64_t from = device_->stamp(begin);
    const std::int64_t to = device_->stamp(end);
    return from == 0 || to == 0 ? takt::Elapsed::pending() : takt::Elapsed::ready(to - from);
  }
  void release(takt::Mark mark) noexcept { device_->drop(mark); }
  Accelerator* device() const noexcept { return device_; }

 private:
  Accelerator* device_;
};
static_assert(takt::is_backend<AcceleratorBackend>);
// [end]

// [snippet: own-stream]
/// Lets a Scope take an Accelerator as its stream.
template <>
struct takt::StreamTraits<Accelerator> {
  static takt::StreamRef ref(const Accelerator& device) noexcept {
    return {&takt::device_ops<AcceleratorBackend, Accelerator>, const_cast<Accelerator*>(&device)};
  }
};
// [end]

// [snippet: driver]
struct Driver {
  AcceleratorBackend backend() { return device; }
  void work() { device.submit(2000); }
  void finish() { device.hold(false); }
  bool can_hold() { return true; }
  void hold(bool on) { device.hold(on); }
  std::int64_t outstanding() { return -1; }

  Accelerator device;
};
// [end]

int main() {
  Driver driver;
  const auto failures = takt::check_conformance(driver);
  for (const std::string& failure : failures) { std::printf("violated: %s\n", failure.c_str()); }

  Accelerator device;
  for (int step = 0; step < 20; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward, device);
    device.submit(20'000);
  }
  const bool all = takt::complete(std::chrono::seconds(10));
  std::uint64_t spans = 0;
  const takt::Snapshot snapshot = takt::snapshot();
  for (const takt::PathStats& path : snapshot.paths) {
    spans += path.device.n();
    if (path.device.n() != 0) {
      std::printf("%s: host %.0f ns, on the device %.0f ns\n", path.name.c_str(), path.host.mean_ns(),
                  path.device.mean_ns());
    }
  }
  return failures.empty() && all && spans == 20 ? 0 : 1;
}
