// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// What a Summary says, as plain numbers. Times are in nanoseconds. n, total_ns and first_ns hold every call; the rest
/// leaves warm-up calls out and is 0 where there were no others.
struct Stats {
  std::uint64_t n = 0;                ///< calls
  std::uint64_t warmup_n = 0;         ///< of these, calls inside warm-up
  std::uint64_t total_ns = 0;         ///< time in all calls
  std::uint64_t warmup_total_ns = 0;  ///< of this, time in warm-up calls
  std::uint64_t first_ns = 0;         ///< the first call; over several threads or ranks, the longest of the first calls
  double mean_ns = 0;
  double stdev_ns = 0;  ///< sample standard deviation (n - 1); 0 below two calls
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
  std::uint64_t p50_ns = 0;  ///< percentiles are within 0.78 % of the value at their rank
  std::uint64_t p90_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t p999_ns = 0;
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
