// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/drain.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How far a stream has come, by the numbers of its marks: as it works in order, one mark that was found finished
/// speaks for all before it, and nobody has to ask for those. It may say so of one mark too many (two threads mark one
/// stream at once, or a new stream has the address of an old one): the driver's own answer to the question for the time
/// then still is "not ready". Any thread.
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
  Patience patience;  ///< of those that find no room

  /// The number of the next mark; 0 where `most` are in flight.
  std::uint64_t next_mark(std::uint64_t most) noexcept {
    std::uint64_t last = marks.load(std::memory_order_relaxed);
    do {
      if (last >= finished.load(std::memory_order_relaxed) + most) { return 0; }
    } while (!marks.compare_exchange_weak(last, last + 1, std::memory_order_relaxed));
    return last + 1;
  }
  /// The driver has refused `number`, of next_mark(). It stays where others have come after it, who finish it.
  void refused(std::uint64_t number) noexcept {
    marks.compare_exchange_strong(number, number - 1, std::memory_order_relaxed);
  }
  /// `number` has been recorded with the event of the slot `index`. \param most as of next_mark().
  void watch(std::uint64_t number, std::uint32_t index, std::uint64_t most) noexcept {
    const std::uint64_t eighth = std::max<std::uint64_t>(most / 8, 1);
    const std::uint64_t before = newest_watched.load(std::memory_order_relaxed);
    if (number < before + eighth && before != 0) { return; }
    newest_watched.store(number, std::memory_order_relaxed);
    // Release: pairs with oldest_watched().
    watched[number / eighth % kWatched].store(number << kIndexBits | index, std::memory_order_release);
  }
  /// That is not known to have finished.
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

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
