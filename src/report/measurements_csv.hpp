// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measurement.hpp>

#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// results.csv: a line for each measurement, by docs/models.md. Any thread.
std::string measurements_csv(const std::vector<std::shared_ptr<const Measurement>>& measurements);

}  // namespace detail
TAKT_END_NAMESPACE
