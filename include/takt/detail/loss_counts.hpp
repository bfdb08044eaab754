// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/node.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The kinds of losses: what figures do not contain, or contain in part, and what was done wrongly. Counted by kind
/// and key.
enum class LossKind : std::uint8_t {
  end_without_start,  ///< an end that no open region of this thread matches
  never_ended,        ///< a region that was given up, or still open when its thread ended
  ended_elsewhere,    ///< a region ended on another thread than it began on: allowed, without self time
  clock_changed,      ///< a region open while the clock was replaced; not timed
  overflow,           ///< a region without room in the tree: beyond 64 deep, 4 096 paths, or the memory
  bad_amount,         ///< items() or bytes() of 0 or less
  device_skipped,     ///< no room, or no mark, for a device span
  device_failed,      ///< a device span that its backend could not give
  device_unresolved,  ///< a device span that had not finished when the run ended
  graph_missed,       ///< a device span of a graph that was replayed again before it could be read
  step_at_end,        ///< a step behind the last number that there is, which it gets, too
  ended_late,         ///< a region that ended after it had been given up: in n and total only
  no_place,           ///< a region beyond all that can be open, or be in a graph: not timed
  amount_elsewhere,   ///< items() or bytes() on another thread than the region's
};
inline constexpr int kLossKinds = 14;

/// How often each loss happened to regions of each key. One thread adds; any thread reads.
class LossCounts {
 public:
  struct Count {
    Relaxed<LossKind> kind;
    Counter key;
    Counter count;
  };

  LossCounts() noexcept = default;
  LossCounts(const LossCounts&) = delete;
  LossCounts& operator=(const LossCounts& other) noexcept {
    if (&other == this) { return *this; }
    const unsigned used = other.size();
    for (unsigned slot = 0; slot < used; ++slot) { slot_[slot] = other.slot_[slot]; }
    used_.set(used);
    return *this;
  }

  TAKT_COLD void add(LossKind kind, TreeKey key, std::uint64_t times) noexcept {
    const unsigned used = used_.own();
    for (unsigned slot = 0; slot < used; ++slot) {
      if (slot_[slot].kind.own() == kind && slot_[slot].key.own() == key) {
        slot_[slot].count.add(times);
        return;
      }
    }
    // The last slots are one a kind, without a name, so that the count stays whole when there are too many keys.
    const bool full = used >= kSlots - static_cast<unsigned>(kLossKinds) && key != 0;
    if (full) { return add(kind, 0, times); }
    Count& slot = slot_[used];
    slot.kind.set(kind);
    slot.key.set(key);
    slot.count.set(times);
    used_.set(used + 1);
  }
  void clear() noexcept { used_.set(0); }

  unsigned size() const noexcept { return used_.get(); }
  const Count& operator[](unsigned slot) const noexcept { return slot_[slot]; }

 private:
  static constexpr unsigned kSlots = 64;
  Relaxed<unsigned> used_;
  Count slot_[kSlots];
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
