// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/process.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// Has a CUDA profiler collect a range of steps only, as `nsys profile -c cudaProfilerApi` expects:
///
///     takt::ProfilerWindow window(100, 110);
///     for (...) { window.step(step);  takt::Scope batch(takt::Batch);  ... }
///
/// On all ranks, or on one: TAKT_PROFILER_RANK, or what is set in code, which wins. Link takt::cuda. Without a driver
/// or a profiler it does nothing. Independent of whether Takt is switched off; needs no Session. One thread at a time.
class TAKT_EXPORT ProfilerWindow {
 public:
  static constexpr int kAllRanks = detail::kAllRanks;

  /// \param first step of the window
  /// \param end   the step after its last one
  /// \param rank the one to profile, or kAllRanks. The rank of this process is that of its Session, if there is one by
  /// now,
  ///        else what TAKT_RANK or the launcher says.
  ProfilerWindow(std::int64_t first, std::int64_t end, int rank = rank_from_env()) noexcept;
  /// Stops the profiler if it has started it.
  ~ProfilerWindow() { stop(); }
  ProfilerWindow(const ProfilerWindow&) = delete;
  ProfilerWindow& operator=(const ProfilerWindow&) = delete;

  /// At the beginning of a step, on a thread that has a CUDA context. Starts and stops the profiler once. While trials
  /// run (takt/trials.hpp) the steps are the measured ones of FULL, from 0 on, whatever `number` is.
  void step(std::int64_t number) noexcept;
  bool is_open() const noexcept { return open_; }
  /// TAKT_PROFILER_RANK: a rank, or all, which it is where it is not set. Reads the environment.
  static int rank_from_env() noexcept;

 private:
  void stop() noexcept;

  std::int64_t first_;
  std::int64_t end_;
  bool open_ = false;
  bool over_;  ///< nothing more to do: it was open already, or is for another rank
};

TAKT_END_NAMESPACE
