// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// Has a CUDA profiler collect a range of steps only, as `nsys profile -c cudaProfilerApi` expects:
///
///     takt::ProfilerWindow window(100, 110);
///     for (...) { window.step(step);  takt::Scope batch(takt::Batch);  ... }
///
/// Make it on the ranks that are to be profiled. Link takt::cuda. Without a driver or a profiler it does nothing. Independent of
/// Session, and of whether Takt is switched off. One thread at a time.
class TAKT_EXPORT ProfilerWindow {
 public:
  /// \param first,end the steps from `first` to the one before `end`.
  ProfilerWindow(std::int64_t first, std::int64_t end) noexcept : first_(first), end_(end) {}
  /// Stops the profiler if it has started it.
  ~ProfilerWindow() { stop(); }
  ProfilerWindow(const ProfilerWindow&) = delete;
  ProfilerWindow& operator=(const ProfilerWindow&) = delete;

  /// At the beginning of a step, on a thread that has a CUDA context. Starts and stops the profiler once.
  void step(std::int64_t number) noexcept;
  bool is_open() const noexcept { return open_; }

 private:
  void stop() noexcept;

  std::int64_t first_;
  std::int64_t end_;
  bool open_ = false;
  bool over_ = false;
};

TAKT_END_NAMESPACE
