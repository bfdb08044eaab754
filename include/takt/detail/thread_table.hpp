// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/memory.hpp>

#include <atomic>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Identifies a thread: no two live threads share an address, and no two ever share a number.
struct ThreadToken {
  std::uint64_t number;
};
inline std::atomic<std::uint64_t> thread_numbers{0};
inline thread_local ThreadToken thread_token{0};

inline const ThreadToken& this_thread_token() noexcept {
  if (TAKT_UNLIKELY(thread_token.number == 0)) {
    thread_token.number = thread_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return thread_token;
}

/// Per-thread entries of one object, in lists by the address of the thread's token. An Entry is never removed and has
/// `const ThreadToken* token` and `Entry* next`. A thread at the address of an ended one finds that one's entries. Any
/// thread, except for the destructor.
template <class Entry>
class ThreadTable {
 public:
  static constexpr unsigned kBuckets = 64;  ///< index_of() has 6 bits

  ThreadTable() noexcept = default;
  ~ThreadTable() {
    for (auto& bucket : bucket_) {
      for (Entry* entry = bucket.load(std::memory_order_relaxed); entry != nullptr;) {
        Entry* const next = entry->next;
        deallocate(entry, nullptr);
        entry = next;
      }
    }
  }
  ThreadTable(const ThreadTable&) = delete;
  ThreadTable& operator=(const ThreadTable&) = delete;

  /// Returns the list of a token at `address`.
  static std::size_t index_of(std::uintptr_t address) noexcept {
    // Tokens of different threads are whole pages apart, of 4 to 64 KiB: the high bits of a product depend on the whole
    // address.
    constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio (Knuth, volume 3, 6.4)
    return static_cast<std::size_t>(std::uint64_t{address} * kGolden >> 58U);
  }

  /// Returns a new entry for the thread of `token`; nullptr if out of memory.
  Entry* add(const ThreadToken& token) noexcept {
    auto* const entry = allocate<Entry>(nullptr);
    if (entry == nullptr) { return nullptr; }
    std::atomic<Entry*>& bucket = bucket_of(token);
    entry->token = &token;
    entry->next = bucket.load(std::memory_order_relaxed);
    // Pairs with the acquire in each().
    while (!bucket.compare_exchange_weak(entry->next, entry, std::memory_order_release, std::memory_order_relaxed)) {}
    return entry;
  }
  /// Visits the entries created at the address of `token`, until `use` returns true.
  template <class Use>
  void each_at(const ThreadToken& token, Use use) const noexcept {
    // Pairs with the release in add().
    for (Entry* entry = bucket_of(token).load(std::memory_order_acquire); entry != nullptr; entry = entry->next) {
      if (entry->token == &token && use(*entry)) { return; }
    }
  }
  template <class Use>
  void each(Use use) const {
    for (const auto& bucket : bucket_) {
      // Pairs with the release in add().
      for (Entry* entry = bucket.load(std::memory_order_acquire); entry != nullptr; entry = entry->next) {
        use(*entry);
      }
    }
  }

 private:
  std::atomic<Entry*>& bucket_of(const ThreadToken& token) noexcept {
    return bucket_[index_of(reinterpret_cast<std::uintptr_t>(&token))];
  }
  const std::atomic<Entry*>& bucket_of(const ThreadToken& token) const noexcept {
    return bucket_[index_of(reinterpret_cast<std::uintptr_t>(&token))];
  }

  std::atomic<Entry*> bucket_[kBuckets] = {};
};

}  // namespace detail
TAKT_END_NAMESPACE
