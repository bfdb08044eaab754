// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sampler.hpp"

#include "base/threads.hpp"
#include "support/catch.hpp"
#include "support/patience.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using takt::Sensor;
using takt::Unsampled;
using takt::detail::Reading;
using takt::detail::SampleQueue;
using takt::detail::Sampler;
using takt::detail::SampleSource;

namespace {

/// A driver that can be made to hang.
struct Driver {
  std::mutex mutex;
  std::condition_variable changed;
  bool hangs = false;
  std::atomic<int> reads{0};

  void ask() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return !hangs; });
    ++reads;
  }
  void hang(bool on) {
    const std::lock_guard<std::mutex> lock(mutex);
    hangs = on;
    changed.notify_all();
  }
};

class DriverSource : public SampleSource {
 public:
  DriverSource(std::shared_ptr<Driver> driver, std::size_t sensors) : driver_(std::move(driver)), sensors_(sensors) {}
  const char* what() const noexcept override { return "test devices"; }
  void open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) override {
    if (sensors_ == 0) { unsampled.push_back({what(), "there are none"}); }
    sensors.resize(sensors_);
  }
  void read(const NowNs& now, std::vector<Reading>& readings) override {
    driver_->ask();
    for (std::uint32_t sensor = 0; sensor < sensors_; ++sensor) { readings.push_back({sensor, now(), {7}, ""}); }
  }

 private:
  std::shared_ptr<Driver> driver_;
  std::size_t sensors_;
};

std::int64_t now_ns() { return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count(); }

}  // namespace

TEST_CASE("Sampler: puts readings in the queue with their sensors", "[sample]") {
  SampleQueue queue(100);
  const auto driver = std::make_shared<Driver>();
  Sampler first(std::make_unique<DriverSource>(driver, 1), queue, now_ns, milliseconds(50));
  Sampler second(std::make_unique<DriverSource>(driver, 2), queue, now_ns, milliseconds(50));
  CHECK_FALSE(second.is_open());
  first.tick();
  second.tick();
  first.tick();
  CHECK(second.is_open());
  const SampleQueue::News news = queue.take();
  REQUIRE(news.sensors.size() == 3);
  CHECK(news.sensors[0].interval_ns == 50'000'000);
  REQUIRE(news.samples.size() == 4);
  CHECK(news.samples[2].sensor == 2);
  CHECK(news.samples[3].sensor == 0);
  CHECK(queue.take().samples.empty());
  CHECK(first.waiting().count() == 0);
  CHECK(first.stop(steady_clock::now()));  // it has no thread
}

TEST_CASE("Sampler: drops and counts samples beyond the limit", "[sample]") {
  SampleQueue queue(10);
  Sampler sampler(std::make_unique<DriverSource>(std::make_shared<Driver>(), 3), queue, now_ns, milliseconds(50));
  for (int tick = 0; tick < 10; ++tick) { sampler.tick(); }
  CHECK(queue.take().samples.size() == 10);
  CHECK(queue.dropped() == 20);
  sampler.tick();
  CHECK(queue.take().samples.size() == 3);
  CHECK(queue.dropped() == 20);
}

TEST_CASE("Sampler: its thread ends at once without anything to sample", "[sample]") {
  SampleQueue queue(100);
  const auto driver = std::make_shared<Driver>();
  Sampler sampler(std::make_unique<DriverSource>(driver, 0), queue, now_ns, milliseconds(60'000));
  REQUIRE(sampler.start("takt-test"));
  CHECK(sampler.stop(steady_clock::now() + takt_test::kTimeout));
  CHECK(driver->reads == 0);
  CHECK(queue.take().unsampled.at(0).why == "there are none");
}

TEST_CASE("Sampler: stops at once after a last sample", "[sample][timed]") {
  SampleQueue queue(100);
  const auto driver = std::make_shared<Driver>();
  Sampler sampler(std::make_unique<DriverSource>(driver, 1), queue, now_ns, milliseconds(60'000));
  REQUIRE(sampler.start("takt-test"));
  REQUIRE(takt_test::until([&] { return driver->reads == 1; }, [] { std::this_thread::yield(); }));
  const std::int64_t before = now_ns();
  CHECK(sampler.stop(steady_clock::now() + takt_test::kTimeout));
  const SampleQueue::News news = queue.take();
  REQUIRE(news.samples.size() == 2);
  CHECK(news.samples[1].time_ns >= before);
}

TEST_CASE("Sampler: does not wait for a driver that hangs", "[sample][timed]") {
  // Outlives the test, because its thread may.
  static SampleQueue queue(100);
  const auto driver = std::make_shared<Driver>();
  auto* const sampler = new Sampler(std::make_unique<DriverSource>(driver, 1), queue, now_ns, milliseconds(10));
  REQUIRE(sampler->start("takt-test"));
  REQUIRE(takt_test::until([&] { return driver->reads >= 3; }, [] { std::this_thread::yield(); }));
  driver->hang(true);
  REQUIRE(takt_test::until([&] { return sampler->waiting() > milliseconds(50); }, [] { std::this_thread::yield(); }));
  queue.take();  // the lock is free
  CHECK_FALSE(sampler->stop(steady_clock::now() + milliseconds(20)));
  driver->hang(false);
  CHECK(sampler->stop(steady_clock::now() + takt_test::kTimeout));
  CHECK(sampler->waiting().count() == 0);
  delete sampler;
}

TEST_CASE("Sampler: its CPU time is part of Takt's own cost", "[sample][timed]") {
  SampleQueue queue(10);
  const auto driver = std::make_shared<Driver>();
  Sampler sampler(std::make_unique<DriverSource>(driver, 1), queue, now_ns, milliseconds(10));
  const std::int64_t before = takt::detail::background_cpu_ns();
  REQUIRE(sampler.start("takt-test"));
  REQUIRE(takt_test::until([&] { return driver->reads >= 5; }, [] { std::this_thread::yield(); }));
  CHECK(sampler.stop(steady_clock::now() + takt_test::kTimeout));
  CHECK(takt::detail::background_cpu_ns() > before);
}
