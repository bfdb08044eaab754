// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>

#include "cli/rank_folder.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

using Measurements = std::vector<std::shared_ptr<const Measurement>>;

/// What results.json says, by schema takt-results/1, without the single runs: 1 000 measurements at most. What it does
/// not say, or says wrongly, is as if it were not there: bytes may be anything. Empty where it is no such document,
/// with the reason in `error`.
Measurements parse_results(std::string_view text, std::string& error);

/// That in the folder of a rank. Empty: there is none, or, with the reason in `error`, it cannot be read.
Measurements read_results(const RankFolder& folder, std::string& error);

}  // namespace cli
TAKT_END_NAMESPACE
