// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/driver_library.hpp"
#include "sample/device_source.hpp"
#include "sample/energy_stats.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct nvmlDevice_st;

TAKT_BEGIN_NAMESPACE
namespace detail {

// nvmlReturn_t
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlNotSupported = 3;
constexpr int kNvmlFunctionNotFound = 13;
constexpr int kNvmlGpuIsLost = 15;
constexpr int kNvmlGpuNotFound = 28;

constexpr int kNvmlClockSm = 1;         // nvmlClockType_t
constexpr int kNvmlTemperatureGpu = 0;  // nvmlTemperatureSensors_t
constexpr unsigned kNvmlMigEnabled = 1;
constexpr unsigned kNvmlUuidBytes = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE
constexpr unsigned kNvmlNameBytes = 96;  // NVML_DEVICE_NAME_V2_BUFFER_SIZE
constexpr unsigned kNvmlMemoryV2 = 0x02000028;

// Bits of nvmlDeviceGetCurrentClocksEventReasons.
constexpr unsigned long long kNvmlSwPowerCap = 0x04;
constexpr unsigned long long kNvmlHwSlowdown = 0x08;
constexpr unsigned long long kNvmlSwThermalSlowdown = 0x20;
constexpr unsigned long long kNvmlHwThermalSlowdown = 0x40;
constexpr unsigned long long kNvmlHwPowerBrakeSlowdown = 0x80;

/// nvmlMemory_t, in bytes.
struct NvmlMemory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

/// nvmlMemory_v2_t, in bytes.
struct NvmlMemoryV2 {
  unsigned version = kNvmlMemoryV2;
  unsigned long long total;
  unsigned long long reserved;  ///< for the driver and firmware; NvmlMemory counts it as used
  unsigned long long free;
  unsigned long long used;
};
static_assert(kNvmlMemoryV2 == (sizeof(NvmlMemoryV2) | 2U << 24U));

/// nvmlUtilization_t, in percent.
struct NvmlUtilization {
  unsigned gpu;
  unsigned memory;
};

/// Functions of libnvidia-ml.so.1 used by Takt. Enumerations are int here; tests/nvml checks these prototypes with
/// NVIDIA's own binding.
struct NvmlLibrary {
  using Device = nvmlDevice_st*;

  int (*init)() = nullptr;
  const char* (*error_string)(int error) = nullptr;
  int (*device_count)(unsigned* count) = nullptr;
  int (*device_by_index)(unsigned index, Device* device) = nullptr;
  int (*uuid)(Device device, char* text, unsigned length) = nullptr;
  // The functions below may be missing, or not supported by a device.
  int (*device_by_uuid)(const char* uuid, Device* device) = nullptr;
  int (*name)(Device device, char* text, unsigned length) = nullptr;
  int (*total_energy)(Device device, unsigned long long* millijoules) = nullptr;
  int (*power)(Device device, unsigned* milliwatts) = nullptr;
  int (*power_limit)(Device device, unsigned* milliwatts) = nullptr;
  int (*memory)(Device device, NvmlMemory* memory) = nullptr;
  int (*memory_v2)(Device device, NvmlMemoryV2* memory) = nullptr;  ///< newer drivers only
  int (*utilization)(Device device, NvmlUtilization* utilization) = nullptr;
  int (*clock)(Device device, int type, unsigned* megahertz) = nullptr;
  int (*clock_reasons)(Device device, unsigned long long* bits) = nullptr;
  int (*temperature)(Device device, int sensor, unsigned* degrees) = nullptr;
  int (*mig_mode)(Device device, unsigned* now, unsigned* pending) = nullptr;
  int (*mig_count)(Device device, unsigned* max) = nullptr;
  int (*mig_by_index)(Device device, unsigned index, Device* mig) = nullptr;
  int (*mig_parent)(Device mig, Device* device) = nullptr;

  Availability availability;

  /// Returns the library, loaded on the first call but not initialised. Any thread.
  static NvmlLibrary& get() noexcept;
};

/// Samples the NVIDIA GPUs visible to the process, through NVML. For a MIG slice, memory is the slice's; all other
/// values are the whole GPU's.
class NvmlSource final : public DeviceSource {
 public:
  /// \param nvml not owned.
  /// \param pci_order true: numbers in `visible` are NVML's (CUDA_DEVICE_ORDER=PCI_BUS_ID).
  NvmlSource(NvmlLibrary& nvml, VisibleDevices visible, bool pci_order);
  /// Returns a source configured by the environment.
  static std::unique_ptr<SampleSource> of_process();

  const char* what() const noexcept override { return "NVIDIA GPUs"; }
  void open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) override;

 private:
  struct Gpu {
    NvmlLibrary::Device handle = nullptr;
    std::uint32_t number = 0;
    std::string uuid;
    std::string name;
  };
  struct Device {
    NvmlLibrary::Device gpu = nullptr;
    NvmlLibrary::Device slice = nullptr;  // a slice of the GPU, or the GPU itself
    CounterSum energy;
  };

  bool find_gpus(std::vector<Unsampled>& unsampled);
  void choose(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled);
  bool choose(const std::string& entry, std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled);
  void add(const Gpu& gpu, NvmlLibrary::Device slice, std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled);
  NvmlLibrary::Device first_slice(const Gpu& gpu) const;
  const Gpu* gpu_of(const std::string& entry) const;
  const Gpu* gpu_of(NvmlLibrary::Device handle) const;
  Answer ask(std::size_t device, Quantity quantity, std::int64_t& value) override;
  std::string trouble() const override { return reported(error_); }
  int value(Device& device, Quantity quantity, std::int64_t& value) const;
  std::string reported(int error) const;
  std::string text_of(int (*function)(NvmlLibrary::Device, char*, unsigned), NvmlLibrary::Device device) const;

  NvmlLibrary& nvml_;
  VisibleDevices visible_;
  bool pci_order_;
  std::vector<Gpu> gpus_;
  std::vector<Device> devices_;  // one per sensor
  int error_ = kNvmlSuccess;     // status of the last query
};

/// Returns Slowdown bits for NVML's reasons, without those that are user settings. Any thread.
std::int64_t slowdowns_of_nvml(unsigned long long reasons) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
