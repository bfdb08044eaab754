// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Memory that recording may still allocate. Any thread.
class MemoryBudget {
 public:
  explicit constexpr MemoryBudget(std::size_t limit) noexcept : limit_(limit) {}

  bool take(std::size_t bytes) noexcept {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_.load(std::memory_order_relaxed)) {
      return true;
    }
    give(bytes);
    refused_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  void give(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::size_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> refused_{0};
};

/// Returns a new T, or nullptr if the budget or the memory is exhausted.
template <class T>
T* allocate(MemoryBudget* budget) noexcept {
  if (budget != nullptr && !budget->take(sizeof(T))) { return nullptr; }
  void* memory = ::operator new (sizeof(T), std::align_val_t{alignof(T)}, std::nothrow);
  if (memory == nullptr) {
    if (budget != nullptr) { budget->give(sizeof(T)); }
    return nullptr;
  }
  return ::new (memory) T();
}

template <class T>
void deallocate(T* object, MemoryBudget* budget) noexcept {
  if (object == nullptr) { return; }
  object->~T();
  ::operator delete (object, std::align_val_t{alignof(T)});
  if (budget != nullptr) { budget->give(sizeof(T)); }
}

/// A number with one writer and any number of readers. Copies like a plain integer; on x86-64 both directions are plain
/// moves. Each load of get() (acquire) pairs with the store of set() (release) that it reads: a reader between two
/// reads of a node's version sees no field newer than the first version it read.
template <class T>
class Relaxed {
 public:
  constexpr Relaxed(T value = T()) noexcept : value_(value) {}
  Relaxed(const Relaxed& other) noexcept : value_(other.get()) {}
  Relaxed& operator=(const Relaxed& other) noexcept {
    set(other.get());
    return *this;
  }

  TAKT_ALWAYS_INLINE T get() const noexcept {
    T value;
    __atomic_load(&value_, &value, __ATOMIC_ACQUIRE);  // pairs with set()
    return value;
  }
  TAKT_ALWAYS_INLINE void set(T value) noexcept { __atomic_store(&value_, &value, __ATOMIC_RELEASE); }
  /// Writer only.
  TAKT_ALWAYS_INLINE void add(T value) noexcept { set(static_cast<T>(value_ + value)); }
  /// Writer only. A plain load, which compilers may merge into another instruction: no other thread stores
  /// concurrently.
  TAKT_ALWAYS_INLINE T own() const noexcept { return value_; }

 private:
  alignas(sizeof(T)) T value_;
};

using Counter = Relaxed<std::uint64_t>;

/// Sums of times, items and bytes saturate here; the value also fits int64_t.
inline constexpr std::uint64_t kMaxSum = ~std::uint64_t{0} >> 1U;

/// Returns the saturated sum of `sum` (at most kMaxSum) and any number. Any order of addition gives the same result.
constexpr std::uint64_t bounded_sum(std::uint64_t sum, std::uint64_t more) noexcept {
  const std::uint64_t both = sum + (more < kMaxSum ? more : kMaxSum);
  return both < kMaxSum ? both : kMaxSum;
}

}  // namespace detail
TAKT_END_NAMESPACE
