// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libnvidia-ml.so.1 of a machine with three GPUs, the last one partitioned: the functions that Takt looks up in
// NVIDIA's library.
#include "support/fake_nvml.hpp"

#include "device/same_prototype.hpp"

#include <chrono>

using takt::detail::NvmlLibrary;
using takt::detail::NvmlMemory;
using takt::detail::NvmlMemoryV2;
using takt::detail::NvmlUtilization;
using takt_test::FakeNvml;
using takt_test::same_prototype;
using Device = NvmlLibrary::Device;

namespace {

double seconds() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Created when the library is loaded, and never destroyed.
[[maybe_unused]] const FakeNvml& machine = []() -> const FakeNvml& {
  auto& made = *new FakeNvml(seconds);
  made.add_gpu();
  nvmlDevice_st& other = made.add_gpu("NVIDIA A100-SXM4-80GB");
  other.watts = 250;
  other.clock_mhz = 1410;
  other.utilization = 35;
  other.degrees = 44;
  other.memory_used = 3ULL << 30U;
  other.reasons = takt::detail::kNvmlSwPowerCap | takt::detail::kNvmlSwThermalSlowdown;
  other.counts = false;
  nvmlDevice_st& cut = made.add_gpu();
  made.add_slice(cut);
  made.add_slice(cut);
  return made;
}();

}  // namespace

extern "C" {

int nvmlInit_v2() { return FakeNvml::init(); }
int nvmlInitWithFlags(unsigned /*flags*/) { return FakeNvml::init(); }  // as called by the binding
int nvmlSystemGetCudaDriverVersion_v2(int* version) {                   // W&B's client queries no GPU without it
  *version = 12'080;
  return takt::detail::kNvmlSuccess;
}
const char* nvmlErrorString(int error) { return FakeNvml::error_string(error); }
int nvmlDeviceGetCount_v2(unsigned* count) { return FakeNvml::device_count(count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) { return FakeNvml::device_by_index(index, device); }
int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) { return FakeNvml::device_by_uuid(uuid, device); }
int nvmlDeviceGetUUID(Device device, char* text, unsigned length) { return FakeNvml::uuid(device, text, length); }
int nvmlDeviceGetName(Device device, char* text, unsigned length) { return FakeNvml::name(device, text, length); }
int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  return FakeNvml::total_energy(device, millijoules);
}
int nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) { return FakeNvml::power(device, milliwatts); }
int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return FakeNvml::power_limit(device, milliwatts);
}
int nvmlDeviceGetMemoryInfo(Device device, NvmlMemory* memory) { return FakeNvml::memory(device, memory); }
int nvmlDeviceGetMemoryInfo_v2(Device device, NvmlMemoryV2* memory) { return FakeNvml::memory_v2(device, memory); }
int nvmlDeviceGetUtilizationRates(Device device, NvmlUtilization* rates) {
  return FakeNvml::utilization(device, rates);
}
int nvmlDeviceGetClockInfo(Device device, int type, unsigned* megahertz) {
  return FakeNvml::clock(device, type, megahertz);
}
int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long* bits) {
  return FakeNvml::clock_reasons(device, bits);
}
int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* degrees) {
  return FakeNvml::temperature(device, sensor, degrees);
}
int nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  return FakeNvml::mig_mode(device, now, pending);
}
int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned* max) { return FakeNvml::mig_count(device, max); }
int nvmlDeviceGetMigDeviceHandleByIndex(Device device, unsigned index, Device* mig) {
  return FakeNvml::mig_by_index(device, index, mig);
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device mig, Device* device) {
  return FakeNvml::mig_parent(mig, device);
}

}  // extern "C"

// The binding calls the functions above, and so does Takt.
static_assert(same_prototype(&NvmlLibrary::init, &nvmlInit_v2));
static_assert(same_prototype(&NvmlLibrary::error_string, &nvmlErrorString));
static_assert(same_prototype(&NvmlLibrary::device_count, &nvmlDeviceGetCount_v2));
static_assert(same_prototype(&NvmlLibrary::device_by_index, &nvmlDeviceGetHandleByIndex_v2));
static_assert(same_prototype(&NvmlLibrary::device_by_uuid, &nvmlDeviceGetHandleByUUID));
static_assert(same_prototype(&NvmlLibrary::uuid, &nvmlDeviceGetUUID));
static_assert(same_prototype(&NvmlLibrary::name, &nvmlDeviceGetName));
static_assert(same_prototype(&NvmlLibrary::total_energy, &nvmlDeviceGetTotalEnergyConsumption));
static_assert(same_prototype(&NvmlLibrary::power, &nvmlDeviceGetPowerUsage));
static_assert(same_prototype(&NvmlLibrary::power_limit, &nvmlDeviceGetEnforcedPowerLimit));
static_assert(same_prototype(&NvmlLibrary::memory, &nvmlDeviceGetMemoryInfo));
static_assert(same_prototype(&NvmlLibrary::memory_v2, &nvmlDeviceGetMemoryInfo_v2));
static_assert(same_prototype(&NvmlLibrary::utilization, &nvmlDeviceGetUtilizationRates));
static_assert(same_prototype(&NvmlLibrary::clock, &nvmlDeviceGetClockInfo));
static_assert(same_prototype(&NvmlLibrary::clock_reasons, &nvmlDeviceGetCurrentClocksEventReasons));
static_assert(same_prototype(&NvmlLibrary::temperature, &nvmlDeviceGetTemperature));
static_assert(same_prototype(&NvmlLibrary::mig_mode, &nvmlDeviceGetMigMode));
static_assert(same_prototype(&NvmlLibrary::mig_count, &nvmlDeviceGetMaxMigDeviceCount));
static_assert(same_prototype(&NvmlLibrary::mig_by_index, &nvmlDeviceGetMigDeviceHandleByIndex));
static_assert(same_prototype(&NvmlLibrary::mig_parent, &nvmlDeviceGetDeviceHandleFromMigDeviceHandle));
