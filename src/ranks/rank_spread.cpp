// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/rank_spread.hpp"

#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

Wide bounded(Wide sum, Wide more) noexcept { return more > ~Wide{0} - sum ? ~Wide{0} : sum + more; }

void take_least(RankTotal& least, const RankTotal& other) noexcept {
  if (other.ns < least.ns || (other.ns == least.ns && other.rank < least.rank)) { least = other; }
}

void take_most(RankTotal& most, const RankTotal& other) noexcept {
  if (other.ns > most.ns || (other.ns == most.ns && other.rank < most.rank)) { most = other; }
}

}  // namespace

double RankSpread::mean_ns() const noexcept {
  return ranks == 0 ? 0.0 : static_cast<double>(sum_ns) / static_cast<double>(ranks);
}

double RankSpread::stdev_ns() const noexcept {
  if (ranks < 2) { return 0.0; }
  // In 64 bits of mantissa: totals that differ in the fifth figure still have six figures of a deviation.
  const auto n = static_cast<long double>(ranks);
  const long double mean = static_cast<long double>(sum_ns) / n;
  const long double scatter = static_cast<long double>(squares) - mean * static_cast<long double>(sum_ns);
  return scatter <= 0 ? 0.0 : static_cast<double>(std::sqrt(scatter / (n - 1)));
}

double RankSpread::imbalance() const noexcept {
  const double mean = mean_ns();
  return mean > 0 ? static_cast<double>(most.ns) / mean - 1 : 0.0;
}

void add_rank(RankSpread& spread, std::uint32_t rank, std::uint64_t total_ns) noexcept {
  ++spread.ranks;
  spread.sum_ns = bounded(spread.sum_ns, total_ns);
  spread.squares = bounded(spread.squares, static_cast<Wide>(total_ns) * total_ns);
  take_least(spread.least, {total_ns, rank});
  take_most(spread.most, {total_ns, rank});
  spread.totals_us.add(histogram_value(total_ns));
}

void merge_into(RankSpread& spread, const RankSpread& from) noexcept {
  spread.ranks += from.ranks;
  spread.sum_ns = bounded(spread.sum_ns, from.sum_ns);
  spread.squares = bounded(spread.squares, from.squares);
  take_least(spread.least, from.least);
  take_most(spread.most, from.most);
  spread.totals_us.merge(from.totals_us);
}

}  // namespace detail
TAKT_END_NAMESPACE
