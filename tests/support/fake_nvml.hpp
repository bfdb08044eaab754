// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sample/nvml_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

/// The target of a device handle.
struct nvmlDevice_st {
  std::string uuid;
  std::string name;
  nvmlDevice_st* parent = nullptr;  ///< of a MIG instance
  std::vector<std::unique_ptr<nvmlDevice_st>> slices;
  // Power that oscillates around `watts`, and the resulting energy.
  double watts = 300;
  double swing = 0;
  double period_s = 1;
  unsigned long long counter_mj = 5'000'000;  ///< counter value at time 0
  double counter_period_s = 0;                ///< update period of the counter; 0: continuous
  bool counts = true;                         ///< the counter exists
  double counter_factor = 1;                  ///< factor by which the counter is wrong
  unsigned long long memory_total = 80ULL << 30U;
  unsigned long long memory_used = 8ULL << 30U;
  unsigned long long memory_reserved = 600ULL << 20U;  ///< memory reserved by the driver
  unsigned utilization = 90;
  unsigned clock_mhz = 1980;
  unsigned long long reasons = 0;
  unsigned degrees = 61;
  int error = 0;  ///< status that every call returns

  double watts_at(double seconds) const { return watts + swing * std::sin(2 * M_PI * seconds / period_s); }
  double joules_at(double seconds) const {
    return watts * seconds + swing * period_s / (2 * M_PI) * (1 - std::cos(2 * M_PI * seconds / period_s));
  }
  double counted_joules(double seconds) const {
    const double seen = counter_period_s == 0 ? seconds : std::floor(seconds / counter_period_s) * counter_period_s;
    return joules_at(seen) * counter_factor;
  }
};

namespace takt_test {

/// A machine with NVIDIA GPUs of known power, behind the functions of NVML. One at a time, because the functions take
/// no argument for it.
class FakeNvml {
 public:
  using Device = nvmlDevice_st*;

  /// \param seconds returns the current time.
  explicit FakeNvml(std::function<double()> seconds) : seconds_(std::move(seconds)) { current() = this; }
  ~FakeNvml() { current() = nullptr; }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  nvmlDevice_st& add_gpu(const std::string& name = "NVIDIA H100 80GB HBM3") {
    auto gpu = std::make_unique<nvmlDevice_st>();
    char uuid[64];
    std::snprintf(uuid, sizeof uuid, "GPU-%08zx-0000-4000-8000-0123456789ab", gpus_.size() + 0xA0);
    gpu->uuid = uuid;
    gpu->name = name;
    gpus_.push_back(std::move(gpu));
    return *gpus_.back();
  }
  /// Adds a MIG instance to `gpu`.
  nvmlDevice_st& add_slice(nvmlDevice_st& gpu) {
    auto slice = std::make_unique<nvmlDevice_st>();
    slice->parent = &gpu;
    slice->uuid = "MIG-" + gpu.uuid.substr(4, 34) + std::to_string(10 + gpu.slices.size());
    slice->name = gpu.name + " MIG 1g.10gb";
    slice->memory_total = 10ULL << 30U;
    slice->memory_used = 1ULL << 30U;
    gpu.slices.push_back(std::move(slice));
    return *gpu.slices.back();
  }
  nvmlDevice_st& gpu(std::size_t index) { return *gpus_[index]; }
  double seconds() const { return seconds_(); }
  void set_init_error(int error) { init_error_ = error; }
  /// Called in each query, which waits for it.
  std::function<void()> in_question;

  static FakeNvml& get() { return *current(); }

  /// Fills the function table as loading the library does.
  static void fill(takt::detail::NvmlLibrary& table) {
    table.init = init;
    table.error_string = error_string;
    table.device_count = device_count;
    table.device_by_index = device_by_index;
    table.uuid = uuid;
    table.device_by_uuid = device_by_uuid;
    table.name = name;
    table.total_energy = total_energy;
    table.power = power;
    table.power_limit = power_limit;
    table.memory = memory;
    table.memory_v2 = memory_v2;
    table.utilization = utilization;
    table.clock = clock;
    table.clock_reasons = clock_reasons;
    table.temperature = temperature;
    table.mig_mode = mig_mode;
    table.mig_count = mig_count;
    table.mig_by_index = mig_by_index;
    table.mig_parent = mig_parent;
  }

  static int init() { return get().init_error_; }
  static const char* error_string(int error) {
    switch (error) {
      case 3:
        return "Not Supported";
      case 9:
        return "Driver Not Loaded";
      case 15:
        return "GPU is lost";
      default:
        return "Unknown Error";
    }
  }
  static int device_count(unsigned* count) {
    *count = static_cast<unsigned>(get().gpus_.size());
    return 0;
  }
  static int device_by_index(unsigned index, Device* device) {
    if (index >= get().gpus_.size()) { return 2; }
    *device = get().gpus_[index].get();
    return 0;
  }
  static int device_by_uuid(const char* uuid, Device* device) {
    for (auto& gpu : get().gpus_) {
      if (gpu->uuid == uuid) { return *device = gpu.get(), 0; }
      for (auto& slice : gpu->slices) {
        if (slice->uuid == uuid) { return *device = slice.get(), 0; }
      }
    }
    return 6;
  }
  static int uuid(Device device, char* text, unsigned length) { return copy(device->uuid, text, length); }
  static int name(Device device, char* text, unsigned length) { return copy(device->name, text, length); }
  static int total_energy(Device device, unsigned long long* millijoules) {
    if (!device->counts) { return 3; }
    return of_gpu(device, [&](double seconds) {
      *millijoules = device->counter_mj + static_cast<unsigned long long>(device->counted_joules(seconds) * 1e3);
    });
  }
  static int power(Device device, unsigned* milliwatts) {
    return of_gpu(device,
                  [&](double now) { *milliwatts = static_cast<unsigned>(std::lround(device->watts_at(now) * 1e3)); });
  }
  static int power_limit(Device device, unsigned* milliwatts) {
    return of_gpu(device, [&](double) { *milliwatts = 700'000; });
  }
  static int memory(Device device, takt::detail::NvmlMemory* memory) {
    *memory = {device->memory_total, device->memory_total - device->memory_used, device->memory_used};
    return asked(device);
  }
  static int memory_v2(Device device, takt::detail::NvmlMemoryV2* memory) {
    if (memory->version != takt::detail::kNvmlMemoryV2) { return 25; }  // NVML_ERROR_ARGUMENT_VERSION_MISMATCH
    *memory = {memory->version, device->memory_total, device->memory_reserved,
               device->memory_total - device->memory_used, device->memory_used - device->memory_reserved};
    return asked(device);
  }
  static int utilization(Device device, takt::detail::NvmlUtilization* utilization) {
    if (!device->slices.empty()) { return 3; }  // as NVML does for a GPU in MIG mode
    return of_gpu(device, [&](double) { *utilization = {device->utilization, 40}; });
  }
  static int clock(Device device, int type, unsigned* megahertz) {
    return type != 1 ? 2 : of_gpu(device, [&](double) { *megahertz = device->clock_mhz; });
  }
  static int clock_reasons(Device device, unsigned long long* bits) {
    return of_gpu(device, [&](double) { *bits = device->reasons; });
  }
  static int temperature(Device device, int sensor, unsigned* degrees) {
    return sensor != 0 ? 2 : of_gpu(device, [&](double) { *degrees = device->degrees; });
  }
  static int mig_mode(Device device, unsigned* now, unsigned* pending) {
    *now = *pending = device->slices.empty() ? 0 : 1;
    return 0;
  }
  static int mig_count(Device /*device*/, unsigned* max) {
    *max = 7;
    return 0;
  }
  static int mig_by_index(Device device, unsigned index, Device* mig) {
    if (index >= device->slices.size()) { return 6; }
    *mig = device->slices[index].get();
    return 0;
  }
  static int mig_parent(Device mig, Device* device) {
    *device = mig->parent;
    return mig->parent == nullptr ? 2 : 0;
  }

 private:
  static FakeNvml*& current() {
    static FakeNvml* current = nullptr;
    return current;
  }
  static int copy(const std::string& from, char* text, unsigned length) {
    if (from.size() >= length) { return 7; }
    std::copy(from.begin(), from.end(), text);
    text[from.size()] = '\0';
    return 0;
  }
  static int asked(Device device) {
    if (get().in_question) { get().in_question(); }
    return device->error;
  }
  /// Answers a query that a MIG instance does not support.
  template <class Answer>
  static int of_gpu(Device device, Answer answer) {
    if (device->parent != nullptr) { return 3; }
    if (const int error = asked(device)) { return error; }
    answer(get().seconds());
    return 0;
  }

  std::function<double()> seconds_;
  std::vector<std::unique_ptr<nvmlDevice_st>> gpus_;
  int init_error_ = 0;
};

}  // namespace takt_test
