// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

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
struct StreamProgress {
  std::atomic<std::uintptr_t> stream{0};  ///< 0: free
  std::atomic<std::uint64_t> marks{0};
  std::atomic<std::uint64_t> finished{0};

  std::uint64_t next_mark() noexcept { return marks.fetch_add(1, std::memory_order_relaxed) + 1; }
  bool has_finished(std::uint64_t mark) const noexcept { return mark <= finished.load(std::memory_order_relaxed); }
  void set_finished(std::uint64_t mark) noexcept {
    std::uint64_t before = finished.load(std::memory_order_relaxed);
    while (before < mark && !finished.compare_exchange_weak(before, mark, std::memory_order_relaxed)) {}
  }
};

/// The streams of one context. Those without a place are not followed: each of their marks is asked for. Any thread.
class StreamTable {
 public:
  static constexpr unsigned kPlaces = 512;
  static constexpr unsigned kTries = 16;

  /// \param stream not 0.
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
