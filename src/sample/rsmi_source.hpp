// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/counter_sum.hpp"
#include "sample/device_source.hpp"
#include "sample/rsmi_library.hpp"
#include "sample/visible_devices.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Samples the AMD GPUs that the process can see, by rocm_smi: energy, power, memory, utilisation and temperature. It
/// tells clocks in a structure that is another one in each version, and no reasons for lower ones.
class RsmiSource final : public DeviceSource {
 public:
  /// \param rsmi not owned.
  /// \param rocr what ROCR_VISIBLE_DEVICES lists.
  /// \param hip of these, what HIP_VISIBLE_DEVICES lists.
  RsmiSource(RsmiLibrary& rsmi, VisibleDevices rocr, VisibleDevices hip);
  /// As the environment says.
  static std::unique_ptr<SampleSource> of_process();

  const char* what() const noexcept override { return "AMD GPUs"; }
  void open(std::vector<Meter>& meters, std::vector<Unsampled>& unsampled) override;

 private:
  struct Device {
    std::uint32_t index = 0;
    CounterSum energy;
    std::uint32_t thermometer = kRsmiEdge;
  };

  std::vector<std::uint32_t> chosen(std::uint32_t count) const;
  void add(std::uint32_t index, std::vector<Meter>& meters, std::vector<Unsampled>& unsampled);
  Answer ask(std::size_t device, Quantity quantity, std::int64_t& value) override;
  std::string trouble() const override { return told(status_); }
  int value(Device& device, Quantity quantity, std::int64_t& value) const;
  int energy_of(Device& device, std::int64_t& value) const;
  int power_of(const Device& device, std::int64_t& value) const;
  std::string id_of(std::uint32_t index) const;
  std::string told(int status) const;

  RsmiLibrary& rsmi_;
  VisibleDevices rocr_;
  VisibleDevices hip_;
  std::vector<Device> devices_;  // one a meter
  int status_ = kRsmiSuccess;    // of the last question
};

}  // namespace detail
TAKT_END_NAMESPACE
