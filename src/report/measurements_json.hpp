// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>
#include <takt/snapshot.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// results.json: what measurements have found, with every run, by schema takt-results/1. Any thread.
std::string measurements_json(const RunInfo& run, const std::vector<std::shared_ptr<const Measurement>>& measurements);

}  // namespace detail
TAKT_END_NAMESPACE
