// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/results_report.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "measure/mig_slices.hpp"
#include "report/notes.hpp"
#include "report/sample_notes.hpp"
#include "report/text_table.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using MeasurementLines = std::vector<std::string>;
using Measurements = std::vector<std::shared_ptr<const Measurement>>;

// Minimum share of the machine's processors that other processes use; less is usual noise.
constexpr double kBusyOthers = 0.1;
constexpr std::size_t kP90 = 0;
constexpr std::size_t kP99 = 2;

std::string time_or_dash(double ns, bool known) { return known ? human_time(ns) : "-"; }
std::string time_or_dash(const std::optional<double>& ns) { return time_or_dash(ns.value_or(0), ns.has_value()); }

TextTable::Line line_of_measurement(const Measurement& measurement) {
  const MeasuredTimes& host = measurement.host;
  const std::string interval =
      host.has_interval ? detail::format("{} to {}", human_time(host.low_ns), human_time(host.high_ns)) : "-";
  const std::string energy = measurement.joules ? human_energy(*measurement.joules) : "-";
  return {printable(measurement.name),
          0,
          {human_count(host.n), human_time(host.mean_ns), human_time(host.median_ns), interval,
           time_or_dash(host.stdev_ns, host.n > 1), time_or_dash(host.percentiles_ns[kP90]),
           time_or_dash(host.percentiles_ns[kP99]), human_time(host.max_ns),
           human_time(static_cast<double>(measurement.first_ns)),
           time_or_dash(measurement.stream.mean_ns, measurement.stream.n != 0), human_rate(measurement.items_per_s()),
           measurement.memory_bytes ? human_bytes(static_cast<double>(*measurement.memory_bytes)) : "-", energy}};
}

template <class Has>
bool any_has(const Measurements& measurements, Has has) {
  return std::any_of(measurements.begin(), measurements.end(), [&](const auto& each) { return has(*each); });
}

std::vector<TextColumn> measurement_columns(const Measurements& measurements) {
  const bool stream = any_has(measurements, [](const Measurement& each) { return each.stream.n != 0; });
  const bool memory = any_has(measurements, [](const Measurement& each) { return each.memory_bytes.has_value(); });
  const bool energy = any_has(measurements, [](const Measurement& each) { return each.joules.has_value(); });
  return {
      {"runs", 4},          {"mean", 0}, {"median", 1}, {"95 % interval", 1},  {"stdev", 5},   {"p90", 9},
      {"p99", 8},           {"max", 6},  {"first", 7},  {"stream", 2, stream}, {"items/s", 3}, {"memory", 2, memory},
      {"energy", 2, energy}};
}

void add_features(const Measurement& measurement, MeasurementLines& lines) {
  std::string text;
  for (const auto& [name, value] : measurement.features) {
    text += detail::format("{} {} {}", text.empty() ? ":" : ",", printable(name), value);
  }
  if (!text.empty()) { lines.push_back(printable(measurement.name) + text); }
}

void add_energy_of_runs(const Measurement& measurement, MeasurementLines& lines) {
  if (!measurement.joules) { return; }
  const double joules = *measurement.joules;
  lines.push_back(detail::format("{}: {} a run ± {}, {} an item, of {}", printable(measurement.name),
                                 human_energy(joules), percent(measurement.error_joules, joules),
                                 human_energy(joules / static_cast<double>(measurement.items)),
                                 printable(measurement.energy_of)));
}

/// Adds a line for each reason, with the affected names.
void add_unknown_energy(const Measurements& measurements, MeasurementLines& lines) {
  std::map<std::string, std::string> reasons;
  for (const auto& each : measurements) {
    if (each->joules) { continue; }
    std::string& names = reasons[each->no_energy];
    names += (names.empty() ? "" : "; ") + printable(each->name);
  }
  const bool all =
      reasons.size() == 1 && !any_has(measurements, [](const Measurement& each) { return each.joules.has_value(); });
  for (const auto& [reason, names] : reasons) {
    lines.push_back(detail::format("energy{} is not known: {}", all ? "" : " of " + names, printable(reason)));
  }
}

void add_memory_of_runs(const Measurement& measurement, MeasurementLines& lines) {
  if (!measurement.memory_bytes) { return; }
  const std::string bytes = human_bytes(static_cast<double>(*measurement.memory_bytes));
  const std::string name = printable(measurement.name);
  lines.push_back(
      measurement.memory_of == "allocator"
          ? detail::format("{}: {} of device memory by its allocator", name, bytes)
          : detail::format("{}: {} in use on {}, by all processes", name, bytes, printable(measurement.memory_of)));
  const std::optional<MigFit> fit = mig_fit(measurement.memory_bytes, measurement.mig_device);
  if (fit) { lines.push_back(name + ": " + mig_text(*fit)); }
}

void add_host_peak(const Measurements& measurements, MeasurementLines& lines) {
  std::optional<std::int64_t> max;
  for (const auto& each : measurements) { max = std::max(max, each->host_peak_bytes); }
  if (!max) { return; }
  lines.push_back(detail::format("resident memory of the process: {}, maximum up to the end of the measurements",
                                 human_bytes(static_cast<double>(*max))));
}

void add_notes_on_runs(const Measurement& measurement, MeasurementLines& lines) {
  const MeasuredNotes& notes = measurement.notes;
  const std::string name = printable(measurement.name);
  if (measurement.failed_waits != 0) {
    lines.push_back(detail::format("{}: {} wait{} for streams failed: these runs may lack device work", name,
                                   human_count(measurement.failed_waits), plural(measurement.failed_waits)));
  }
  if (notes.slowed_runs != 0) {
    lines.push_back(detail::format("{}: a device was slowed down in {} of {} runs: {}", name,
                                   human_count(notes.slowed_runs), human_count(measurement.host.n),
                                   slowdown_names(notes.slowdowns)));
  }
  if (notes.min_clock_mhz && notes.max_clock_mhz && notes.min_clock_mhz != notes.max_clock_mhz) {
    lines.push_back(detail::format("{}: the clock of devices went from {} to {} MHz", name, *notes.min_clock_mhz,
                                   *notes.max_clock_mhz));
  }
  if (notes.switched_runs != 0) {
    lines.push_back(detail::format("{}: the thread lost its processor in {} of {} runs", name,
                                   human_count(notes.switched_runs), human_count(measurement.host.n)));
  }
  if (notes.others_busy && *notes.others_busy > kBusyOthers) {
    lines.push_back(detail::format("{}: other processes kept up to {} of the machine's processors busy", name,
                                   percent(*notes.others_busy, 1)));
  }
  if (measurement.end == MeasureEnd::seconds) { lines.push_back(name + ": ended at its time limit"); }
  if (measurement.end == MeasureEnd::max_runs) {
    lines.push_back(name + ": ended at the maximum number of runs; its interval is wider than requested");
  }
}

}  // namespace

std::string format_measurements(const RunInfo& run, const std::string& whose, const Measurements& measurements,
                                int width, bool color) {
  Page page(width, color);
  page.add_part({detail::format("Takt: measurements of {}, run {}, {}", printable(run.name), printable(run.id), whose)},
                Page::Style::bold);
  std::vector<TextTable::Line> lines;
  MeasurementLines notes;
  for (const auto& each : measurements) {
    lines.push_back(line_of_measurement(*each));
    add_features(*each, notes);
    add_energy_of_runs(*each, notes);
    add_memory_of_runs(*each, notes);
    add_notes_on_runs(*each, notes);
  }
  add_unknown_energy(measurements, notes);
  add_host_peak(measurements, notes);
  const TextTable table(measurement_columns(measurements), std::move(lines), page.width(), "measurement");
  page.add({table.head()}, Page::Style::bold);
  page.add_part(table.body(), Page::Style::plain);
  page.add(notes, Page::Style::dim);
  return page.text();
}

}  // namespace detail
TAKT_END_NAMESPACE
