// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Regions that ended on another thread, left for the thread on which they started, which takes them at its next fold.
/// One thread takes; any thread leaves and reads. The capacity is the maximum of open regions; beyond the first few,
/// slots are allocated, and freed with the object.
class Notices {
 public:
  static constexpr unsigned kFew = 128;
  static constexpr unsigned kMax = 4096;  ///< more than can be open, except for regions too deep

  struct Notice {
    std::uint32_t id = 0;
    std::uint32_t place = 0;
    std::uint64_t ns = 0;  ///< time of its end
    bool is_before(const Notice& other) const noexcept { return ns != other.ns ? ns < other.ns : place < other.place; }
  };
  /// Some notices, in the order of their ends.
  class List {
   public:
    List() noexcept = default;
    ~List() { delete[] many_; }
    List(const List&) = delete;
    List& operator=(const List&) = delete;
    unsigned size() const noexcept { return count_; }
    const Notice* begin() const noexcept { return many_ != nullptr ? many_ : few_; }
    const Notice& operator[](unsigned index) const noexcept { return begin()[index]; }
    void clear() noexcept { count_ = 0; }
    /// Returns false, unchanged, if out of memory.
    bool add(const Notice& notice) noexcept {
      if (count_ == kFew && many_ == nullptr) {
        many_ = new (std::nothrow) Notice[kMax];
        if (many_ == nullptr) { return false; }
        for (unsigned at = 0; at < kFew; ++at) { many_[at] = few_[at]; }
      }
      (many_ != nullptr ? many_ : few_)[count_++] = notice;
      return true;
    }
    void sort() noexcept {
      Notice* const list = many_ != nullptr ? many_ : few_;
      for (unsigned gap = count_ / 2; gap > 0; gap /= 2) {
        for (unsigned next = gap; next < count_; ++next) {
          const Notice moved = list[next];
          unsigned at = next;
          for (; at >= gap && moved.is_before(list[at - gap]); at -= gap) { list[at] = list[at - gap]; }
          list[at] = moved;
        }
      }
    }

   private:
    unsigned count_ = 0;
    Notice few_[kFew];
    Notice* many_ = nullptr;
  };

  Notices() noexcept = default;
  ~Notices() {
    for (auto& chunk : more_) { delete chunk.load(std::memory_order_relaxed); }
  }
  Notices(const Notices&) = delete;
  Notices& operator=(const Notices&) = delete;

  /// \param id not 0. Returns false if full or out of memory: the region then stays open in its thread's data and is
  ///         reported as open.
  bool leave(std::uint32_t id, std::uint64_t ns) noexcept {
    for (unsigned chunk = 0; chunk < kMax / kFew; ++chunk) {
      Chunk* const slots = chunk == 0 ? &first_ : make(more_[chunk - 1]);
      if (slots == nullptr) { return false; }
      if (slots->used.load(std::memory_order_relaxed) < kFew && leave_in(*slots, id, ns)) { return true; }
    }
    return false;
  }
  bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  void read(List& list) const noexcept {
    list.clear();
    for (unsigned chunk = 0; chunk < kMax / kFew; ++chunk) {
      // Acquire: pairs with make(), and for the id with leave_in().
      const Chunk* const slots = chunk == 0 ? &first_ : more_[chunk - 1].load(std::memory_order_acquire);
      if (slots == nullptr) { break; }
      for (unsigned slot = 0; slot < kFew; ++slot) {
        const std::uint32_t id = slots->slot[slot].id.load(std::memory_order_acquire);  // pairs with leave_in()
        if (id == kFree || id == kBusy) { continue; }
        // Acquire: prevents reading the time of a later notice in this slot without its id.
        const std::uint64_t ns = slots->slot[slot].ns.load(std::memory_order_acquire);
        if (slots->slot[slot].id.load(std::memory_order_relaxed) != id) { continue; }  // taken meanwhile
        if (!list.add(Notice{id, chunk * kFew + slot, ns})) { break; }                 // the rest later
      }
    }
    list.sort();
  }
  /// Consumer: removes a notice that it has read.
  void remove(const Notice& notice) noexcept {
    const unsigned chunk = notice.place / kFew;
    Chunk& slots = chunk == 0 ? first_ : *more_[chunk - 1].load(std::memory_order_relaxed);
    slots.slot[notice.place % kFew].id.store(kFree, std::memory_order_release);  // pairs with leave_in()
    slots.used.fetch_sub(1, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t kFree = 0;
  static constexpr std::uint32_t kBusy = ~std::uint32_t{0};
  struct Slot {
    std::atomic<std::uint32_t> id{kFree};
    std::atomic<std::uint64_t> ns{0};
  };
  struct Chunk {
    std::atomic<std::uint32_t> used{0};
    Slot slot[kFew];
  };

  static Chunk* make(std::atomic<Chunk*>& place) noexcept {
    Chunk* there = place.load(std::memory_order_acquire);  // pairs with the exchange below
    if (there != nullptr) { return there; }
    auto* const made = new (std::nothrow) Chunk;
    // Release: pairs with the load above and in read().
    if (made == nullptr || place.compare_exchange_strong(there, made, std::memory_order_acq_rel)) { return made; }
    delete made;
    return there;
  }
  bool leave_in(Chunk& chunk, std::uint32_t id, std::uint64_t ns) noexcept {
    for (Slot& slot : chunk.slot) {
      std::uint32_t expected = kFree;
      // pairs with remove()
      if (!slot.id.compare_exchange_strong(expected, kBusy, std::memory_order_acquire)) { continue; }
      slot.ns.store(ns, std::memory_order_release);  // pairs with read(): after kBusy
      slot.id.store(id, std::memory_order_release);  // pairs with read()
      chunk.used.fetch_add(1, std::memory_order_relaxed);
      count_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  std::atomic<std::uint32_t> count_{0};
  Chunk first_;
  std::atomic<Chunk*> more_[kMax / kFew - 1] = {};
};

}  // namespace detail
TAKT_END_NAMESPACE
