// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/gpu_poller.hpp"

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/words.hpp"
#include "process/process.hpp"

#include <algorithm>
#include <exception>
#include <functional>

TAKT_BEGIN_NAMESPACE
namespace detail {

bool GpuPoller::start(std::chrono::milliseconds period) noexcept {
  ended_ = false;
  period_ = period;
  if (!start_background(
          "takt-gpu", [](void* self) { static_cast<GpuPoller*>(self)->run(); }, this)) {
    ended_ = true;
    return false;
  }
  start_by_hand();
  return true;
}

void GpuPoller::start_by_hand() noexcept {
  started_ = true;
  gpu_polling.store(true, std::memory_order_relaxed);
}

void GpuPoller::ask() noexcept {
  ask([] {});
}

void GpuPoller::ask(const std::function<void()>& rest) noexcept {
  try {
    registry().ask_devices(rest);
  } catch (const std::exception& error) {  // no memory, most likely: the next period may be luckier
    report_fault("gpu_poll", Words("devices could not be asked for results: ", error.what()));
  }
}

/// After a few questions it rests for as long as they took; not any more once it is to end.
void GpuPoller::ask_at_a_pace() noexcept {
  using std::chrono::steady_clock;
  constexpr steady_clock::duration kLeastRest = std::chrono::microseconds(20);
  steady_clock::time_point begin = steady_clock::now();
  const auto rest = [&] {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, std::max(steady_clock::now() - begin, kLeastRest), [this] { return stopping_; });
    begin = steady_clock::now();
  };
  ask(std::ref(rest));  // needs no memory
}

bool GpuPoller::is_stopping() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopping_;
}

void GpuPoller::run() noexcept {
  for (bool last = false; !last;) {
    if (!is_stopping()) { gpu_poll_alarm.wait(period_); }
    gpu_poll_alarm.clear();
    last = is_stopping();
    ask_at_a_pace();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

bool GpuPoller::stop(std::chrono::steady_clock::time_point deadline) noexcept {
  if (!started_) { return true; }
  std::unique_lock<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
  gpu_poll_alarm.ring();
  const bool ended = changed_.wait_until(lock, deadline, [this] { return ended_; });
  gpu_polling.store(false, std::memory_order_relaxed);
  return ended;
}

}  // namespace detail
TAKT_END_NAMESPACE
