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

/// The samples of a run: the threads that take them, one a source, and what they come to. Without start() there is
/// nothing. Must outlive its threads, one of which may be left behind in a driver.
class RunSamples {
 public:
  static constexpr int kMinMs = 10;
  static constexpr int kMaxMs = 60'000;

  struct Plan {
    std::chrono::milliseconds period;  ///< brought into the bounds above
    SampleSource::NowNs now;           ///< time since the start of the run
    std::size_t memory = 0;            ///< bytes for samples that wait, and as much again for the newest ones
    bool traced = false;               ///< spans are recorded
  };

  /// Starts a thread for each source.
  void start(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources) noexcept;
  /// The sources of this process: what the kernel tells, and the vendors' libraries.
  static std::vector<std::unique_ptr<SampleSource>> sources(const std::string& host);
  /// Without threads: the caller of tick() samples.
  void start_by_hand(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources);
  void tick() noexcept;

  /// Moves the samples that are new into the harvest, and shares their energy out to what else is in it. Once for each
  /// harvest. \param last nothing more will come. Without memory for it there are no further samples, which is told.
  void keep(Drained& drained, bool last) noexcept;
  /// Fills in what there is so far. Any thread.
  void report(Snapshot& snapshot);
  /// Takes a last sample, and ends; a thread that does not come by `deadline` is left behind, and that is told.
  void stop(std::chrono::steady_clock::time_point deadline) noexcept;

  /// What the meters tell of the time between the two, since the start of the run, as far back as samples are kept:
  /// some minutes of one GPU at ten a second. Energy is there from the sample on that follows the end. Any thread.
  /// Throws std::bad_alloc.
  std::vector<SensorWindow> between(std::int64_t begin_ns, std::int64_t end_ns);
  /// The samples that this rests on, and the meters that took them. Likewise.
  struct Taken {
    std::vector<Sensor> sensors;
    std::vector<Sample> samples;
  };
  Taken taken_between(std::int64_t begin_ns, std::int64_t end_ns);
  /// Between two samples; 0: nothing is sampled. Any thread.
  std::chrono::milliseconds period() const noexcept {
    return queue_ == nullptr ? std::chrono::milliseconds(0) : plan_.period;
  }

 private:
  void plan(Plan plan, std::vector<std::unique_ptr<SampleSource>> sources);
  void take();
  void report_waiting() noexcept;

  Plan plan_;
  std::unique_ptr<SampleQueue> queue_;  // none: it is off
  std::vector<std::unique_ptr<Sampler>> samplers_;
  std::mutex mutex_;
  std::unique_ptr<SampleStats> stats_;  // none: it is off, or there was no memory
  std::vector<Sample> taken_;           // in the books, and in no harvest yet
};

}  // namespace detail
TAKT_END_NAMESPACE
