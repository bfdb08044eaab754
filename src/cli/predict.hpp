// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/results_file.hpp"
#include "measure/measured_times.hpp"

#include <takt/exporters/console.hpp>
#include <takt/measurement.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A predicted amount of one cost.
struct PredictedCost {
  double amount = 0;
  std::size_t left_out = 0;  ///< inner measured sizes that can be predicted from their two neighbours
  /// e to the largest |ln(predicted / measured)| of those. Empty if they are fewer than four, or if the size itself was
  /// measured.
  std::optional<double> factor;
};

/// Predicted costs of one model at one size.
struct Prediction {
  std::string name;  ///< as the measurements are named: "net, batch 24"
  MeasuredFeatures at;
  std::size_t sizes = 0;  ///< number of measured sizes, and their range
  double min = 0;
  double max = 0;
  Measurements between;  ///< measurements of the two nearest sizes, or of this size alone
  std::array<std::optional<PredictedCost>, detail::kModelCosts.size()> costs;
  std::string mig_device;
};

/// Predicts latency and energy log-linearly and memory linearly between the two nearest measured values of the first
/// feature in `at`. Uses measurements that have the other features of `at`, and equal values of all further features.
/// They must be of one model: their names differ only in the size, or `pattern` chooses them. Any thread.
/// \param pattern a shell pattern of names; empty: any.
/// \throws takt::Error if the measurements do not determine the prediction, and outside the measured range.
Prediction predict_at(const Measurements& measurements, const MeasuredFeatures& at, const std::string& pattern);

/// Parses "batch=24,resolution=224".
/// \throws takt::Error that says what is wrong.
MeasuredFeatures parse_point(const std::string& text);

/// Returns a table for each cost, and what the predictions are based on.
std::string predictions_table(const std::vector<Prediction>& predictions, const ConsoleOptions& drawn);
/// Returns {"schema": "takt-predict/1", ...}; see docs/command.md.
std::string predictions_json(const std::string& directory, const std::vector<Prediction>& predictions);
/// Returns a file of predictions as `takt predict-check` reads it.
std::string predictions_csv(const std::vector<Prediction>& predictions);

}  // namespace cli
TAKT_END_NAMESPACE
