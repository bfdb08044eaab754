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

/// Formats measurements for people: a line for each, and the conditions. Any thread.
/// \param whose for example "rank 0 of 4".
/// \param width in columns.
std::string format_measurements(const RunInfo& run, const std::string& whose,
                                const std::vector<std::shared_ptr<const Measurement>>& measurements, int width,
                                bool color);

}  // namespace detail
TAKT_END_NAMESPACE
