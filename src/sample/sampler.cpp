// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sampler.hpp"

#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint32_t SampleQueue::add(std::vector<Sensor> sensors, std::vector<Unsampled> unsampled) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint32_t first = sensors_;
  sensors_ += static_cast<std::uint32_t>(sensors.size());
  news_.sensors.insert(news_.sensors.end(), std::make_move_iterator(sensors.begin()),
                       std::make_move_iterator(sensors.end()));
  news_.unsampled.insert(news_.unsampled.end(), std::make_move_iterator(unsampled.begin()),
                         std::make_move_iterator(unsampled.end()));
  return first;
}

void SampleQueue::push(std::uint32_t first, std::vector<Reading>& readings) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Reading& each : readings) {
    const std::uint32_t sensor = first + each.sensor;
    if (!each.lost.empty()) {
      news_.lost.emplace_back(sensor, std::move(each.lost));
    } else if (news_.samples.size() >= max_) {
      ++dropped_;
    } else {
      Sample sample;
      sample.sensor = sensor;
      sample.time_ns = each.time_ns;
      sample.values = std::move(each.values);
      news_.samples.push_back(std::move(sample));
    }
  }
}

SampleQueue::News SampleQueue::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(news_, News());
}

std::uint64_t SampleQueue::dropped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

namespace {

using std::chrono::steady_clock;

std::int64_t steady_now_ns() noexcept {
  return std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Sampler::Sampler(std::unique_ptr<SampleSource> source, SampleQueue& queue, SampleSource::NowNs now,
                 std::chrono::milliseconds period)
    : source_(std::move(source)), queue_(queue), now_(std::move(now)), period_(period) {}

bool Sampler::start(const char* name) noexcept {
  ended_ = false;
  if (!start_background(
          name, [](void* self) { static_cast<Sampler*>(self)->run(); }, this)) {
    ended_ = true;
    return false;
  }
  started_ = true;
  return true;
}

void Sampler::open() {
  std::vector<Sensor> sensors;
  std::vector<Unsampled> unsampled;
  source_->open(sensors, unsampled);
  for (Sensor& each : sensors) { each.interval_ns = std::chrono::nanoseconds(period_).count(); }
  any_ = !sensors.empty();
  first_ = queue_.add(std::move(sensors), std::move(unsampled));
  open_.store(true, std::memory_order_relaxed);
}

bool Sampler::tick() noexcept {
  since_ns_.store(std::max<std::int64_t>(steady_now_ns(), 1), std::memory_order_relaxed);
  try {
    if (!open_) { open(); }
    if (any_) {
      source_->read(now_, readings_);
      queue_.push(first_, readings_);
    }
  } catch (const std::exception& error) {  // probably out of memory; retried next time
    report_error("sample.memory", Words(source_->what(), " could not be sampled: ", error.what()));
  }
  readings_.clear();
  since_ns_.store(0, std::memory_order_relaxed);
  return any_;
}

std::chrono::nanoseconds Sampler::waiting() const noexcept {
  const std::int64_t since_ns = since_ns_.load(std::memory_order_relaxed);
  return std::chrono::nanoseconds(since_ns == 0 ? 0 : std::max<std::int64_t>(steady_now_ns() - since_ns, 0));
}

/// Samples at multiples of the period, so that delays do not add up; skips times already past.
void Sampler::run() noexcept {
  auto due = steady_clock::now();
  for (bool goes_on = true; goes_on;) {
    const bool any = tick();
    due += period_;
    if (const auto now = steady_clock::now(); due < now) { due += (now - due) / period_ * period_ + period_; }
    std::unique_lock<std::mutex> lock(mutex_);
    goes_on = any && !changed_.wait_until(lock, due, [this] { return stopping_; });
  }
  if (any_) { tick(); }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Sampler::ask_to_end() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

bool Sampler::stop(steady_clock::time_point deadline) noexcept {
  if (!started_) { return true; }
  ask_to_end();
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return ended_; });
}

}  // namespace detail
TAKT_END_NAMESPACE
