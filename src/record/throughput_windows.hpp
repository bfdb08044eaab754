// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/memory.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

struct Throughput;

namespace detail {

/// Items and time of consecutive steps in at most 64 windows of equal step counts: when all are full, pairs are merged.
/// Power sums of the periods show how heavy their tail is. Both determine the throughput's accuracy, and if it can be
/// known (docs/decisions/0026-figures-say-what-they-know.md). One writer; any thread may read (see Node::version).
class ThroughputWindows {
 public:
  static constexpr unsigned kWindows = 64;
  static constexpr std::uint64_t kStepsAtFirst = 8;
  static constexpr std::uint64_t kMinWindows = 16;  ///< minimum for an interval
  static constexpr double kMinStalls = 10;          ///< minimum if stalls cause the scatter
  static constexpr double kMinIndependent = 16;     ///< minimum of effectively independent windows

  void add(std::uint64_t items, std::uint64_t period_ns) noexcept;
  void exclude(std::uint64_t period_ns) noexcept;
  /// Any thread.
  Throughput read() const noexcept;

 private:
  struct Window {
    Counter items, ns;
  };
  static constexpr unsigned kPowers = 4;
  struct Interval;

  void add_to_window(std::uint64_t items, std::uint64_t period_ns) noexcept;
  void next_window() noexcept;
  void add_powers(std::uint64_t period_ns) noexcept;

  Counter version_;
  Counter steps_, items_, ns_, excluded_steps_, excluded_ns_;
  Counter per_window_{kStepsAtFirst};
  Counter open_steps_;      // in the window being filled
  Relaxed<unsigned> full_;  // number of full windows
  Window window_[kWindows + 1];
  double first_ns_ = 0;  // first period, in ns
  // Sums of the first four powers of each period minus the first one: powers of the periods themselves would cancel.
  Relaxed<double> power_[kPowers];
};

}  // namespace detail
TAKT_END_NAMESPACE
