// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/node.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

inline constexpr unsigned kMaxDepth = 64;  ///< keys in a path, and open regions until more room is made

/// An open region on the stack of a thread. The lowest is none, but the thread itself: what its child_ns holds is
/// covered by regions.
struct OpenFrame {
  static constexpr std::uint32_t kStep = 1U << 24U;       ///< a step has ended since something around it did
  static constexpr std::uint32_t kTaken = 1U << 28U;      ///< given up, and its owner knows
  static constexpr std::uint32_t kLeft = 1U << 29U;       ///< it has outlived what it began in; nothing begins in it
  static constexpr std::uint32_t kRole = 1U << 30U;       ///< its end means more than its time
  static constexpr std::uint32_t kDiscarded = 1U << 31U;  ///< its length would be wrong; count it only
  static constexpr std::uint32_t kTooDeep = kStep - 1;    ///< the id of the frame that stands for all without room

  Relaxed<Node*> node;
  Counter begin_ns;
  Counter child_ns;  ///< covered by regions that were above this one
  /// The region's id, and flags, so that one comparison tells that an end is in order and nothing special.
  Relaxed<std::uint32_t> id_flags;
  /// While there are frames with kLeft, of those without: the frame that it began in (Tree::innermost_now).
  Relaxed<std::uint32_t> outer;

  std::uint32_t id() const noexcept { return id_flags.get() & (kStep - 1); }
  bool discarded() const noexcept { return has(kDiscarded); }
  bool has(std::uint32_t flag) const noexcept { return (id_flags.get() & flag) != 0; }
  void set(std::uint32_t flag) noexcept { id_flags.set(id_flags.own() | flag); }
  /// Owner: that of the frame above it, as the one at `removed` is taken out. Of up to 3 968: no load may wait for the
  /// one before it, as one that acquires would.
  void become(const OpenFrame& above, std::uint32_t removed) noexcept {
    node.set(above.node.own());
    begin_ns.set(above.begin_ns.own());
    child_ns.set(above.child_ns.own());
    id_flags.set(above.id_flags.own());
    const std::uint32_t around = above.outer.own();
    outer.set(around > removed ? around - 1 : around);
  }
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
