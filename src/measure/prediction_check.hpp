// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/prediction_error.hpp>

#include "measure/model_costs.hpp"

#include <array>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A prediction beside what was measured.
struct CheckedPrediction {
  std::string name;  ///< of the model
  double measured = 0;
  double predicted = 0;
  double error = 0;  ///< |predicted - measured| / measured; negative where that cannot be told: 0 was measured
};

/// All predictions of one of kModelCosts.
struct CheckedCost {
  std::vector<CheckedPrediction> models;  ///< in the order of the predictions
  PredictionError error;                  ///< of those of which it can be told; n == 0: of none
};

/// What a predictor said, beside what was measured. A value.
struct PredictionCheck {
  std::array<CheckedCost, kModelCosts.size()> costs;
  std::vector<std::string> only_predicted;  ///< models of which nothing predicted was measured
  std::vector<std::string> only_measured;   ///< models of which nothing measured was predicted

  bool any() const noexcept {
    for (const CheckedCost& each : costs) {
      if (!each.models.empty()) { return true; }
    }
    return false;
  }
};

/// Any thread.
PredictionCheck check_predictions(const std::vector<ModelCosts>& predicted, const std::vector<ModelCosts>& measured);

}  // namespace detail
TAKT_END_NAMESPACE
