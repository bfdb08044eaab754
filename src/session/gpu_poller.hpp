// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A thread that asks devices for the results that others wait for (Registry::ask_devices). It does nothing else, so
/// that nothing else waits for a driver that does not return. It spends half of its time in the driver at most, whose
/// locks others need. Must outlive its thread, which is left behind in that case.
class GpuPoller {
 public:
  /// From now on threads that record leave the asking to this one. False where no thread can be had.
  bool start(std::chrono::milliseconds period) noexcept;
  /// Without a thread: who calls ask() does the asking.
  void start_by_hand() noexcept;
  /// All that there is to ask, without a rest.
  static void ask() noexcept;
  /// Asks once more, and ends; waits for that until `deadline`. Returns whether it ended in time. Nothing without
  /// start().
  bool stop(std::chrono::steady_clock::time_point deadline) noexcept;

 private:
  static void ask(const std::function<void()>& rest) noexcept;
  void ask_at_a_pace() noexcept;
  bool is_stopping() noexcept;
  void run() noexcept;

  std::chrono::milliseconds period_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool stopping_ = false;
  bool ended_ = true;
};

}  // namespace detail
TAKT_END_NAMESPACE
