// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "session/run_samples.hpp"

#include <takt/measure.hpp>
#include <takt/measurement.hpp>
#include <takt/stream.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

inline constexpr std::size_t kMaxMeasuredRuns = 100'000;  // of one measurement

/// Measures one function: calls it, and asks what was sampled meanwhile. One thread.
class MeasureLoop {
 public:
  /// Where it measures; a test has a place of its own.
  struct Surroundings {
    RunSamples* samples;
    std::function<std::int64_t()> now;                     ///< ns since the start of the run, as samples tell it
    std::function<void(std::chrono::milliseconds)> pause;  ///< waits for the next sample
  };

  /// All of it has to outlive this.
  MeasureLoop(const MeasureOptions& options, StreamRef stream, const Surroundings& surroundings) noexcept
      : options_(options), stream_(stream), surroundings_(surroundings) {}

  /// Exceptions of the function go through.
  Measurement measure(std::string name, const std::function<void()>& function);

 private:
  MeasuredRun call(const std::function<void()>& function);
  bool is_time_up() const;
  std::optional<MeasureEnd> ending();
  void run_all(const std::function<void()>& function);
  void add_memory();
  void add_samples();
  RunSamples::Taken taken() const;
  std::string why_no_energy(const SensorWindow& window) const;

  const MeasureOptions& options_;
  const StreamRef stream_;
  const Surroundings& surroundings_;
  std::int64_t started_ns_ = 0;
  std::size_t next_check_ = 0;  // at the interval, by the number of runs
  Measurement found_;
};

}  // namespace detail
TAKT_END_NAMESPACE
