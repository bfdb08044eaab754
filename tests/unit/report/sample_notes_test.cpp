// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/sample_notes.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include "support/catch.hpp"
#include "support/sampled_run.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <string>
#include <vector>

using nlohmann::json;
using takt::Meter;
using takt::MeterEnergy;
using takt::Quantity;
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

Lines caveats_of(const Snapshot& snapshot) {
  Lines lines;
  takt::detail::add_sample_caveats(snapshot, lines);
  return lines;
}

}  // namespace

TEST_CASE("Sample notes: energy of the run, of a step and of a sample", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.series.resize(1);
  const Lines lines = lines_of(snapshot);
  CHECK(line_with(lines, "energy:") ==
        "energy: 1.20 kJ on cuda 0 (energy counter, every 100 ms), 2.00 J a step \u00B1 3.0 %, 31.2 mJ a sample; "
        "300 J on processors (energy counter, every 100 ms), 500 mJ a step \u00B1 5.0 %, 7.81 mJ a sample");
  CHECK(line_with(lines, "  in regions") ==
        "  in regions of five samples and more: Validation 450 J \u00B1 13.3 % in 3 calls");
  CHECK(line_with(lines, "memory at most:") ==
        "memory at most: cuda 0 40.2 GB of 85.0 GB; process 3.20 GB; machine 12.0 GB of 64.0 GB");
  CHECK(line_with(lines, "cuda 0:") ==
        "cuda 0: busy 87.0 %, 300 W of 700 W, 1800 MHz (least 1 200) on average, at most 71 \u00B0C, slowed down 10.0 "
        "% of "
        "the time: power cap 8.0 %, heat 3.0 %");
  CHECK(line_with(lines, "process:") ==
        "process: 12.0 GB read from storage, 1.00 MB written to it, 120 page faults that waited for storage, 3 400 "
        "forced context switches");
  CHECK(line_with(lines, "machine:") == "machine: 43.0 % of 8 processors busy, with all that runs there");
}

TEST_CASE("Sample notes: a counter and a power that differ are both told", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.meters[0].energy.by_power_joules = 1141;  // 4.9 % less
  CHECK(line_with(lines_of(snapshot), "  cuda 0:").empty());
  snapshot.meters[0].energy.by_power_joules = 1139;
  CHECK(line_with(lines_of(snapshot), "  cuda 0:") ==
        "  cuda 0: its counter tells 1.20 kJ, its power comes to 1.14 kJ");
  snapshot.meters[0].energy.by_power_joules = 1261;
  CHECK_FALSE(line_with(lines_of(snapshot), "  cuda 0:").empty());
}

TEST_CASE("Sample notes: without a counter the power is named as the source", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.meters[0].energy = {MeterEnergy::Source::power, 1200, MeterEnergy::kUnknown, kSampleNs};
  CHECK(contains(line_with(lines_of(snapshot), "energy:"), "1.20 kJ on cuda 0 (power summed up, every 100 ms)"));
}

TEST_CASE("Sample notes: several GPUs are added up, once each, and many have no line of their own", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  for (int gpu = 1; gpu < 8; ++gpu) {
    snapshot.meters.push_back(sampled_gpu("cuda " + std::to_string(gpu), 4 + gpu % 2));
    snapshot.meters.back().slowed_ns = 0;
    takt::StepEnergy energy = snapshot.step_energies[0];
    energy.meter = static_cast<std::uint32_t>(snapshot.meters.size() - 1);
    snapshot.step_energies.push_back(energy);
  }
  // Another thread's steps of the same path are not another GPU's.
  add_series(snapshot, snapshot.series[0].path, 0);
  takt::StepEnergy other = snapshot.step_energies[0];
  other.series = static_cast<std::uint32_t>(snapshot.series.size() - 1);
  other.time_ns -= 5;
  snapshot.step_energies.push_back(other);
  const Lines lines = lines_of(snapshot);
  CHECK(contains(line_with(lines, "energy:"), "10.8 kJ on 8 devices, 1.20 kJ to 1.50 kJ each"));
  CHECK(contains(line_with(lines, "energy:"), ", 16.0 J a step of "));
  CHECK(contains(line_with(lines, "memory"), "cuda 0 40.2 GB of 85.0 GB, the most of 8; process"));
  CHECK_FALSE(line_with(lines, "cuda 0:").empty());  // it was slowed down
  CHECK(line_with(lines, "cuda 3:").empty());
}

TEST_CASE("Sample notes: what is not sampled is one line, and a device that was lost says when", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  snapshot.unsampled.push_back({"the energy of the processors", "there is no /sys/class/powercap"});
  snapshot.meters[0].lost = "GPU is lost\x1b[31m";
  snapshot.meters[0].caveat = "a MIG slice";
  const Lines lines = caveats_of(snapshot);
  CHECK(line_with(lines, "not sampled:") ==
        "not sampled: AMD GPUs (librocm_smi64.so.7 cannot be loaded); the energy of the processors (there is no "
        "/sys/class/powercap)");
  CHECK(line_with(lines, "cuda 0: no samples") == "cuda 0: no samples after 4.00 s: GPU is lost?[31m");
  CHECK(line_with(lines, "cuda 0: a MIG") == "cuda 0: a MIG slice");
  CHECK(line_with(lines, "energy, memory") ==
        "energy, memory and use of a device are those of the whole device, whoever uses it");
  CHECK(lines_of(Snapshot()).empty());
  CHECK(caveats_of(Snapshot()).empty());
}

TEST_CASE("Sample notes: they stand below the table, and in summary.json", "[sample]") {
  Snapshot snapshot = sampled_snapshot();
  const std::string table = takt::format_table(snapshot, 120, false);
  CHECK(contains(table, "energy: 1.20 kJ on cuda 0"));
  CHECK(contains(table, "not sampled: AMD GPUs"));
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

TEST_CASE("Sample notes: numbers of a damaged journal print, and end nothing", "[sample]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double odd : {kNan, kInf, -kInf, -1.0, 0.0, 1e300}) {
    Snapshot snapshot = sampled_snapshot();
    for (Meter& each : snapshot.meters) {
      each.energy.joules = each.energy.by_power_joules = odd;
      each.first_ns = std::numeric_limits<std::int64_t>::max();
      each.last_ns = std::numeric_limits<std::int64_t>::min();
      each.quantities.push_back(static_cast<Quantity>(200));
      each.figures.push_back({});
      for (takt::QuantityFigures& figures : each.figures) {
        figures.mean = odd;
        figures.most = figures.change = std::numeric_limits<std::int64_t>::min();
        figures.least = std::numeric_limits<std::int64_t>::max();
      }
      each.kind = static_cast<Meter::Kind>(static_cast<int>(each.kind) == 3 ? 77 : static_cast<int>(each.kind));
      each.energy.step_ns = -5;
    }
    for (takt::StepEnergy& each : snapshot.step_energies) { each.joules = each.error_joules = odd; }
    for (takt::RegionEnergy& each : snapshot.region_energies) { each.joules = each.error_joules = odd; }
    snapshot.step_energies[1].series = 4'000'000'000;
    snapshot.region_energies[1].meter = 4'000'000'000;
    CHECK_FALSE(takt::format_table(snapshot, 80, false).empty());
    CHECK(json::accept(takt::format_json(snapshot)));
  }
}
