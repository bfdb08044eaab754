// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

// Metrics that the end of an Epoch logs, in this order.
inline constexpr const char* kEpochSteps = "epoch/steps";         ///< number of steps in it
inline constexpr const char* kEpochRate = "epoch/samples_per_s";  ///< their items per second
inline constexpr const char* kEpochTime = "epoch/time_s";         ///< duration in s

}  // namespace detail
TAKT_END_NAMESPACE
