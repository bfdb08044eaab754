// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Fewer values have no interval.
inline constexpr std::uint64_t kLeastForMedian = 6;

/// Of n independent values in order, the largest k for which the k-th from each end hold their median between them in
/// 95 of 100 cases at least: 1 - 2 P(B <= k - 1), B being how many of n throws of a coin show heads (David and
/// Nagaraja, Order Statistics, 3rd edition, section 7.1). 0: fewer than kLeastForMedian. Any thread.
std::uint64_t rank_of_median_end(std::uint64_t n) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
