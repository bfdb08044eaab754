// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Compares Takt's table of rocm_smi with AMD's header and library.
#include "device/same_prototype.hpp"
#include "sample/rsmi_source.hpp"
#include "support/catch.hpp"

#include <rocm_smi/rocm_smi.h>

#include <string>

#include <unistd.h>

using takt::detail::RsmiLibrary;
using takt_test::same_prototype;

static_assert(same_prototype(&RsmiLibrary::init, &rsmi_init));
static_assert(same_prototype(&RsmiLibrary::status_string, &rsmi_status_string));
static_assert(same_prototype(&RsmiLibrary::device_count, &rsmi_num_monitor_devices));
static_assert(same_prototype(&RsmiLibrary::unique_id, &rsmi_dev_unique_id_get));
static_assert(same_prototype(&RsmiLibrary::pci_id, &rsmi_dev_pci_id_get));
static_assert(same_prototype(&RsmiLibrary::name, &rsmi_dev_name_get));
static_assert(same_prototype(&RsmiLibrary::energy, &rsmi_dev_energy_count_get));
static_assert(same_prototype(&RsmiLibrary::average_power, &rsmi_dev_power_ave_get));
static_assert(same_prototype(&RsmiLibrary::power_cap, &rsmi_dev_power_cap_get));
static_assert(same_prototype(&RsmiLibrary::memory_total, &rsmi_dev_memory_total_get));
static_assert(same_prototype(&RsmiLibrary::memory_used, &rsmi_dev_memory_usage_get));
static_assert(same_prototype(&RsmiLibrary::busy, &rsmi_dev_busy_percent_get));
static_assert(same_prototype(&RsmiLibrary::temperature, &rsmi_dev_temp_metric_get));

static_assert(RSMI_STATUS_SUCCESS == takt::detail::kRsmiSuccess);
static_assert(RSMI_MEM_TYPE_VRAM == takt::detail::kRsmiMemoryVram);
static_assert(RSMI_TEMP_CURRENT == takt::detail::kRsmiTemperatureNow);
static_assert(RSMI_TEMP_TYPE_EDGE == takt::detail::kRsmiEdge);
static_assert(RSMI_TEMP_TYPE_JUNCTION == takt::detail::kRsmiJunction);

TEST_CASE("rocm_smi: AMD's library has every function of the table, except those its version lacks") {
  const RsmiLibrary& rsmi = RsmiLibrary::get();
  const std::string reason = rsmi.availability.reason() == nullptr ? "" : rsmi.availability.reason();
  if (reason.find("cannot be loaded") != std::string::npos) {
    WARN("rocm_smi is not installed");
    return;
  }
  CHECK((reason.empty() || ::access("/sys/class/drm", F_OK) != 0));
  CHECK(rsmi.init != nullptr);
  CHECK(rsmi.status_string != nullptr);
  CHECK(rsmi.device_count != nullptr);
  CHECK(rsmi.unique_id != nullptr);
  CHECK(rsmi.pci_id != nullptr);
  CHECK(rsmi.name != nullptr);
  CHECK(rsmi.energy != nullptr);
  CHECK(rsmi.average_power != nullptr);
  CHECK(rsmi.power_cap != nullptr);
  CHECK(rsmi.memory_total != nullptr);
  CHECK(rsmi.memory_used != nullptr);
  CHECK(rsmi.busy != nullptr);
  CHECK(rsmi.temperature != nullptr);
  const char* words = nullptr;
  CHECK(rsmi.status_string(RSMI_STATUS_NOT_SUPPORTED, &words) == takt::detail::kRsmiSuccess);
  REQUIRE(words != nullptr);
  CHECK_THAT(words, takt_test::containing("not supported"));
}
