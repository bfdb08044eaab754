// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/config.hpp>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The time line of one context. A driver reports only distances of two events, as a float of milliseconds with an
/// error of 0.25 us at 4 s and 125 us at an hour. So every few seconds an event is kept as an anchor. Each anchor is
/// measured from the previous one, summed in double; a timestamp is measured from a nearby anchor. Any thread. Never
/// waits: while another thread places an anchor, a placed one is used.
template <class Api>
class AnchorChain {
 public:
  using Event = typename Api::Event;
  using Stream = typename Api::Stream;
  static constexpr std::uint64_t kPeriodNs = 3'000'000'000;  ///< 4 s are promised, and timestamps are irregular
  static constexpr std::uint32_t kAnchors = 64;
  static constexpr std::uint32_t kNone = 0;

  /// Returns true if the next timestamp should be an anchor, at `now_ns` of the host.
  bool is_due(std::uint64_t now_ns) const noexcept { return now_ns >= due_ns_.load(std::memory_order_relaxed); }
  /// Makes `event`, recorded on `stream` at `now_ns`, an anchor, held by `mark`.
  /// \param replaced timestamp of the evicted anchor, to be released; 0: none.
  /// \return false if another thread adds or places one; `mark` is then not kept.
  bool add(Event event, Stream stream, Mark mark, std::uint64_t now_ns, Mark& replaced) noexcept {
    const Lock lock(busy_);
    if (!lock.held || !is_due(now_ns)) { return false; }
    const std::uint32_t number = newest() + 1;
    Anchor& anchor = anchor_[number % kAnchors];
    anchor.number.store(kNone, std::memory_order_seq_cst);  // pairs with distance()
    anchor.placed.store(false, std::memory_order_relaxed);
    replaced = anchor.mark;
    anchor.mark = mark;
    anchor.stream = stream;
    anchor.event.store(event, std::memory_order_release);    // pairs with distance(): after kNone
    anchor.number.store(number, std::memory_order_release);  // pairs with place_of()
    newest_.store(number, std::memory_order_release);        // pairs with newest()
    due_ns_.store(now_ns + kPeriodNs, std::memory_order_relaxed);
    return true;
  }
  std::uint32_t newest() const noexcept { return newest_.load(std::memory_order_acquire); }  // pairs with add()

  /// Locates a finished `event` on this time line.
  /// \param anchor the newest one when it was recorded.
  /// \return false if no anchor near it has finished yet, or none exists.
  bool locate(Event event, std::uint32_t anchor, DevicePlace& place) noexcept {
    const std::uint32_t newest = this->newest();
    if (anchor == kNone || newest == kNone) { return false; }
    const std::uint32_t oldest = newest < kAnchors ? 1 : newest - kAnchors + 1;
    if (anchor < oldest) { anchor = oldest; }
    // Its own; the previous one if that is still queued; the next one if no previous one exists.
    for (const std::uint32_t number : {anchor, anchor - 1, anchor + 1}) {
      if (number < oldest || number > newest) { continue; }
      double origin = 0;
      double ns = 0;
      if (!place_of(number, origin) || !distance(number, event, number > anchor, ns, place.error_ns)) { continue; }
      place.ns = origin + ns;
      return true;
    }
    return false;
  }

 private:
  struct Anchor {
    std::atomic<std::uint32_t> number{kNone};
    std::atomic<bool> placed{false};
    std::atomic<double> ns{0};
    std::atomic<Event> event{};
    Mark mark = 0;       // under busy_, like the next one
    Stream stream = {};  // stream of `event`
  };
  /// A try-lock for changes; no thread waits for it.
  struct Lock {
    // Pairs with the release of ~Lock().
    explicit Lock(std::atomic_flag& busy) noexcept : flag(busy), held(!busy.test_and_set(std::memory_order_acquire)) {}
    ~Lock() {
      if (held) { flag.clear(std::memory_order_release); }  // pairs with Lock()
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    std::atomic_flag& flag;
    const bool held;
  };

  /// Measures from anchor `number` to `event`, which may be the older one. Returns false if the driver has no answer,
  /// or the anchor was evicted meanwhile.
  bool distance(std::uint32_t number, Event event, bool is_older, double& ns, double& error_ns) noexcept {
    Anchor& anchor = anchor_[number % kAnchors];
    // Pairs with add(): a reader of a later anchor's event sees below that the number has changed.
    const Event from = anchor.event.load(std::memory_order_acquire);
    float ms = 0;
    // HIP locks the first event, then the second: all threads pass the older one first.
    if (from != event && Api::elapsed(is_older ? event : from, is_older ? from : event, ms) != EventStatus::done) {
      return false;
    }
    if (is_older) { ms = -ms; }
    const float next = std::nextafter(std::fabs(ms), std::numeric_limits<float>::infinity());
    error_ns = static_cast<double>(next - std::fabs(ms)) / 2 * 1e6;
    ns = static_cast<double>(ms) * 1e6;
    return anchor.number.load(std::memory_order_seq_cst) == number;  // pairs with add(), before it reuses the event
  }

  bool place_of(std::uint32_t number, double& ns) noexcept {
    Anchor& anchor = anchor_[number % kAnchors];
    if (anchor.number.load(std::memory_order_acquire) != number) { return false; }  // pairs with add()
    // Pairs with find_place().
    if (!anchor.placed.load(std::memory_order_acquire) && !find_place(number, anchor)) { return false; }
    ns = anchor.ns.load(
        std::memory_order_acquire);  // pairs with find_place(); if it is a later anchor's, distance() detects that
    return true;
  }

  /// Measures an anchor from a placed neighbour; the first one to finish is at 0.
  bool find_place(std::uint32_t number, Anchor& anchor) noexcept {
    const Lock lock(busy_);
    if (!lock.held || anchor.number.load(std::memory_order_relaxed) != number) { return false; }
    const Event event = anchor.event.load(std::memory_order_relaxed);
    if (check_stream<Api>(anchor.stream) != EventStatus::done || Api::query(event) != EventStatus::done) {
      return false;
    }
    double ns = 0;
    if (has_origin_) {
      const std::uint32_t from = nearest_placed(number);
      double error_ns = 0;
      if (from == kNone || !distance(from, event, number < from, ns, error_ns)) { return false; }
      ns += anchor_[from % kAnchors].ns.load(std::memory_order_relaxed);
    }
    has_origin_ = true;
    anchor.ns.store(ns, std::memory_order_release);        // pairs with place_of(): after the number
    anchor.placed.store(true, std::memory_order_release);  // pairs with place_of()
    return true;
  }
  std::uint32_t nearest_placed(std::uint32_t number) const noexcept {
    for (std::uint32_t away = 1; away < kAnchors; ++away) {
      for (const std::uint32_t each : {number - away, number + away}) {
        const Anchor& anchor = anchor_[each % kAnchors];
        if (anchor.number.load(std::memory_order_relaxed) == each && each != kNone &&
            anchor.placed.load(std::memory_order_relaxed)) {
          return each;
        }
      }
    }
    return kNone;
  }

  std::array<Anchor, kAnchors> anchor_;
  std::atomic<std::uint32_t> newest_{kNone};
  std::atomic<std::uint64_t> due_ns_{0};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  bool has_origin_ = false;  // under busy_
};

}  // namespace detail
TAKT_END_NAMESPACE
