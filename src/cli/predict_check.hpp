// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure/predictions.hpp"

#include <takt/exporters/console.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Returns a table for each cost, with measured and predicted values next to each error, and the mean error below.
std::string prediction_table(const detail::PredictionCheck& check, const ConsoleOptions& drawn);
/// Returns {"schema": "takt-predict-check/1", ...}; see docs/command.md.
std::string prediction_json(const detail::PredictionCheck& check);

}  // namespace cli
TAKT_END_NAMESPACE
