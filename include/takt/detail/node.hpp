// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/counter.hpp>
#include <takt/summary.hpp>

#include <atomic>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A key as a tree sees it: the key's number in the process's tree, its hash in a Timer's own.
using TreeKey = std::uint64_t;
inline constexpr TreeKey kNotUsual = ~TreeKey{0};  ///< no key is this one

/// What a region means beyond its own time.
enum class Role : std::uint8_t {
  plain,
  epoch,     ///< throughput leaves out the pause around its begin and end
  batch,     ///< outermost ones are steps
  overflow,  ///< takes what has no place of its own
};

/// One region at one place in the call tree of one thread. The owning thread writes; any thread may read the fields
/// that are Relaxed or Summary, between two reads of `version` that give the same even number.
struct alignas(64) Node {
  // The first line is all that a call of a warm region writes, apart from one histogram bucket.
  Counter version;   ///< twice the position after the event last folded in; odd while being written
  Counter inner_ns;  ///< of its time, what regions inside it covered
  Summary host;

  std::atomic<Summary*> device{nullptr};
  Counter items, bytes, skipped, device_pending, device_lost;
  Counter never_ended;  ///< calls given up (docs/decisions/0049-the-innermost-one.md)

  TreeKey key = 0;          ///< constant once published
  Role role = Role::plain;  ///< constant once published
  Node* parent = nullptr;   ///< constant once published; nullptr for the root
  std::uint32_t index = 0;  ///< constant once published: order of creation, parents first

  // Owning thread only. Guesses: what was opened here last, and which sibling was opened after this node last time;
  // never nullptr in a tree. `usual_key` is the key of a node without a role that was called before, so that one
  // comparison tells that the guess is right and that there is no more to do.
  TreeKey usual_key = kNotUsual;
  Node* last_child = nullptr;
  Node* next_guess = nullptr;
  // What ended here but began on another thread: in the summary, in no row, and no Batch begun here. Stands
  // beside the guesses: rows read it, and so touch one line more than the first.
  Counter away_calls;
  std::uint64_t away_ns = 0;   ///< owning thread only
  Relaxed<bool> called;        ///< a call has ended
  std::uint64_t given_ns = 0;  ///< owning thread only: of its time, durations that were given; they have no self time
  // For rows; owning thread only.
  std::uint8_t column = 0;   ///< 1-based column of this path in its Batch's rows, 0: none
  void* series = nullptr;    ///< of a Batch node: its rows
  bool missed_rows = false;  ///< of a Batch node: steps ended while there was no room for rows

  /// Time in which this was the innermost open region; 0 where the total is at its end. Of a node that no thread
  /// writes meanwhile.
  std::uint64_t self_ns() const noexcept { return host.is_full() ? 0 : host.total_ns() - inner_ns.get(); }

  TAKT_ALWAYS_INLINE void begin_write(std::uint64_t position) noexcept { version.set(2 * position + 1); }
  TAKT_ALWAYS_INLINE void end_write(std::uint64_t position) noexcept { version.set(2 * position + 2); }
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
