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

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kRsmiSuccess = 0;
constexpr int kRsmiMemoryVram = 0;          // rsmi_memory_type_t
constexpr int kRsmiTemperatureNow = 0;      // rsmi_temperature_metric_t
constexpr std::uint32_t kRsmiEdge = 0;      // rsmi_temperature_type_t
constexpr std::uint32_t kRsmiJunction = 1;  // likewise

/// Functions of librocm_smi64 used by Takt, limited to those identical in all versions. Enumerations are int here.
struct RsmiLibrary {
  int (*init)(std::uint64_t flags) = nullptr;
  int (*status_string)(int status, const char** text) = nullptr;
  int (*device_count)(std::uint32_t* count) = nullptr;
  // The functions below may be missing, or not supported by a device.
  int (*unique_id)(std::uint32_t device, std::uint64_t* id) = nullptr;
  int (*pci_id)(std::uint32_t device, std::uint64_t* id) = nullptr;
  int (*name)(std::uint32_t device, char* text, std::size_t length) = nullptr;
  int (*energy)(std::uint32_t device, std::uint64_t* count, float* microjoules, std::uint64_t* time_ns) = nullptr;
  int (*socket_power)(std::uint32_t device, std::uint64_t* microwatts) = nullptr;  ///< current power; newer GPUs only
  int (*average_power)(std::uint32_t device, std::uint32_t sensor, std::uint64_t* microwatts) = nullptr;
  int (*power_cap)(std::uint32_t device, std::uint32_t sensor, std::uint64_t* microwatts) = nullptr;
  int (*memory_total)(std::uint32_t device, int type, std::uint64_t* bytes) = nullptr;
  int (*memory_used)(std::uint32_t device, int type, std::uint64_t* bytes) = nullptr;
  int (*busy)(std::uint32_t device, std::uint32_t* percent) = nullptr;
  int (*temperature)(std::uint32_t device, std::uint32_t sensor, int metric, std::int64_t* millidegrees) = nullptr;

  Availability availability;

  /// Returns the library, loaded on the first call but not initialised. Any thread.
  static RsmiLibrary& get() noexcept;
};

/// Samples the AMD GPUs visible to the process, through rocm_smi: energy, power, memory, utilisation and temperature.
/// No clocks, because their structure differs between versions, and no slowdown reasons, because rocm_smi has none.
class RsmiSource final : public DeviceSource {
 public:
  /// \param rsmi not owned.
  /// \param rocr the list in ROCR_VISIBLE_DEVICES.
  /// \param hip the list in HIP_VISIBLE_DEVICES, which selects from those.
  RsmiSource(RsmiLibrary& rsmi, VisibleDevices rocr, VisibleDevices hip);
  /// Returns a source configured by the environment.
  static std::unique_ptr<SampleSource> of_process();

  const char* what() const noexcept override { return "AMD GPUs"; }
  void open(std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled) override;

 private:
  struct Device {
    std::uint32_t index = 0;
    CounterSum energy;
    std::uint32_t thermometer = kRsmiEdge;
  };

  std::vector<std::uint32_t> chosen(std::uint32_t count) const;
  void add(std::uint32_t index, std::vector<Sensor>& sensors, std::vector<Unsampled>& unsampled);
  Answer ask(std::size_t device, Quantity quantity, std::int64_t& value) override;
  std::string trouble() const override { return reported(status_); }
  int value(Device& device, Quantity quantity, std::int64_t& value) const;
  int energy_of(Device& device, std::int64_t& value) const;
  int power_of(const Device& device, std::int64_t& value) const;
  std::string id_of(std::uint32_t index) const;
  std::string reported(int status) const;

  RsmiLibrary& rsmi_;
  VisibleDevices rocr_;
  VisibleDevices hip_;
  std::vector<Device> devices_;  // one per sensor
  int status_ = kRsmiSuccess;    // status of the last query
};

}  // namespace detail
TAKT_END_NAMESPACE
