// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "trackers/system_metrics.hpp"

#include <cstdint>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How often W&B's own client tells system metrics.
constexpr std::int64_t kWandbSystemNs = 15'000'000'000;

/// W&B's own system metrics of a meter, without the "system." that its server is told. Any thread.
std::vector<SystemMetric> wandb_system_metrics(const Meter& meter);

}  // namespace detail
TAKT_END_NAMESPACE
