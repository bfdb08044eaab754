// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/histogram.hpp>
#include <takt/snapshot.hpp>
#include <takt/summary.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

// Encodes a histogram's counts: for each bucket in use, the step from the one before (the first: from 0) and its count,
// as Encoder::number() writes them. A packed Histogram stores the same bytes. Not thread-safe.

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string counts_of(const Histogram& histogram);
/// Encodes a histogram with one value.
std::string counts_of_one(std::uint64_t ns);
/// Appends the sums of both to `out`. Returns false if either is invalid.
bool add_counts(std::string_view a, std::string_view b, std::string& out);
/// Decodes into a histogram. REQUIRES: an empty histogram. Returns false if the bytes are invalid.
bool set_counts(std::string_view bytes, Histogram& histogram);

/// The numbers of a Summary without its histogram.
struct SummaryScalars {
  std::uint64_t n = 0;
  std::uint64_t total = 0;
  std::uint64_t squares_low = 0;
  std::uint64_t squares_high = 0;
  std::uint64_t min = 0;  ///< 0 if nothing was measured
  std::uint64_t max = 0;
  std::uint64_t first_n = 0;
  std::uint64_t first_total = 0;
  std::uint64_t first_max = 0;
  std::uint64_t warmup_n = 0;
  std::uint64_t warmup_total = 0;
  std::uint64_t unbinned = 0;
};

/// Reads and writes the parts of a Summary or Histogram, for files and messages. Not thread-safe.
class SummaryAccess {
 public:
  static SummaryScalars scalars(const Summary& summary) noexcept;
  static void set_scalars(Summary& summary, const SummaryScalars& scalars) noexcept;
  static Histogram& histogram(Summary& summary) noexcept { return summary.histogram_; }
  /// Sets a bucket's count. Drops the count if no memory is available for a page.
  static void set_count(Summary& summary, unsigned bucket, std::uint64_t count) noexcept {
    set_count(summary.histogram_, bucket, count);
  }
  static void set_count(Histogram& histogram, unsigned bucket, std::uint64_t count) noexcept;
  /// Returns the bytes of a packed histogram; a null view if it is not packed.
  static std::string_view packed(const Histogram& histogram) noexcept;
  static void set_unbinned(Histogram& histogram, std::uint64_t count) noexcept { histogram.unbinned_.set(count); }
  /// Calls `visit` for each bucket, in order, whose count differs from `before`. Counts only grow.
  template <class Visit>
  static void each_change(const Histogram& now, const Histogram& before, Visit visit) {
    std::array<std::uint64_t, std::size_t{Histogram::kPages} * Histogram::kSubBuckets> said{};
    before.each([&said](unsigned bucket, std::uint64_t count) { said[bucket] = count; });
    now.each([&](unsigned bucket, std::uint64_t count) {
      if (count != said[bucket]) { visit(bucket, count); }
    });
  }
};

inline SummaryScalars SummaryAccess::scalars(const Summary& summary) noexcept {
  SummaryScalars scalars;
  scalars.n = summary.n();
  scalars.total = summary.total_ns();
  scalars.squares_low = summary.squares_low_.get();
  scalars.squares_high = summary.squares_high_.get();
  scalars.min = summary.min_ns();
  scalars.max = summary.max_ns();
  scalars.first_n = summary.first_n();
  scalars.first_total = summary.first_total_ns();
  scalars.first_max = summary.first_max_ns();
  scalars.warmup_n = summary.warmup_n();
  scalars.warmup_total = summary.warmup_total_ns();
  scalars.unbinned = summary.histogram().unbinned();
  return scalars;
}

inline void SummaryAccess::set_scalars(Summary& summary, const SummaryScalars& scalars) noexcept {
  summary.n_.set(scalars.n);
  summary.total_.set(scalars.total);
  summary.squares_low_.set(scalars.squares_low);
  summary.squares_high_.set(scalars.squares_high);
  summary.min_.set(scalars.n == scalars.warmup_n ? ~std::uint64_t{0} : scalars.min);
  summary.max_.set(scalars.max);
  summary.first_n_.set(scalars.first_n);
  summary.first_total_.set(scalars.first_total);
  summary.first_max_.set(scalars.first_max);
  summary.warmup_n_.set(scalars.warmup_n);
  summary.warmup_total_.set(scalars.warmup_total);
  set_unbinned(summary.histogram_, scalars.unbinned);
}

inline std::string_view SummaryAccess::packed(const Histogram& histogram) noexcept {
  const Histogram::Packed* const packed = histogram.packed_.load(std::memory_order_acquire);  // pairs with pack()
  return packed == nullptr ? std::string_view()
                           : std::string_view(reinterpret_cast<const char*>(packed->bytes()), packed->size);
}

inline void SummaryAccess::set_count(Histogram& histogram, unsigned bucket, std::uint64_t count) noexcept {
  const unsigned page_of = bucket / Histogram::kSubBuckets;
  const unsigned slot = bucket % Histogram::kSubBuckets;
  Histogram::Page* page = histogram.pages_[page_of].load(std::memory_order_relaxed);
  if (page == nullptr) { page = histogram.grow(page_of, nullptr); }
  if (page == nullptr) { return; }
  page->count[slot].set(static_cast<std::uint32_t>(count));
  Histogram::Page* above = page->high.load(std::memory_order_relaxed);
  if (above != nullptr) { above->count[slot].set(0); }
  if (count >> 32U != 0) { histogram.carry(*page, slot, static_cast<std::uint32_t>(count >> 32U), nullptr); }
}

// Encodes or decodes a Throughput in parts: earlier journals end between two parts.

/// Visits numbers and rates.
template <class Coder, class Throughput>
void visit_rates(Coder& coder, Throughput& throughput) {
  for (auto* each : {&throughput.steps, &throughput.items, &throughput.period_ns, &throughput.excluded_steps,
                     &throughput.excluded_ns, &throughput.windows}) {
    coder.number(*each);
  }
  for (auto* each : {&throughput.items_per_s, &throughput.items_low, &throughput.items_high, &throughput.steps_per_s}) {
    coder.real(*each);
  }
}

/// Visits the start and end of its periods.
template <class Coder, class Throughput>
void visit_extent(Coder& coder, Throughput& throughput) {
  coder.number(throughput.first_ns);
  coder.number(throughput.last_ns);
}

/// Visits the reason for a missing interval.
template <class Coder, class Throughput>
void visit_no_interval(Coder& coder, Throughput& throughput) {
  auto why = static_cast<std::uint32_t>(throughput.no_interval);
  coder.number(why);
  coder.number(throughput.stalls);
  if constexpr (!std::is_const_v<Throughput>) {
    throughput.no_interval = static_cast<NoInterval>(std::min(why, static_cast<std::uint32_t>(NoInterval::correlated)));
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
