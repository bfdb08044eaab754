// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <vector>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// How far predictions lie from what was measured. A value.
struct PredictionError {
  std::size_t n = 0;  ///< predictions
  double mape = 0;    ///< mean absolute percentage error, as a share: 0.979 is 97.9 %
  /// 95 % interval of the mean error of predictions like these, by Student's t; only from three on.
  bool has_interval = false;
  double low = 0;  ///< 0 or more
  double high = 0;
};

/// The mean of |predicted - measured| / measured. Any thread.
/// \param predicted one for each of `measured`, at the same place; finite.
/// \param measured finite, and above 0: nothing can be told in parts of 0.
/// \throws takt::Error for none, for other numbers, and where there are more of one than of the other; it names the
///         place.
TAKT_EXPORT PredictionError prediction_error(const std::vector<double>& predicted, const std::vector<double>& measured);

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
