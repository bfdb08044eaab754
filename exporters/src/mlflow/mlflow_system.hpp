// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/system_metrics.hpp"

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How often MLflow's own client tells system metrics.
constexpr std::int64_t kMlflowSystemNs = 10'000'000'000;

/// MLflow's own system metrics of a meter: its page shows them apart, by their prefix. Any thread.
std::vector<SystemMetric> mlflow_system_metrics(const Meter& meter);

}  // namespace detail
TAKT_END_NAMESPACE
