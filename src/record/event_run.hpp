// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>

#include <cstdint>
#include <type_traits>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Events without a time: their data is in the upper bits and in the next word.
inline constexpr Event kFirstTimelessCode = kBeginCode + 4032;
inline constexpr Event kItemsCode = kFirstTimelessCode;  ///< upper bits: place of the region's begin; next word: amount
inline constexpr Event kBytesCode = kFirstTimelessCode + 1;    ///< same layout
inline constexpr Event kSkippedCode = kFirstTimelessCode + 2;  ///< upper bits: key index
static_assert(kBeginCode + kMaxKeys <= kFirstTimelessCode, "every key needs a begin code");

/// Returns the first of the two words that add an amount to the open region `id`; the amount is the second.
constexpr Event amount_event(std::uint32_t id, Amount what) noexcept {
  return Event{id} << kCodeBits | (what == Amount::items ? kItemsCode : kBytesCode);
}
/// Returns the event for a region of `key` that was entered but not timed.
constexpr Event skipped_event(KeyIndex key) noexcept { return Event{key} << kCodeBits | kSkippedCode; }

/// Returns true for begin and end events.
constexpr bool has_time(Event event) noexcept { return (event & kCodeMask) < kFirstTimelessCode; }
/// Returns the key of a start event; kNoKey for other events.
constexpr KeyIndex started_key(Event event) noexcept {
  const Event code = event & kCodeMask;
  return code >= kBeginCode && has_time(event) ? static_cast<KeyIndex>(code - kBeginCode) : kNoKey;
}

/// Consecutive events of one thread, in its arena. Does not own the words.
struct EventRun {
  const Event* words = nullptr;
  std::uint32_t count = 0;     ///< number of words
  std::uint32_t place = 0;     ///< arena index of the first word
  std::uint64_t position = 0;  ///< number of the first word among all words of its thread

  std::uint32_t end() const noexcept { return place + count; }
  std::uint64_t position_of(std::uint64_t at) const noexcept { return position + (at - place); }
  EventRun before(std::uint32_t cut) const noexcept { return {words, cut - place, place, position}; }
  EventRun from(std::uint32_t cut) const noexcept {
    const std::uint32_t left = cut - place;
    return {words + left, count - left, cut, position + left};
  }
};

/// Callbacks of visit_events(). A visitor hides the functions it needs; each returns false to stop. `place` is the
/// event's index in its arena; a region's `id` is the place of its start.
struct EventVisitor {
  bool begin(std::uint64_t /*place*/, Event /*event*/, std::uint64_t /*key*/) noexcept { return true; }
  bool end(std::uint64_t /*place*/, Event /*event*/, std::uint32_t /*id*/) noexcept { return true; }
  bool amount(std::uint64_t /*place*/, std::uint32_t /*id*/, Amount /*what*/, std::uint64_t /*amount*/) noexcept {
    return true;
  }
  bool skipped(std::uint64_t /*place*/, std::uint64_t /*key*/) noexcept { return true; }
  static constexpr bool kTakesLeaves = false;  ///< true: call leaf()
  /// Handles a start directly followed by its end. `key` is out of range if the first event is no begin. Returning
  /// false passes both events to the other functions.
  bool leaf(std::uint64_t /*place*/, Event /*begin*/, Event /*end*/, std::uint64_t /*key*/) noexcept { return false; }
};

/// Decodes the events of `run` for `visitor`. Skips an event that is cut at the end of the run. Returns the place at
/// which the visitor stopped; run.end() if it did not.
template <class Visitor>
TAKT_ALWAYS_INLINE std::uint32_t visit_events(const EventRun& run, Visitor&& visitor) {
  // One variable for both the place and the event leaves the compiler enough registers.
  const auto place_0 = reinterpret_cast<std::uintptr_t>(run.words) - run.place * sizeof(Event);
  const auto word_at = [place_0](std::uint64_t place) noexcept {
    return __atomic_load_n(reinterpret_cast<const Event*>(place_0 + place * sizeof(Event)), __ATOMIC_RELAXED);
  };
  const std::uint64_t end = run.place + std::uint64_t{run.count};
  for (std::uint64_t place = run.place; place < end; ++place) {
    const Event event = word_at(place);
    const Event code = event & kCodeMask;
    if (code < kBeginCode) {
      if (!visitor.end(place, event, static_cast<std::uint32_t>(code))) { return static_cast<std::uint32_t>(place); }
      continue;
    }
    if constexpr (std::remove_reference_t<Visitor>::kTakesLeaves) {
      const Event next = place + 1 == end ? 0 : word_at(place + 1);  // no region is at place 0
      if ((next & kCodeMask) == place && visitor.leaf(place, event, next, code - kBeginCode)) {
        ++place;
        continue;
      }
    }
    bool goes_on = true;
    const std::uint64_t here = place;
    if (TAKT_LIKELY(code < kFirstTimelessCode)) {
      goes_on = visitor.begin(place, event, code - kBeginCode);
    } else if (code == kSkippedCode) {
      goes_on = visitor.skipped(place, event >> kCodeBits);
    } else if (++place < end) {
      const Amount what = code == kItemsCode ? Amount::items : Amount::bytes;
      goes_on = visitor.amount(here, static_cast<std::uint32_t>(event >> kCodeBits), what, word_at(place));
    }
    if (!goes_on) { return static_cast<std::uint32_t>(here); }
  }
  return run.end();
}

/// Returns true if an event of `run` begins the region `id`.
inline bool begins_among(const EventRun& run, std::uint32_t id) noexcept {
  return id >= run.place && id < run.end() && started_key(run.words[id - run.place]) != kNoKey;
}

/// Returns true if an event of `run` ends the region `id`.
inline bool ends_among(const EventRun& run, std::uint32_t id) noexcept {
  struct Search : EventVisitor {
    explicit Search(std::uint32_t wanted) noexcept : id(wanted) {}
    bool end(std::uint64_t /*place*/, Event /*event*/, std::uint32_t ended) const noexcept { return ended != id; }
    const std::uint32_t id;
  };
  return visit_events(run, Search(id)) != run.end();
}

}  // namespace detail
TAKT_END_NAMESPACE
