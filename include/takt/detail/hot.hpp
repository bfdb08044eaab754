// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>

#include <atomic>
#include <cstdint>

#include <time.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// One recorded start or end: 51 bits of clock ticks above 13 bits of code. The code of an end is the arena place of
/// its start (12 bits); the code of a start is its key. 51 bits of a 3 GHz clock wrap after 8.7 days, the maximum pause
/// of a thread between two events.
using Event = std::uint64_t;

inline constexpr unsigned kCodeBits = 13;
inline constexpr Event kCodeMask = (Event{1} << kCodeBits) - 1;
inline constexpr Event kBeginCode = 4096;  ///< + key index
/// Rare kinds of events, and how to distinguish all kinds, are in record/event_run.hpp.

/// The arena holds a thread's events until it folds them: blocks of 64, one of which is being filled. A block with the
/// start of an open region is not reused until that region ends. So the place of a start identifies its region among
/// the open ones, and the start can still be read. With at most 64 open regions some block is always free, unless each
/// of 64 blocks holds a start; then regions overflow. The first places of each block stay empty: a cursor at a block's
/// first place means "full". This one test on the hot path also covers a thread without an arena (a null cursor).
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
/// \param begin address of the start event; its lowest three bits may hold flags.
inline Event end_event(std::uintptr_t begin, std::uint64_t ticks) noexcept {
  return (ticks << kCodeBits) + ((begin & kArenaMask) >> 3U);
}
inline std::uint32_t region_id(std::uintptr_t begin) noexcept {
  return static_cast<std::uint32_t>((begin & kArenaMask) >> 3U);
}
/// Returns true if the block at `cursor` has space for `events` more.
inline bool has_space(const Event* cursor, unsigned events = 1) noexcept {
  const std::uintptr_t place = reinterpret_cast<std::uintptr_t>(cursor) & (kBlockBytes - 1);
  return events == 1 ? place != 0 : place - 1 < kBlockBytes - events * sizeof(Event);  // one comparison: 0 - 1 is large
}

/// Returns the time of `event` in ticks, on the axis where the previous event was at `last`. Small backward steps of
/// the clock (another core's counter) count as no time, so durations are never negative.
constexpr std::uint64_t unwrap(Event event, std::uint64_t last) noexcept {
  // Differences of the upper bits, in place: they wrap as intended.
  const std::uint64_t step = (event & ~kCodeMask) - (last << kCodeBits);
  constexpr std::uint64_t kBackwards = ~std::uint64_t{0} << 45U;  // the last 2^32 ticks before the wrap
  return step >= kBackwards ? last : last + (step >> kCodeBits);
}

/// Returns the nanoseconds of a POSIX clock. Any thread; no system call if the kernel offers it in the vDSO.
inline std::uint64_t posix_ns(clockid_t clock) noexcept {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

/// Reads the processor's counter: one unserialized instruction, about 10 ns. The read may overlap with neighbouring
/// work by some cycles; fences cost more than the region (13 to 24 ns).
TAKT_ALWAYS_INLINE std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return posix_ns(CLOCK_MONOTONIC);
#endif
}

// The whole cost of a region in the normal case: two clock reads and two stores. Everything else is in the functions
// declared at the end, in libtakt.

/// The calling thread's next event slot. Takt's only thread-local: one constant-initialized pointer, so reaching it
/// takes one instruction. Other threads read it through its address (Recorder::copy), hence the atomics.
TAKT_EXPORT extern __thread Event* cursor TAKT_INITIAL_EXEC;

TAKT_ALWAYS_INLINE Event* load_cursor() noexcept { return __atomic_load_n(&cursor, __ATOMIC_RELAXED); }
/// Publishes the events before `to`; pairs with the acquire in Recorder::copy.
TAKT_ALWAYS_INLINE void store_cursor(Event* to) noexcept { __atomic_store_n(&cursor, to, __ATOMIC_RELEASE); }
TAKT_ALWAYS_INLINE void put(Event* at, Event event) noexcept { __atomic_store_n(at, event, __ATOMIC_RELAXED); }

/// Reasons to send starts down the slow path, for the whole process. 0 if none; otherwise above every key index. So
/// "mode() >= index" is one comparison for both cases: a mode is set, or the key is not known yet (kNoKey is 0).
enum ModeBits : std::uint32_t {
  kModeDisabled = 1U << 16U,    ///< set_enabled(false), or TAKT_DISABLE=1
  kModeListening = 1U << 17U,   ///< a listener is registered
  kModeMonotonic = 1U << 18U,   ///< the processor's counter is unusable
  kModeForked = 1U << 19U,      ///< a child without a Session of its own
  kModeNotStarted = 1U << 20U,  ///< no recording yet: the clock is unknown
  kModeExcluded = 1U << 21U,    ///< trials run: recordings are excluded from the run's statistics
};

/// The arena of the first recording thread, and the mode on the page of its first events. After a step the TLB no
/// longer holds these pages; here both are one page, looked up together with the cursor's. In any other arena, the page
/// is known only after the cursor is loaded, so one look-up waits for the other (tests/bench/cold.cpp). The mode is in
/// an empty place at the start of the last block of that page: other threads read it, and this block is the last one
/// there to be filled.
struct FirstArena {
  static constexpr std::size_t kPlace = 7 * kBlockEvents;
  Event before[kPlace];
  std::atomic<std::uint32_t> mode;
  Event after[kBlocks * kBlockEvents - kPlace - 1];
};
static_assert(sizeof(FirstArena) == sizeof(Arena), "it is one");
TAKT_EXPORT extern FirstArena first_arena;
TAKT_ALWAYS_INLINE std::atomic<std::uint32_t>& mode() noexcept { return first_arena.mode; }

/// A started region: the address of its start event, and flags in the lowest three bits. 0: not being timed.
using Region = std::uintptr_t;
inline constexpr Region kPlainBits = kArenaMask & ~std::uintptr_t{7};
inline constexpr Region kRegionFolds = 1;  ///< a Batch: its end folds and makes a row
inline constexpr Region kRegionUnusual =
    2;  ///< listeners were called, a device has a timestamp, or the clock is slow: its end checks
inline constexpr Region kRegionExcluded = 4;  ///< it is in no arena: the upper bits encode its key and listeners
inline constexpr Region kRegionFlags = 7;

/// Returns the start event at `region`'s address, 0 for none; not for excluded regions. Arenas are never freed, so any
/// region is valid. Any thread.
TAKT_ALWAYS_INLINE Event event_at(Region region) noexcept {
  return region == 0 ? 0 : __atomic_load_n(reinterpret_cast<const Event*>(region & ~kRegionFlags), __ATOMIC_RELAXED);
}

// Cold, in libtakt. None throws, waits or takes a lock, except at a thread's first recording.
TAKT_EXPORT Region begin_slow(const Key& key) noexcept;
TAKT_EXPORT Region begin_on(const Key& key, StreamRef stream) noexcept;
TAKT_EXPORT Region begin_sampled(const Key& key, std::uint32_t every, StreamRef stream) noexcept;
TAKT_EXPORT void end_slow(Region region) noexcept;
TAKT_EXPORT Region end_innermost(const Key& key) noexcept;  ///< returns that region; 0: none
TAKT_EXPORT Region lap_slow(Region region, const Key& key) noexcept;
TAKT_EXPORT void record_ns(const Key& key, std::uint64_t ns) noexcept;
enum class Amount : std::uint8_t { items, bytes };
TAKT_EXPORT void note_amount(Region region, Amount what, std::int64_t amount) noexcept;
// For a handle. Returns false, and counts an end without a start, if the region that started as `started` has ended.
TAKT_EXPORT bool end_handle(Region region, Event started) noexcept;
TAKT_EXPORT bool note_amount_of(Region region, Event started, Amount what, std::int64_t amount) noexcept;

TAKT_ALWAYS_INLINE Region begin_region(const Key& key) noexcept {
  const KeyIndex index = key.index();
  const std::uint32_t unusual = mode().load(std::memory_order_relaxed);
  if (TAKT_UNLIKELY(unusual >= index)) { return (unusual & kModeDisabled) != 0 ? 0 : begin_slow(key); }
  Event* const at = load_cursor();
  if (TAKT_UNLIKELY(!has_space(at))) { return begin_slow(key); }
  put(at, begin_event(index, ticks()));
  store_cursor(at + 1);
  return reinterpret_cast<Region>(at);
}

TAKT_ALWAYS_INLINE void end_region(Region region) noexcept {
  if (TAKT_UNLIKELY(region == 0)) { return; }
  Event* const at = load_cursor();
  // One comparison for both: flags, and another thread's arena.
  const std::uintptr_t differs = (reinterpret_cast<std::uintptr_t>(at) ^ region) & ~kPlainBits;
  if (TAKT_UNLIKELY(differs != 0 || !has_space(at))) {
    end_slow(region);
    return;
  }
  put(at, end_event(region, ticks()));
  store_cursor(at + 1);
}

TAKT_ALWAYS_INLINE Region lap_region(Region region, const Key& key) noexcept {
  Event* const at = load_cursor();
  const KeyIndex index = key.index();
  const std::uintptr_t differs = (reinterpret_cast<std::uintptr_t>(at) ^ region) & ~kPlainBits;
  if (TAKT_UNLIKELY(differs != 0 || !has_space(at, 2) || mode().load(std::memory_order_relaxed) >= index)) {
    return lap_slow(region, key);
  }
  const std::uint64_t now = ticks();
  put(at, end_event(region, now));
  put(at + 1, begin_event(index, now));
  store_cursor(at + 2);
  return reinterpret_cast<Region>(at + 1);
}

}  // namespace detail
TAKT_END_NAMESPACE
