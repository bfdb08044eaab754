// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/median_interval.hpp"

#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::uint64_t rank_of_median_end(std::uint64_t n) noexcept {
  constexpr double kOutside = 0.025;  // on each side
  const auto count = static_cast<double>(n);
  // By logarithms: of many throws the chance of no heads is no double above 0.
  double log_chance = -count * std::log(2.0);
  double below = std::exp(log_chance);
  std::uint64_t rank = 0;
  while (rank < n && below <= kOutside) {
    ++rank;
    const auto heads = static_cast<double>(rank);
    log_chance += std::log((count - heads + 1) / heads);
    below += std::exp(log_chance);
  }
  return rank;
}

}  // namespace detail
TAKT_END_NAMESPACE
