// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "sample/sample_queue.hpp"
#include "sample/sample_source.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A thread that samples one source, and does nothing else: where a driver does not come back, nobody but this thread
/// waits for it. Must outlive its thread, which is left behind in that case, as must the queue.
class Sampler {
 public:
  /// \param queue where samples go.
  /// \param now the time since the start of the run.
  Sampler(std::unique_ptr<SampleSource> source, SampleQueue& queue, SampleSource::NowNs now,
          std::chrono::milliseconds period);

  /// \param name of the thread, at most 15 characters. False where no thread can be had.
  bool start(const char* name) noexcept;
  /// Opens the source at first, then samples it once. Without start(), or on the thread. Returns whether there is
  /// anything to sample.
  bool tick() noexcept;
  /// The thread is to sample once more, and to end.
  void ask_to_end() noexcept;
  /// Asks it to end, and waits for that until `deadline`. Returns whether it ended in time. Nothing without start().
  bool stop(std::chrono::steady_clock::time_point deadline) noexcept;

  const char* what() const noexcept { return source_->what(); }
  /// For how long the source has not come back; 0 where nobody waits for it. Any thread.
  std::chrono::nanoseconds waiting() const noexcept;
  /// The source has been opened. Any thread.
  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void open();

  std::unique_ptr<SampleSource> source_;
  SampleQueue& queue_;
  SampleSource::NowNs now_;
  std::chrono::milliseconds period_;
  std::uint32_t first_ = 0;  // meter
  bool any_ = true;          // something to sample
  std::vector<Reading> readings_;
  std::atomic<bool> open_{false};
  std::atomic<std::int64_t> since_ns_{0};  // on the steady clock; 0: nobody waits

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool stopping_ = false;
  bool ended_ = true;
};

}  // namespace detail
TAKT_END_NAMESPACE
