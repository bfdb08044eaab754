// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_system.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// As its client asks NVML and rocm_smi: for GPUs by their number in the machine.
std::vector<SystemMetric> mlflow_metrics_of_gpu(const Meter& meter) {
  const std::string gpu = "system/gpu_" + std::to_string(meter.number);
  const bool nvidia = is_nvidia(meter);
  std::vector<SystemMetric> metrics = {{gpu + "_utilization_percentage", Quantity::utilization, 1e-1},
                                       {gpu + "_power_usage_watts", Quantity::power, 1e-3}};
  // Its client has a fixed power for all AMD GPUs, of which a share says nothing.
  if (nvidia && meter.power_limit_mw > 0) {
    metrics.push_back(
        {gpu + "_power_usage_percentage", Quantity::power, 100.0 / static_cast<double>(meter.power_limit_mw)});
  }
  if (is_slice(meter)) { return metrics; }
  metrics.push_back(nvidia ? SystemMetric{gpu + "_memory_usage_megabytes", Quantity::memory, 1e-6}
                           : SystemMetric{gpu + "_memory_usage_gigabytes", Quantity::memory, 1e-9});
  if (meter.memory_bytes != 0) {
    metrics.push_back(
        {gpu + "_memory_usage_percentage", Quantity::memory, 100.0 / static_cast<double>(meter.memory_bytes)});
  }
  return metrics;
}

/// As its client asks psutil.
std::vector<SystemMetric> mlflow_metrics_of_machine(const Meter& meter) {
  std::vector<SystemMetric> metrics = {{"system/system_memory_usage_megabytes", Quantity::memory, 1e-6}};
  if (meter.memory_bytes != 0) {
    metrics.push_back(
        {"system/system_memory_usage_percentage", Quantity::memory, 100.0 / static_cast<double>(meter.memory_bytes)});
  }
  if (meter.processors != 0) {
    metrics.push_back({"system/cpu_utilization_percentage", Quantity::cpu_time, 100.0 / meter.processors});
  }
  return metrics;
}

}  // namespace

std::vector<SystemMetric> mlflow_system_metrics(const Meter& meter) {
  switch (meter.kind) {
    case Meter::Kind::device:
      return mlflow_metrics_of_gpu(meter);
    case Meter::Kind::machine:
      return mlflow_metrics_of_machine(meter);
    default:
      return {};
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
