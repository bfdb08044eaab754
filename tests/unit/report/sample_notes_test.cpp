// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/sample_notes.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

using nlohmann::json;
using takt::Quantity;
using takt::Sensor;
using takt::SensorEnergy;
using takt::Snapshot;
using namespace takt_test;

namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const Snapshot& snapshot) {
  Lines lines;
  takt::detail::add_sampled(snapshot, lines);
  return lines;
}

std::string line_with(const Lines& lines, const std::string& start) {
  for (const std::string& each : lines) {
    if (each.rfind(start, 0) == 0) { return each; }
  }
  return "";
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& each : lines) { text += each + "\n"; }
  return text;
}

Lines caveats_of(const Snapshot& snapshot) {
  Lines lines;
  takt::detail::add_sample_caveats(snapshot, lines);
  return lines;
}

}  // namespace

TEST_CASE("Sample notes: energy of the run, of a step and of an item", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.series.resize(1);
  const Lines lines = lines_of(snapshot);
  const std::string text = text_of(lines);
  CHECK(line_mentions(text, {"energy", "1.20 kJ", "cuda 0", "100 ms", "2.00 J", "3.0 %", "31.2 mJ", "300 J",
                             "processors", "500 mJ", "5.0 %", "7.81 mJ"}));
  CHECK(line_mentions(text, {"Validation", "450 J", "13.3 %", "3"}));
  CHECK(line_mentions(text, {"cuda 0", "40.2 GB", "85.0 GB", "3.20 GB", "12.0 GB", "64.0 GB"}));  // memory
  CHECK(line_mentions(text,
                      {"cuda 0", "87.0 %", "300 W", "700 W", "1800 MHz", "1 200", "71", "10.0 %", "8.0 %", "3.0 %"}));
  CHECK(line_mentions(text, {"process", "12.0 GB", "1.00 MB", "120", "3 400"}));
  CHECK(line_mentions(text, {"machine", "43.0 %", "8 processors"}));
}

TEST_CASE("Sample notes: a counter and a power that differ are both reported", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.sensors[0].energy.by_power_joules = 1141;  // 4.9 % less
  CHECK(line_with(lines_of(snapshot), "  cuda 0:").empty());
  snapshot.sensors[0].energy.by_power_joules = 1139;
  CHECK(mentions(line_with(lines_of(snapshot), "  cuda 0:"), {"1.20 kJ", "1.14 kJ"}));
  snapshot.sensors[0].energy.by_power_joules = 1261;
  CHECK_FALSE(line_with(lines_of(snapshot), "  cuda 0:").empty());
}

TEST_CASE("Sample notes: without a counter the power is named as the source", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.sensors[0].energy = {SensorEnergy::Source::power, 1200, std::nullopt, kSampleNs};
  CHECK(line_mentions(text_of(lines_of(snapshot)), {"1.20 kJ", "cuda 0", "power", "100 ms"}));
}

TEST_CASE("Sample notes: several GPUs are each added once, and many have no line of their own", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  for (int gpu = 1; gpu < 8; ++gpu) {
    snapshot.sensors.push_back(sampled_gpu("cuda " + std::to_string(gpu), 4 + gpu % 2));
    snapshot.sensors.back().slowed_ns = 0;
    takt::StepEnergy energy = snapshot.step_energies[0];
    energy.sensor = static_cast<std::uint32_t>(snapshot.sensors.size() - 1);
    snapshot.step_energies.push_back(energy);
  }
  // Another thread's steps of the same path do not belong to another GPU.
  add_series(snapshot, snapshot.series[0].path, 0);
  takt::StepEnergy other = snapshot.step_energies[0];
  other.series = static_cast<std::uint32_t>(snapshot.series.size() - 1);
  other.time_ns -= 5;
  snapshot.step_energies.push_back(other);
  const Lines lines = lines_of(snapshot);
  CHECK(line_mentions(text_of(lines), {"energy", "10.8 kJ", "8 devices", "1.20 kJ", "1.50 kJ", "16.0 J"}));
  CHECK(line_mentions(text_of(lines), {"memory", "cuda 0", "40.2 GB", "85.0 GB", "8", "process"}));
  CHECK_FALSE(line_with(lines, "cuda 0:").empty());  // it was slowed down
  CHECK(line_with(lines, "cuda 3:").empty());
}

TEST_CASE("Sample notes: the golden text has each kind of line") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.sensors[0].lost = "GPU is lost";
  snapshot.sensors[0].caveat = "a MIG slice";
  snapshot.sensors[0].energy.by_power_joules = 1139;
  std::string text = text_of(lines_of(snapshot)) + text_of(caveats_of(snapshot));
  snapshot.sensors[0].energy = {SensorEnergy::Source::power, 1200, std::nullopt, kSampleNs};
  for (int gpu = 1; gpu < 8; ++gpu) { snapshot.sensors.push_back(sampled_gpu("cuda " + std::to_string(gpu), 4)); }
  text += text_of(lines_of(snapshot));
  check_golden("samples.txt", text);
}

TEST_CASE("Sample notes: unsampled data is one line, and a lost device has its time", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.unsampled.push_back({"the energy of the processors", "there is no /sys/class/powercap"});
  snapshot.sensors[0].lost = "GPU is lost\x1b[31m";
  snapshot.sensors[0].caveat = "a MIG slice";
  const Lines lines = caveats_of(snapshot);
  const std::string text = text_of(lines);
  CHECK(line_mentions(text, {"AMD GPUs", "librocm_smi64.so.7 cannot be loaded", "the energy of the processors",
                             "there is no /sys/class/powercap"}));
  CHECK(line_mentions(text, {"cuda 0", "4.00 s", "GPU is lost?[31m"}));
  CHECK(line_mentions(text, {"cuda 0", "a MIG slice"}));
  CHECK(lines.size() == 4);  // including that a device's figures cover all its users
  CHECK(lines_of(Snapshot()).empty());
  CHECK(caveats_of(Snapshot()).empty());
}

TEST_CASE("Sample notes: appear below the table and in summary.json", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  const std::string table = takt::format_table(snapshot, {120, false});
  CHECK(line_mentions(table, {"1.20 kJ", "cuda 0"}));
  CHECK(contains(table, "AMD GPUs"));
  const json summary = json::parse(takt::format_json(snapshot));
  const json& gpu = summary["meters"][0];
  CHECK(gpu["kind"] == "device");
  CHECK(gpu["number"] == 0);
  CHECK(gpu["power_limit_w"] == 700);
  CHECK(gpu["energy"] ==
        json({{"source", "counter"}, {"joules", 1200.0}, {"by_power_joules", 1192.0}, {"step_ns", 100'000'000}}));
  CHECK(gpu["figures"]["energy_j"] == 1200.0);
  CHECK(gpu["figures"]["power_w"] == json({{"mean", 300.0}, {"least", 290.0}, {"most", 310.0}}));
  CHECK(gpu["figures"]["utilization_percent"]["mean"] == 87.0);
  CHECK(gpu["figures"]["temperature_c"]["most"] == 71.0);
  CHECK_FALSE(gpu["figures"].contains("slowdowns"));
  CHECK(gpu["slowed"] ==
        json({{"ns", 400'000'000}, {"reasons_ns", {{"power_cap", 320'000'000}, {"heat", 120'000'000}}}}));
  CHECK(summary["meters"][1]["number"] == nullptr);
  CHECK(summary["meters"][2]["figures"]["cpu_time_s"] == 8.0);
  CHECK(summary["unsampled"] == json({{{"what", "AMD GPUs"}, {"why", "librocm_smi64.so.7 cannot be loaded"}}}));
  CHECK(summary["step_energies"][0]["joules_a_step"] == 2.0);
  CHECK(summary["step_energies"][0]["joules_an_item"] == 0.03125);
  CHECK(summary["region_energies"][0]["name"] == "Validation");
}

TEST_CASE("Sample notes: odd numbers in a damaged journal are printed without a crash", "[sample]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double odd : {kNan, kInf, -kInf, -1.0, 0.0, 1e300}) {
    Snapshot snapshot = sampled_snapshot();
    for (Sensor& each : snapshot.sensors) {
      each.energy.by_power_joules = each.energy.joules = odd;
      each.first_ns = std::numeric_limits<std::int64_t>::max();
      each.last_ns = std::numeric_limits<std::int64_t>::min();
      each.quantities.push_back(static_cast<Quantity>(200));
      each.figures.push_back({});
      for (takt::QuantityFigures& figures : each.figures) {
        figures.mean = odd;
        figures.max = figures.change = std::numeric_limits<std::int64_t>::min();
        figures.min = std::numeric_limits<std::int64_t>::max();
      }
      each.kind = static_cast<Sensor::Kind>(static_cast<int>(each.kind) == 3 ? 77 : static_cast<int>(each.kind));
      each.energy.step_ns = -5;
    }
    for (takt::StepEnergy& each : snapshot.step_energies) { each.joules = each.error_joules = odd; }
    for (takt::RegionEnergy& each : snapshot.region_energies) { each.joules = each.error_joules = odd; }
    snapshot.step_energies[1].series = 4'000'000'000;
    snapshot.region_energies[1].sensor = 4'000'000'000;
    CHECK_FALSE(takt::format_table(snapshot, {80, false}).empty());
    CHECK(json::accept(takt::format_json(snapshot)));
  }
}
