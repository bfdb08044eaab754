// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/sample_notes.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t kMaxDevices = 4;  // with a line each
// Maximum relative difference between a counter and summed power; beyond it, one is wrong.
constexpr double kTellBoth = 0.05;

struct Reason {
  Slowdown why;
  const char* words;
};
constexpr Reason kReasons[] = {{Slowdown::power_cap, "power cap"},
                               {Slowdown::heat, "heat"},
                               {Slowdown::power_brake, "power brake"},
                               {Slowdown::hardware, "hardware"}};

const char* words_of(Slowdown why) {
  for (const Reason& each : kReasons) {
    if (each.why == why) { return each.words; }
  }
  return "another reason";
}

std::string sensor_name(const Sensor& sensor) { return fit(printable(sensor.name), 40); }

std::vector<const Sensor*> sensors_of(const Snapshot& snapshot, Sensor::Kind kind) {
  std::vector<const Sensor*> found;
  for (const Sensor& each : snapshot.sensors) {
    if (each.kind == kind && each.samples != 0) { found.push_back(&each); }
  }
  return found;
}

bool has_energy(const Sensor& sensor) {
  return sensor.samples > 1 && sensor.energy.source != SensorEnergy::Source::none;
}

std::string source_of(const Sensor& sensor) {
  const bool counts = sensor.energy.source == SensorEnergy::Source::counter;
  const std::string every =
      sensor.energy.step_ns > 0 ? ", every " + human_time(static_cast<double>(sensor.energy.step_ns)) : std::string();
  return (counts ? "energy counter" : "power summed up") + every;
}

/// ", 2.05 J a step ± 3.0 %, 32.0 mJ a sample".
std::string step_words(const Snapshot& snapshot, const EnergyOfSteps& of) {
  if (of.steps == 0) { return ""; }
  const std::string where =
      snapshot.series.size() < 2 ? "" : " of " + path_label(snapshot, snapshot.series[of.series].path, 40);
  std::string one = item_unit(snapshot);
  if (one.size() > 1 && one.back() == 's') { one.pop_back(); }
  const std::string item = of.joules_an_item > 0 ? ", " + human_energy(of.joules_an_item) + " a " + one : "";
  return detail::format(", {} a step{} \u00B1 {}{}", human_energy(of.joules_a_step), where, percent(of.error, 1), item);
}

/// "1.23 kJ on cuda 0 (energy counter, every 100 ms), 2.05 J a step ± 3.0 %".
std::string energy_words(const Snapshot& snapshot, const std::vector<const Sensor*>& sensors, Sensor::Kind kind) {
  double joules = 0;
  double min = 0;
  double max = 0;
  for (const Sensor* each : sensors) {
    min = joules == 0 ? each->energy.joules : std::min(min, each->energy.joules);
    max = std::max(max, each->energy.joules);
    joules += each->energy.joules;
  }
  const char* const nouns = kind == Sensor::Kind::device ? "devices" : "machines' processors";
  const std::string where = sensors.size() == 1 ? sensor_name(*sensors.front())
                                                : detail::format("{} {}, {} to {} each", sensors.size(), nouns,
                                                                 human_energy(min), human_energy(max));
  return detail::format("{} on {} ({}){}", human_energy(joules), where, source_of(*sensors.front()),
                        step_words(snapshot, energy_of_steps(snapshot, kind)));
}

/// Adds the regions with the most energy, on all devices, or on the processors if there is no device.
void region_line(const Snapshot& snapshot, Lines& lines) {
  const bool device = !sensors_of(snapshot, Sensor::Kind::device).empty();
  const Sensor::Kind kind = device ? Sensor::Kind::device : Sensor::Kind::processors;
  std::map<std::string, RegionEnergy> regions;
  for (const RegionEnergy& each : snapshot.region_energies) {
    if (each.sensor >= snapshot.sensors.size() || snapshot.sensors[each.sensor].kind != kind) { continue; }
    RegionEnergy& sum = regions[each.name];
    sum.calls = std::max(sum.calls, each.calls);
    sum.joules += each.joules;
    sum.error_joules += each.error_joules;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [name, each] : regions) {
    if (each.joules > 0) { order.emplace_back(-each.joules, name); }
  }
  std::sort(order.begin(), order.end());
  std::string text;
  for (std::size_t at = 0; at < std::min(order.size(), kMaxDevices); ++at) {
    const RegionEnergy& each = regions[order[at].second];
    text += detail::format("{}{} {} \u00B1 {} in {} call{}", at == 0 ? "" : ", ", fit(printable(order[at].second), 40),
                           human_energy(each.joules), percent(each.error_joules, each.joules), human_count(each.calls),
                           plural(each.calls));
  }
  if (!text.empty()) { lines.push_back("  in regions with at least five samples: " + text); }
}

void energy_lines(const Snapshot& snapshot, Lines& lines) {
  std::string text;
  for (const Sensor::Kind kind : {Sensor::Kind::device, Sensor::Kind::processors}) {
    std::vector<const Sensor*> sensors = sensors_of(snapshot, kind);
    sensors.erase(std::remove_if(sensors.begin(), sensors.end(), [](const Sensor* each) { return !has_energy(*each); }),
                  sensors.end());
    if (sensors.empty()) { continue; }
    text += (text.empty() ? "" : "; ") + energy_words(snapshot, sensors, kind);
  }
  if (!text.empty()) { lines.push_back("energy: " + text); }
  region_line(snapshot, lines);
  for (const Sensor& each : snapshot.sensors) {
    const double counted = each.energy.joules;
    const std::optional<double> summed = each.energy.by_power_joules;
    if (!has_energy(each) || !summed || std::abs(*summed - counted) <= kTellBoth * counted) { continue; }
    lines.push_back(detail::format("  {}: its counter reports {}, its power sums to {}", sensor_name(each),
                                   human_energy(counted), human_energy(*summed)));
  }
}

/// Adds the maximum memory use of sensors of one kind; if there are many, only of the largest.
void add_memory(const Snapshot& snapshot, Sensor::Kind kind, Quantity quantity, std::string& text) {
  std::vector<std::pair<const Sensor*, const QuantityFigures*>> known;
  for (const Sensor* each : sensors_of(snapshot, kind)) {
    const QuantityFigures* const memory = each->figures_of(quantity);
    if (memory != nullptr && memory->max > 0) { known.emplace_back(each, memory); }
  }
  const std::size_t all = known.size();
  if (all > kMaxDevices) {
    known = {*std::max_element(known.begin(), known.end(),
                               [](const auto& a, const auto& b) { return a.second->max < b.second->max; })};
  }
  for (const auto& [sensor, memory] : known) {
    const std::string whole =
        sensor->memory_bytes ? " of " + human_bytes(static_cast<double>(*sensor->memory_bytes)) : "";
    text += detail::format("{}{} {}{}", text.empty() ? "" : "; ", sensor_name(*sensor),
                           human_bytes(static_cast<double>(memory->max)), whole);
  }
  if (all > known.size()) { text += detail::format(", the maximum of {}", all); }
}

void memory_line(const Snapshot& snapshot, Lines& lines) {
  std::string text;
  add_memory(snapshot, Sensor::Kind::device, Quantity::memory, text);
  add_memory(snapshot, Sensor::Kind::process, Quantity::peak_memory, text);
  add_memory(snapshot, Sensor::Kind::machine, Quantity::memory, text);
  if (!text.empty()) { lines.push_back("maximum memory: " + text); }
}

/// "+12.0 MB".
std::string signed_bytes(std::int64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  return (bytes < 0 ? "-" : "+") + human_bytes(std::fabs(amount));
}

std::string memory_words(const char* what, const MemoryFigures& figures) {
  if (figures.calls == 0) { return ""; }
  return detail::format("; {} {} in {} call{}, at most {} in one, peak {}", what, signed_bytes(figures.change_bytes),
                        human_count(figures.calls), plural(figures.calls), signed_bytes(figures.max_change_bytes),
                        human_bytes(static_cast<double>(figures.peak_bytes)));
}

void region_memory_lines(const Snapshot& snapshot, Lines& lines) {
  constexpr std::size_t kFew = 8;
  const auto& all = snapshot.region_memories;
  for (std::size_t at = 0; at < std::min(all.size(), kFew); ++at) {
    const std::string text = memory_words("resident", all[at].resident) + memory_words("allocator", all[at].allocator);
    if (!text.empty()) { lines.push_back("memory in " + fit(printable(all[at].name), 80) + ": " + text.substr(2)); }
  }
  if (all.size() > kFew) { lines.push_back(detail::format("  and the memory of {} more regions", all.size() - kFew)); }
}

std::string slowed_words(const Sensor& sensor) {
  if (sensor.slowed_ns == 0) { return ""; }
  const auto all = static_cast<double>(sensor.last_ns) - static_cast<double>(sensor.first_ns);
  std::string text = detail::format("slowed down {} of the time", percent(static_cast<double>(sensor.slowed_ns), all));
  for (const SlowTime& each : sensor.slowed) {
    text += detail::format("{} {} {}", &each == &sensor.slowed.front() ? ":" : ",", words_of(each.why),
                           percent(static_cast<double>(each.ns), all));
  }
  return text;
}

/// "cuda 0: busy 87.0 %, 312 W of 700 W, 1800 MHz (min 1 200) on average, at most 71 °C".
std::string use_words(const Sensor& sensor) {
  std::string text;
  const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : ", ") + more; };
  if (const QuantityFigures* busy = sensor.figures_of(Quantity::utilization)) {
    add("busy " + percent(busy->mean, 1000));
  }
  if (const QuantityFigures* power = sensor.figures_of(Quantity::power)) {
    const std::string limit =
        sensor.power_limit_mw ? detail::format(" of {:.0f} W", static_cast<double>(*sensor.power_limit_mw) / 1e3) : "";
    add(detail::format("{:.0f} W{}", power->mean / 1e3, limit));
  }
  if (const QuantityFigures* clock = sensor.figures_of(Quantity::clock)) {
    add(detail::format("{:.0f} MHz", clock->mean));
    if (clock->min > 0) { text += detail::format(" (min {})", human_count(static_cast<std::uint64_t>(clock->min))); }
  }
  if (!text.empty()) { text += " on average"; }
  if (const QuantityFigures* heat = sensor.figures_of(Quantity::temperature)) {
    add(detail::format("at most {:.0f} \u00B0C", static_cast<double>(heat->max) / 1e3));
  }
  if (const std::string slowed = slowed_words(sensor); !slowed.empty()) { add(slowed); }
  return text;
}

void use_lines(const Snapshot& snapshot, Lines& lines) {
  const std::vector<const Sensor*> devices = sensors_of(snapshot, Sensor::Kind::device);
  for (const Sensor* each : devices) {
    // If there are many, only those that were slowed down.
    if (devices.size() > kMaxDevices && each->slowed_ns == 0) { continue; }
    const std::string text = use_words(*each);
    if (!text.empty()) { lines.push_back(sensor_name(*each) + ": " + text); }
  }
}

void process_line(const Sensor& sensor, Lines& lines) {
  std::string text;
  const auto add = [&](Quantity quantity, const char* what, bool bytes) {
    const QuantityFigures* const figures = sensor.figures_of(quantity);
    if (figures == nullptr || figures->change <= 0) { return; }
    const std::string amount = bytes ? human_bytes(static_cast<double>(figures->change))
                                     : human_count(static_cast<std::uint64_t>(figures->change));
    text += (text.empty() ? "" : ", ") + amount + " " + what;
  };
  add(Quantity::storage_read, "read from storage", true);
  add(Quantity::storage_written, "written to it", true);
  add(Quantity::major_faults, "page faults that waited for storage", false);
  add(Quantity::forced_switches, "forced context switches", false);
  if (!text.empty()) { lines.push_back(sensor_name(sensor) + ": " + text); }
}

/// Adds the load of the machine's processors by all processes.
void machine_line(const Sensor& sensor, Lines& lines) {
  const QuantityFigures* const cpu = sensor.figures_of(Quantity::cpu_time);
  const std::uint32_t processors = sensor.processors.value_or(0);
  const auto all = (static_cast<double>(sensor.last_ns) - static_cast<double>(sensor.first_ns)) * processors;
  if (cpu == nullptr || all <= 0 || cpu->change < 0) { return; }
  lines.push_back(detail::format("{}: {} of {} processor{} busy, including other processes", sensor_name(sensor),
                                 percent(static_cast<double>(cpu->change), all), processors, plural(processors)));
}

/// Returns the longest step energies of each wanted sensor, all of one Batch path.
template <class Wanted>
std::map<std::uint32_t, const StepEnergy*> longest_energies(const Snapshot& snapshot, Wanted wanted) {
  const auto path_of = [&](const StepEnergy& each) { return snapshot.series[each.series].path; };
  std::vector<const StepEnergy*> usable;
  const StepEnergy* longest = nullptr;
  for (const StepEnergy& each : snapshot.step_energies) {
    const bool known = each.steps != 0 && each.series < snapshot.series.size() && each.sensor < snapshot.sensors.size();
    if (!known || !wanted(each.sensor)) { continue; }
    usable.push_back(&each);
    if (longest == nullptr || each.time_ns > longest->time_ns) { longest = &each; }
  }
  std::map<std::uint32_t, const StepEnergy*> by_sensor;
  for (const StepEnergy* each : usable) {
    if (longest == nullptr || path_of(*each) != path_of(*longest)) { continue; }
    const StepEnergy*& place = by_sensor[each->sensor];
    if (place == nullptr || each->time_ns > place->time_ns) { place = each; }
  }
  return by_sensor;
}

template <class Wanted>
EnergyOfSteps sum_of_steps(const Snapshot& snapshot, Wanted wanted) {
  EnergyOfSteps sum;
  double error_joules = 0;
  for (const auto& [sensor, each] : longest_energies(snapshot, wanted)) {
    const auto steps = static_cast<double>(each->steps);
    sum.series = each->series;
    sum.steps = std::max(sum.steps, each->steps);
    sum.joules_a_step += each->joules / steps;
    error_joules += each->error_joules / steps;
    if (each->items != 0) { sum.joules_an_item += each->joules / static_cast<double>(each->items); }
  }
  sum.error = sum.joules_a_step > 0 ? error_joules / sum.joules_a_step : 0;
  return sum;
}

}  // namespace

EnergyOfSteps energy_of_steps(const Snapshot& snapshot, Sensor::Kind kind) {
  return sum_of_steps(snapshot, [&](std::uint32_t sensor) { return snapshot.sensors[sensor].kind == kind; });
}

EnergyOfSteps energy_of_steps(const Snapshot& snapshot, std::uint32_t sensor) {
  return sum_of_steps(snapshot, [sensor](std::uint32_t other) { return other == sensor; });
}

std::string slowdown_names(std::uint32_t bits) {
  std::string names;
  for (const Reason& each : kReasons) {
    if ((bits & static_cast<std::uint32_t>(each.why)) == 0) { continue; }
    names += (names.empty() ? "" : ", ") + std::string(each.words);
  }
  return names.empty() ? "another reason" : names;
}

void add_sampled(const Snapshot& snapshot, Lines& lines) {
  energy_lines(snapshot, lines);
  memory_line(snapshot, lines);
  region_memory_lines(snapshot, lines);
  use_lines(snapshot, lines);
  const auto each_of = [&](Sensor::Kind kind, void (*add)(const Sensor&, Lines&)) {
    const std::vector<const Sensor*> sensors = sensors_of(snapshot, kind);
    for (std::size_t at = 0; at < sensors.size() && sensors.size() <= kMaxDevices; ++at) { add(*sensors[at], lines); }
  };
  each_of(Sensor::Kind::process, process_line);
  each_of(Sensor::Kind::machine, machine_line);
}

void add_sample_caveats(const Snapshot& snapshot, Lines& lines) {
  const bool device = !sensors_of(snapshot, Sensor::Kind::device).empty();
  if (device) {
    lines.emplace_back("energy, memory and use of a device are those of the whole device, including other processes");
  }
  for (const Sensor& each : snapshot.sensors) {
    if (!each.caveat.empty()) { lines.push_back(sensor_name(each) + ": " + fit(printable(each.caveat), 200)); }
    if (each.lost.empty()) { continue; }
    lines.push_back(detail::format("{}: no samples after {}: {}", sensor_name(each),
                                   human_time(static_cast<double>(each.last_ns)), fit(printable(each.lost), 200)));
  }
  std::string absent;
  for (const Unsampled& each : snapshot.unsampled) {
    absent += detail::format("{}{} ({})", absent.empty() ? "" : "; ", fit(printable(each.what), 80),
                             fit(printable(each.why), 200));
  }
  if (!absent.empty()) { lines.push_back("not sampled: " + absent); }
}

namespace {

bool is_open(const Snapshot& snapshot, std::uint32_t path) {
  return std::any_of(snapshot.open.begin(), snapshot.open.end(),
                     [path](const auto& open) { return open.path == path; });
}

/// Regions inside an untimed call are recorded at the level of that call.
bool has_child_beside(const Snapshot& snapshot, std::uint32_t index) {
  const auto& paths = snapshot.paths;
  return std::any_of(paths.begin(), paths.end(), [&](const PathStats& inside) {
    return inside.parent == index && std::any_of(paths.begin(), paths.end(), [&](const PathStats& beside) {
             return beside.parent == paths[index].parent && beside.name == inside.name && beside.host.n() != 0;
           });
  });
}

void sampled_line(const Snapshot& snapshot, std::uint32_t index, std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  if (path.skipped == 0) { return; }
  const char* const moved = has_child_beside(snapshot, index) ? "; regions inside the others are one level higher" : "";
  lines.push_back(detail::format("sampled: {}, timed {} of {} entered; its times are of the timed ones{}",
                                 path_label(snapshot, index), human_count(path.host.n()),
                                 human_count(path.host.n() + path.skipped), moved));
}

bool is_inside_batch(const Snapshot& snapshot, std::uint32_t index) {
  std::uint32_t above = snapshot.paths[index].parent;
  while (above != kNoIndex && snapshot.paths[above].name != Batch.name()) { above = snapshot.paths[above].parent; }
  return above != kNoIndex;
}

/// Batches that start before the previous one has ended are not counted as steps.
void inner_batches_line(const Snapshot& snapshot, std::vector<std::string>& lines) {
  std::uint64_t inner = 0;
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& each = snapshot.paths[path];
    if (each.name == Batch.name() && is_inside_batch(snapshot, path)) { inner += each.host.n() + each.skipped; }
  }
  if (inner == 0) { return; }
  lines.push_back(detail::format("{} Batch{} began inside another one: only the outermost are steps",
                                 human_count(inner), inner == 1 ? "" : "es"));
}

/// Returns the likely reason why a region is longer than its parent.
std::string why_longer(const Snapshot& snapshot, std::uint32_t index) {
  if (snapshot.holds_repetitions(index)) { return "paths end at 64 keys, so it includes the regions inside it"; }
  const std::string around = snapshot.path_name(snapshot.paths[index].parent);
  const bool forgotten = std::any_of(snapshot.losses.begin(), snapshot.losses.end(), [&](const Loss& loss) {
    return loss.what == "never_ended" && loss.where == around;
  });
  std::string text = "by record(), or by ends after that region's end";
  if (forgotten) { text += ", or by a missing end of that region"; }
  if (snapshot.threads.size() > 1) { text += ", or by several threads"; }
  return text;
}

/// Adds a warning if a region is longer than its parent, which happens only if its time was not measured there. An open
/// parent has no time yet.
void longer_line(const Snapshot& snapshot, std::uint32_t index, std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  if (path.parent == kNoIndex || is_open(snapshot, path.parent)) { return; }
  const PathStats& above = snapshot.paths[path.parent];
  if (above.host.n() == 0 || path.host.total_ns() <= above.host.total_ns()) { return; }
  lines.push_back(detail::format("{} is longer than the region it is in: {}", path_label(snapshot, index),
                                 why_longer(snapshot, index)));
}

/// Adds the cost of regions that is not in their own time but in their parent's. Printed if it is at least a tenth of
/// the parent's self time.
/// \param inside number of regions timed directly inside this one.
void own_cost_line(const Snapshot& snapshot, std::uint32_t index, std::uint64_t inside,
                   std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  const double outside =
      snapshot.clock.region_cost_ns.value_or(0) - static_cast<double>(snapshot.clock.empty_region_ns);
  if (path.host.n() == 0 || inside == 0 || outside <= 0) { return; }
  const auto self = static_cast<double>(path.self_ns);
  const double cost = std::min(static_cast<double>(inside) * outside, self);
  if (cost < kWorthALine * std::max(self, static_cast<double>(path.host.total_ns()))) { return; }
  lines.push_back(detail::format("self of {}: about {} of {} is Takt's, {} for each of {} regions inside",
                                 path_label(snapshot, index), human_time(cost), human_time(self), human_time(outside),
                                 human_count(inside)));
}

/// Returns the number of regions timed directly inside each. Regions skipped by every() cost far less.
std::vector<std::uint64_t> regions_inside(const Snapshot& snapshot) {
  std::vector<std::uint64_t> inside(snapshot.paths.size());
  for (const PathStats& path : snapshot.paths) {
    if (path.parent < inside.size()) { inside[path.parent] += path.host.n(); }
  }
  return inside;
}

/// Adds the first few of many similar statements.
void add_few(const std::vector<std::string>& all, std::vector<std::string>& lines) {
  constexpr std::size_t kFew = 3;
  const std::size_t few = std::min(all.size(), kFew);
  lines.insert(lines.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(few));
  if (all.size() > few) { lines.push_back(detail::format("  and the same for {} more", all.size() - few)); }
}

void missing_spans_lines(const Snapshot& snapshot, std::uint32_t index, std::vector<std::string>& lines) {
  const PathStats& path = snapshot.paths[index];
  const std::string name = path_label(snapshot, index);
  if (path.device_pending != 0 || path.device_lost != 0) {
    lines.push_back(detail::format("stream spans not in this report: {}, {} pending, {} lost", name,
                                   human_count(path.device_pending), human_count(path.device_lost)));
  }
  const std::uint64_t unbinned = path.host.histogram().unbinned() + path.device.histogram().unbinned();
  if (unbinned != 0) {
    lines.push_back(detail::format("percentiles: {} lacks {} duration{} (out of memory)", name, human_count(unbinned),
                                   plural(unbinned)));
  }
}

}  // namespace

void add_path_notes(const Snapshot& snapshot, std::vector<std::string>& lines) {
  const std::vector<std::uint64_t> inside = regions_inside(snapshot);
  std::vector<std::string> longer;
  std::vector<std::string> own_cost;
  inner_batches_line(snapshot, lines);
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    sampled_line(snapshot, path, lines);
    missing_spans_lines(snapshot, path, lines);
    longer_line(snapshot, path, longer);
    own_cost_line(snapshot, path, inside[path], own_cost);
  }
  add_few(longer, lines);
  add_few(own_cost, lines);
}

}  // namespace detail
TAKT_END_NAMESPACE
