// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/memory.hpp>

#include <atomic>
#include <cstdint>
#include <new>

TAKT_BEGIN_NAMESPACE

namespace detail {
class SummaryAccess;
}

/// Counts of durations in fixed log-linear buckets: 64 per octave, so a bucket's middle is within 0.78 % of every value
/// in it (values under 128 ns are exact). All histograms share the same buckets, so merging adds counts and gives the
/// same bits in any order. Pages of one octave (264 bytes) are allocated on first use. One thread at a time for adding
/// and merging; any thread may read while one writes. The layout is that of HdrHistogram and other log-linear sketches,
/// with the octave as the page.
class Histogram {
 public:
  static constexpr int kSubBuckets = 64;                                  ///< buckets per octave
  static constexpr int kPages = 41;                                       ///< number of octaves
  static constexpr std::uint64_t kMaxNs = (std::uint64_t{1} << 46U) - 1;  ///< 19.5 h; longer durations count as this

  Histogram() noexcept = default;
  /// Copies of a packed histogram share its data.
  Histogram(const Histogram& other) noexcept { copy(other); }
  Histogram& operator=(const Histogram& other) noexcept {
    if (this != &other) { copy(other); }
    return *this;
  }
  ~Histogram() { release(); }

  /// Adds one duration in ns. If a new page cannot be allocated, the value counts as unbinned().
  void add(std::uint64_t ns, detail::MemoryBudget* budget = nullptr) noexcept {
    const unsigned bucket = bucket_of(ns);
    add_count(bucket / kSubBuckets, bucket % kSubBuckets, 1, budget);
  }
  /// Adds a duration if its bucket has memory and does not overflow; otherwise changes nothing and returns false.
  /// \param ns at most kMaxNs.
  TAKT_ALWAYS_INLINE bool try_add(std::uint64_t ns) noexcept {
    Page* page = nullptr;
    std::uint64_t bucket = ns;
    if (TAKT_LIKELY(ns >= kSubBuckets)) {
      // A double's exponent and leading mantissa bits give octave and bucket. Many processors need eight steps to find
      // an integer's highest bit, but two to convert it to double.
      const auto value = static_cast<double>(static_cast<std::int64_t>(ns));
      std::uint64_t bits = 0;
      __builtin_memcpy(&bits, &value, sizeof bits);
      bucket = bits >> 46U;
      page = pages_[(bits >> 52U) - (1023 + 6 - 1)].load(std::memory_order_relaxed);
    } else {
      page = pages_[0].load(std::memory_order_relaxed);
    }
    if (TAKT_UNLIKELY(page == nullptr)) { return false; }
    detail::Relaxed<std::uint32_t>& count = page->count[bucket % kSubBuckets];
    const std::uint32_t next = count.own() + 1;
    if (TAKT_UNLIKELY(next == 0)) { return false; }
    count.set(next);
    return true;
  }

  /// Adds all counts of `other`. Commutative and associative.
  TAKT_NOINLINE void merge(const Histogram& other, detail::MemoryBudget* budget = nullptr) noexcept {
    other.each([&](unsigned bucket, std::uint64_t count) {
      add_count(bucket / kSubBuckets, bucket % kSubBuckets, count, budget);
    });
    unbinned_.add(other.unbinned_.get());
  }

  /// Packs all counts into few bytes, usually one to three per bucket, which copies share; adding unpacks them. For
  /// values that are read or kept: no other thread may read meanwhile. Does nothing if out of memory. In libtakt.
  TAKT_EXPORT void pack() noexcept;
  /// Becomes a packed copy of `other`, which may be written meanwhile. In libtakt.
  TAKT_EXPORT void copy_packed(const Histogram& other) noexcept;

  /// Sets all counts to 0 and keeps the pages.
  void clear() noexcept {
    drop(packed_.exchange(nullptr, std::memory_order_relaxed));
    for (auto& slot : pages_) {
      if (Page* page = slot.load(std::memory_order_relaxed)) { page->clear(); }
    }
    unbinned_.set(0);
  }

  /// Returns the number of durations in bucket `bucket` (0 to buckets() - 1).
  std::uint64_t count(unsigned bucket) const noexcept {
    const Page* page = pages_[bucket / kSubBuckets].load(std::memory_order_acquire);  // pairs with grow()
    if (page != nullptr) { return page->total(bucket % kSubBuckets); }
    std::uint64_t found = 0;
    if (packed_.load(std::memory_order_acquire) != nullptr) {  // pairs with the release in copy() and in pack()
      each([&](unsigned at, std::uint64_t count) { found = at == bucket ? count : found; });
    }
    return found;
  }
  /// Calls `visit(bucket, count)` for each non-empty bucket, in order.
  template <class Visit>
  void each(Visit visit) const {
    // Pairs with copy(), pack().
    if (const Packed* packed = packed_.load(std::memory_order_acquire)) { return packed->each(visit); }
    for (unsigned index = 0; index < kPages; ++index) {
      const Page* page = pages_[index].load(std::memory_order_acquire);  // pairs with grow()
      for (unsigned slot = 0; page != nullptr && slot < kSubBuckets; ++slot) {
        if (const std::uint64_t count = page->total(slot)) { visit(index * kSubBuckets + slot, count); }
      }
    }
  }
  /// Returns the number of counted durations, without unbinned ones.
  std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    each([&sum](unsigned, std::uint64_t count) { sum += count; });
    return sum;
  }
  /// Returns the durations for which no memory was available; they are missing from the percentiles.
  std::uint64_t unbinned() const noexcept { return unbinned_.get(); }
  /// Returns the bytes of the pages in use, or of the shared data if packed.
  std::size_t bytes() const noexcept {
    const Packed* packed = packed_.load(std::memory_order_acquire);  // pairs with copy(), pack()
    std::size_t sum = packed == nullptr ? 0 : sizeof(Packed) + packed->size;
    for (const auto& slot : pages_) {
      // Pairs with grow() and carry().
      for (const Page* page = slot.load(std::memory_order_acquire); page != nullptr;
           page = page->high.load(std::memory_order_acquire)) {
        sum += sizeof(Page);
      }
    }
    return sum;
  }

  static constexpr unsigned buckets() noexcept { return kPages * kSubBuckets; }

  static unsigned bucket_of(std::uint64_t ns) noexcept {
    const std::uint64_t value = ns < kMaxNs ? ns : kMaxNs;
    return (shift_of(value) << 6U) + static_cast<unsigned>(value >> shift_of(value));
  }
  /// Returns the smallest duration, in ns, that falls into `bucket`.
  static constexpr std::uint64_t lowest_ns(unsigned bucket) noexcept {
    return bucket < 2 * kSubBuckets ? bucket : std::uint64_t{64U + bucket % kSubBuckets} << (bucket / kSubBuckets - 1);
  }
  /// Returns the middle of `bucket` in ns: within 0.78 % of every duration in it.
  static constexpr std::uint64_t middle_ns(unsigned bucket) noexcept {
    return lowest_ns(bucket) + (lowest_ns(bucket + 1) - lowest_ns(bucket)) / 2;
  }

  /// Returns the duration in ns at or below which a share `q` of all durations lies (nearest rank); 0 if empty.
  std::uint64_t percentile_ns(double q) const noexcept {
    const std::uint64_t n = total();
    if (n == 0) { return 0; }
    const double wanted = q * static_cast<double>(n) * (1 - 1e-15);  // 0.28 * 25 is 7, not a little more
    std::uint64_t rank = static_cast<std::uint64_t>(wanted);
    if (static_cast<double>(rank) < wanted || rank == 0) { ++rank; }
    if (rank > n) { rank = n; }
    std::uint64_t found = 0;
    each([&](unsigned bucket, std::uint64_t here) {
      if (rank != 0 && rank <= here) { found = middle_ns(bucket); }
      rank -= rank < here ? rank : here;
    });
    return found;
  }

 private:
  friend class detail::SummaryAccess;

  struct Page {
    detail::Relaxed<std::uint32_t> count[kSubBuckets];
    std::atomic<Page*> high{nullptr};  // multiples of 2^32 counts, for runs that reach them

    std::uint64_t total(unsigned slot) const noexcept {
      const Page* above = high.load(std::memory_order_acquire);  // pairs with carry()
      return count[slot].get() + (above == nullptr ? 0 : above->total(slot) << 32U);
    }
    void clear() noexcept {
      for (auto& each : count) { each.set(0); }
      if (Page* above = high.load(std::memory_order_relaxed)) { above->clear(); }
    }
  };

  /// Immutable counts, shared by reference count. Its bytes follow it: for each non-empty bucket the step from the
  /// previous one (the first: from 0) and its count, 7 bits per byte, lowest first; the top bit is set in all but the
  /// last.
  struct Packed {
    std::atomic<std::size_t> owners{1};
    std::size_t size = 0;

    const unsigned char* bytes() const noexcept { return reinterpret_cast<const unsigned char*>(this + 1); }
    unsigned char* bytes() noexcept { return reinterpret_cast<unsigned char*>(this + 1); }
    template <class Visit>
    void each(Visit visit) const {
      unsigned bucket = 0;
      const unsigned char* at = bytes();
      const unsigned char* const end = at + size;
      while (at < end) {
        bucket += static_cast<unsigned>(next(at));
        visit(bucket, next(at));
      }
    }
    static std::uint64_t next(const unsigned char*& at) noexcept {
      std::uint64_t value = 0;
      for (unsigned shift = 0;; shift += 7) {
        const unsigned char byte = *at++;
        value |= std::uint64_t{byte & 0x7FU} << shift;
        if ((byte & 0x80U) == 0) { return value; }
      }
    }
  };
  void copy(const Histogram& other) noexcept;
  Packed* packed_copy() const noexcept;
  void unpack(detail::MemoryBudget* budget) noexcept;
  static void drop(Packed* packed) noexcept;
  void drop_pages() noexcept;

  /// Returns by how many bits a duration exceeds 7: the lowest ones, which its bucket drops.
  static unsigned shift_of(std::uint64_t ns) noexcept {
    return 57U - static_cast<unsigned>(__builtin_clzll(ns | 127U));
  }

  /// A packed histogram has no pages, so every writer passes here first.
  TAKT_COLD Page* grow(unsigned index, detail::MemoryBudget* budget) noexcept {
    unpack(budget);
    Page* page = pages_[index].load(std::memory_order_relaxed);
    if (page != nullptr) { return page; }
    page = detail::allocate<Page>(budget);
    if (page == nullptr) {
      unbinned_.add(1);
    } else {
      pages_[index].store(page, std::memory_order_release);  // pairs with the acquire in count()
    }
    return page;
  }

  TAKT_COLD void carry(Page& page, unsigned slot, std::uint32_t amount, detail::MemoryBudget* budget) noexcept {
    Page* above = page.high.load(std::memory_order_relaxed);
    if (above == nullptr) {
      above = detail::allocate<Page>(budget);
      if (above == nullptr) {
        unbinned_.add(std::uint64_t{amount} << 32U);
        return;
      }
      page.high.store(above, std::memory_order_release);  // pairs with Page::total()
    }
    above->count[slot].add(amount);
  }

  void add_count(unsigned index, unsigned slot, std::uint64_t amount, detail::MemoryBudget* budget) noexcept {
    if (amount == 0) { return; }
    Page* page = pages_[index].load(std::memory_order_relaxed);
    if (page == nullptr) {
      page = grow(index, budget);
      if (page == nullptr) {
        unbinned_.add(amount - 1);
        return;
      }
    }
    const std::uint64_t sum = page->count[slot].own() + (amount & 0xFFFFFFFFU);
    page->count[slot].set(static_cast<std::uint32_t>(sum));
    const std::uint64_t high = (amount >> 32U) + (sum >> 32U);
    if (high != 0) { carry(*page, slot, static_cast<std::uint32_t>(high), budget); }
  }

  void release() noexcept {
    drop(packed_.exchange(nullptr, std::memory_order_relaxed));
    drop_pages();
  }

  std::atomic<Page*> pages_[kPages] = {};
  detail::Counter unbinned_;
  std::atomic<Packed*> packed_{nullptr};  // if there is one, there are no pages
};

TAKT_COLD inline void Histogram::drop(Packed* packed) noexcept {
  // Pairs with itself, so that the thread that frees it runs after all readers.
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
