// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/nvml_source.hpp"

#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <pthread.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kNvmlNames[] = {"libnvidia-ml.so.1"};

std::atomic<NvmlLibrary*> loaded_nvml{nullptr};  // for a forked child: the parent may be inside get()

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
  if (nvml->clock_reasons == nullptr) {  // name before driver 535
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

namespace {

constexpr std::int64_t bit(Slowdown why) noexcept { return static_cast<std::int64_t>(why); }

/// Returns true if the device will never answer again.
bool is_gone(int error) noexcept { return error == kNvmlGpuIsLost || error == kNvmlGpuNotFound; }

/// Calls `function` and converts its result with `make`.
template <class T, class Make>
int read_value(int (*function)(NvmlLibrary::Device, T*), NvmlLibrary::Device device, std::int64_t& value, Make make) {
  if (function == nullptr) { return kNvmlFunctionNotFound; }
  T answer{};
  const int error = function(device, &answer);
  if (error == kNvmlSuccess) { value = make(answer); }
  return error;
}

/// Calls a function with a selector argument and scales its result.
int read_value(int (*function)(NvmlLibrary::Device, int, unsigned*), NvmlLibrary::Device device, int of,
               std::int64_t& value, std::int64_t scale) {
  if (function == nullptr) { return kNvmlFunctionNotFound; }
  unsigned answer = 0;
  const int error = function(device, of, &answer);
  if (error == kNvmlSuccess) { value = std::int64_t{answer} * scale; }
  return error;
}

std::int64_t as_it_is(unsigned answer) noexcept { return answer; }

}  // namespace

std::int64_t slowdowns_of_nvml(unsigned long long reasons) noexcept {
  std::int64_t bits = 0;
  if ((reasons & kNvmlSwPowerCap) != 0) { bits |= bit(Slowdown::power_cap); }
  if ((reasons & (kNvmlSwThermalSlowdown | kNvmlHwThermalSlowdown)) != 0) { bits |= bit(Slowdown::heat); }
  if ((reasons & kNvmlHwPowerBrakeSlowdown) != 0) { bits |= bit(Slowdown::power_brake); }
  // It is set together with either of the two above.
  constexpr unsigned long long kReported = kNvmlHwThermalSlowdown | kNvmlHwPowerBrakeSlowdown;
  if ((reasons & kNvmlHwSlowdown) != 0 && (reasons & kReported) == 0) { bits |= bit(Slowdown::hardware); }
  return bits;
}

NvmlSource::NvmlSource(NvmlLibrary& nvml, VisibleDevices visible, bool pci_order)
    : nvml_(nvml), visible_(std::move(visible)), pci_order_(pci_order) {}

std::unique_ptr<SampleSource> NvmlSource::of_process() {
  const char* const order = std::getenv("CUDA_DEVICE_ORDER");
  return std::make_unique<NvmlSource>(NvmlLibrary::get(), VisibleDevices::of(std::getenv("CUDA_VISIBLE_DEVICES")),
                                      order != nullptr && std::strcmp(order, "PCI_BUS_ID") == 0);
}

std::string NvmlSource::reported(int error) const {
  const char* const words = nvml_.error_string(error);
  return words == nullptr ? "error " + std::to_string(error) : words;
}

std::string NvmlSource::text_of(int (*function)(NvmlLibrary::Device, char*, unsigned),
                                NvmlLibrary::Device device) const {
  constexpr unsigned kBytes = std::max(kNvmlUuidBytes, kNvmlNameBytes);
  char text[kBytes + 1] = {};
  return function != nullptr && function(device, text, kBytes) == kNvmlSuccess ? text : "";
}

void NvmlSource::open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  if (!find_gpus(unsampled)) { return; }
  choose(sensors, unsampled);
  if (devices_.empty() && unsampled.empty()) {
    unsampled.push_back({what(), gpus_.empty() ? "NVML finds none" : "CUDA_VISIBLE_DEVICES hides them all"});
  }
}

/// Finds all GPUs of the machine or container.
bool NvmlSource::find_gpus(std::vector<Unsampled>& unsampled) {
  const auto fail = [&](const std::string& why) {
    unsampled.push_back({what(), why});
    return false;
  };
  if (const char* reason = nvml_.availability.reason()) { return fail(reason); }
  nvml_.availability.used();
  if (const int error = nvml_.init(); error != kNvmlSuccess) { return fail("NVML does not start: " + reported(error)); }
  unsigned count = 0;
  if (const int error = nvml_.device_count(&count); error != kNvmlSuccess) { return fail("NVML: " + reported(error)); }
  for (unsigned index = 0; index < std::min<std::size_t>(count, kMaxDevices); ++index) {
    Gpu gpu;
    gpu.number = index;
    const int error = nvml_.device_by_index(index, &gpu.handle);
    if (error != kNvmlSuccess) {
      unsampled.push_back({"NVIDIA GPU " + std::to_string(index), reported(error)});
      continue;
    }
    gpu.uuid = text_of(nvml_.uuid, gpu.handle);
    gpu.name = text_of(nvml_.name, gpu.handle);
    gpus_.push_back(std::move(gpu));
  }
  return true;
}

void NvmlSource::choose(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  const bool alike =
      std::all_of(gpus_.begin(), gpus_.end(), [&](const Gpu& each) { return each.name == gpus_.front().name; });
  const bool guess = visible_.has_numbers() && !pci_order_ && !alike;
  if (guess) {
    unsampled.push_back({"the GPUs of CUDA_VISIBLE_DEVICES alone",
                         "it numbers different models in CUDA's own order, so that all are sampled; set "
                         "CUDA_DEVICE_ORDER=PCI_BUS_ID"});
  }
  if (visible_.all || guess) {
    for (const Gpu& each : gpus_) { add(each, first_slice(each), sensors, unsampled); }
    return;
  }
  // Like CUDA, stops at the first invalid entry.
  for (const std::string& each : visible_.entries) {
    if (!choose(each, sensors, unsampled)) { break; }
  }
}

bool NvmlSource::choose(const std::string& entry, std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) {
  if (entry.compare(0, 4, "MIG-") == 0) {
    NvmlLibrary::Device slice = nullptr;
    NvmlLibrary::Device parent = nullptr;
    if (nvml_.device_by_uuid == nullptr || nvml_.mig_parent == nullptr) { return false; }
    if (nvml_.device_by_uuid(entry.c_str(), &slice) != kNvmlSuccess) { return false; }
    if (nvml_.mig_parent(slice, &parent) != kNvmlSuccess) { return false; }
    const Gpu* const gpu = gpu_of(parent);
    if (gpu != nullptr) { add(*gpu, slice, sensors, unsampled); }
    return gpu != nullptr;
  }
  const Gpu* const gpu = gpu_of(entry);
  if (gpu != nullptr) { add(*gpu, first_slice(*gpu), sensors, unsampled); }
  return gpu != nullptr;
}

/// Finds a GPU by index, or by a unique prefix of its UUID.
const NvmlSource::Gpu* NvmlSource::gpu_of(const std::string& entry) const {
  std::size_t index = 0;
  const bool number = parse_device_index(entry, index);
  const Gpu* found = nullptr;
  for (const Gpu& each : gpus_) {
    const bool is = number ? each.number == index
                           : entry.compare(0, 4, "GPU-") == 0 && each.uuid.compare(0, entry.size(), entry) == 0;
    if (!is) { continue; }
    if (found != nullptr) { return nullptr; }
    found = &each;
  }
  return found;
}

const NvmlSource::Gpu* NvmlSource::gpu_of(NvmlLibrary::Device handle) const {
  const auto found =
      std::find_if(gpus_.begin(), gpus_.end(), [handle](const Gpu& each) { return each.handle == handle; });
  return found == gpus_.end() ? nullptr : &*found;
}

/// Returns the first MIG slice of a GPU with slices, which programs get by default; otherwise the GPU itself.
NvmlLibrary::Device NvmlSource::first_slice(const Gpu& gpu) const {
  unsigned now = 0;
  unsigned pending = 0;
  const bool cut =
      nvml_.mig_mode != nullptr && nvml_.mig_mode(gpu.handle, &now, &pending) == kNvmlSuccess && now == kNvmlMigEnabled;
  unsigned max = 0;
  if (!cut || nvml_.mig_by_index == nullptr || nvml_.mig_count == nullptr ||
      nvml_.mig_count(gpu.handle, &max) != kNvmlSuccess) {
    return gpu.handle;
  }
  for (unsigned index = 0; index < std::min<std::size_t>(max, kMaxDevices); ++index) {
    NvmlLibrary::Device slice = nullptr;
    if (nvml_.mig_by_index(gpu.handle, index, &slice) == kNvmlSuccess) { return slice; }
  }
  return gpu.handle;
}

void NvmlSource::add(const Gpu& gpu, NvmlLibrary::Device slice, std::vector<Sensor>& sensors,
                     std::vector<Unsampled>& unsampled) {
  const bool same =
      std::any_of(devices_.begin(), devices_.end(), [slice](const Device& each) { return each.slice == slice; });
  if (same || devices_.size() == kMaxDevices) { return; }
  Device device;
  device.gpu = gpu.handle;
  device.slice = slice;
  devices_.push_back(device);
  Sensor sensor;
  sensor.kind = Sensor::Kind::device;
  sensor.number = gpu.number;
  sensor.name = "cuda " + std::to_string(devices());
  sensor.model = gpu.name;
  sensor.id = gpu.uuid;
  sensor.quantities = add_device({Quantity::energy, Quantity::power, Quantity::memory, Quantity::utilization,
                                  Quantity::clock, Quantity::slowdowns, Quantity::temperature});
  if (sensor.quantities.empty()) {
    devices_.pop_back();
    unsampled.push_back({"NVIDIA GPU " + std::to_string(gpu.number), trouble()});
    return;
  }
  if (slice != gpu.handle) {
    const std::string model = text_of(nvml_.name, slice);
    if (!model.empty()) { sensor.model = model; }
    sensor.caveat = "a MIG slice: memory is its own, all else is the whole GPU's";
  }
  std::int64_t value = 0;
  read_value(nvml_.memory, slice, value,
             [](const NvmlMemory& memory) { return static_cast<std::int64_t>(memory.total); });
  if (value != 0) { sensor.memory_bytes = static_cast<std::uint64_t>(value); }
  const auto reserved = [](const NvmlMemoryV2& memory) { return static_cast<std::int64_t>(memory.reserved); };
  if (read_value(nvml_.memory_v2, slice, value, reserved) == kNvmlSuccess) { sensor.reserved_bytes = value; }
  if (read_value(nvml_.power_limit, gpu.handle, value, as_it_is) == kNvmlSuccess && value != 0) {
    sensor.power_limit_mw = value;
  }
  sensors.push_back(std::move(sensor));
}

DeviceSource::Answer NvmlSource::ask(std::size_t device, Quantity quantity, std::int64_t& value) {
  error_ = this->value(devices_[device], quantity, value);
  return error_ == kNvmlSuccess ? Answer::reported : is_gone(error_) ? Answer::gone : Answer::failed;
}

/// Queries a value. Returns NVML's status.
int NvmlSource::value(Device& device, Quantity quantity, std::int64_t& value) const {
  constexpr std::int64_t kThousand = 1000;
  switch (quantity) {
    case Quantity::energy:
      return read_value(nvml_.total_energy, device.gpu, value, [&device](unsigned long long millijoules) {
        return static_cast<std::int64_t>(device.energy.add(millijoules)) * kThousand;
      });
    case Quantity::power:
      return read_value(nvml_.power, device.gpu, value, as_it_is);
    case Quantity::memory:
      return read_value(nvml_.memory, device.slice, value,
                        [](const NvmlMemory& memory) { return static_cast<std::int64_t>(memory.used); });
    case Quantity::utilization:
      return read_value(nvml_.utilization, device.gpu, value,
                        [](const NvmlUtilization& utilization) { return std::int64_t{utilization.gpu} * 10; });
    case Quantity::clock:
      return read_value(nvml_.clock, device.gpu, kNvmlClockSm, value, 1);
    case Quantity::slowdowns:
      return read_value(nvml_.clock_reasons, device.gpu, value, slowdowns_of_nvml);
    case Quantity::temperature:
      return read_value(nvml_.temperature, device.gpu, kNvmlTemperatureGpu, value, kThousand);
    default:
      return kNvmlNotSupported;
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
