// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "process/collector.hpp"
#include "sample/sampler.hpp"
#include "sample/sensor_stats.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Samples of a run: one sampling thread per source, and the collected statistics. Inactive without start(). Must
/// outlive its threads, one of which may be left behind in a driver.
class RunSamples {
 public:
  static constexpr int kMinMs = 10;
  static constexpr int kMaxMs = 60'000;

  struct Plan {
    std::chrono::milliseconds period;  ///< clamped to the bounds above
    SampleSource::NowNs now;           ///< time since the start of the run
    std::size_t memory = 0;            ///< bytes for pending samples, and as much again for the latest ones
    bool traced = false;               ///< spans are recorded
  };

  /// Starts a thread for each source.
  void start(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) noexcept;
  /// Returns the sources of this process: the kernel and the vendors' libraries.
  static std::vector<std::unique_ptr<SampleSource>> sources(const std::string& host);
  /// Sets up sampling without threads: the caller of tick() samples.
  void start_by_hand(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources);
  void tick() noexcept;

  /// Moves new samples into the batch and attributes their energy to its rows and spans. Once per batch. \param last
  /// this is the last call. If memory runs out, sampling ends, which is reported.
  void keep(Drained& drained, bool last) noexcept;
  /// Fills in the samples so far. Any thread.
  void report(Snapshot& snapshot);
  /// Takes a last sample and ends; a thread that does not end by `deadline` is left behind, and that is reported.
  void stop(std::chrono::steady_clock::time_point deadline) noexcept;

  /// Returns sensor values between the two times, in ns since the start of the run. Samples are kept for some minutes
  /// (one GPU at 10 Hz). Energy is available once a sample follows the end. Any thread. Throws std::bad_alloc.
  std::vector<SensorWindow> between(std::int64_t begin_ns, std::int64_t end_ns);
  /// Sensors and samples from which between() is computed. Any thread. Throws std::bad_alloc.
  struct Taken {
    std::vector<Sensor> sensors;
    std::vector<Sample> samples;
  };
  Taken taken_between(std::int64_t begin_ns, std::int64_t end_ns);
  /// Sampling period; 0: nothing is sampled. Any thread.
  std::chrono::milliseconds period() const noexcept {
    return queue_ == nullptr ? std::chrono::milliseconds(0) : plan_.period;
  }

 private:
  void plan(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources);
  void take();
  void report_waiting() noexcept;

  Plan plan_;
  std::unique_ptr<SampleQueue> queue_;  // null: off
  std::vector<std::unique_ptr<Sampler>> samplers_;
  std::mutex mutex_;
  std::unique_ptr<SampleStats> stats_;  // null: off, or out of memory
  std::vector<Sample> taken_;           // in the stats, not collected yet
};

}  // namespace detail
TAKT_END_NAMESPACE
