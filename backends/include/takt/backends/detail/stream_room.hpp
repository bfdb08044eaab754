// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/detail/event_pool.hpp>
#include <takt/backends/detail/relaxed_mode.hpp>
#include <takt/backends/detail/stream_progress.hpp>
#include <takt/device.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Room on the streams of one context: how many marks may be in flight on each (most_in_flight()). Any thread; takes no
/// lock, and never waits.
template <class Api>
class StreamRoom {
 public:
  using Pool = EventPool<typename Api::Event>;
  using Slot = typename Pool::Slot;
  static constexpr unsigned kLateStreams = 8;  ///< found while events are looked for, after which it gives up

  StreamRoom(Pool& events, StreamTable& streams) noexcept : events_(events), streams_(streams) {}

  /// `slot` is about to be recorded on the stream of this order. False where as many are in flight as may be, and the
  /// device says that the oldest has not finished; or where there is no place for the stream (Slot::stream is nullptr).
  /// \param begins an eighth is kept for the ends of regions.
  /// \param silent the device is not to be asked.
  bool take(Slot& slot, std::uintptr_t order, bool begins, bool silent) noexcept {
    const std::uint64_t most = room(begins);
    slot.stream = streams_.find(order);
    if (TAKT_UNLIKELY(slot.stream == nullptr)) { return false; }
    slot.number = slot.stream->next_mark(most);
    return TAKT_LIKELY(slot.number != 0) || take_asked(slot, most, silent);
  }
  /// After take(), one of these: the driver has taken it (returns true), or refused.
  static bool recorded(Slot& slot) noexcept {
    if (slot.stream != nullptr) { slot.stream->watch(slot.number, slot.index, room(false)); }
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
  static std::uint64_t room(bool begins) noexcept {
    const std::uint64_t most = most_in_flight();
    return begins ? most - most / 8 : most;
  }
  TAKT_COLD bool take_asked(Slot& slot, std::uint64_t most, bool silent) noexcept {
    StreamProgress& progress = *slot.stream;
    const StreamProgress::Watched oldest = progress.oldest_watched();
    if (oldest.number == 0) {  // refused while others came after them: nothing is in flight
      slot.number = progress.next_mark(std::numeric_limits<std::uint32_t>::max());
      return true;
    }
    if (silent || !progress.patience.is_over()) { return false; }
    const RelaxedMode<Api> relaxed;
    // Of this stream, which is not being captured: that was asked for this mark.
    const bool finished = Api::query(events_.slot(oldest.index).event) == EventStatus::done;
    progress.patience.polled(1, finished ? 0 : 1);
    if (!finished) { return false; }
    progress.set_finished(oldest.number);
    slot.number = progress.next_mark(most);
    return slot.number != 0;
  }

  Pool& events_;
  StreamTable& streams_;
};

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
