// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Packs a Histogram. Not in the header, because a header-only Timer never packs.

#include <takt/histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>

TAKT_BEGIN_NAMESPACE

/// Packs the buckets that each() visits; returns nullptr without memory. The owner may add concurrently, so the second
/// pass may see more data than the first: then retries.
TAKT_COLD Histogram::Packed* Histogram::packed_copy() const noexcept {
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

TAKT_COLD void Histogram::copy_packed(const Histogram& other) noexcept {
  // Pairs with copy() and pack().
  Packed* const packed = other.packed_.load(std::memory_order_acquire) == nullptr ? other.packed_copy() : nullptr;
  if (packed == nullptr) {
    copy(other);
    return;
  }
  release();
  packed_.store(packed, std::memory_order_release);  // pairs with each()
  unbinned_.set(other.unbinned_.get());
}

TAKT_COLD void Histogram::pack() noexcept {
  if (packed_.load(std::memory_order_relaxed) != nullptr) { return; }
  Packed* const packed = packed_copy();
  if (packed == nullptr) { return; }
  drop_pages();
  packed_.store(packed, std::memory_order_release);  // pairs with each()
}

TAKT_END_NAMESPACE
