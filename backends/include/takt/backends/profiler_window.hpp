// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/process.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// Limits a CUDA profiler to a range of steps, for `nsys profile -c cudaProfilerApi`:
///
///     takt::ProfilerWindow window(100, 110);
///     for (...) { window.step(step);  takt::Scope batch(takt::Batch);  ... }
///
/// On all ranks or on one: TAKT_PROFILER_RANK, or the value set in code, which wins. Link takt::cuda. Does nothing
/// without a driver or a profiler. Works even if Takt is switched off; needs no Session. One thread at a time.
class TAKT_EXPORT ProfilerWindow {
 public:
  static constexpr int kAllRanks = detail::kAllRanks;

  /// \param first first step of the window
  /// \param end   the step after its last one
  /// \param rank  rank to profile, or kAllRanks. The rank of this process is that of its Session, if one exists by now,
  ///         else from TAKT_RANK or the launcher.
  ProfilerWindow(std::int64_t first, std::int64_t end, int rank = rank_from_env()) noexcept;
  /// Stops the profiler if it has started it.
  ~ProfilerWindow() { stop(); }
  ProfilerWindow(const ProfilerWindow&) = delete;
  ProfilerWindow& operator=(const ProfilerWindow&) = delete;

  /// Starts or stops the profiler, once each. Call it at the start of each step, on a thread with a CUDA context. While
  /// trials run (takt/trials.hpp), `number` is ignored: the steps are the measured ones of FULL, from 0.
  void step(std::int64_t number) noexcept;
  bool is_open() const noexcept { return open_; }
  /// Returns the rank in TAKT_PROFILER_RANK, or all ranks if it is not set. Reads the environment.
  static int rank_from_env() noexcept;

 private:
  void stop() noexcept;

  std::int64_t first_;
  std::int64_t end_;
  bool open_ = false;
  bool over_;  ///< done: it was open already, or is for another rank
};

TAKT_END_NAMESPACE
