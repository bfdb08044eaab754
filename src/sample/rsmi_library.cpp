// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/rsmi_library.hpp"

#include "base/made_once.hpp"

#include <atomic>

#include <pthread.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kRsmiNames[] = {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                      "librocm_smi64.so.1"};  // the last one as Debian calls it
constexpr const char* kDriverFolder = "/sys/class/drm";

std::atomic<RsmiLibrary*> loaded_rsmi{nullptr};  // for the child of a fork: get() may be under way in the parent

DriverLibrary open_rsmi() noexcept { return DriverLibrary(kRsmiNames); }

RsmiLibrary* load_rsmi() noexcept {
  DriverLibrary& library = made_once<open_rsmi>();
  auto* rsmi = new RsmiLibrary;  // never destroyed
  library.find(rsmi->init, "rsmi_init");
  library.find(rsmi->status_string, "rsmi_status_string");
  library.find(rsmi->device_count, "rsmi_num_monitor_devices");
  library.find(rsmi->unique_id, "rsmi_dev_unique_id_get", true);
  library.find(rsmi->pci_id, "rsmi_dev_pci_id_get", true);
  library.find(rsmi->name, "rsmi_dev_name_get", true);
  library.find(rsmi->energy, "rsmi_dev_energy_count_get", true);
  library.find(rsmi->socket_power, "rsmi_dev_current_socket_power_get", true);
  library.find(rsmi->average_power, "rsmi_dev_power_ave_get", true);
  library.find(rsmi->power_cap, "rsmi_dev_power_cap_get", true);
  library.find(rsmi->memory_total, "rsmi_dev_memory_total_get", true);
  library.find(rsmi->memory_used, "rsmi_dev_memory_usage_get", true);
  library.find(rsmi->busy, "rsmi_dev_busy_percent_get", true);
  library.find(rsmi->temperature, "rsmi_dev_temp_metric_get", true);
  if (library.missing() != nullptr) {
    rsmi->availability.lose(library.missing());
    return rsmi;
  }
  // Without it rsmi_init() fails, and writes lines of its own to stderr.
  if (::access(kDriverFolder, F_OK) != 0) {
    rsmi->availability.lose("there is no /sys/class/drm, where drivers show their GPUs");
    return rsmi;
  }
  loaded_rsmi.store(rsmi, std::memory_order_release);  // pairs with the load after a fork
  pthread_atfork(nullptr, nullptr, []() noexcept { loaded_rsmi.load()->availability.after_fork_in_child(); });
  return rsmi;
}

}  // namespace

RsmiLibrary& RsmiLibrary::get() noexcept { return *made_once<load_rsmi>(); }

}  // namespace detail
TAKT_END_NAMESPACE
