// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/gpu_poller.hpp"

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/words.hpp"
#include "process/process.hpp"

#include <exception>

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
  try {
    registry().ask_devices();
  } catch (const std::exception& error) {  // no memory, most likely: the next period may be luckier
    report_fault("gpu_poll", Words("devices could not be asked for results: ", error.what()));
  }
}

void GpuPoller::run() noexcept {
  for (bool last = false; !last;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_for(lock, period_, [this] { return stopping_; });
      last = stopping_;
    }
    ask();
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
  const bool ended = changed_.wait_until(lock, deadline, [this] { return ended_; });
  gpu_polling.store(false, std::memory_order_relaxed);
  return ended;
}

}  // namespace detail
TAKT_END_NAMESPACE
