// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/counter_sum.hpp"
#include "sample/device_source.hpp"
#include "sample/nvml_library.hpp"
#include "sample/visible_devices.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Samples the NVIDIA GPUs that the process can see, by NVML. Of a MIG slice the memory is its own, and all else is the
/// whole GPU's.
class NvmlSource final : public DeviceSource {
 public:
  /// \param nvml not owned.
  /// \param pci_order numbers in `visible` count GPUs as NVML does (CUDA_DEVICE_ORDER=PCI_BUS_ID).
  NvmlSource(NvmlLibrary& nvml, VisibleDevices visible, bool pci_order);
  /// As the environment says.
  static std::unique_ptr<SampleSource> of_process();

  const char* what() const noexcept override { return "NVIDIA GPUs"; }
  void open(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled) override;

 private:
  struct Gpu {
    NvmlLibrary::Device handle = nullptr;
    std::uint32_t number = 0;
    std::string uuid;
    std::string name;
  };
  struct Device {
    NvmlLibrary::Device gpu = nullptr;
    NvmlLibrary::Device slice = nullptr;  // of it, where it has some; else the same
    CounterSum energy;
  };

  bool find_gpus(std::vector<Unsampled>& unsampled);
  void choose(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled);
  bool choose(const std::string& entry, std::vector<Meter>& meters, std::vector<Unsampled>& unsampled);
  void add(const Gpu& gpu, NvmlLibrary::Device slice, std::vector<Meter>& meters, std::vector<Unsampled>& unsampled);
  NvmlLibrary::Device first_slice(const Gpu& gpu) const;
  const Gpu* gpu_of(const std::string& entry) const;
  const Gpu* gpu_of(NvmlLibrary::Device handle) const;
  Answer ask(std::size_t device, Quantity quantity, std::int64_t& value) override;
  std::string trouble() const override { return told(error_); }
  int value(Device& device, Quantity quantity, std::int64_t& value) const;
  std::string told(int error) const;
  std::string text_of(int (*function)(NvmlLibrary::Device, char*, unsigned), NvmlLibrary::Device device) const;

  NvmlLibrary& nvml_;
  VisibleDevices visible_;
  bool pci_order_;
  std::vector<Gpu> gpus_;
  std::vector<Device> devices_;  // one a meter
  int error_ = kNvmlSuccess;     // of the last question
};

/// Bits of Slowdown for NVML's reasons: those that are no setting of the user's. Any thread.
std::int64_t slowdowns_of_nvml(unsigned long long reasons) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
