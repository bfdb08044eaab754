// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/sample.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a source reads of one of its meters.
struct Reading {
  std::uint32_t sensor = 0;  ///< among those of the source
  std::int64_t time_ns = 0;
  std::vector<std::int64_t> values;  ///< as in Sample; empty: none, and `lost` says why there will be none
  std::string lost;
};

/// Where samples come from. One thread at a time, on which it may wait for a driver for as long as that takes.
class SampleSource {
 public:
  using NowNs = std::function<std::int64_t()>;  ///< since the start of the run

  virtual ~SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;

  /// What it samples, for people: "NVIDIA GPUs".
  virtual const char* what() const noexcept = 0;
  /// Finds what there is: appends meters, and what is not there, with the reason. Once, before read().
  virtual void open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) = 0;
  /// Appends a reading of each meter that is due. One that is lost comes once more, without values, and never again.
  virtual void read(const NowNs& now, std::vector<Reading>& readings) = 0;

 protected:
  SampleSource() = default;
};

/// Where threads that sample leave what they find for the one that collects. Any thread; nobody holds its lock for
/// longer than it takes to move a few pointers.
class SampleQueue {
 public:
  /// What is new since it was last asked for.
  struct News {
    std::vector<Sensor> sensors;
    std::vector<Unsampled> unsampled;
    std::vector<Sample> samples;                              ///< without their numbers
    std::vector<std::pair<std::uint32_t, std::string>> lost;  ///< meters, and why there are no more samples of them
  };

  /// \param most samples that wait; then new ones are dropped, counted.
  explicit SampleQueue(std::size_t max) : max_(max) {}

  /// Returns the index of the first of these meters.
  std::uint32_t add(std::vector<Sensor> sensors, std::vector<Unsampled> unsampled);
  /// \param first index of the first meter of their source.
  void push(std::uint32_t first, std::vector<Reading>& readings);
  News take();
  std::uint64_t dropped() const;

 private:
  const std::size_t max_;
  mutable std::mutex mutex_;
  News news_;
  std::uint32_t sensors_ = 0;
  std::uint64_t dropped_ = 0;
};

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
