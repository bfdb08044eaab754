// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What is predicted and measured of a model, by the names of the columns.
inline constexpr std::array<const char*, 3> kModelCosts = {"latency_ms", "memory_mb", "energy_j"};

/// What one model costs: of each of kModelCosts an amount, where it is known.
struct ModelCosts {
  std::string name;
  std::array<std::optional<double>, kModelCosts.size()> amounts;
};

/// Reads a file of predictions, or results.csv (docs/models.md). Other columns are passed over. Any thread.
/// \param file what errors call it.
/// \throws takt::Error with the number of the line, where it is no such table, a name is missing or there twice, or
///         an amount is no number of 0 or more.
std::vector<ModelCosts> read_model_costs(std::string_view text, const std::string& file);

}  // namespace detail
TAKT_END_NAMESPACE
