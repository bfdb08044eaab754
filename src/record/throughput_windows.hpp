// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/memory.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

struct Throughput;

namespace detail {

/// Items and time of consecutive steps, folded into at most 64 windows of equal numbers of steps: when all are full,
/// pairs are joined. Beside them how heavy the tail of the periods is. Both together tell how well the throughput is
/// known, and whether anybody can tell (docs/decisions/0026-figures-say-what-they-know.md). One writer; any thread may
/// read (see Node::version).
class ThroughputWindows {
 public:
  static constexpr unsigned kWindows = 64;
  static constexpr std::uint64_t kStepsAtFirst = 8;
  static constexpr std::uint64_t kMinWindows = 16;  ///< that an interval rests on
  static constexpr double kMinStalls = 10;          ///< likewise, where stalls make the scatter
  static constexpr double kMinIndependent = 16;     ///< windows that are worth so many independent ones

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
  Relaxed<unsigned> full_;  // windows before it
  Window window_[kWindows + 1];
  double first_ns_ = 0;  // the first period
  // Sums of the first four powers of what periods differ from the first one: of the periods themselves they would
  // cancel.
  Relaxed<double> power_[kPowers];
};

}  // namespace detail
TAKT_END_NAMESPACE
