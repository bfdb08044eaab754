// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include "cli/rank_folder.hpp"

#include <memory>
#include <string>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What trials.json says, by schema takt-trials/1. What it does not say, or says wrongly, is as if it were not there:
/// bytes may be anything. nullptr where it is no such document, with the reason in `error`.
std::shared_ptr<const TrialResults> parse_trials(std::string_view text, std::string& error);

/// That in the folder of a rank. nullptr: there is none, or, with the reason in `error`, it cannot be read.
std::shared_ptr<const TrialResults> read_trials(const RankFolder& folder, std::string& error);

}  // namespace cli
TAKT_END_NAMESPACE
