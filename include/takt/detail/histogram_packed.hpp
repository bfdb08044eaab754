// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// What becomes of a Histogram in few bytes: out of line, as nobody who records comes by here.

#include <takt/detail/size.hpp>
#include <takt/histogram.hpp>

#include <atomic>
#include <cstdint>
#include <new>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

TAKT_COLD inline void Histogram::drop(Packed* packed) noexcept {
  // Pairs with itself, so that whoever frees it comes after all who have read it.
  if (packed == nullptr || packed->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  packed->~Packed();
  ::operator delete(packed);
}

TAKT_COLD inline void Histogram::drop_pages() noexcept {
  for (auto& slot : pages_) {
    if (slot.load(std::memory_order_relaxed) == nullptr) { continue; }  // most are; an exchange locks the bus
    Page* page = slot.exchange(nullptr, std::memory_order_relaxed);
    while (page != nullptr) {
      Page* above = page->high.load(std::memory_order_relaxed);
      detail::deallocate(page, nullptr);
      page = above;
    }
  }
}

TAKT_COLD inline void Histogram::copy(const Histogram& other) noexcept {
  // Pairs with the release below, and that in pack().
  Packed* const shared = other.packed_.load(std::memory_order_acquire);
  if (shared == nullptr) {
    clear();
    merge(other);
    return;
  }
  shared->owners.fetch_add(1, std::memory_order_relaxed);
  release();
  packed_.store(shared, std::memory_order_release);  // pairs with each()
  unbinned_.set(other.unbinned_.get());
}

TAKT_COLD inline void Histogram::unpack(detail::MemoryBudget* budget) noexcept {
  Packed* const packed = packed_.exchange(nullptr, std::memory_order_relaxed);
  if (packed == nullptr) { return; }
  packed->each([&](unsigned bucket, std::uint64_t count) {
    add_count(bucket / kSubBuckets, bucket % kSubBuckets, count, budget);
  });
  drop(packed);
}

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
