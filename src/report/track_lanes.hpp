// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The lanes of one track of a time line: within a lane, spans lie apart or one inside the other, as viewers want it.
/// What overlaps goes to the next lane. A lane remembers its outermost spans, at most kMost; between the oldest and the
/// newest of these the others become one, across which nothing can reach. One thread at a time.
class TrackLanes {
 public:
  static constexpr std::size_t kMost = 16'384;  ///< stretches of a lane
  static constexpr std::uint32_t kMostLanes = 256;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The lane of a span: 0 is the usual one, kNone where there are too many. Where spans come in the order of their
  /// ends, and of those that end together the inner ones first, those that can share a lane do; a span that comes late
  /// may get another one.
  /// \throws std::bad_alloc
  std::uint32_t place(std::int64_t begin_ns, std::int64_t end_ns);

 private:
  struct Stretch {
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  class Lane {
   public:
    bool take(Stretch span);

   private:
    void shorten();

    std::vector<Stretch> outermost_;  // in order, apart
  };

  std::vector<Lane> lanes_;
};

}  // namespace detail
TAKT_END_NAMESPACE
