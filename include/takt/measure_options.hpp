// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <functional>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// How a function is measured (takt/measure.hpp). The defaults are the protocol of DIPPM. Functions are called on the
/// thread that measures, and may throw.
struct MeasureOptions {
  int warmup = 5;  ///< calls before the measured ones, 0 to 100 000
  int runs = 30;   ///< measured calls, 1 to 100 000; with `interval` at least so many
  /// Above 0, and below 1: measures until the 95 % interval of the median is at most such a share of the median wide,
  /// or there are 100 000 runs; 0: exactly `runs`.
  double interval = 0;
  /// No call begins so many seconds after the first one, up to 86 400, but for the first call and one measured run,
  /// which are always there; 0: however long.
  double seconds = 0;
  std::int64_t items = 1;  ///< samples in a run, 1 or more

  /// The most bytes of device memory that your allocator has handed out since `reset_peak`. Called once, after the last
  /// run.
  std::function<std::uint64_t()> peak_bytes;
  std::function<void()> reset_peak;  ///< called once, before the first call
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
