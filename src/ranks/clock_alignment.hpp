// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

/// What one rank knows of the clocks of others.
struct RankReadings {
  std::uint32_t rank = 0;
  std::vector<ClockReading> readings;
};

/// How the clocks of ranks stand to that of the first of them, by what takt::mpi has read: each rank knows its parent
/// in a tree, or rank 0, so that offsets and errors add up on the way. A rank is not in it where that way is cut.
/// Between the earliest and the latest reading of a rank lies a straight line. Any thread.
/// \param ranks ascending, each once. Readings may say anything.
std::map<std::uint32_t, ClockAlignment> align_by_readings(const std::vector<RankReadings>& ranks);

/// When the collectives of one rank ended, taken from its rows as they come by. A row has no times of single regions: a
/// collective ended before what the rank met later in that step, and after all else. A value; one thread at a time.
class CollectiveEnds {
 public:
  /// Of the last call in a step: somewhere within `unknown_ns` around `ns`.
  struct End {
    std::int64_t ns = 0;  ///< since 1970, on the rank's own clock
    std::int64_t unknown_ns = 0;
  };
  /// The steps that have a region of kind comm at one place.
  struct Collective {
    std::string path;
    std::uint64_t stride = 1;           ///< a power of two: about one step of so many is kept
    std::map<std::int64_t, End> steps;  ///< by number; of equal ones the first
  };

  /// So many places are looked at, those that come first.
  static constexpr std::size_t kMaxPlaces = 4;

  /// Keeps at most so many steps of each place, one or more.
  explicit CollectiveEnds(std::size_t max = 1) : max_(max) {}

  /// Takes the rows of a snapshot of the rank.
  void add(const Snapshot& snapshot);

  const std::vector<Collective>& collectives() const noexcept { return collectives_; }

 private:
  void add_row(const Snapshot& snapshot, const Row& row);
  bool takes(const std::string& path, std::int64_t step) const;
  void keep(const std::string& path, std::int64_t step, const End& end);

  std::size_t max_;
  std::vector<Collective> collectives_;
};

/// How the clock of one rank stands to that of another.
struct RankAlignment {
  ClockAlignment clock;         ///< not known: there are too few ends
  std::string path;             ///< of the collective
  std::size_t ends = 0;         ///< that both ranks have, of that with most where the clock is not known
  std::int64_t unknown_ns = 0;  ///< how far 95 % of these may lie beside where they were taken to be
  bool all_steps = true;        ///< false: there are more steps than were looked at

  /// By how much a reading of the own clock may be off on the other's, up or down.
  std::int64_t error_ns(std::int64_t own_ns) const noexcept;
};

/// By the collective that leaves the least error. Steps match by their numbers, collectives by their paths.
RankAlignment align_ranks(const CollectiveEnds& own, const CollectiveEnds& other);

}  // namespace detail
TAKT_END_NAMESPACE
