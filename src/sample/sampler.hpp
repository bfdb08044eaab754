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

/// One reading of one sensor.
struct Reading {
  std::uint32_t sensor = 0;  ///< index within the source
  std::int64_t time_ns = 0;
  std::vector<std::int64_t> values;  ///< as in Sample; if empty, `lost` has the reason why no more follow
  std::string lost;
};

/// A source of samples. Used by one thread at a time, which may block in a driver.
class SampleSource {
 public:
  using NowNs = std::function<std::int64_t()>;  ///< ns since the start of the run

  virtual ~SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;

  /// Returns a name for users: "NVIDIA GPUs".
  virtual const char* what() const noexcept = 0;
  /// Appends the sensors found, and what is not sampled, with the reason. Called once, before read().
  virtual void open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) = 0;
  /// Appends a reading of each sensor that is due. A lost sensor gets one last reading, without values.
  virtual void read(const NowNs& now, std::vector<Reading>& readings) = 0;

 protected:
  SampleSource() = default;
};

/// Passes data from sampling threads to the collecting thread. Any thread; the lock is held only to move a few
/// pointers.
class SampleQueue {
 public:
  /// New data since the last call.
  struct News {
    std::vector<Sensor> sensors;
    std::vector<Unsampled> unsampled;
    std::vector<Sample> samples;                              ///< without sequence numbers
    std::vector<std::pair<std::uint32_t, std::string>> lost;  ///< lost sensors, with the reason
  };

  /// \param max maximum number of waiting samples; further ones are dropped and counted.
  explicit SampleQueue(std::size_t max) : max_(max) {}

  /// Adds sensors and returns the index of the first.
  std::uint32_t add(std::vector<Sensor> sensors, std::vector<Unsampled> unsampled);
  /// \param first index of the source's first sensor.
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

/// A thread that only samples one source, so that no other thread waits for a blocked driver. Must outlive its thread,
/// which keeps running in that case, as must the queue.
class Sampler {
 public:
  /// \param queue receives the samples.
  /// \param now returns the time since the start of the run.
  Sampler(std::unique_ptr<SampleSource> source, SampleQueue& queue, SampleSource::NowNs now,
          std::chrono::milliseconds period);

  /// Starts the thread. Returns false if it cannot be created.
  /// \param name of the thread, at most 15 characters.
  bool start(const char* name) noexcept;
  /// Opens the source on the first call, then samples it once. Call it without start(), or on the thread. Returns false
  /// if there is nothing to sample.
  bool tick() noexcept;
  /// Asks the thread to sample once more and end.
  void ask_to_end() noexcept;
  /// Asks the thread to end and waits until `deadline`. Returns true if it ended in time. Does nothing without start().
  bool stop(std::chrono::steady_clock::time_point deadline) noexcept;

  const char* what() const noexcept { return source_->what(); }
  /// Returns how long the current call into the source has taken; 0 without one. Any thread.
  std::chrono::nanoseconds waiting() const noexcept;
  /// Returns true once the source is open. Any thread.
  bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }

 private:
  void run() noexcept;
  void open();

  std::unique_ptr<SampleSource> source_;
  SampleQueue& queue_;
  SampleSource::NowNs now_;
  std::chrono::milliseconds period_;
  std::uint32_t first_ = 0;  // index of the first sensor
  bool any_ = true;          // false: nothing to sample
  std::vector<Reading> readings_;
  std::atomic<bool> open_{false};
  std::atomic<std::int64_t> since_ns_{0};  // start of the current call, on the steady clock; 0: none

  std::mutex mutex_;
  std::condition_variable changed_;
  bool started_ = false;
  bool stopping_ = false;
  bool ended_ = true;
};

}  // namespace detail
TAKT_END_NAMESPACE
