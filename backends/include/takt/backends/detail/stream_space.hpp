// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_pool.hpp>
#include <takt/config.hpp>
#include <takt/detail/drain.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Progress of a stream, by the numbers of its timestamps. A stream works in order: if one timestamp has finished, all
/// before it have, and need no query. The number may be too high by one (two threads record on one stream at once, or a
/// new stream has an old one's address); if the time is then requested, the driver still answers "not ready". Any
/// thread.
///
/// Also limits timestamps in flight, because a driver blocks a thread that records on a stream with a full queue, and
/// others with it. One timestamp in an eighth of the limit is *watched*: at the limit, the oldest watched one is
/// queried. Its slot is reused only after it has finished, so an answer for a later use is also true for the watched
/// one.
struct StreamProgress {
  static constexpr unsigned kWatched = 16;  ///< enough that no eighth overwrites the oldest
  static constexpr unsigned kIndexBits = 20;

  /// A timestamp and its slot.
  struct Watched {
    std::uint64_t number = 0;  ///< 0: none
    std::uint32_t index = 0;
  };

  std::atomic<std::uintptr_t> stream{0};  ///< 0: free
  std::atomic<std::uint64_t> marks{0};
  std::atomic<std::uint64_t> finished{0};
  std::atomic<std::uint64_t> newest_watched{0};
  std::array<std::atomic<std::uint64_t>, kWatched> watched{};
  PollBackoff timeout;  ///< back-off when the stream is full

  /// Returns the number of the next timestamp; 0 if `max` are in flight.
  std::uint64_t next_mark(std::uint64_t max) noexcept {
    std::uint64_t last = marks.load(std::memory_order_relaxed);
    do {
      if (last >= finished.load(std::memory_order_relaxed) + max) { return 0; }
    } while (!marks.compare_exchange_weak(last, last + 1, std::memory_order_relaxed));
    return last + 1;
  }
  /// Takes back `number` from next_mark() after the driver refused it. If later numbers exist, it remains; they finish
  /// it.
  void refused(std::uint64_t number) noexcept {
    marks.compare_exchange_strong(number, number - 1, std::memory_order_relaxed);
  }
  /// Records that `number` uses the event of the slot `index`. \param max as for next_mark().
  void watch(std::uint64_t number, std::uint32_t index, std::uint64_t max) noexcept {
    const std::uint64_t eighth = std::max<std::uint64_t>(max / 8, 1);
    const std::uint64_t before = newest_watched.load(std::memory_order_relaxed);
    if (number < before + eighth && before != 0) { return; }
    newest_watched.store(number, std::memory_order_relaxed);
    // Release: pairs with oldest_watched().
    watched[number / eighth % kWatched].store(number << kIndexBits | index, std::memory_order_release);
  }
  /// Returns the oldest watched timestamp that is not known to have finished.
  Watched oldest_watched() const noexcept {
    const std::uint64_t known = finished.load(std::memory_order_relaxed);
    Watched oldest;
    for (const std::atomic<std::uint64_t>& place : watched) {
      const std::uint64_t packed = place.load(std::memory_order_acquire);  // pairs with watch()
      const std::uint64_t number = packed >> kIndexBits;
      if (number <= known || (oldest.number != 0 && number > oldest.number)) { continue; }
      oldest = {number, static_cast<std::uint32_t>(packed & ((std::uint64_t{1} << kIndexBits) - 1))};
    }
    return oldest;
  }
  bool has_finished(std::uint64_t mark) const noexcept { return mark <= finished.load(std::memory_order_relaxed); }
  void set_finished(std::uint64_t mark) noexcept {
    std::uint64_t before = finished.load(std::memory_order_relaxed);
    while (before < mark && !finished.compare_exchange_weak(before, mark, std::memory_order_relaxed)) {}
  }
};

/// The streams of one context. Streams beyond the capacity are not timed. Any thread.
class StreamTable {
 public:
  static constexpr unsigned kPlaces = 512;
  static constexpr unsigned kTries = 16;

  /// Returns the stream's progress; nullptr if the table is full. \param stream not 0.
  StreamProgress* find(std::uintptr_t stream) noexcept {
    const std::uintptr_t hash = (stream >> 4U) ^ (stream >> 13U) ^ stream;
    for (unsigned attempt = 0; attempt < kTries; ++attempt) {
      StreamProgress& place = places_[(hash + attempt) % kPlaces];
      std::uintptr_t there = place.stream.load(std::memory_order_relaxed);
      if (there == stream) { return &place; }
      if (there != 0) { continue; }
      if (place.stream.compare_exchange_strong(there, stream, std::memory_order_relaxed) || there == stream) {
        return &place;
      }
    }
    return nullptr;
  }

 private:
  std::array<StreamProgress, kPlaces> places_{};
};

/// Capacity of the streams of one context: timestamps that may be in flight on each (max_in_flight()). Any thread;
/// takes no lock and never waits.
template <class Api>
class StreamSpace {
 public:
  using Pool = EventPool<typename Api::Event>;
  using Slot = typename Pool::Slot;
  static constexpr unsigned kLateStreams = 8;  ///< maximum of unfinished streams met before a search for events stops

  StreamSpace(Pool& events, StreamTable& streams) noexcept : events_(events), streams_(streams) {}

  /// Reserves a number for `slot`, which is about to be recorded on the stream of this order. Returns done; not_ready
  /// if the stream is full and the device reports the oldest as unfinished, or if the stream table is full (then
  /// Slot::stream is nullptr); no_context if the stream is full and this thread has no context for a query.
  /// \param begins true for starts of regions: an eighth is reserved for ends.
  /// \param silent the device must not be queried.
  EventStatus take(Slot& slot, std::uintptr_t order, bool begins, bool silent) noexcept {
    const std::uint64_t max = space(begins);
    slot.stream = streams_.find(order);
    if (TAKT_UNLIKELY(slot.stream == nullptr)) { return EventStatus::not_ready; }
    slot.number = slot.stream->next_mark(max);
    return TAKT_LIKELY(slot.number != 0) ? EventStatus::done : take_asked(slot, max, silent);
  }
  /// After take(), call one of these: recorded() if the driver accepted it (returns true), else refused().
  static bool recorded(Slot& slot) noexcept {
    if (slot.stream != nullptr) { slot.stream->watch(slot.number, slot.index, space(false)); }
    return true;
  }
  void refused(Slot& slot) noexcept {
    if (slot.stream != nullptr && slot.number != 0) { slot.stream->refused(slot.number); }
    give(slot);
  }
  /// Releases the slot after the timestamp's last use.
  void released(Slot& slot) noexcept {
    // Do not use StreamProgress here: it may describe another stream at the same address.
    if (slot.finished.load(std::memory_order_relaxed)) {
      give(slot);
    } else {
      events_.give_unfinished(slot);
    }
  }
  void give(Slot& slot) noexcept {
    slot.number = 0;
    events_.give(slot);
  }
  /// Frees slots whose events have finished since their release. Returns true if there were any. In RelaxedMode.
  template <class Query>
  bool recycle(Query query) noexcept {
    std::array<const void*, kLateStreams> late{};  // streams with unfinished events
    unsigned lates = 0;
    const std::uint32_t freed = events_.recycle([&](Slot& slot) {
      const bool is_late = std::find(late.begin(), late.begin() + lates, slot.handle) != late.begin() + lates;
      if (is_late || lates == kLateStreams) { return SlotFate::unfinished; }
      const EventStatus status = query(slot);
      if (status == EventStatus::done || status == EventStatus::stream_gone) {
        if (status == EventStatus::done && slot.stream != nullptr) { slot.stream->set_finished(slot.number); }
        slot.number = 0;
        return status == EventStatus::done ? SlotFate::finished : SlotFate::left_behind;
      }
      late[lates++] = slot.handle;
      return SlotFate::unfinished;
    });
    return freed != 0;
  }

 private:
  static std::uint64_t space(bool begins) noexcept {
    const std::uint64_t max = max_in_flight();
    return begins ? max - max / 8 : max;
  }
  TAKT_COLD EventStatus take_asked(Slot& slot, std::uint64_t max, bool silent) noexcept {
    StreamProgress& progress = *slot.stream;
    // Again, because other threads may take what the oldest one frees: it may be one place.
    for (unsigned attempt = 0; attempt < StreamProgress::kWatched; ++attempt) {
      const StreamProgress::Watched oldest = progress.oldest_watched();
      if (oldest.number == 0) {  // refused while later ones existed: none is in flight
        slot.number = progress.next_mark(std::numeric_limits<std::uint32_t>::max());
        return EventStatus::done;
      }
      if (silent || !progress.timeout.is_over()) { break; }
      const RelaxedMode<Api> relaxed;
      // The event is of this stream, which is not capturing: that was checked for this timestamp.
      const EventStatus asked = Api::query(events_.slot(oldest.index).event);
      if (asked == EventStatus::no_context) { return asked; }
      const bool finished = asked == EventStatus::done;
      progress.timeout.polled(1, finished ? 0 : 1);
      if (!finished) { break; }
      progress.set_finished(oldest.number);
      slot.number = progress.next_mark(max);
      if (slot.number != 0) { return EventStatus::done; }
    }
    return EventStatus::not_ready;
  }

  Pool& events_;
  StreamTable& streams_;
};

}  // namespace detail
TAKT_END_NAMESPACE
