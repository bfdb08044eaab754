// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/prediction_check.hpp"

#include <cstddef>
#include <set>
#include <unordered_map>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns whether there was something to set side by side.
bool check_model(const ModelCosts& predicted, const ModelCosts& measured, PredictionCheck& check) {
  bool any = false;
  for (std::size_t at = 0; at < kModelCosts.size(); ++at) {
    if (!predicted.amounts[at] || !measured.amounts[at]) { continue; }
    CheckedPrediction one{predicted.name, *measured.amounts[at], *predicted.amounts[at], -1};
    if (one.measured > 0) { one.error = prediction_error({one.predicted}, {one.measured}).mape; }
    check.costs[at].models.push_back(one);
    any = true;
  }
  return any;
}

void add_mean_error(CheckedCost& cost) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const CheckedPrediction& each : cost.models) {
    if (each.error < 0) { continue; }
    predicted.push_back(each.predicted);
    measured.push_back(each.measured);
  }
  if (!measured.empty()) { cost.error = prediction_error(predicted, measured); }
}

}  // namespace

PredictionCheck check_predictions(const std::vector<ModelCosts>& predicted, const std::vector<ModelCosts>& measured) {
  PredictionCheck check;
  std::unordered_map<std::string, const ModelCosts*> by_name;
  for (const ModelCosts& each : measured) { by_name.emplace(each.name, &each); }
  std::set<std::string> checked;
  for (const ModelCosts& each : predicted) {
    const auto found = by_name.find(each.name);
    if (found != by_name.end() && check_model(each, *found->second, check)) {
      checked.insert(each.name);
    } else {
      check.only_predicted.push_back(each.name);
    }
  }
  for (const ModelCosts& each : measured) {
    if (checked.count(each.name) == 0) { check.only_measured.push_back(each.name); }
  }
  for (CheckedCost& each : check.costs) { add_mean_error(each); }
  return check;
}

}  // namespace detail
TAKT_END_NAMESPACE
