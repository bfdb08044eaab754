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

/// A ping to the reference rank and its answer: two readings of the own clock around one of the other. In ns.
struct PingPong {
  std::int64_t sent_ns = 0;      ///< own clock
  std::int64_t answered_ns = 0;  ///< the other's clock
  std::int64_t received_ns = 0;  ///< own clock
};

/// End of one collective as seen here and on the reference rank. All ranks leave it at about the same time.
struct CollectiveEnd {
  std::int64_t own_ns = 0;
  std::int64_t other_ns = 0;
};

/// Offset of another rank's clock from the own one: a straight line through two points, or one point without a known
/// drift. Value type. All: any thread.
class ClockAlignment {
 public:
  /// A reading of the own clock with the known offset of the other one.
  struct Point {
    std::int64_t own_ns = 0;
    std::int64_t ahead_ns = 0;  ///< of the other clock
    std::int64_t error_ns = 0;  ///< maximum error, in both directions
  };

  ClockAlignment() = default;  ///< unknown: is_known() is false, and readings stay unchanged
  explicit ClockAlignment(const Point& only) : first_(only), last_(only), known_(true) {}
  /// REQUIRES: first is earlier than last.
  ClockAlignment(const Point& first, const Point& last) : first_(first), last_(last), known_(true) {}

  /// Returns the identity, as a start for then().
  static ClockAlignment same() noexcept { return {{0, 0, 0}, {1, 0, 0}}; }

  bool is_known() const noexcept { return known_; }
  /// Returns true if it is based on two points.
  bool knows_drift() const noexcept { return first_.own_ns != last_.own_ns; }
  /// Converts a reading of the own clock to the other clock.
  std::int64_t other_ns(std::int64_t own_ns) const noexcept;
  /// Maximum error of that reading, in both directions. It grows outside the two points; with a single point it grows
  /// by 100 ppm, which computer clocks stay below.
  std::int64_t error_ns(std::int64_t own_ns) const noexcept;
  /// Rate of the other clock relative to the own one, in parts per million.
  double drift_ppm() const noexcept;
  /// Returns the offset of the own clock from the other one.
  ClockAlignment inverse() const noexcept;
  /// Chains alignments: `next` leads from the other clock to a third one. Errors add up.
  ClockAlignment then(const ClockAlignment& next) const noexcept;
  /// The same for a single point.
  static Point then(const Point& point, const ClockAlignment& next) noexcept;

 private:
  /// Returns the relative position: 0 at the first point, 1 at the last.
  double between(std::int64_t own_ns) const noexcept;

  Point first_;
  Point last_;
  bool known_ = false;
};

/// Returns the offset from the answer with the shortest round trip. Its error is at most half of that, even if the two
/// ways differ. Answers that precede their question are skipped; returns nothing if none remains.
std::optional<ClockAlignment::Point> shortest_answer(const std::vector<PingPong>& answers);

/// Aligns clocks by the ends of collectives, in any order. The error is the distance from the line that contains 95 %
/// of them, widened for small samples.
/// \param ends at least 30, otherwise the result is unknown.
ClockAlignment align_by_collectives(std::vector<CollectiveEnd> ends);

/// Clock readings of one rank.
struct RankReadings {
  std::uint32_t rank = 0;
  std::vector<ClockReading> readings;
};

/// Aligns the clocks of ranks to the first rank's by the readings of takt::mpi. Each rank knows its parent in a tree,
/// or rank 0; offsets and errors add up along that path. Ranks with a broken path are missing. Each rank gets a
/// straight line between its earliest and latest reading. Any thread.
/// \param ranks ascending, each once. Any reading values are safe.
std::map<std::uint32_t, ClockAlignment> align_by_readings(const std::vector<RankReadings>& ranks);

/// End times of one rank's collectives, from its rows. A row has no times of single regions: a collective ended before
/// all later regions of the step and after all others. Value type; not thread-safe.
class CollectiveEnds {
 public:
  /// Last call in a step: the true end is within `unknown_ns` of `ns`.
  struct End {
    std::int64_t ns = 0;  ///< since 1970, on the rank's own clock
    std::int64_t unknown_ns = 0;
  };
  /// Steps with a comm region at one path.
  struct Collective {
    std::string path;
    std::uint64_t stride = 1;           ///< a power of two: about one in `stride` steps is kept
    std::map<std::int64_t, End> steps;  ///< by number; the first of equal ones
  };

  /// Maximum number of paths; the first ones are kept.
  static constexpr std::size_t kMaxPlaces = 4;

  /// Keeps at most `max` steps (>= 1) per path.
  explicit CollectiveEnds(std::size_t max = 1) : max_(max) {}

  /// Adds the rows of a snapshot of the rank.
  void add(const Snapshot& snapshot);

  const std::vector<Collective>& collectives() const noexcept { return collectives_; }

 private:
  void add_row(const Snapshot& snapshot, const Row& row);
  bool takes(const std::string& path, std::int64_t step) const;
  void keep(const std::string& path, std::int64_t step, const End& end);

  std::size_t max_;
  std::vector<Collective> collectives_;
};

/// Alignment of two ranks' clocks.
struct RankAlignment {
  ClockAlignment clock;         ///< unknown if there are too few ends
  std::string path;             ///< of the collective
  std::size_t ends = 0;         ///< common to both ranks; the largest count if the clock is unknown
  std::int64_t unknown_ns = 0;  ///< 95 % of the ends are within this distance of their estimates
  bool all_steps = true;        ///< false if there are more steps than were used

  /// Maximum error of a converted reading, in both directions.
  std::int64_t error_ns(std::int64_t own_ns) const noexcept;
};

/// Uses the collective with the smallest error. Steps match by number, collectives by path.
RankAlignment align_ranks(const CollectiveEnds& own, const CollectiveEnds& other);

}  // namespace detail
TAKT_END_NAMESPACE
