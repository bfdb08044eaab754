// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/open_frame.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Regions that are open without a frame of their own. One thread writes; any thread reads.
struct TooDeep {  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming): of the copy clang makes up
  Counter count;
  Relaxed<unsigned> known;  // of these, those whose ids are kept
  Relaxed<std::uint32_t> id[kMaxDepth];
  TAKT_COLD void add(std::uint32_t begun) noexcept {
    const unsigned last = known.own();
    if (last < kMaxDepth) {
      id[last].set(begun);
      known.set(last + 1);
    }
    count.add(1);
  }
  /// One has ended. False if it is none of them; one whose id is not kept stands for any other.
  TAKT_COLD bool remove(std::uint32_t ended) noexcept {
    const unsigned last = known.own();
    if (holds(ended)) {
      unsigned at = 0;
      while (id[at].own() != ended) { ++at; }
      for (; at + 1 < last; ++at) { id[at] = id[at + 1]; }
      known.set(last - 1);
    } else if (count.own() == last) {
      return false;
    }
    count.set(count.own() - 1);
    return true;
  }
  TAKT_COLD bool holds(std::uint32_t open) const noexcept {
    unsigned at = 0;
    while (at < known.own() && id[at].own() != open) { ++at; }
    return at < known.own();
  }
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
