// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure/predictions.hpp"

#include <takt/exporters/console.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A table for each cost, with what was measured and predicted beside each error, and the mean error below.
std::string prediction_table(const detail::PredictionCheck& check, const ConsoleOptions& drawn);
/// {"schema": "takt-predict-check/1", ...}: docs/command.md has it.
std::string prediction_json(const detail::PredictionCheck& check);

}  // namespace cli
TAKT_END_NAMESPACE
