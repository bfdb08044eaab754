// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A Histogram in few bytes: out of line, as nobody who records comes by here.

#include <takt/histogram.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>

TAKT_BEGIN_NAMESPACE

TAKT_COLD inline void Histogram::drop(Packed* packed) noexcept {
  // Partner: itself, so that whoever frees it comes after all who have read it.
  if (packed == nullptr || packed->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) { return; }
  packed->~Packed();
  ::operator delete(packed);
}

TAKT_COLD inline void Histogram::drop_pages() noexcept {
  for (auto& slot : pages_) {
    Page* page = slot.exchange(nullptr, std::memory_order_relaxed);
    while (page != nullptr) {
      Page* above = page->high.load(std::memory_order_relaxed);
      detail::deallocate(page, nullptr);
      page = above;
    }
  }
}

/// What each() visits; nullptr without memory. The owner may add meanwhile, so that there may be more than was measured.
TAKT_COLD inline Histogram::Packed* Histogram::packed_copy() const noexcept {
  for (;;) {
    std::size_t size = 0;
    unsigned last = 0;
    each([&](unsigned bucket, std::uint64_t count) {
      for (std::uint64_t number : {std::uint64_t{bucket - last}, count}) {
        for (++size; number > 0x7F; number >>= 7U) { ++size; }
      }
      last = bucket;
    });
    void* memory = ::operator new(sizeof(Packed) + size, std::nothrow);
    if (memory == nullptr) { return nullptr; }
    auto* packed = new (memory) Packed();
    unsigned char* at = packed->bytes();
    const unsigned char* const end = at + size;
    bool fits = true;
    last = 0;
    each([&](unsigned bucket, std::uint64_t count) {
      for (std::uint64_t number : {std::uint64_t{bucket - last}, count}) {
        for (bool more = fits; more; number >>= 7U) {
          more = number > 0x7F;
          fits = at != end;
          if (!fits) { return; }
          *at++ = static_cast<unsigned char>((number & 0x7FU) | (more ? 0x80U : 0U));
        }
      }
      last = bucket;
    });
    packed->size = static_cast<std::size_t>(at - packed->bytes());
    if (fits) { return packed; }
    drop(packed);
  }
}

TAKT_COLD inline void Histogram::copy(const Histogram& other) noexcept {
  Packed* const shared = other.packed_.load(std::memory_order_acquire);
  if (shared == nullptr) {
    clear();
    merge(other);
    return;
  }
  shared->owners.fetch_add(1, std::memory_order_relaxed);
  release();
  packed_.store(shared, std::memory_order_release);
  unbinned_.set(other.unbinned_.get());
}

TAKT_COLD inline void Histogram::copy_packed(const Histogram& other) noexcept {
  Packed* const packed = other.packed_.load(std::memory_order_acquire) == nullptr ? other.packed_copy() : nullptr;
  if (packed == nullptr) {
    copy(other);
    return;
  }
  release();
  packed_.store(packed, std::memory_order_release);
  unbinned_.set(other.unbinned_.get());
}

TAKT_COLD inline void Histogram::pack() noexcept {
  if (packed_.load(std::memory_order_relaxed) != nullptr) { return; }
  Packed* const packed = packed_copy();
  if (packed == nullptr) { return; }
  drop_pages();
  packed_.store(packed, std::memory_order_release);
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
