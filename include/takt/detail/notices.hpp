// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Regions that ended on another thread than they began on, left for the thread that they began on, which takes them when it
/// comes by. One thread takes; any thread leaves and reads.
class Notices {
 public:
  static constexpr unsigned kMost = 128;  ///< more than can be open, but for regions too deep

  struct Notice {
    std::uint32_t id = 0;
    std::uint32_t place = 0;
    std::uint64_t ns = 0;  ///< when it ended
  };
  /// Some of them, in the order of their ends.
  struct List {
    unsigned count = 0;
    Notice notice[kMost];
  };

  /// \param id not 0. False where there are too many: the region stays open in its thread's books, and is reported so.
  bool leave(std::uint32_t id, std::uint64_t ns) noexcept {
    for (Slot& slot : slot_) {
      std::uint32_t expected = kFree;
      // partner: remove()
      if (!slot.id.compare_exchange_strong(expected, kBusy, std::memory_order_acquire)) { continue; }
      slot.ns.store(ns, std::memory_order_relaxed);
      slot.id.store(id, std::memory_order_release);  // partner: read()
      count_.fetch_add(1, std::memory_order_release);
      return true;
    }
    return false;
  }
  bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  void read(List& list) const noexcept {
    list.count = 0;
    for (std::uint32_t place = 0; place < kMost; ++place) {
      const std::uint32_t id = slot_[place].id.load(std::memory_order_acquire);
      if (id == kFree || id == kBusy) { continue; }
      const std::uint64_t ns = slot_[place].ns.load(std::memory_order_relaxed);
      unsigned at = list.count++;
      for (; at > 0 && list.notice[at - 1].ns > ns; --at) { list.notice[at] = list.notice[at - 1]; }
      list.notice[at] = Notice{id, place, ns};
    }
  }
  /// Taker: forgets one that it has read.
  void remove(const Notice& notice) noexcept {
    slot_[notice.place].id.store(kFree, std::memory_order_release);  // partner: leave()
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kBusy = ~std::uint32_t{0};
  struct Slot {
    std::atomic<std::uint32_t> id{kFree};
    std::atomic<std::uint64_t> ns{0};
  };
  std::atomic<std::uint32_t> count_{0};
  Slot slot_[kMost];
};

}  // namespace detail
TAKT_END_NAMESPACE
