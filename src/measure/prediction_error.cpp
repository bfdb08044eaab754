// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/prediction_error.hpp>

#include "base/format.hpp"
#include "base/student_t975.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kFewestErrors = 3;  // that an interval rests on

/// |predicted - measured| / measured, of each.
std::vector<double> errors_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  if (predicted.size() != measured.size()) {
    throw Error(
        detail::format("takt: prediction_error() was given {} predictions of {} measured values; each needs the other",
                       predicted.size(), measured.size()));
  }
  if (measured.empty()) { throw Error("takt: prediction_error() was given nothing; it takes one prediction or more"); }
  std::vector<double> errors;
  errors.reserve(measured.size());
  for (std::size_t at = 0; at < measured.size(); ++at) {
    if (!std::isfinite(measured[at]) || measured[at] <= 0) {
      throw Error(detail::format(
          "takt: prediction_error(): measured[{}] is {}; an error is told in parts of what was measured, "
          "which has to be above 0. Leave it out",
          at, measured[at]));
    }
    errors.push_back(std::fabs(predicted[at] - measured[at]) / measured[at]);
    if (!std::isfinite(errors.back())) {
      throw Error(
          detail::format("takt: prediction_error(): predicted[{}] is {}, which is no prediction of {}. Leave it out",
                         at, predicted[at], measured[at]));
    }
  }
  return errors;
}

}  // namespace
}  // namespace detail

PredictionError prediction_error(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const std::vector<double> errors = detail::errors_of(predicted, measured);
  const auto n = static_cast<double>(errors.size());
  PredictionError result;
  result.n = errors.size();
  for (const double each : errors) { result.mape += each / n; }
  if (errors.size() < detail::kFewestErrors) { return result; }
  double squares = 0;
  for (const double each : errors) { squares += (each - result.mape) * (each - result.mape); }
  const double half = detail::student_t975(errors.size() - 1) * std::sqrt(squares / (n - 1) / n);
  result.has_interval = true;
  result.low = std::max(result.mape - half, 0.0);
  result.high = result.mape + half;
  return result;
}

TAKT_END_NAMESPACE
