// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/rsmi_source.hpp"

#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace takt_test {

/// An AMD GPU as rocm_smi reports it.
struct FakeAmdGpu {
  std::uint64_t id = 0;
  double watts = 200;
  std::uint64_t count = 1000;  ///< value of the energy counter at time 0
  bool has_energy = true;
  bool has_socket_power = false;
  bool has_edge = true;
  int error = 0;  ///< status that every call returns
};

/// A machine with AMD GPUs behind the functions of rocm_smi. One at a time, because the functions take no argument for
/// it.
class FakeRsmi {
 public:
  static constexpr float kMicrojoules = 15.3F;  ///< unit of the counter

  explicit FakeRsmi(std::function<double()> seconds) : seconds_(std::move(seconds)) { current() = this; }
  ~FakeRsmi() { current() = nullptr; }
  FakeRsmi(const FakeRsmi&) = delete;
  FakeRsmi& operator=(const FakeRsmi&) = delete;

  std::vector<FakeAmdGpu> gpus;
  int init_error = 0;

  static FakeRsmi& get() { return *current(); }

  static void fill(takt::detail::RsmiLibrary& table) {
    table.init = init;
    table.status_string = status_string;
    table.device_count = device_count;
    table.unique_id = unique_id;
    table.pci_id = pci_id;
    table.name = name;
    table.energy = energy;
    table.socket_power = socket_power;
    table.average_power = average_power;
    table.power_cap = power_cap;
    table.memory_total = memory_total;
    table.memory_used = memory_used;
    table.busy = busy;
    table.temperature = temperature;
  }

  static int init(std::uint64_t /*flags*/) { return get().init_error; }
  static int status_string(int status, const char** text) {
    *text = status == 2 ? "RSMI_STATUS_NOT_SUPPORTED" : "RSMI_STATUS_BUSY";
    return 0;
  }
  static int device_count(std::uint32_t* count) {
    *count = static_cast<std::uint32_t>(get().gpus.size());
    return 0;
  }
  static int unique_id(std::uint32_t device, std::uint64_t* id) {
    *id = of(device).id;
    return of(device).id == 0 ? 2 : 0;
  }
  static int pci_id(std::uint32_t device, std::uint64_t* id) {
    *id = 0xC100 + device;
    return 0;
  }
  static int name(std::uint32_t /*device*/, char* text, std::size_t length) {
    std::strncpy(text, "AMD Instinct MI250", length);
    return 0;
  }
  static int energy(std::uint32_t device, std::uint64_t* count, float* microjoules, std::uint64_t* time_ns) {
    const FakeAmdGpu& gpu = of(device);
    if (!gpu.has_energy) { return 2; }
    *microjoules = kMicrojoules;
    *count = gpu.count + static_cast<std::uint64_t>(gpu.watts * get().seconds_() * 1e6 / double{kMicrojoules});
    *time_ns = static_cast<std::uint64_t>(get().seconds_() * 1e9);
    return gpu.error;
  }
  static int socket_power(std::uint32_t device, std::uint64_t* microwatts) {
    *microwatts = static_cast<std::uint64_t>(of(device).watts * 1e6);
    return of(device).has_socket_power ? of(device).error : 2;
  }
  static int average_power(std::uint32_t device, std::uint32_t sensor, std::uint64_t* microwatts) {
    *microwatts = static_cast<std::uint64_t>(of(device).watts * 1e6);
    return sensor != 0 || of(device).has_socket_power ? 2 : of(device).error;
  }
  static int power_cap(std::uint32_t /*device*/, std::uint32_t /*sensor*/, std::uint64_t* microwatts) {
    *microwatts = 500'000'000;
    return 0;
  }
  static int memory_total(std::uint32_t /*device*/, int type, std::uint64_t* bytes) {
    *bytes = std::uint64_t{64} << 30U;
    return type == 0 ? 0 : 2;
  }
  static int memory_used(std::uint32_t device, int type, std::uint64_t* bytes) {
    *bytes = std::uint64_t{3} << 30U;
    return type == 0 ? of(device).error : 2;
  }
  static int busy(std::uint32_t device, std::uint32_t* percent) {
    *percent = 75;
    return of(device).error;
  }
  static int temperature(std::uint32_t device, std::uint32_t sensor, int metric, std::int64_t* millidegrees) {
    *millidegrees = sensor == 0 ? 45'000 : 52'000;
    return metric != 0 || (sensor == 0 && !of(device).has_edge) ? 2 : of(device).error;
  }

 private:
  static FakeRsmi*& current() {
    static FakeRsmi* current = nullptr;
    return current;
  }
  static FakeAmdGpu& of(std::uint32_t device) { return get().gpus.at(device); }

  std::function<double()> seconds_;
};

}  // namespace takt_test
