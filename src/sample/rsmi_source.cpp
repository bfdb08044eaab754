// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/rsmi_source.hpp"

#include "base/format.hpp"
#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <pthread.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kRsmiNames[] = {"librocm_smi64.so.7", "librocm_smi64.so.6", "librocm_smi64.so.5",
                                      "librocm_smi64.so.1"};  // the last is Debian's name
constexpr const char* kDriverDirectory = "/sys/class/drm";

std::atomic<RsmiLibrary*> loaded_rsmi{nullptr};  // for a forked child: the parent may be inside get()

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
  // Without it rsmi_init() fails and writes to stderr.
  if (::access(kDriverDirectory, F_OK) != 0) {
    rsmi->availability.lose("there is no /sys/class/drm, where drivers show their GPUs");
    return rsmi;
  }
  loaded_rsmi.store(rsmi, std::memory_order_release);  // pairs with the load after a fork
  pthread_atfork(nullptr, nullptr, []() noexcept { loaded_rsmi.load()->availability.after_fork_in_child(); });
  return rsmi;
}

}  // namespace

RsmiLibrary& RsmiLibrary::get() noexcept { return *made_once<load_rsmi>(); }

namespace {

constexpr int kRsmiNone = -1;  // no such function
constexpr std::uint32_t kFirstSensor = 0;
constexpr std::int64_t kMicrowatts = 1000;  // per milliwatt

}  // namespace

RsmiSource::RsmiSource(RsmiLibrary& rsmi, VisibleDevices rocr, VisibleDevices hip)
    : rsmi_(rsmi), rocr_(std::move(rocr)), hip_(std::move(hip)) {}

std::unique_ptr<SampleSource> RsmiSource::of_process() {
  return std::make_unique<RsmiSource>(RsmiLibrary::get(), VisibleDevices::of(std::getenv("ROCR_VISIBLE_DEVICES")),
                                      VisibleDevices::of(std::getenv("HIP_VISIBLE_DEVICES")));
}

std::string RsmiSource::reported(int status) const {
  const char* words = nullptr;
  const bool said = rsmi_.status_string(status, &words) == kRsmiSuccess && words != nullptr;
  return said ? words : detail::format("error {}", status);
}

std::string RsmiSource::id_of(std::uint32_t index) const {
  std::uint64_t id = 0;
  if (rsmi_.unique_id != nullptr && rsmi_.unique_id(index, &id) == kRsmiSuccess) {
    return detail::format("GPU-{:016x}", id);
  }
  if (rsmi_.pci_id != nullptr && rsmi_.pci_id(index, &id) == kRsmiSuccess) { return detail::format("PCI-{:x}", id); }
  return detail::format("AMD-{}", index);
}

void RsmiSource::open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  const auto fail = [&](const std::string& why) { unsampled.push_back({what(), why}); };
  if (const char* reason = rsmi_.availability.reason()) { return fail(reason); }
  rsmi_.availability.used();
  if (const int status = rsmi_.init(0); status != kRsmiSuccess) {
    return fail("rocm_smi does not start: " + reported(status));
  }
  std::uint32_t count = 0;
  if (const int status = rsmi_.device_count(&count); status != kRsmiSuccess) {
    return fail("rocm_smi: " + reported(status));
  }
  for (const std::uint32_t index : chosen(count)) { add(index, sensors, unsampled); }
  if (devices_.empty() && unsampled.empty()) {
    fail(count == 0 ? "rocm_smi finds none" : "ROCR_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES hides them all");
  }
}

/// Returns devices in HIP's order; each list ends at its first invalid entry.
std::vector<std::uint32_t> RsmiSource::chosen(std::uint32_t count) const {
  std::vector<std::uint32_t> all;
  for (std::uint32_t index = 0; index < std::min<std::size_t>(count, kMaxDevices); ++index) { all.push_back(index); }
  for (const VisibleDevices* list : {&rocr_, &hip_}) {
    if (list->all) { continue; }
    std::vector<std::uint32_t> some;
    for (const std::string& entry : list->entries) {
      std::size_t number = 0;
      const bool is_number = parse_device_index(entry, number);
      const auto found = std::find_if(all.begin(), all.end(), [&](std::uint32_t index) {
        return is_number ? number < all.size() && index == all[number] : !entry.empty() && id_of(index) == entry;
      });
      if (found == all.end()) { break; }
      if (std::find(some.begin(), some.end(), *found) == some.end()) { some.push_back(*found); }
    }
    all = std::move(some);
  }
  return all;
}

void RsmiSource::add(std::uint32_t index, std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  Device device;
  device.index = index;
  std::int64_t degrees = 0;
  if (value(device, Quantity::temperature, degrees) != kRsmiSuccess) { device.thermometer = kRsmiJunction; }
  devices_.push_back(device);
  Sensor sensor;
  sensor.kind = Sensor::Kind::device;
  sensor.number = index;
  sensor.name = detail::format("hip {}", devices());
  sensor.id = id_of(index);
  sensor.quantities =
      add_device({Quantity::energy, Quantity::power, Quantity::memory, Quantity::utilization, Quantity::temperature});
  if (sensor.quantities.empty()) {
    devices_.pop_back();
    unsampled.push_back({detail::format("AMD GPU {}", index), trouble()});
    return;
  }
  char name[128] = {};
  if (rsmi_.name != nullptr && rsmi_.name(index, name, sizeof name - 1) == kRsmiSuccess) { sensor.model = name; }
  std::uint64_t amount = 0;
  if (rsmi_.memory_total != nullptr && rsmi_.memory_total(index, kRsmiMemoryVram, &amount) == kRsmiSuccess &&
      amount != 0) {
    sensor.memory_bytes = amount;
  }
  if (rsmi_.power_cap != nullptr && rsmi_.power_cap(index, kFirstSensor, &amount) == kRsmiSuccess) {
    const std::int64_t milliwatts = static_cast<std::int64_t>(amount) / kMicrowatts;
    if (milliwatts != 0) { sensor.power_limit_mw = milliwatts; }
  }
  sensors.push_back(std::move(sensor));
}

int RsmiSource::energy_of(Device& device, std::int64_t& value) const {
  if (rsmi_.energy == nullptr) { return kRsmiNone; }
  std::uint64_t count = 0;
  std::uint64_t time_ns = 0;
  float microjoules = 0;
  const int status = rsmi_.energy(device.index, &count, &microjoules, &time_ns);
  if (status != kRsmiSuccess) { return status; }
  if (count == 0 || !(microjoules > 0)) { return kRsmiNone; }  // reported by the second half of a dual GPU
  value = std::llround(static_cast<double>(device.energy.add(count)) * static_cast<double>(microjoules));
  return kRsmiSuccess;
}

int RsmiSource::power_of(const Device& device, std::int64_t& value) const {
  std::uint64_t microwatts = 0;
  int status = rsmi_.socket_power == nullptr ? kRsmiNone : rsmi_.socket_power(device.index, &microwatts);
  if (status != kRsmiSuccess && rsmi_.average_power != nullptr) {
    status = rsmi_.average_power(device.index, kFirstSensor, &microwatts);
  }
  value = static_cast<std::int64_t>(microwatts) / kMicrowatts;
  return status;
}

DeviceSource::Answer RsmiSource::ask(std::size_t device, Quantity quantity, std::int64_t& value) {
  status_ = this->value(devices_[device], quantity, value);
  return status_ == kRsmiSuccess ? Answer::reported : Answer::failed;
}

/// Queries a value. Returns rocm_smi's status.
int RsmiSource::value(Device& device, Quantity quantity, std::int64_t& value) const {
  switch (quantity) {
    case Quantity::energy:
      return energy_of(device, value);
    case Quantity::power:
      return power_of(device, value);
    case Quantity::memory: {
      std::uint64_t bytes = 0;
      const int status =
          rsmi_.memory_used == nullptr ? kRsmiNone : rsmi_.memory_used(device.index, kRsmiMemoryVram, &bytes);
      value = static_cast<std::int64_t>(bytes);
      return status;
    }
    case Quantity::utilization: {
      std::uint32_t percent = 0;
      const int status = rsmi_.busy == nullptr ? kRsmiNone : rsmi_.busy(device.index, &percent);
      value = std::int64_t{percent} * 10;
      return status;
    }
    case Quantity::temperature:
      return rsmi_.temperature == nullptr
                 ? kRsmiNone
                 : rsmi_.temperature(device.index, device.thermometer, kRsmiTemperatureNow, &value);
    default:
      return kRsmiNone;
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
