// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "record/moment.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Turns times of the steady clock into times of the clock of the process, which NTP may slew. Both were read together
/// whenever something was recorded (Moment): between two such moments the process's clock cannot have gone faster or
/// slower by more than kMostPpm. Pure arithmetic; times in ns. One thread at a time.
class SlewedClock {
 public:
  static constexpr double kMostPpm = 500;  ///< by which the kernel lets NTP slew a clock
  static constexpr double kApartNs = 1e6;  ///< moments that are closer together say no more
  static constexpr std::size_t kMoments = 32'768;

  void add(const Moment& moment);
  /// From here on at() is settled for all that has been added; what comes later and is older is left out.
  void settle();

  struct Time {
    double ns = 0;
    double error_ns = 0;  ///< |ns - what it was| is at most so much
  };
  /// After settle(): the time of the process at `steady_ns`.
  Time at(double steady_ns) const;

 private:
  struct Pair {
    double steady_ns = 0;
    double ns = 0;
    double within_ns = 0;
  };
  void thin_out();

  std::vector<Pair> new_;
  std::deque<Pair> pairs_;  // empty: the clocks are one and the same
};

}  // namespace detail
TAKT_END_NAMESPACE
