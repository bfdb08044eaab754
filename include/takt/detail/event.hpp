// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/size.hpp>
#include <takt/key.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One recorded begin or end: 51 bits of clock ticks over 13 bits of code. The code of an end is the place in the arena
/// where its begin stands (12 bits); that of a begin is its key. 51 bits of a 3 GHz clock wrap after 8.7 days: a thread
/// may rest for so long between two events.
using Event = std::uint64_t;

inline constexpr unsigned kCodeBits = 13;
inline constexpr Event kCodeMask = (Event{1} << kCodeBits) - 1;
inline constexpr Event kBeginCode = 4096;  ///< + key index
/// What few events use, and how to tell all of them apart, is in record/event_run.hpp.

/// Where a thread's events stand until it folds them: blocks of 64, of which one is being filled. A block that holds
/// the begin of an open region is not filled again before that region has ended, so the place of a begin identifies
/// its region among the open ones, and the begin itself can still be read. With at most 64 open regions there is
/// always a free block but for a begin in each of 64 different ones; then regions overflow. The first places of each
/// block stay empty: a cursor at a block's first place means "no room", and that one test on the hot path also serves
/// for a thread that has no arena yet (a null cursor).
inline constexpr std::size_t kBlockEvents = 64;
inline constexpr std::size_t kBlocks = 64;
inline constexpr std::size_t kBlockFirst = 2;  ///< first place in use; an even number of them, so that pairs fit
inline constexpr std::size_t kBlockBytes = kBlockEvents * sizeof(Event);
inline constexpr std::size_t kArenaBytes = kBlocks * kBlockBytes;
inline constexpr std::uintptr_t kArenaMask = kArenaBytes - 1;

struct alignas(kArenaBytes) Arena {
  Event event[kBlocks * kBlockEvents];
};

constexpr Event begin_event(KeyIndex key, std::uint64_t ticks) noexcept {
  return (ticks << kCodeBits) + (kBeginCode + key);
}
/// \param begin address of the begin event; its lowest three bits may hold flags.
inline Event end_event(std::uintptr_t begin, std::uint64_t ticks) noexcept {
  return (ticks << kCodeBits) + ((begin & kArenaMask) >> 3U);
}
inline std::uint32_t region_id(std::uintptr_t begin) noexcept {
  return static_cast<std::uint32_t>((begin & kArenaMask) >> 3U);
}
/// Whether there is room for `events` more in the block at `cursor`.
inline bool has_room(const Event* cursor, unsigned events = 1) noexcept {
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(cursor) & (kBlockBytes - 1);
  return events == 1 ? place != 0 : place - 1 < kBlockBytes - events * sizeof(Event);  // one comparison: 0 - 1 is large
}

/// The time of `event` on the axis on which `last` was the event before it, in ticks. A clock that steps back a little
/// (another core's counter) counts as standing still, so durations are never negative.
constexpr std::uint64_t unwrap(Event event, std::uint64_t last) noexcept {
  // Differences of the upper bits, in place: they wrap as they should.
  const std::uint64_t step = (event & ~kCodeMask) - (last << kCodeBits);
  constexpr std::uint64_t kBackwards = ~std::uint64_t{0} << 45U;  // the last 2^32 ticks before the wrap
  return step >= kBackwards ? last : last + (step >> kCodeBits);
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
