// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Turns times of a device into times of the host, and says how far off they may be. Nothing is synchronised for it:
/// the host gave an event to the device before the device came to it, and saw it finished after. These two bounds of
/// every event, the tightest of each second of the last minute, are carried to any time by what the same bounds leave
/// of the clocks' rates: what is possible lies between, and its middle is the answer. (Two-sided bounds as in clock
/// synchronisation of traces: Duda, Harrus, Haddad, Bernard, "Estimating global time in distributed systems", ICDCS
/// 1987.)
///
/// The bound rests on two assumptions: the clocks' rates differ by at most kMostPpm, and in a minute by kWanderPpm
/// from their mean. A host's clock that NTP may slew differs by up to kSlewPpm more, and holds no rate. Where bounds
/// tell that the second assumption does not hold, it is not made for as long as they are kept. Pure arithmetic; times
/// in ns. One thread at a time.
class HostOffset {
 public:
  static constexpr double kMostPpm = 200;  ///< quartz is within 100 ppm
  static constexpr double kWanderPpm = 1;  ///< a minute's change by temperature, and the anchors' rounding (0.06 ppm)
  static constexpr double kSlewPpm = 500;  ///< by which the kernel lets NTP slew CLOCK_MONOTONIC
  static constexpr double kResolutionNs = 500;  ///< of events, by the documentation of CUDA
  static constexpr double kWindowNs = 1e9;
  static constexpr unsigned kWindows = 60;
  static constexpr std::size_t kKnots = 4096;

  /// An event at `device_ns` was recorded by the host at `submitted_ns` or later, and seen finished at `seen_ns` or
  /// earlier.
  void add(double device_ns, std::uint64_t submitted_ns, std::uint64_t seen_ns);
  /// From here on at() is settled for all that has been added. It is joined to what was settled before, without a
  /// step, so that spans of one stream stay in order; a large correction takes some time, and is in the bound for so
  /// long.
  void settle();

  struct Time {
    double host_ns = 0;
    double error_ns = 0;  ///< |host_ns - what it was| is at most so much
  };
  /// After settle(): the host's time at `device_ns`.
  Time at(double device_ns) const;

  /// The host's clock is one that NTP may slew, from now on or all the time.
  void host_may_be_slewed();

 private:
  struct Bound {
    double device_ns = 0;
    double host_ns = 0;
  };
  struct Window {
    std::int64_t number = std::numeric_limits<std::int64_t>::min();  // of the second; so: none
    Bound lower;                                                     // the host's time then is at least this
    Bound upper;                                                     // and at most this
  };
  struct Rates {
    double least = 0;
    double most = 0;
  };
  struct Knot {
    double device_ns = 0;
    double host_ns = 0;
    double error_ns = 0;
  };
  static double carried(const Bound& from, double device_ns, double rate_ahead, double rate_back);
  bool is_tighter(const Bound& a, const Bound& b) const;
  bool is_recent(const Window& window) const;
  Rates rates() const;
  Rates find_rates() const;
  Knot estimate(double device_ns) const;
  void join(Knot knot);

  std::array<Window, kWindows> window_;
  double most_ppm_ = kMostPpm;
  double wander_ppm_ = kWanderPpm;
  mutable Rates rates_;  // where they are found
  mutable bool are_rates_found_ = false;
  double rate_ = 1;  // about; for telling which bound of a window is the tighter one
  bool has_new_ = false;
  double oldest_ns_ = 0;  // of what is new
  double newest_ns_ = 0;
  std::deque<Knot> knots_;
};

}  // namespace detail
TAKT_END_NAMESPACE
