// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/rsmi_source.hpp"

#include "support/catch.hpp"
#include "support/fake_rsmi.hpp"
#include "support/mentions.hpp"

#include <cstdint>
#include <memory>
#include <vector>

using takt::Quantity;
using takt::Sample;
using takt::Sensor;
using takt::Unsampled;
using takt::detail::Reading;
using takt::detail::RsmiLibrary;
using takt::detail::RsmiSource;
using takt::detail::VisibleDevices;
using takt_test::FakeRsmi;

namespace {

struct AmdRig {
  double seconds = 0;
  FakeRsmi rsmi{[this] { return seconds; }};
  RsmiLibrary table;
  std::unique_ptr<RsmiSource> source;
  std::vector<Sensor> sensors;
  std::vector<Unsampled> unsampled;

  explicit AmdRig(std::size_t gpus) {
    FakeRsmi::fill(table);
    rsmi.gpus.resize(gpus);
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) { rsmi.gpus[gpu].id = 0xABC0 + gpu; }
  }
  void open(const char* rocr = nullptr, const char* hip = nullptr) {
    source = std::make_unique<RsmiSource>(table, VisibleDevices::of(rocr), VisibleDevices::of(hip));
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

TEST_CASE("rocm_smi: reads a GPU's values in Takt's units", "[sample]") {
  AmdRig rig(1);
  rig.rsmi.gpus[0].has_socket_power = GENERATE(false, true);
  rig.rsmi.gpus[0].has_edge = GENERATE(false, true);
  rig.open();
  REQUIRE(rig.sensors.size() == 1);
  CHECK(rig.sensors[0].name == "hip 0");
  CHECK(rig.sensors[0].model == "AMD Instinct MI250");
  CHECK(rig.sensors[0].id == "GPU-000000000000abc0");
  CHECK(rig.sensors[0].memory_bytes == std::uint64_t{64} << 30U);
  CHECK(rig.sensors[0].power_limit_mw == 500'000);
  rig.read_at(1);
  const Reading reading = rig.read_at(3).at(0);
  CHECK(static_cast<double>(rig.value(reading, Quantity::energy)) == Approx(600e6).epsilon(1e-6));
  CHECK(rig.value(reading, Quantity::power) == 200'000);
  CHECK(rig.value(reading, Quantity::memory) == std::int64_t{3} << 30U);
  CHECK(rig.value(reading, Quantity::utilization) == 750);
  CHECK(rig.value(reading, Quantity::temperature) == (rig.rsmi.gpus[0].has_edge ? 45'000 : 52'000));
}

TEST_CASE("rocm_smi: uses only visible GPUs", "[sample]") {
  AmdRig rig(4);
  SECTION("ROCr's list, and HIP's list relative to it") {
    rig.open("3,1,0", "1,2");
    CHECK(rig.numbers() == Numbers{1, 0});
  }
  SECTION("by UUID") {
    rig.open("GPU-000000000000abc2");
    CHECK(rig.numbers() == Numbers{2});
  }
  SECTION("none") {
    rig.open(nullptr, "-1");
    CHECK(rig.sensors.empty());
    CHECK(rig.unsampled.size() == 1);
  }
}

TEST_CASE("rocm_smi: the half of a GPU without an energy counter uses its power", "[sample]") {
  AmdRig rig(2);
  rig.rsmi.gpus[0].has_energy = false;
  rig.rsmi.gpus[1].count = 0;
  rig.rsmi.gpus[1].id = 0;
  rig.open();
  CHECK(rig.sensors.at(0).quantities.front() == Quantity::power);
  CHECK(rig.sensors.at(1).quantities.front() == Quantity::power);
  CHECK(rig.sensors.at(1).id == "PCI-c101");
}

TEST_CASE("rocm_smi: drops a GPU that no longer answers", "[sample]") {
  AmdRig rig(2);
  rig.open();
  rig.rsmi.gpus[0].error = 16;
  for (int time = 1; time < RsmiSource::kMaxFailures; ++time) {
    CHECK(rig.read_at(time).at(0).values.at(0) == Sample::kAbsent);
  }
  CHECK(rig.read_at(99).at(0).lost == "RSMI_STATUS_BUSY");
  CHECK(rig.read_at(100).size() == 1);
}

TEST_CASE("rocm_smi: handles a missing library and one that fails to start", "[sample]") {
  AmdRig rig(1);
  SECTION("none") {
    rig.table.availability.lose("librocm_smi64.so.7 cannot be loaded");
    rig.open();
    CHECK(rig.unsampled.at(0).what == "AMD GPUs");
    CHECK(takt_test::mentions(rig.unsampled.at(0).why, {"librocm_smi64.so.7"}));
  }
  SECTION("it fails to start") {
    rig.rsmi.init_error = 16;
    rig.open();
    CHECK(takt_test::mentions(rig.unsampled.at(0).why, {"rocm_smi", "RSMI_STATUS_BUSY"}));
  }
  CHECK(rig.sensors.empty());
}
