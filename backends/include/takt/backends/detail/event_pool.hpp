// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

struct StreamProgress;

/// Fate of an event that was released before it had finished.
enum class SlotFate : std::uint8_t {
  unfinished,
  finished,
  left_behind  ///< unknown if it has finished: never used again
};

/// An event of a context, and its users.
template <class Event>
struct EventSlot {
  Event event{};
  void* context = nullptr;             ///< owner of its pool
  void* handle = nullptr;              ///< stream of its last record; nullptr: unknown
  StreamProgress* stream = nullptr;    ///< progress of that stream; nullptr: not tracked
  std::uint64_t number = 0;            ///< number of the timestamp on that stream
  std::uint32_t anchor = 0;            ///< time-line anchor that it is measured from; 0: none
  std::atomic<bool> finished{false};   ///< the driver has reported it for this event itself
  std::atomic<std::uint32_t> uses{0};  ///< unresolved spans that start or end here
  std::uint32_t index = 0;
  std::atomic<std::uint32_t> next{0};  ///< in a list: index + 1, 0 at the end
};

/// The events of one context, reused and never destroyed: destruction can block, and at exit the driver may be
/// unloaded. Grows by chunks up to a limit. Any thread; no locks.
template <class Event>
class EventPool {
 public:
  using Slot = EventSlot<Event>;
  static constexpr std::uint32_t kChunk = 64;
  static constexpr std::uint32_t kChunks = 1024;
  static constexpr std::uint32_t kLow = 16;  ///< number of free events below which more should be created

  EventPool() = default;
  /// Leaves the events to the driver.
  ~EventPool() {
    for (auto& chunk : chunk_) { delete chunk.load(std::memory_order_relaxed); }
  }
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  /// Returns a free slot, or nullptr.
  Slot* take() noexcept {
    Slot* slot = pop(free_);
    if (slot != nullptr) { free_count_.fetch_sub(1, std::memory_order_relaxed); }
    return slot;
  }
  void give(Slot& slot) noexcept {
    free_count_.fetch_add(1, std::memory_order_relaxed);
    push(free_, slot);
  }
  /// Returns a slot by its index, regardless of its current use.
  Slot& slot(std::uint32_t index) noexcept { return at(index); }
  /// Gives back a slot whose event may still be in its stream's queue. Recording it again now is undefined in HIP.
  void give_unfinished(Slot& slot) noexcept { push(unfinished_, slot); }

  /// Frees the finished ones among the unfinished slots.
  /// \param fate_of a Slot.
  /// \return number of freed slots.
  template <class FateOf>
  std::uint32_t recycle(FateOf fate_of) noexcept {
    std::uint32_t freed = 0;
    std::uint32_t kept = 0;  // list of the unfinished ones
    while (Slot* slot = pop(unfinished_)) {
      const SlotFate fate = fate_of(*slot);
      if (fate == SlotFate::finished) {
        give(*slot);
        ++freed;
      } else if (fate == SlotFate::unfinished) {
        slot->next.store(kept, std::memory_order_relaxed);
        kept = slot->index + 1;
      }
    }
    while (kept != 0) {
      Slot& slot = at(kept - 1);
      kept = slot.next.load(std::memory_order_relaxed);
      push(unfinished_, slot);
    }
    return freed;
  }

  /// Creates a chunk of events. Several threads may do so at once: each creates its own.
  /// \param create puts an event into an Event&; false if impossible.
  /// \return true if at least one was created.
  template <class Create>
  bool grow(void* context, Create create) noexcept {
    Event event{};
    if (chunks_.load(std::memory_order_relaxed) >= kChunks || !create(event)) { return false; }
    const std::uint32_t number = chunks_.fetch_add(1, std::memory_order_relaxed);
    auto* chunk = number < kChunks ? new (std::nothrow) Chunk : nullptr;
    if (chunk == nullptr) { return false; }                  // one event is leaked
    chunk_[number].store(chunk, std::memory_order_release);  // pairs with at()
    std::uint32_t made = 0;
    do {
      Slot& slot = (*chunk)[made];
      slot.event = event;
      slot.context = context;
      slot.index = number * kChunk + made;
      give(slot);
      made_.fetch_add(1, std::memory_order_relaxed);
    } while (++made < kChunk && create(event));
    return true;
  }

  bool is_low() const noexcept { return free() < kLow; }
  std::uint32_t made() const noexcept { return made_.load(std::memory_order_relaxed); }
  std::uint32_t free() const noexcept { return free_count_.load(std::memory_order_relaxed); }

 private:
  using Chunk = std::array<Slot, kChunk>;
  using List = std::atomic<std::uint64_t>;  // index + 1 of the first slot; above it a change counter

  Slot& at(std::uint32_t index) noexcept {
    return (*chunk_[index / kChunk].load(std::memory_order_acquire))[index % kChunk];  // pairs with grow()
  }
  static std::uint64_t changed(std::uint64_t head, std::uint32_t first) noexcept {
    return ((head >> 32U) + 1) << 32U | first;
  }

  Slot* pop(List& list) noexcept {
    std::uint64_t head = list.load(std::memory_order_acquire);  // pairs with push()
    for (;;) {
      const auto first = static_cast<std::uint32_t>(head);
      if (first == 0) { return nullptr; }
      Slot& slot = at(first - 1);
      // Another thread may take and return it meanwhile: the counter in the head detects that.
      const std::uint64_t rest = changed(head, slot.next.load(std::memory_order_relaxed));
      // Pairs with push().
      if (list.compare_exchange_weak(head, rest, std::memory_order_acq_rel, std::memory_order_acquire)) {
        return &slot;
      }
    }
  }
  void push(List& list, Slot& slot) noexcept {
    std::uint64_t head = list.load(std::memory_order_relaxed);
    do {
      slot.next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    } while (!list.compare_exchange_weak(head, changed(head, slot.index + 1), std::memory_order_acq_rel,
                                         std::memory_order_relaxed));  // pairs with pop()
  }

  List free_{0};
  List unfinished_{0};
  std::atomic<std::uint32_t> free_count_{0};
  std::atomic<std::uint32_t> made_{0};
  std::atomic<std::uint32_t> chunks_{0};
  std::array<std::atomic<Chunk*>, kChunks> chunk_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
