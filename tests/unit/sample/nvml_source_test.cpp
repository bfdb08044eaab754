// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/nvml_source.hpp"

#include "support/catch.hpp"
#include "support/fake_nvml.hpp"
#include "support/mentions.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using takt::Quantity;
using takt::Sample;
using takt::Sensor;
using takt::Slowdown;
using takt::Unsampled;
using takt::detail::NvmlLibrary;
using takt::detail::NvmlSource;
using takt::detail::Reading;
using takt::detail::slowdowns_of_nvml;
using takt::detail::VisibleDevices;
using takt_test::FakeNvml;

namespace {

/// A machine, and the sensors that a source finds on it.
struct Rig {
  double seconds = 0;
  FakeNvml nvml{[this] { return seconds; }};
  NvmlLibrary table;
  std::unique_ptr<NvmlSource> source;
  std::vector<Sensor> sensors;
  std::vector<Unsampled> unsampled;

  Rig() { FakeNvml::fill(table); }
  void open(const char* visible = nullptr, bool pci_order = false) {
    source = std::make_unique<NvmlSource>(table, VisibleDevices::of(visible), pci_order);
    source->open(sensors, unsampled);
  }
  std::vector<Reading> read_at(double now) {
    seconds = now;
    std::vector<Reading> readings;
    source->read([this] { return static_cast<std::int64_t>(seconds * 1e9); }, readings);
    return readings;
  }
  std::int64_t value(const Reading& reading, Quantity quantity) const {
    return reading.values.at(sensors.at(reading.sensor).place_of(quantity));
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all;
    for (const Sensor& each : sensors) { all.push_back(each.number); }
    return all;
  }
};

using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("NVML: reads a GPU's values in Takt's units", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu().reasons = 0x4 | 0x1;
  rig.open();
  REQUIRE(rig.sensors.size() == 1);
  CHECK(rig.unsampled.empty());
  const Sensor& sensor = rig.sensors[0];
  CHECK(sensor.name == "cuda 0");
  CHECK(sensor.model == "NVIDIA H100 80GB HBM3");
  CHECK(sensor.id == "GPU-000000a0-0000-4000-8000-0123456789ab");
  CHECK(sensor.memory_bytes == 80ULL << 30U);
  CHECK(sensor.reserved_bytes == std::int64_t{600} << 20U);
  CHECK(sensor.power_limit_mw == 700'000);
  CHECK(sensor.quantities.front() == Quantity::energy);
  CHECK(sensor.quantities.size() == 7);
  rig.read_at(1);
  const Reading reading = rig.read_at(3).at(0);
  CHECK(reading.time_ns == 3'000'000'000);
  CHECK(rig.value(reading, Quantity::energy) == 900'000'000);
  CHECK(rig.value(reading, Quantity::power) == 300'000);
  CHECK(rig.value(reading, Quantity::memory) == std::int64_t{8} << 30U);
  CHECK(rig.value(reading, Quantity::utilization) == 900);
  CHECK(rig.value(reading, Quantity::clock) == 1980);
  CHECK(rig.value(reading, Quantity::slowdowns) == static_cast<std::int64_t>(Slowdown::power_cap));
  CHECK(rig.value(reading, Quantity::temperature) == 61'000);
}

TEST_CASE("NVML: uses only visible GPUs, by number, UUID and MIG instance", "[sample]") {
  Rig rig;
  for (int gpu = 0; gpu < 4; ++gpu) { rig.nvml.add_gpu(); }
  SECTION("all") {
    rig.open();
    CHECK(rig.numbers() == Numbers{0, 1, 2, 3});
  }
  SECTION("by number, in the order of the list") {
    rig.open(" 3, 1");
    CHECK(rig.numbers() == Numbers{3, 1});
    CHECK(rig.sensors[0].name == "cuda 0");
    CHECK(rig.sensors[0].id == rig.nvml.gpu(3).uuid);
  }
  SECTION("the first invalid entry ends the list") {
    rig.open("2,17,0");
    CHECK(rig.numbers() == Numbers{2});
  }
  SECTION("by the start of a UUID") {
    rig.open("GPU-000000a2,GPU-000000a1-0000");
    CHECK(rig.numbers() == Numbers{2, 1});
  }
  SECTION("an ambiguous start selects none") {
    rig.open("GPU-000000a");
    CHECK(rig.sensors.empty());
  }
  SECTION("a duplicate") {
    rig.open("1,1,0");
    CHECK(rig.numbers() == Numbers{1, 0});
  }
  SECTION("none") {
    for (const char* none : {"", "-1", "x", "NoDevFiles"}) {
      rig.open(none);
      CHECK(rig.sensors.empty());
    }
    CHECK(takt_test::mentions(rig.unsampled.at(0).why, {"CUDA_VISIBLE_DEVICES"}));
  }
}

TEST_CASE("NVML: does not guess numbers in CUDA's own order", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu();
  rig.nvml.add_gpu("NVIDIA T4");
  SECTION("and samples all GPUs instead") {
    rig.open("1");
    CHECK(rig.numbers() == Numbers{0, 1});
    CHECK(rig.unsampled.at(0).why.find("CUDA_DEVICE_ORDER=PCI_BUS_ID") != std::string::npos);
  }
  SECTION("unless CUDA uses NVML's order") {
    rig.open("1", true);
    CHECK(rig.numbers() == Numbers{1});
    CHECK(rig.unsampled.empty());
  }
  SECTION("UUIDs do not depend on the order") {
    rig.open("GPU-000000a1");
    CHECK(rig.numbers() == Numbers{1});
  }
}

TEST_CASE("NVML: a MIG instance has its own memory and the energy of the whole GPU", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu();
  nvmlDevice_st& gpu = rig.nvml.add_gpu();
  rig.nvml.add_slice(gpu);
  const nvmlDevice_st& second = rig.nvml.add_slice(gpu);
  SECTION("selected by its UUID") {
    rig.open(second.uuid.c_str());
    REQUIRE(rig.sensors.size() == 1);
    CHECK(rig.sensors[0].id == gpu.uuid);
  }
  SECTION("the first one of a partitioned GPU") {
    rig.open("1");
    REQUIRE(rig.sensors.size() == 1);
  }
  const Sensor& sensor = rig.sensors[0];
  CHECK(sensor.model == "NVIDIA H100 80GB HBM3 MIG 1g.10gb");
  CHECK(sensor.memory_bytes == 10ULL << 30U);
  CHECK(sensor.caveat.find("MIG") != std::string::npos);
  CHECK(sensor.place_of(Quantity::utilization) == sensor.quantities.size());
  rig.read_at(0);
  const Reading reading = rig.read_at(2).at(0);
  CHECK(rig.value(reading, Quantity::energy) == 600'000'000);
  CHECK(rig.value(reading, Quantity::memory) == std::int64_t{1} << 30U);
}

TEST_CASE("NVML: a missing MIG instance is not a device", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu();
  rig.open("MIG-00000000-0000-0000-0000-000000000000");
  CHECK(rig.sensors.empty());
  rig.table.device_by_uuid = nullptr;
  rig.open("MIG-00000000-0000-0000-0000-000000000000");
  CHECK(rig.sensors.empty());
}

TEST_CASE("NVML: a GPU that falls off the bus is reported once, and the others continue", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu();
  rig.nvml.add_gpu();
  rig.open();
  CHECK(rig.read_at(1).size() == 2);
  rig.nvml.gpu(0).error = takt::detail::kNvmlGpuIsLost;
  const std::vector<Reading> readings = rig.read_at(2);
  REQUIRE(readings.size() == 2);
  CHECK(readings[0].lost == "GPU is lost");
  CHECK(readings[0].values.empty());
  CHECK(readings[1].lost.empty());
  REQUIRE(rig.read_at(3).size() == 1);
  CHECK(rig.read_at(4)[0].sensor == 1);
}

TEST_CASE("NVML: drops a GPU that does not answer for long, but not one that pauses briefly", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu();
  rig.open();
  const auto fail = [&](int times) {
    rig.nvml.gpu(0).error = 999;
    for (int time = 0; time < times; ++time) {
      const Reading reading = rig.read_at(1).at(0);
      CHECK(reading.lost.empty());
      CHECK(reading.values.at(0) == Sample::kAbsent);
    }
  };
  fail(NvmlSource::kMaxFailures - 1);
  rig.nvml.gpu(0).error = 0;
  CHECK(rig.value(rig.read_at(2).at(0), Quantity::power) == 300'000);
  fail(NvmlSource::kMaxFailures - 1);
  CHECK(rig.read_at(3).at(0).lost == "Unknown Error");
  CHECK(rig.read_at(4).empty());
}

TEST_CASE("NVML: does not query unsupported values again", "[sample]") {
  Rig rig;
  rig.nvml.add_gpu().counts = false;
  rig.table.clock_reasons = nullptr;
  rig.open();
  REQUIRE(rig.sensors.size() == 1);
  CHECK(rig.sensors[0].place_of(Quantity::energy) == rig.sensors[0].quantities.size());
  CHECK(rig.sensors[0].place_of(Quantity::slowdowns) == rig.sensors[0].quantities.size());
  CHECK(rig.sensors[0].quantities.front() == Quantity::power);
}

TEST_CASE("NVML: handles a missing driver, no GPUs, and a GPU lost from the start", "[sample]") {
  Rig rig;
  SECTION("no driver") {
    rig.nvml.set_init_error(9);
    rig.open();
    CHECK(rig.unsampled.at(0).what == "NVIDIA GPUs");
    CHECK(takt_test::mentions(rig.unsampled.at(0).why, {"NVML", "Driver Not Loaded"}));
  }
  SECTION("no library") {
    rig.table.availability.lose("libnvidia-ml.so.1 cannot be loaded");
    rig.open();
    CHECK(takt_test::mentions(rig.unsampled.at(0).why, {"libnvidia-ml.so.1"}));
  }
  SECTION("no GPU") {
    rig.open();
    CHECK(rig.unsampled.at(0).why == "NVML finds none");
  }
  SECTION("a lost GPU") {
    rig.nvml.add_gpu().error = takt::detail::kNvmlGpuIsLost;
    rig.nvml.add_gpu();
    rig.open();
    CHECK(rig.numbers() == Numbers{1});
    CHECK(rig.unsampled.at(0).what == "NVIDIA GPU 0");
    CHECK(rig.unsampled.at(0).why == "GPU is lost");
    CHECK(rig.read_at(1).size() == 1);
  }
}

TEST_CASE("NVML: distinguishes slowdowns from other reasons for a lower clock", "[sample]") {
  const auto bits = [](Slowdown why) { return static_cast<std::int64_t>(why); };
  CHECK(slowdowns_of_nvml(0) == 0);
  CHECK(slowdowns_of_nvml(0x1 | 0x2 | 0x10 | 0x100) == 0);  // idle, user clocks, sync boost, display clocks
  CHECK(slowdowns_of_nvml(0x4) == bits(Slowdown::power_cap));
  CHECK(slowdowns_of_nvml(0x20) == bits(Slowdown::heat));
  CHECK(slowdowns_of_nvml(0x8 | 0x40) == bits(Slowdown::heat));
  CHECK(slowdowns_of_nvml(0x8 | 0x80) == bits(Slowdown::power_brake));
  CHECK(slowdowns_of_nvml(0x8) == bits(Slowdown::hardware));
  CHECK(slowdowns_of_nvml(0x4 | 0x20) == (bits(Slowdown::power_cap) | bits(Slowdown::heat)));
}
