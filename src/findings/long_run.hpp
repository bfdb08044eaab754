// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How values of windows, one behind the other, scatter about what is expected of them, where each is like the one
/// before: as in an autoregression of the first order. Where there is other noise, too, neighbours are less alike than
/// the values deviate in the long run: so means of two count as well, and what is wider of both.
struct LongRun {
  double deviation = 0;    ///< the mean of n values deviates by this over the root of n
  double correlation = 0;  ///< of neighbours, 0 to 0.95
  double independent = 0;  ///< so many values without a correlation would tell as much
};

/// \param residuals what is left of the values. \param fitted how many numbers were fitted to these: residuals scatter
/// less than the values do, and are less alike (Kendall 1954). REQUIRES: more residuals than that. Any thread.
LongRun long_run_of(const std::vector<double>& residuals, double fitted);

/// A sum by a sum, with a 95 % interval.
struct RatioOfSums {
  bool known = false;  ///< there are enough windows
  double ratio = 0;
  double half = 0;  ///< the interval is ratio -/+ half
};

/// Of windows, one behind the other: by the linearised ratio, as the interval of a throughput. Any thread.
RatioOfSums ratio_of_sums(const std::vector<double>& parts, const std::vector<double>& wholes);

}  // namespace detail
TAKT_END_NAMESPACE
