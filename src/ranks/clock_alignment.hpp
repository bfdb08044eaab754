// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <optional>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A question to the rank whose clock counts, and its answer: two readings of the own clock around one of the other. In
/// ns.
struct PingPong {
  std::int64_t sent_ns = 0;      ///< own clock
  std::int64_t answered_ns = 0;  ///< the other's clock
  std::int64_t received_ns = 0;  ///< own clock
};

/// When the end of one collective was seen here and by the rank whose clock counts: all leave it together, more or
/// less.
struct CollectiveEnd {
  std::int64_t own_ns = 0;
  std::int64_t other_ns = 0;
};

/// How the own clock stands to that of another rank: a straight line through two points, or one point, of which no
/// drift is known. A value. All: any thread.
class ClockAlignment {
 public:
  /// A reading of the own clock at which the other one's is known.
  struct Point {
    std::int64_t own_ns = 0;
    std::int64_t ahead_ns = 0;  ///< of the other clock
    std::int64_t error_ns = 0;  ///< it may be off by so much, up or down
  };

  ClockAlignment() = default;  ///< nothing is known: is_known() is false, and no reading is moved
  explicit ClockAlignment(const Point& only) : first_(only), last_(only), known_(true) {}
  /// REQUIRES: the first one is earlier.
  ClockAlignment(const Point& first, const Point& last) : first_(first), last_(last), known_(true) {}

  /// Of a clock to itself: others are then() told by it.
  static ClockAlignment same() noexcept { return {{0, 0, 0}, {1, 0, 0}}; }

  bool is_known() const noexcept { return known_; }
  /// Whether it rests on two points.
  bool knows_drift() const noexcept { return first_.own_ns != last_.own_ns; }
  /// The other clock's reading at a reading of the own one.
  std::int64_t other_ns(std::int64_t own_ns) const noexcept;
  /// By how much that may be off, up or down. It grows outside the two points, and from one point on by 100 ppm, which
  /// clocks of computers stay below.
  std::int64_t error_ns(std::int64_t own_ns) const noexcept;
  /// By how much the other clock is faster, in parts per million.
  double drift_ppm() const noexcept;
  /// How the other clock stands to the own one.
  ClockAlignment inverse() const noexcept;
  /// How the own clock stands to a third one, to which `next` leads from the other. Errors add up.
  ClockAlignment then(const ClockAlignment& next) const noexcept;
  /// The same of a point of its own.
  static Point then(const Point& point, const ClockAlignment& next) noexcept;

 private:
  /// 0 at the first point, 1 at the last.
  double between(std::int64_t own_ns) const noexcept;

  Point first_;
  Point last_;
  bool known_ = false;
};

/// From the answer with the shortest way there and back: the error is half that way, however uneven it is. Answers that
/// came before they were asked for are passed over; none: nothing is known.
std::optional<ClockAlignment::Point> shortest_answer(const std::vector<PingPong>& answers);

/// From the ends of collectives, in any order. The error is the distance from the line within which 95 % of them lie,
/// and a little more, as few of them hardly hold the line.
/// \param ends 30 or more, else nothing is known.
ClockAlignment align_by_collectives(std::vector<CollectiveEnd> ends);

}  // namespace detail
TAKT_END_NAMESPACE
