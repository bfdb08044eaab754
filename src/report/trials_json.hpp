// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/trial_results.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// trials.json by schema takt-trials/1, which docs/files.md has. Any thread.
std::string trials_json(const RunInfo& run, const TrialResults& results);

}  // namespace detail
TAKT_END_NAMESPACE
