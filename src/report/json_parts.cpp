// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/json_parts.hpp"

#include "findings/findings.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// null if no rank has it.
JsonText over_ranks_json(const OverRanks& over) {
  if (over.ranks == 0) { return {}; }
  return {{"ranks", over.ranks},       {"mean_ns", over.mean_ns},    {"min_ns", over.min_ns},
          {"min_rank", over.min_rank}, {"max_ns", over.max_ns},      {"max_rank", over.max_rank},
          {"stdev_ns", over.stdev_ns}, {"imbalance", over.imbalance}};
}

JsonText job_path_json(const Job& job, std::uint32_t index) {
  const JobPath& path = job.paths[index];
  return {{"path", job.path_name(index)},
          {"kind", to_string(path.kind)},
          {"n", path.host.n()},
          {"total", over_ranks_json(path.host_total)},
          {"device_total", over_ranks_json(path.device_total)},
          {"share", path.share}};
}

/// null if ranks have no steps.
JsonText efficiency_json(const std::optional<JobEfficiency>& efficiency) {
  if (!efficiency) { return {}; }
  return {{"load_balance", efficiency->load_balance},
          {"communication", efficiency->communication},
          {"parallel", efficiency->parallel}};
}

/// null if there are no stages.
JsonText pipeline_json(const Pipeline& pipeline) {
  if (pipeline.stages.empty()) { return {}; }
  JsonText stages = JsonText::array();
  for (const StageWait& each : pipeline.stages) {
    stages.push_back({{"stage", each.stage}, {"ranks", each.ranks}, {"waits", each.share}});
  }
  return {{"stages", stages}, {"micro_batches", pipeline.micro_batches}, {"ideal", pipeline.ideal}};
}

}  // namespace

void add_comparison(JsonText& job, const RankComparison& comparison) {
  JsonText findings = JsonText::array();
  for (const Finding& each : comparison.findings) { findings.push_back(finding_json(each)); }
  job.add("findings", findings);
  job.add("steps", comparison.steps);
  job.add("one_step_in", comparison.one_step_in);
  job.add("ranks_left_out", comparison.left_out);
  job.add("steps_unexposed", comparison.unexposed);
  job.add("efficiency", efficiency_json(comparison.efficiency));
  job.add("pipeline", pipeline_json(comparison.pipeline));
}

JsonText throughput_json(const std::vector<JobThroughput>& all,
                         const std::function<std::string(std::uint32_t path)>& path_name) {
  JsonText list = JsonText::array();
  for (const JobThroughput& each : all) {
    const Throughput& throughput = each.throughput;
    const bool known = throughput.no_interval == NoInterval::none;
    list.push_back({{"path", path_name(each.path)},
                    {"items", throughput.items},
                    {"period_ns", throughput.period_ns},
                    {"items_per_s", throughput.items_per_s},
                    {"items_per_s_low", known ? JsonText(throughput.items_low) : JsonText()},
                    {"items_per_s_high", known ? JsonText(throughput.items_high) : JsonText()},
                    {"steps_per_s", throughput.steps_per_s},
                    {"slowest", each.slowest}});
  }
  return list;
}

JsonText job_json(const Snapshot& snapshot) {
  if (snapshot.job == nullptr) { return {}; }
  const Job& job = *snapshot.job;
  JsonText missing = JsonText::array();
  for (const std::uint32_t rank : job.missing) { missing.push_back(rank); }
  JsonText paths = JsonText::array();
  for (std::uint32_t index = 0; index < job.paths.size(); ++index) { paths.push_back(job_path_json(job, index)); }
  JsonText json = {{"ranks", job.wall.ranks},
                   {"world_size", job.world_size},
                   {"missing_ranks", missing},
                   {"wall", over_ranks_json(job.wall)}};
  add_comparison(json, job.comparison);
  json.add("throughput", throughput_json(job.throughput, [&](std::uint32_t path) { return job.path_name(path); }));
  json.add("paths", paths);
  return json;
}

namespace {

/// null for NaN and infinities, which JSON lacks.
JsonText real(double value) { return std::isfinite(value) ? JsonText(value) : JsonText(); }

template <class T>
JsonText known(bool is_known, T value) {
  return is_known ? JsonText(value) : JsonText();
}

const char* word_of(Sensor::Kind kind) {
  switch (kind) {
    case Sensor::Kind::device:
      return "device";
    case Sensor::Kind::processors:
      return "processors";
    case Sensor::Kind::process:
      return "process";
    case Sensor::Kind::machine:
      return "machine";
  }
  return "other";
}

const char* word_of(Slowdown why) {
  switch (why) {
    case Slowdown::power_cap:
      return "power_cap";
    case Slowdown::heat:
      return "heat";
    case Slowdown::power_brake:
      return "power_brake";
    case Slowdown::hardware:
      return "hardware";
  }
  return "other";
}

/// By quantity name: the change of counters; mean, minimum and maximum of others. Reasons of slow-downs are reported as
/// times.
JsonText figures_json(const Sensor& sensor) {
  JsonText all = JsonText::object();
  for (std::size_t place = 0; place < std::min(sensor.figures.size(), sensor.quantities.size()); ++place) {
    const Quantity quantity = sensor.quantities[place];
    if (static_cast<std::uint8_t>(quantity) >= kQuantities || quantity == Quantity::slowdowns) { continue; }
    const QuantityForm form = form_of(quantity);
    const QuantityFigures& figures = sensor.figures[place];
    const auto in_unit = [&form](auto value) { return real(static_cast<double>(value) * form.scale); };
    if (form.counts) {
      all.add(form.name, in_unit(figures.change));
    } else {
      all.add(form.name,
              {{"mean", in_unit(figures.mean)}, {"least", in_unit(figures.min)}, {"most", in_unit(figures.max)}});
    }
  }
  return all;
}

/// null if it has none.
JsonText energy_json(const SensorEnergy& energy) {
  if (energy.source == SensorEnergy::Source::none) { return {}; }
  return {{"source", energy.source == SensorEnergy::Source::counter ? "counter" : "power"},
          {"joules", real(energy.joules)},
          {"by_power_joules", energy.by_power_joules},
          {"step_ns", energy.step_ns}};
}

JsonText slowed_json(const Sensor& sensor) {
  JsonText reasons = JsonText::object();
  for (const SlowTime& each : sensor.slowed) { reasons.add(word_of(each.why), each.ns); }
  return {{"ns", sensor.slowed_ns}, {"reasons_ns", reasons}};
}

JsonText sensor_json(const Sensor& sensor) {
  return {
      {"kind", word_of(sensor.kind)},
      {"name", sensor.name},
      {"number", known(sensor.kind == Sensor::Kind::device, sensor.number)},
      {"model", known(!sensor.model.empty(), sensor.model)},
      {"id", sensor.id},
      {"memory_bytes", sensor.memory_bytes},
      {"reserved_bytes", sensor.reserved_bytes},
      {"power_limit_w", sensor.power_limit_mw ? real(static_cast<double>(*sensor.power_limit_mw) / 1e3) : JsonText()},
      {"processors", sensor.processors},
      {"interval_ns", sensor.interval_ns},
      {"caveat", known(!sensor.caveat.empty(), sensor.caveat)},
      {"lost", known(!sensor.lost.empty(), sensor.lost)},
      {"samples", sensor.samples},
      {"first_ns", sensor.first_ns},
      {"last_ns", sensor.last_ns},
      {"energy", energy_json(sensor.energy)},
      {"slowed", slowed_json(sensor)},
      {"figures", figures_json(sensor)},
  };
}

}  // namespace

JsonText epochs_json(const Snapshot& snapshot) {
  JsonText list = JsonText::array();
  std::uint64_t number = 0;
  for (const EpochStats& each : snapshot.epochs) {
    JsonText metrics = JsonText::object();
    for (const auto& [name, value] : each.metrics) { metrics.add(name, value); }
    list.push_back({{"epoch", number++},
                    {"last_step", each.last_step},
                    {"end_unix_ns", each.end_unix_ns},
                    {"seconds", each.seconds},
                    {"steps", each.steps ? JsonText(*each.steps) : JsonText()},
                    {"samples_per_s", each.samples_per_s ? JsonText(*each.samples_per_s) : JsonText()},
                    {"metrics", metrics}});
  }
  return list;
}

JsonText machine_json(const MachineInfo& machine) {
  JsonText libraries = JsonText::object();
  for (const auto& [name, version] : machine.libraries) { libraries.add(name, version); }
  return {{"cpu", known(!machine.cpu.empty(), machine.cpu)},
          {"cores", machine.cores},
          {"logical_cpus", machine.logical_cpus},
          {"host_memory_bytes", machine.host_memory_bytes},
          {"gpus", known(!machine.gpus.empty(), machine.gpus)},
          {"commit", known(!machine.commit.empty(), machine.commit)},
          {"command", known(!machine.command.empty(), machine.command)},
          {"compiler", known(!machine.compiler.empty(), machine.compiler)},
          {"libraries", libraries}};
}

JsonText threads_json(const PathStats& path) {
  const ThreadSpread& spread = path.spread;
  if (spread.threads == 0) { return {}; }
  return {{"n", spread.threads},
          {"mean_ns", path.ns_a_thread()},
          {"max_ns", spread.longest_ns},
          {"max_thread", spread.longest}};
}

JsonText sensors_json(const Snapshot& snapshot) {
  JsonText all = JsonText::array();
  for (const Sensor& each : snapshot.sensors) { all.push_back(sensor_json(each)); }
  return all;
}

JsonText unsampled_json(const Snapshot& snapshot) {
  JsonText all = JsonText::array();
  for (const Unsampled& each : snapshot.unsampled) { all.push_back({{"what", each.what}, {"why", each.why}}); }
  return all;
}

JsonText step_energies_json(const Snapshot& snapshot) {
  JsonText all = JsonText::array();
  for (const StepEnergy& each : snapshot.step_energies) {
    const auto a = [&each](std::uint64_t count) {
      return count == 0 ? JsonText() : real(each.joules / static_cast<double>(count));
    };
    all.push_back({{"series", each.series},
                   {"meter", each.sensor},
                   {"steps", each.steps},
                   {"items", each.items},
                   {"time_ns", each.time_ns},
                   {"joules", real(each.joules)},
                   {"error_joules", real(each.error_joules)},
                   {"joules_a_step", a(each.steps)},
                   {"joules_an_item", a(each.items)}});
  }
  return all;
}

JsonText region_energies_json(const Snapshot& snapshot) {
  JsonText all = JsonText::array();
  for (const RegionEnergy& each : snapshot.region_energies) {
    all.push_back({{"name", each.name},
                   {"meter", each.sensor},
                   {"calls", each.calls},
                   {"time_ns", each.time_ns},
                   {"joules", real(each.joules)},
                   {"error_joules", real(each.error_joules)}});
  }
  return all;
}

namespace {

/// null without a call.
JsonText memory_json(const MemoryFigures& figures) {
  if (figures.calls == 0) { return {}; }
  return {{"calls", figures.calls},
          {"change_bytes", figures.change_bytes},
          {"max_change_bytes", figures.max_change_bytes},
          {"peak_bytes", figures.peak_bytes}};
}

}  // namespace

JsonText region_memories_json(const Snapshot& snapshot) {
  JsonText all = JsonText::array();
  for (const RegionMemory& each : snapshot.region_memories) {
    all.push_back(
        {{"name", each.name}, {"resident", memory_json(each.resident)}, {"allocator", memory_json(each.allocator)}});
  }
  return all;
}

}  // namespace detail
TAKT_END_NAMESPACE
