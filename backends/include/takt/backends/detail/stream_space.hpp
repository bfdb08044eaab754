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

/// The progress of a stream, by the numbers of its marks. A stream works in order, so if one mark is known to have
/// finished, all before it have, and need no query. It may claim one mark too many (two threads mark one stream at
/// once, or a new stream has the address of an old one): asked for the time, the driver still answers "not ready". Any
/// thread.
///
/// It also bounds how many marks are in flight, since a driver holds up who records on a stream whose queue is full,
/// and others with it. One mark in an eighth of these is *watched*: where there is no room, the oldest of them is asked
/// for. Its slot is used again only once it has finished, so that an answer about a later use of it is true of it, too.
struct StreamProgress {
  static constexpr unsigned kWatched = 16;  ///< so that no eighth takes the place of the oldest
  static constexpr unsigned kIndexBits = 20;

  /// A mark, and the slot that it was made in.
  struct Watched {
    std::uint64_t number = 0;  ///< 0: none
    std::uint32_t index = 0;
  };

  std::atomic<std::uintptr_t> stream{0};  ///< 0: free
  std::atomic<std::uint64_t> marks{0};
  std::atomic<std::uint64_t> finished{0};
  std::atomic<std::uint64_t> newest_watched{0};
  std::array<std::atomic<std::uint64_t>, kWatched> watched{};
  PollBackoff timeout;  ///< of those that find no room

  /// The number of the next mark; 0 where `most` are in flight.
  std::uint64_t next_mark(std::uint64_t max) noexcept {
    std::uint64_t last = marks.load(std::memory_order_relaxed);
    do {
      if (last >= finished.load(std::memory_order_relaxed) + max) { return 0; }
    } while (!marks.compare_exchange_weak(last, last + 1, std::memory_order_relaxed));
    return last + 1;
  }
  /// The driver has refused `number`, of next_mark(). It stays where others have come after it, who finish it.
  void refused(std::uint64_t number) noexcept {
    marks.compare_exchange_strong(number, number - 1, std::memory_order_relaxed);
  }
  /// `number` has been recorded with the event of the slot `index`. \param most as of next_mark().
  void watch(std::uint64_t number, std::uint32_t index, std::uint64_t max) noexcept {
    const std::uint64_t eighth = std::max<std::uint64_t>(max / 8, 1);
    const std::uint64_t before = newest_watched.load(std::memory_order_relaxed);
    if (number < before + eighth && before != 0) { return; }
    newest_watched.store(number, std::memory_order_relaxed);
    // Release: pairs with oldest_watched().
    watched[number / eighth % kWatched].store(number << kIndexBits | index, std::memory_order_release);
  }
  /// Returns the oldest watched mark that is not known to have finished.
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

/// The streams of one context. Nothing is timed on those that find no place. Any thread.
class StreamTable {
 public:
  static constexpr unsigned kPlaces = 512;
  static constexpr unsigned kTries = 16;

  /// nullptr: there is no place for another one. \param stream not 0.
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

/// Room on the streams of one context: how many marks may be in flight on each (max_in_flight()). Any thread; takes no
/// lock, and never waits.
template <class Api>
class StreamSpace {
 public:
  using Pool = EventPool<typename Api::Event>;
  using Slot = typename Pool::Slot;
  static constexpr unsigned kLateStreams = 8;  ///< found while events are looked for, after which it gives up

  StreamSpace(Pool& events, StreamTable& streams) noexcept : events_(events), streams_(streams) {}

  /// `slot` is about to be recorded on the stream of this order. False where as many are in flight as may be, and the
  /// device says that the oldest has not finished; or where there is no place for the stream (Slot::stream is nullptr).
  /// \param begins an eighth is kept for the ends of regions.
  /// \param silent the device is not to be asked.
  bool take(Slot& slot, std::uintptr_t order, bool begins, bool silent) noexcept {
    const std::uint64_t max = space(begins);
    slot.stream = streams_.find(order);
    if (TAKT_UNLIKELY(slot.stream == nullptr)) { return false; }
    slot.number = slot.stream->next_mark(max);
    return TAKT_LIKELY(slot.number != 0) || take_asked(slot, max, silent);
  }
  /// After take(), one of these: the driver has taken it (returns true), or refused.
  static bool recorded(Slot& slot) noexcept {
    if (slot.stream != nullptr) { slot.stream->watch(slot.number, slot.index, space(false)); }
    return true;
  }
  void refused(Slot& slot) noexcept {
    if (slot.stream != nullptr && slot.number != 0) { slot.stream->refused(slot.number); }
    give(slot);
  }
  /// Nobody needs the mark any more.
  void released(Slot& slot) noexcept {
    // Not by StreamProgress, which may speak of another stream at the same address.
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
  /// Frees what has finished since it was given back; whether there was any. In RelaxedMode.
  template <class Query>
  bool recycle(Query query) noexcept {
    std::array<const void*, kLateStreams> late{};  // whose events had not come when they were asked about
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
  TAKT_COLD bool take_asked(Slot& slot, std::uint64_t max, bool silent) noexcept {
    StreamProgress& progress = *slot.stream;
    const StreamProgress::Watched oldest = progress.oldest_watched();
    if (oldest.number == 0) {  // refused while others came after them: nothing is in flight
      slot.number = progress.next_mark(std::numeric_limits<std::uint32_t>::max());
      return true;
    }
    if (silent || !progress.timeout.is_over()) { return false; }
    const RelaxedMode<Api> relaxed;
    // Of this stream, which is not being captured: that was asked for this mark.
    const bool finished = Api::query(events_.slot(oldest.index).event) == EventStatus::done;
    progress.timeout.polled(1, finished ? 0 : 1);
    if (!finished) { return false; }
    progress.set_finished(oldest.number);
    slot.number = progress.next_mark(max);
    return slot.number != 0;
  }

  Pool& events_;
  StreamTable& streams_;
};

}  // namespace detail
TAKT_END_NAMESPACE
