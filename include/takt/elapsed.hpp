// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// A point on a backend's time line, by the backend's own numbering. A mark is held until it is released.
using Mark = std::uint64_t;

/// What a backend can say about the time between two marks.
struct Elapsed {
  /// Whether there is a time.
  enum class State : std::uint8_t {
    ready,    ///< `ns` is it
    pending,  ///< not yet: ask again
    failed,   ///< there will be none
    missed    ///< a later replay of the same graph may have written over it
  };
  State state = State::pending;
  std::int64_t ns = 0;  ///< 0 or more; only where state is ready

  static constexpr Elapsed ready(std::int64_t ns) noexcept { return {State::ready, ns}; }
  static constexpr Elapsed pending() noexcept { return {State::pending, 0}; }
  static constexpr Elapsed failed() noexcept { return {State::failed, 0}; }
  static constexpr Elapsed missed() noexcept { return {State::missed, 0}; }
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
