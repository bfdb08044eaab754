// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/tree.hpp>

#include "record/clock.hpp"
#include "record/folder.hpp"

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// An open region of another thread, as its records say that were copied.
struct OpenRegion {
  enum class State : std::uint8_t {
    ended,     ///< it is not open
    too_deep,  ///< it is, without a frame of its own: its begin is not known
    open,
  };
  State state = State::ended;
  bool placed = false;  ///< false: in the overflow
  bool timed = false;   ///< false: begun on a clock that is not trusted any more
  std::uint64_t begin_ns = 0;
  std::vector<TreeKey> path;

  /// Where the region `id` of `tree` stands. Any thread, while the tree lives. \throws std::bad_alloc
  static OpenRegion of(const Tree& tree, const Clock& clock, const Unfolded& unfolded, std::uint32_t id);
};

}  // namespace detail
TAKT_END_NAMESPACE
