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

inline constexpr std::size_t kMaxMeasuredRuns = 100'000;  // per measurement

/// Measures one function and its energy and memory from the samples. One thread.
class MeasureLoop {
 public:
  /// Environment of a measurement; replaced in tests.
  struct Surroundings {
    RunSamples* samples;
    std::function<std::int64_t()> now;                     ///< ns since the start of the run, as in samples
    std::function<void(std::chrono::milliseconds)> pause;  ///< waits for the next sample
  };

  /// All arguments must outlive this object.
  MeasureLoop(const MeasureOptions& options, StreamRef stream, const Surroundings& surroundings) noexcept
      : options_(options), stream_(stream), surroundings_(surroundings) {}

  /// Exceptions of the function propagate.
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
  std::size_t next_check_ = 0;  // number of runs at the next check of the interval
  Measurement found_;
};

}  // namespace detail
TAKT_END_NAMESPACE
