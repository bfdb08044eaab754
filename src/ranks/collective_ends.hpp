// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "ranks/clock_alignment.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
  static constexpr std::size_t kMostPlaces = 4;

  /// Keeps at most so many steps of each place, one or more.
  explicit CollectiveEnds(std::size_t most = 1) : most_(most) {}

  /// Takes the rows of a snapshot of the rank.
  void add(const Snapshot& snapshot);

  const std::vector<Collective>& collectives() const noexcept { return collectives_; }

 private:
  void add_row(const Snapshot& snapshot, const Row& row);
  bool takes(const std::string& path, std::int64_t step) const;
  void keep(const std::string& path, std::int64_t step, const End& end);

  std::size_t most_;
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
