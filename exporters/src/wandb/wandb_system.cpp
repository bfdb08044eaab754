// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_system.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;

/// That of NVIDIA's without what the driver keeps for itself.
void add_wandb_memory_of_gpu(const Meter& meter, std::vector<SystemMetric>& metrics) {
  const std::string gpu = "gpu." + std::to_string(meter.number);
  const bool nvidia = is_nvidia(meter);
  if (is_slice(meter) || (nvidia && meter.reserved_bytes == Meter::kUnknown)) { return; }
  const double less = nvidia ? static_cast<double>(meter.reserved_bytes) : 0;
  if (nvidia) { metrics.push_back({gpu + ".memoryAllocatedBytes", Quantity::memory, 1, less}); }
  if (meter.memory_bytes == 0) { return; }
  metrics.push_back(
      {gpu + ".memoryAllocated", Quantity::memory, 100.0 / static_cast<double>(meter.memory_bytes), less});
}

/// As its client asks NVML and rocm-smi: for GPUs by their number in the machine.
std::vector<SystemMetric> wandb_metrics_of_gpu(const Meter& meter) {
  const std::string gpu = "gpu." + std::to_string(meter.number);
  std::vector<SystemMetric> metrics = {{gpu + ".gpu", Quantity::utilization, 1e-1},
                                       {gpu + ".powerWatts", Quantity::power, 1e-3}};
  if (meter.power_limit_mw > 0) {
    metrics.push_back({gpu + ".powerPercent", Quantity::power, 100.0 / static_cast<double>(meter.power_limit_mw)});
  }
  if (is_nvidia(meter)) {  // of AMD's it tells the memory's temperature, which is not sampled
    metrics.push_back({gpu + ".temp", Quantity::temperature, 1e-3});
    metrics.push_back({gpu + ".smClock", Quantity::clock, 1});
  }
  add_wandb_memory_of_gpu(meter, metrics);
  return metrics;
}

}  // namespace

/// Its shares of memory and of processors are of what the container may have, which is not sampled.
std::vector<SystemMetric> wandb_system_metrics(const Meter& meter) {
  switch (meter.kind) {
    case Meter::Kind::device:
      return wandb_metrics_of_gpu(meter);
    case Meter::Kind::process:
      return {{"proc.memory.rssMB", Quantity::memory, 1 / kMiB}};
    default:
      return {};
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
