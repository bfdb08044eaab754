// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/nvml_library.hpp"

#include "base/made_once.hpp"

#include <pthread.h>
#include <atomic>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kNvmlNames[] = {"libnvidia-ml.so.1"};

std::atomic<NvmlLibrary*> loaded_nvml{nullptr};  // for the child of a fork: get() may be under way in the parent

void find_mig(DriverLibrary& library, NvmlLibrary& nvml) noexcept {
  library.find(nvml.mig_mode, "nvmlDeviceGetMigMode", true);
  library.find(nvml.mig_count, "nvmlDeviceGetMaxMigDeviceCount", true);
  library.find(nvml.mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex", true);
  library.find(nvml.mig_parent, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", true);
}

DriverLibrary open_nvml() noexcept { return DriverLibrary(kNvmlNames); }

NvmlLibrary* load_nvml() noexcept {
  DriverLibrary& library = made_once<open_nvml>();
  auto* nvml = new NvmlLibrary;  // never destroyed
  library.find(nvml->init, "nvmlInit_v2");
  library.find(nvml->error_string, "nvmlErrorString");
  library.find(nvml->device_count, "nvmlDeviceGetCount_v2");
  library.find(nvml->device_by_index, "nvmlDeviceGetHandleByIndex_v2");
  library.find(nvml->uuid, "nvmlDeviceGetUUID");
  library.find(nvml->device_by_uuid, "nvmlDeviceGetHandleByUUID", true);
  library.find(nvml->name, "nvmlDeviceGetName", true);
  library.find(nvml->total_energy, "nvmlDeviceGetTotalEnergyConsumption", true);
  library.find(nvml->power, "nvmlDeviceGetPowerUsage", true);
  library.find(nvml->power_limit, "nvmlDeviceGetEnforcedPowerLimit", true);
  library.find(nvml->memory, "nvmlDeviceGetMemoryInfo", true);
  library.find(nvml->memory_v2, "nvmlDeviceGetMemoryInfo_v2", true);
  library.find(nvml->utilization, "nvmlDeviceGetUtilizationRates", true);
  library.find(nvml->clock, "nvmlDeviceGetClockInfo", true);
  library.find(nvml->clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons", true);
  if (nvml->clock_reasons == nullptr) {  // as drivers before 535 call it
    library.find(nvml->clock_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons", true);
  }
  library.find(nvml->temperature, "nvmlDeviceGetTemperature", true);
  find_mig(library, *nvml);
  if (library.missing() != nullptr) {
    nvml->availability.lose(library.missing());
    return nvml;
  }
  loaded_nvml.store(nvml, std::memory_order_release);  // pairs with the load after a fork
  pthread_atfork(nullptr, nullptr, []() noexcept { loaded_nvml.load()->availability.after_fork_in_child(); });
  return nvml;
}

}  // namespace

NvmlLibrary& NvmlLibrary::get() noexcept { return *made_once<load_nvml>(); }

}  // namespace detail
TAKT_END_NAMESPACE
