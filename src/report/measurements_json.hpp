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

/// A measurement in results.json, with every run. Any thread, as for all here.
std::string measurement_json(const Measurement& measurement);

/// results.json of such texts, by schema takt-results/1.
std::string measurements_json(const RunInfo& run, const std::vector<std::string>& elements);

/// The same of what they are made of.
std::string measurements_json(const RunInfo& run, const std::vector<std::shared_ptr<const Measurement>>& measurements);

}  // namespace detail
TAKT_END_NAMESPACE
