// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A measurement in results.csv: its line, by docs/models.md. Any thread.
std::string measurement_csv(const Measurement& measurement);

/// results.csv of such lines. Any thread.
std::string measurements_csv(const std::vector<std::string>& rows);

}  // namespace detail
TAKT_END_NAMESPACE
