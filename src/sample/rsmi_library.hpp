// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/driver_library.hpp"

#include <cstddef>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kRsmiSuccess = 0;
constexpr int kRsmiMemoryVram = 0;          // rsmi_memory_type_t
constexpr int kRsmiTemperatureNow = 0;      // rsmi_temperature_metric_t
constexpr std::uint32_t kRsmiEdge = 0;      // rsmi_temperature_type_t
constexpr std::uint32_t kRsmiJunction = 1;  // likewise

/// The functions of librocm_smi64 that Takt uses: those that are the same in all its versions. Enumerations are int
/// here.
struct RsmiLibrary {
  int (*init)(std::uint64_t flags) = nullptr;
  int (*status_string)(int status, const char** text) = nullptr;
  int (*device_count)(std::uint32_t* count) = nullptr;
  // The others may be missing, or not supported by a device.
  int (*unique_id)(std::uint32_t device, std::uint64_t* id) = nullptr;
  int (*pci_id)(std::uint32_t device, std::uint64_t* id) = nullptr;
  int (*name)(std::uint32_t device, char* text, std::size_t length) = nullptr;
  int (*energy)(std::uint32_t device, std::uint64_t* count, float* microjoules, std::uint64_t* time_ns) = nullptr;
  int (*socket_power)(std::uint32_t device, std::uint64_t* microwatts) = nullptr;  ///< of newer GPUs, now
  int (*average_power)(std::uint32_t device, std::uint32_t sensor, std::uint64_t* microwatts) = nullptr;
  int (*power_cap)(std::uint32_t device, std::uint32_t sensor, std::uint64_t* microwatts) = nullptr;
  int (*memory_total)(std::uint32_t device, int type, std::uint64_t* bytes) = nullptr;
  int (*memory_used)(std::uint32_t device, int type, std::uint64_t* bytes) = nullptr;
  int (*busy)(std::uint32_t device, std::uint32_t* percent) = nullptr;
  int (*temperature)(std::uint32_t device, std::uint32_t sensor, int metric, std::int64_t* millidegrees) = nullptr;

  Availability availability;

  /// Loaded at the first call, which initialises nothing. Any thread.
  static RsmiLibrary& get() noexcept;
};

}  // namespace detail
TAKT_END_NAMESPACE
