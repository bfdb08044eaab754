// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/system_source.hpp"

#include "support/catch.hpp"
#include "support/scratch.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

using takt::Quantity;
using takt::Sample;
using takt::Sensor;
using takt::Unsampled;
using takt::detail::KernelFile;
using takt::detail::Powercap;
using takt::detail::Reading;
using takt::detail::SystemSource;
using takt_test::Scratch;
using takt_test::write_text;

namespace {

/// Writes a powercap zone as the kernel does.
void write_zone(const Scratch& scratch, const std::string& zone, const std::string& name, std::uint64_t energy) {
  std::filesystem::create_directories(scratch.path(zone));
  write_text(scratch.path(zone + "/name"), name + "\n");
  write_text(scratch.path(zone + "/max_energy_range_uj"), "262143328850\n");
  write_text(scratch.path(zone + "/energy_uj"), std::to_string(energy) + "\n");
}

std::int64_t value(const std::vector<Sensor>& sensors, const Reading& reading, Quantity quantity) {
  return reading.values.at(sensors.at(reading.sensor).place_of(quantity));
}

const Sensor* system_source_sensor_of(const std::vector<Sensor>& sensors, Sensor::Kind kind) {
  for (const Sensor& each : sensors) {
    if (each.kind == kind) { return &each; }
  }
  return nullptr;
}

}  // namespace

TEST_CASE("Powercap: adds up packages, and each counter overflows separately", "[sample]") {
  const Scratch scratch;
  constexpr std::uint64_t kRange = 262'143'328'850;
  write_zone(scratch, "intel-rapl:0", "package-0", kRange - 100);
  write_zone(scratch, "intel-rapl:0:0", "core", 1);
  write_zone(scratch, "intel-rapl:1", "package-1", 5000);
  write_zone(scratch, "intel-rapl:2", "psys", 77);
  Powercap powercap(scratch.path("."));
  REQUIRE(powercap.missing().empty());
  std::int64_t energy = -1;
  REQUIRE(powercap.energy(energy));
  CHECK(energy == 0);
  write_zone(scratch, "intel-rapl:0", "package-0", 400);  // beyond the end of its range
  write_zone(scratch, "intel-rapl:1", "package-1", 5700);
  write_zone(scratch, "intel-rapl:2", "psys", 9'000'000);
  REQUIRE(powercap.energy(energy));
  CHECK(energy == 500 + 700);
  std::filesystem::remove(scratch.path("intel-rapl:1/energy_uj"));
  CHECK_FALSE(powercap.energy(energy));
}

TEST_CASE("Powercap: reports why there is nothing to read", "[sample]") {
  const Scratch scratch;
  CHECK(takt_test::contains(Powercap(scratch.path("none")).missing(), scratch.path("none")));
  write_zone(scratch, "intel-rapl:0", "psys", 1);
  CHECK(takt_test::contains(Powercap(scratch.path(".")).missing(), "energy"));
  // One package of two does not cover the machine.
  write_zone(scratch, "intel-rapl:1", "package-0", 1);
  write_zone(scratch, "intel-rapl:2", "package-1", 1);
  std::filesystem::remove(scratch.path("intel-rapl:2/energy_uj"));
  std::filesystem::create_directory(scratch.path("intel-rapl:2/energy_uj"));
  Powercap half(scratch.path("."));
  CHECK(takt_test::contains(half.missing(), "intel-rapl:2/energy_uj"));
  std::int64_t energy = 0;
  CHECK_FALSE(half.energy(energy));
  std::filesystem::remove(scratch.path("intel-rapl:2/energy_uj"));
  write_zone(scratch, "intel-rapl:2", "package-1", 1);
  ::chmod(scratch.path("intel-rapl:2/energy_uj").c_str(), 0);
  if (::geteuid() != 0) { CHECK(takt_test::contains(Powercap(scratch.path(".")).missing(), "is for root alone")); }
}

TEST_CASE("System source: reads the process and the machine from the kernel", "[sample]") {
  const Scratch scratch;
  SystemSource::Places places;
  places.powercap = scratch.path("none");
  SystemSource source("here", places);
  std::vector<Sensor> sensors;
  std::vector<Unsampled> unsampled;
  source.open(sensors, unsampled);
  REQUIRE(system_source_sensor_of(sensors, Sensor::Kind::process) != nullptr);
  REQUIRE(system_source_sensor_of(sensors, Sensor::Kind::machine) != nullptr);
  CHECK(system_source_sensor_of(sensors, Sensor::Kind::processors) == nullptr);
  REQUIRE(unsampled.size() == 1);
  CHECK(unsampled[0].what == "the energy of the processors");
  const Sensor machine = *system_source_sensor_of(sensors, Sensor::Kind::machine);
  CHECK(machine.processors == static_cast<std::uint32_t>(::sysconf(_SC_NPROCESSORS_ONLN)));

  std::int64_t now = 0;
  std::vector<Reading> before;
  source.read([&] { return now; }, before);
  REQUIRE(before.size() == 2);
  std::vector<char> memory(64U << 20U, 'x');  // touched: page faults, and memory
  now = 100'000'000;
  std::vector<Reading> after;
  source.read([&] { return now; }, after);
  REQUIRE(after.size() == 1);  // the machine is not due
  CHECK(value(sensors, after[0], Quantity::memory) > value(sensors, before[0], Quantity::memory) + (50 << 20));
  CHECK(value(sensors, after[0], Quantity::peak_memory) >= value(sensors, after[0], Quantity::memory));
  CHECK(value(sensors, after[0], Quantity::minor_faults) > value(sensors, before[0], Quantity::minor_faults));
  CHECK(value(sensors, after[0], Quantity::cpu_time) > value(sensors, before[0], Quantity::cpu_time));
  CHECK(memory.back() == 'x');
  const std::int64_t used = value(sensors, before[1], Quantity::memory);
  CHECK(used > 0);
  CHECK(static_cast<std::uint64_t>(used) < machine.memory_bytes);
  CHECK(value(sensors, before[1], Quantity::cpu_time) > 0);
  now = 1'100'000'000;
  after.clear();
  source.read([&] { return now; }, after);
  CHECK(after.size() == 2);
}

TEST_CASE("System source: handles missing and nonsensical kernel files", "[sample]") {
  const Scratch scratch;
  SystemSource::Places places;
  places.powercap = places.proc = scratch.path(".");
  std::vector<Sensor> sensors;
  std::vector<Unsampled> unsampled;
  SystemSource source("here", places);
  source.open(sensors, unsampled);
  CHECK(sensors.size() == 1);
  CHECK(unsampled.size() == 2);
  std::vector<Reading> readings;
  source.read([] { return std::int64_t{0}; }, readings);
  REQUIRE(readings.size() == 1);
  CHECK(value(sensors, readings[0], Quantity::memory) == Sample::kAbsent);
  CHECK(value(sensors, readings[0], Quantity::cpu_time) > 0);
  CHECK(sensors[0].place_of(Quantity::storage_read) == sensors[0].quantities.size());

  write_text(scratch.path("stat"), "cpu  1 2 3\n");
  write_text(scratch.path("meminfo"), "MemTotal: x kB\nMemAvailable: 99999999999999999999999 kB\n");
  std::vector<Sensor> others;
  SystemSource again("here", places);
  again.open(others, unsampled);
  CHECK(others.size() == 1);
  write_text(scratch.path("meminfo"), "MemTotal:     100 kB\nMemFree: 7 kB\nMemAvailable:  40 kB\n");
  std::vector<Sensor> whole;
  SystemSource right("here", places);
  right.open(whole, unsampled);
  REQUIRE(whole.size() == 2);
  CHECK(whole[1].memory_bytes == 100 * 1024);
  readings.clear();
  right.read([] { return std::int64_t{0}; }, readings);
  CHECK(value(whole, readings[1], Quantity::memory) == 60 * 1024);
  CHECK(value(whole, readings[1], Quantity::cpu_time) == 6 * (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

TEST_CASE("Kernel file: reads numbers after names, and reports unreadable files", "[sample]") {
  const Scratch scratch;
  write_text(scratch.path("file"), "VmRSSX: 1\nVmRSS:\t  42 kB\nlast: 7");
  const KernelFile file(scratch.path("file").c_str());
  std::uint64_t value = 0;
  CHECK(file.number_of("VmRSS:", value));
  CHECK(value == 42);
  CHECK(file.number_of("last:", value));
  CHECK(value == 7);
  CHECK_FALSE(file.number_of("VmHWM:", value));
  CHECK_FALSE(file.number(value));
  CHECK(KernelFile(scratch.path("none").c_str()).error() == ENOENT);
  CHECK(KernelFile(scratch.path(".").c_str()).error() == EISDIR);
  write_text(scratch.path("long"), std::string(100'000, '9'));
  CHECK(KernelFile(scratch.path("long").c_str()).text().size() == 4096);
  CHECK_FALSE(KernelFile(scratch.path("long").c_str()).number(value));
}
