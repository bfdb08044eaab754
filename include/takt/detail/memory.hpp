// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/size.hpp>

#include <atomic>
#include <new>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How much memory recording may still take. Any thread.
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

/// A new T, or nullptr where the budget or the memory is spent.
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

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
