// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_spread.hpp"

#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

Wide bounded(Wide sum, Wide more) noexcept { return more > ~Wide{0} - sum ? ~Wide{0} : sum + more; }

void take_min(RankTotal& min, const RankTotal& other) noexcept {
  if (other.ns < min.ns || (other.ns == min.ns && other.rank < min.rank)) { min = other; }
}

void take_max(RankTotal& max, const RankTotal& other) noexcept {
  if (other.ns > max.ns || (other.ns == max.ns && other.rank < max.rank)) { max = other; }
}

}  // namespace

double RankSpread::mean_ns() const noexcept {
  return ranks == 0 ? 0.0 : static_cast<double>(sum_ns) / static_cast<double>(ranks);
}

double RankSpread::stdev_ns() const noexcept {
  if (ranks < 2) { return 0.0; }
  // With a 64-bit mantissa, totals that differ in the fifth digit still give a deviation of six digits.
  const auto n = static_cast<long double>(ranks);
  const long double mean = static_cast<long double>(sum_ns) / n;
  const long double scatter = static_cast<long double>(squares) - mean * static_cast<long double>(sum_ns);
  return scatter <= 0 ? 0.0 : static_cast<double>(std::sqrt(scatter / (n - 1)));
}

double RankSpread::imbalance() const noexcept {
  const double mean = mean_ns();
  return mean > 0 ? static_cast<double>(max.ns) / mean - 1 : 0.0;
}

void add_rank(RankSpread& spread, std::uint32_t rank, std::uint64_t total_ns) noexcept {
  ++spread.ranks;
  spread.sum_ns = bounded(spread.sum_ns, total_ns);
  spread.squares = bounded(spread.squares, static_cast<Wide>(total_ns) * total_ns);
  take_min(spread.min, {total_ns, rank});
  take_max(spread.max, {total_ns, rank});
  spread.totals_us.add(histogram_value(total_ns));
}

void merge_into(RankSpread& spread, const RankSpread& from) noexcept {
  spread.ranks += from.ranks;
  spread.sum_ns = bounded(spread.sum_ns, from.sum_ns);
  spread.squares = bounded(spread.squares, from.squares);
  take_min(spread.min, from.min);
  take_max(spread.max, from.max);
  spread.totals_us.merge(from.totals_us);
}

}  // namespace detail
TAKT_END_NAMESPACE
