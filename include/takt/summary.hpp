// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/memory.hpp>
#include <takt/histogram.hpp>

#include <cstdint>
#include <initializer_list>

TAKT_BEGIN_NAMESPACE

/// Figures of a Summary as plain numbers. Times are in nanoseconds. n, total_ns and first_ns cover every call; the rest
/// excludes warm-up calls and is 0 without others.
struct Stats {
  std::uint64_t n = 0;                ///< calls
  std::uint64_t warmup_n = 0;         ///< warm-up calls among these
  std::uint64_t total_ns = 0;         ///< time in all calls
  std::uint64_t warmup_total_ns = 0;  ///< part of it in warm-up calls
  std::uint64_t first_ns = 0;         ///< the first call; over several threads or ranks, the longest of the first calls
  double mean_ns = 0;
  double stdev_ns = 0;  ///< sample standard deviation (n - 1); 0 below two calls
  std::uint64_t min_ns = 0;
  std::uint64_t max_ns = 0;
  /// Percentiles are within 0.78 % of the value at their rank; of an even number, the lower middle one is the median.
  std::uint64_t p50_ns = 0;
  std::uint64_t p90_ns = 0;
  std::uint64_t p99_ns = 0;
  std::uint64_t p999_ns = 0;
};

namespace detail {
__extension__ typedef unsigned __int128 Wide;
}

/// Statistics of one region's durations, in integers: count, total, sum of squares (128 bit), minimum, maximum, first
/// calls, warm-up calls, and a histogram. Its size does not depend on the number of durations (at most about 12 kB).
/// Sums saturate at 2^63 - 1. `merge` is commutative and associative: any order gives the same bits. One writer at a
/// time; any thread may read while one writes, and each field is atomic.
class Summary {
 public:
  /// Adds a duration in ns. With `budget`, histogram pages are taken from it.
  TAKT_NOINLINE void add(std::uint64_t ns, detail::MemoryBudget* budget = nullptr) noexcept {
    n_.add(1);
    add_sums(ns, static_cast<detail::Wide>(ns) * ns);
    note_extremes(ns);
    histogram_.add(ns, budget);
  }
  /// Fast path of add(), with as few instructions as possible. Changes nothing and returns false if it does not apply:
  /// from 2^32 ns (4.3 s) on, when the squares carry, and if the histogram needs memory.
  TAKT_ALWAYS_INLINE bool try_add(std::uint64_t ns) noexcept { return ns >> 32U == 0 && try_add_short(ns); }
  /// Same, for less than 2^32 ns.
  TAKT_ALWAYS_INLINE bool try_add_short(std::uint64_t ns) noexcept {
    std::uint64_t low = 0;
    if (TAKT_UNLIKELY(__builtin_add_overflow(squares_low_.own(), ns * ns, &low))) { return false; }
    if (TAKT_UNLIKELY(!histogram_.try_add(ns))) { return false; }
    squares_low_.set(low);
    n_.add(1);
    total_.add(ns);
    note_extremes(ns);
    return true;
  }
  /// Adds the first duration of a region: it counts like any other and is also kept separately.
  TAKT_COLD void add_first(std::uint64_t ns, detail::MemoryBudget* budget = nullptr) noexcept {
    add(ns, budget);
    note_first(ns);
  }
  /// Adds a duration from warm-up: only count and total include it.
  TAKT_COLD void add_warmup(std::uint64_t ns) noexcept {
    if (n_.own() == 0) { note_first(ns); }
    n_.add(1);
    add_sums(ns, 0);
    warmup_n_.add(1);
    warmup_total_.set(detail::bounded_sum(warmup_total_.own(), ns));
  }

  /// Adds everything that `other` holds.
  void merge(const Summary& other, detail::MemoryBudget* budget = nullptr) noexcept {
    n_.add(other.n());
    add_sums(other.total_ns(), other.sum_of_squares());
    if (other.min_.get() < min_.own()) { min_.set(other.min_.get()); }
    if (other.max_.get() > max_.own()) { max_.set(other.max_.get()); }
    first_n_.add(other.first_n());
    first_total_.set(detail::bounded_sum(first_total_.own(), other.first_total_ns()));
    if (other.first_max_ns() > first_max_.own()) { first_max_.set(other.first_max_ns()); }
    warmup_n_.add(other.warmup_n());
    warmup_total_.set(detail::bounded_sum(warmup_total_.own(), other.warmup_total_ns()));
    histogram_.merge(other.histogram_, budget);
  }

  /// Resets everything to 0 and keeps the histogram's pages.
  void clear() noexcept {
    for (auto field : kNumbers) { (this->*field).set(0); }
    min_.set(~std::uint64_t{0});
    histogram_.clear();
  }

  /// Returns true if the total has saturated at 2^63 - 1 ns (292 years). The sum of squares saturates, too; the
  /// deviation is then undefined.
  bool is_full() const noexcept { return total_ns() >= detail::kMaxSum; }
  /// Returns true if nothing was added yet. Writer only.
  bool is_empty() const noexcept { return n_.own() == 0; }
  std::uint64_t n() const noexcept { return n_.get(); }                           ///< calls, warm-up included
  std::uint64_t total_ns() const noexcept { return total_.get(); }                ///< time in all calls
  std::uint64_t warmup_n() const noexcept { return warmup_n_.get(); }             ///< warm-up calls among these
  std::uint64_t warmup_total_ns() const noexcept { return warmup_total_.get(); }  ///< part of it in warm-up calls
  std::uint64_t measured_n() const noexcept { return n() - warmup_n(); }  ///< calls behind mean, minimum, maximum etc.
  std::uint64_t measured_total_ns() const noexcept { return total_ns() - warmup_total_ns(); }
  std::uint64_t first_n() const noexcept { return first_n_.get(); }  ///< first calls: one per thread or rank
  std::uint64_t first_total_ns() const noexcept { return first_total_.get(); }
  std::uint64_t first_max_ns() const noexcept { return first_max_.get(); }
  /// Shortest and longest call after warm-up, in ns; 0 if none.
  std::uint64_t min_ns() const noexcept { return measured_n() == 0 ? 0 : min_.get(); }
  std::uint64_t max_ns() const noexcept { return max_.get(); }
  /// Sum of the squares of the durations after warm-up, in ns squared.
  detail::Wide sum_of_squares() const noexcept {
    return (static_cast<detail::Wide>(squares_high_.get()) << 64U) | squares_low_.get();
  }
  const Histogram& histogram() const noexcept { return histogram_; }
  /// Becomes a copy of `other` with a packed histogram. See Histogram::pack().
  void copy_packed(const Summary& other) noexcept {
    copy_numbers(other);
    histogram_.copy_packed(other.histogram_);
  }
  void pack() noexcept { histogram_.pack(); }

  /// Returns the mean after warm-up in ns.
  double mean_ns() const noexcept {
    return measured_n() == 0 ? 0.0 : static_cast<double>(measured_total_ns()) / static_cast<double>(measured_n());
  }
  /// Returns the sample standard deviation after warm-up in ns: sqrt((sum of squares - total^2/n) / (n - 1)). Uses
  /// 128-bit integers up to the last division to avoid cancellation.
  double stdev_ns() const noexcept;
  /// Returns the `q` quantile (0 to 1) of the calls after warm-up in ns: within 0.78 %, and never outside minimum and
  /// maximum.
  std::uint64_t percentile_ns(double q) const noexcept {
    const std::uint64_t value = histogram_.percentile_ns(q);
    return value < min_ns() ? min_ns() : value > max_ns() ? max_ns() : value;
  }
  /// Returns all of the above at once.
  Stats stats() const noexcept;

 private:
  friend class detail::SummaryAccess;

  /// A saturated sum of squares disables try_add(), which does not check the total.
  void add_sums(std::uint64_t total, detail::Wide squares) noexcept {
    total_.set(detail::bounded_sum(total_.own(), total));
    const detail::Wide sum = sum_of_squares() + squares;
    const detail::Wide bounded = sum < squares || total_.own() == detail::kMaxSum ? ~detail::Wide{0} : sum;
    squares_low_.set(static_cast<std::uint64_t>(bounded));
    squares_high_.set(static_cast<std::uint64_t>(bounded >> 64U));
  }
  TAKT_ALWAYS_INLINE void note_extremes(std::uint64_t ns) noexcept {
    if (TAKT_UNLIKELY(ns < min_.own())) { min_.set(ns); }
    if (TAKT_UNLIKELY(ns > max_.own())) { max_.set(ns); }
  }
  void note_first(std::uint64_t ns) noexcept {
    first_n_.add(1);
    first_total_.set(detail::bounded_sum(first_total_.own(), ns));
    if (ns > first_max_.own()) { first_max_.set(ns); }
  }

  void copy_numbers(const Summary& other) noexcept {
    for (auto field : kNumbers) { this->*field = other.*field; }
    min_ = other.min_;
  }

  detail::Counter n_, total_, squares_low_, squares_high_;
  detail::Counter min_{~std::uint64_t{0}};
  detail::Counter max_, first_n_, first_total_, first_max_, warmup_n_, warmup_total_;
  Histogram histogram_;

  /// All fields with initial value 0: all but the minimum.
  static constexpr detail::Counter Summary::*kNumbers[] = {
      &Summary::n_,        &Summary::total_,       &Summary::squares_low_, &Summary::squares_high_,
      &Summary::max_,      &Summary::first_n_,     &Summary::first_total_, &Summary::first_max_,
      &Summary::warmup_n_, &Summary::warmup_total_};
};

inline double Summary::stdev_ns() const noexcept {
  const std::uint64_t n = measured_n();
  if (n < 2 || is_full()) { return 0.0; }
  const std::uint64_t total = measured_total_ns();
  // n * q - s^2 is exact while n * q fits 128 bits; beyond that the mean of squares is precise enough.
  const detail::Wide squares = sum_of_squares();
  double scatter = 0;
  if (squares <= ~detail::Wide{0} / n) {
    const detail::Wide max = squares * n;
    const detail::Wide min = static_cast<detail::Wide>(total) * total;
    if (max <= min) { return 0.0; }  // less: read during an update
    scatter = static_cast<double>(max - min) / static_cast<double>(n);
  } else {
    const double mean = static_cast<double>(total) / static_cast<double>(n);
    scatter = static_cast<double>(squares) - mean * static_cast<double>(total);
  }
  return scatter <= 0 ? 0.0 : __builtin_sqrt(scatter / static_cast<double>(n - 1));
}

inline Stats Summary::stats() const noexcept {
  Stats stats;
  stats.n = n();
  stats.warmup_n = warmup_n();
  stats.total_ns = total_ns();
  stats.warmup_total_ns = warmup_total_ns();
  stats.first_ns = first_max_ns();
  stats.mean_ns = mean_ns();
  stats.stdev_ns = stdev_ns();
  stats.min_ns = min_ns();
  stats.max_ns = max_ns();
  stats.p50_ns = percentile_ns(0.50);
  stats.p90_ns = percentile_ns(0.90);
  stats.p99_ns = percentile_ns(0.99);
  stats.p999_ns = percentile_ns(0.999);
  return stats;
}

TAKT_END_NAMESPACE
