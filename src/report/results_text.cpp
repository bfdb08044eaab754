// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/results_text.hpp"

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "measure/measured_times.hpp"
#include "measure/mig_slices.hpp"
#include "report/csv.hpp"
#include "report/json_lines.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Empty if unknown.
std::string csv_amount(double value, bool known) { return known ? detail::format("{}", value) : ""; }

std::string csv_milliseconds(double ns, bool known) { return csv_amount(ns / 1e6, known); }
std::string csv_megabytes(const std::optional<std::int64_t>& bytes) {
  return csv_amount(static_cast<double>(bytes.value_or(0)) / 1e6, bytes.has_value());
}

/// Returns the measurement's line in results.csv without its features and the line end.
std::string measurement_csv(const Measurement& measurement) {
  const MeasuredTimes& host = measurement.host;
  const bool measured = host.n != 0;
  std::string line = detail::format("{},{},{},{}", csv_field(measurement.name),
                                    csv_milliseconds(host.mean_ns, measured), csv_megabytes(measurement.memory_bytes),
                                    csv_amount(measurement.joules.value_or(0), measurement.joules.has_value()));
  const auto add = [&line](const std::string& field) { line += "," + field; };
  add(csv_milliseconds(host.median_ns, measured));
  add(csv_milliseconds(host.low_ns, host.has_interval));
  add(csv_milliseconds(host.high_ns, host.has_interval));
  add(csv_milliseconds(host.stdev_ns, host.n > 1));
  add(csv_milliseconds(host.min_ns, measured));
  add(csv_milliseconds(host.max_ns, measured));
  for (const auto& each : host.percentiles_ns) { add(csv_milliseconds(each.value_or(0), each.has_value())); }
  add(csv_milliseconds(static_cast<double>(measurement.first_ns), measured));
  add(csv_milliseconds(measurement.stream.mean_ns, measurement.stream.n != 0));
  add(csv_milliseconds(measurement.stream.median_ns, measurement.stream.n != 0));
  add(csv_amount(measurement.items_per_s(), measured));
  line += detail::format(",{},{},{},{}", measurement.items, host.n, measurement.warmup, to_string(measurement.end));
  add(csv_field(measurement.memory_of));
  add(csv_megabytes(measurement.host_peak_bytes));
  add(csv_field(measurement.energy_of));
  add(csv_amount(measurement.error_joules, measurement.joules.has_value()));
  line += detail::format(",{},{}", measurement.notes.slowed_runs, measurement.notes.switched_runs);
  const std::optional<MigFit> fit = mig_fit(measurement.memory_bytes, measurement.mig_device);
  if (!fit) { return line + ",,,,,,"; }
  line += detail::format(",{},{}", fit->device->name, fit->profile);
  for (const std::optional<double>& share : fit->shares) { add(csv_amount(share.value_or(0), share.has_value())); }
  return line;
}

/// Returns the names of all features in the order in which they appear.
std::vector<std::string_view> feature_columns(const std::vector<std::shared_ptr<const Measurement>>& measurements) {
  std::vector<std::string_view> columns;
  for (const auto& measurement : measurements) {
    for (const auto& [name, value] : measurement->features) {
      if (std::find(columns.begin(), columns.end(), name) != columns.end()) { continue; }
      if (columns.size() == ResultsText::kMaxFeatureColumns) {
        report_error_once("measure.features", Words("results.csv has columns for ", columns.size(),
                                                    " features; further features are in results.json"));
        return columns;
      }
      columns.push_back(name);
    }
  }
  return columns;
}

}  // namespace

void ResultsText::update(const std::vector<std::shared_ptr<const Measurement>>& measurements) {
  of_.resize(measurements.size());
  rows_.resize(measurements.size());
  elements_.resize(measurements.size());
  for (std::size_t at = 0; at < measurements.size(); ++at) {
    if (of_[at] == measurements[at]) { continue; }
    rows_[at] = measurement_csv(*measurements[at]);
    elements_[at] = measurement_json(*measurements[at]);
    of_[at] = measurements[at];  // last, so that an update after std::bad_alloc retries it
  }
}

std::string ResultsText::json(const RunInfo& run) const { return measurements_json(run, elements_); }

std::string ResultsText::csv() const {
  std::string text = "name";
  for (const char* each : kModelCosts) { text += detail::format(",{}", each); }
  text +=
      ",median_ms,median_low_ms,median_high_ms,stdev_ms,min_ms,max_ms,p90_ms,p95_ms,p99_ms,p999_ms,first_ms,"
      "stream_ms,stream_median_ms,items_per_s,items,runs,warmup,end,memory_of,host_peak_mb,energy_of,energy_error_j,"
      "slowed_runs,switched_runs,mig_device,mig_profile,mig_1g,mig_2g,mig_3g,mig_7g";
  const std::vector<std::string_view> columns = feature_columns(of_);
  for (const std::string_view each : columns) { text.append(",feature.").append(each); }
  text += '\n';
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    text += rows_[at];
    const MeasuredFeatures& features = of_[at]->features;
    for (const std::string_view column : columns) {
      const auto found =
          std::find_if(features.begin(), features.end(), [column](const auto& each) { return each.first == column; });
      text += ',';
      if (found != features.end()) { text += detail::format("{}", found->second); }
    }
    text += '\n';
  }
  return text;
}

namespace {

constexpr const char* kResultsSchema = "takt-results/1";
constexpr const char* kPercentileNames[] = {"p90_ns", "p95_ns", "p99_ns", "p999_ns"};

JsonText unless_empty(const std::string& text) { return text.empty() ? JsonText() : JsonText(text); }

JsonText measured_times_json(const MeasuredTimes& times) {
  if (times.n == 0) { return {}; }
  JsonText json = {{"n", times.n},
                   {"mean_ns", times.mean_ns},
                   {"stdev_ns", times.n > 1 ? JsonText(times.stdev_ns) : JsonText()},
                   {"min_ns", times.min_ns},
                   {"max_ns", times.max_ns},
                   {"median_ns", times.median_ns},
                   {"low_ns", times.has_interval ? JsonText(times.low_ns) : JsonText()},
                   {"high_ns", times.has_interval ? JsonText(times.high_ns) : JsonText()}};
  for (std::size_t at = 0; at < times.percentiles_ns.size(); ++at) {
    json.add(kPercentileNames[at], times.percentiles_ns[at]);
  }
  return json;
}

JsonText measured_notes_json(const MeasuredNotes& notes) {
  return {{"slowed_runs", notes.slowed_runs},       {"slowdowns", notes.slowdowns},
          {"least_clock_mhz", notes.min_clock_mhz}, {"most_clock_mhz", notes.max_clock_mhz},
          {"switched_runs", notes.switched_runs},   {"others_busy", notes.others_busy}};
}

JsonText measured_sensor_json(const MeasuredSensor& sensor) {
  return {{"name", sensor.name},
          {"samples", sensor.samples},
          {"memory_bytes", sensor.memory_bytes},
          {"joules", sensor.joules},
          {"error_joules", sensor.joules ? JsonText(sensor.error_joules) : JsonText()},
          {"no_energy", unless_empty(sensor.no_energy)}};
}

JsonText measured_sensors_json(const std::vector<MeasuredSensor>& sensors) {
  JsonText all = JsonText::array();
  for (const MeasuredSensor& each : sensors) { all.push_back(measured_sensor_json(each)); }
  return all;
}

/// Returns one value per run, in order; null if all are unknown.
template <class Value>
JsonText runs_column(const std::vector<MeasuredRun>& runs, Value MeasuredRun::*value) {
  JsonText values = JsonText::array();
  bool any = false;
  for (const MeasuredRun& each : runs) {
    const JsonText text = each.*value;
    any = any || text.text() != JsonText().text();
    values.push_back(text);
  }
  return any ? values : JsonText();
}

JsonText runs_json(const std::vector<MeasuredRun>& runs) {
  return {{"begin_ns", runs_column(runs, &MeasuredRun::begin_ns)},
          {"host_ns", runs_column(runs, &MeasuredRun::host_ns)},
          {"stream_ns", runs_column(runs, &MeasuredRun::stream_ns)},
          {"clock_mhz", runs_column(runs, &MeasuredRun::clock_mhz)},
          {"slowdowns", runs_column(runs, &MeasuredRun::slowdowns)},
          {"forced_switches", runs_column(runs, &MeasuredRun::forced_switches)},
          {"others_busy", runs_column(runs, &MeasuredRun::others_busy)}};
}

JsonText mig_json(const Measurement& measurement) {
  const std::optional<MigFit> fit = mig_fit(measurement.memory_bytes, measurement.mig_device);
  if (!fit) { return {}; }
  JsonText shares = JsonText::object();
  for (std::size_t at = 0; at < fit->shares.size(); ++at) {
    shares.add(fit->device->slices[at].profile, fit->shares[at]);
  }
  JsonText mig = JsonText::object();
  mig.add("device", fit->device->name);
  mig.add("profile", fit->profile);
  mig.add("shares", shares);
  return mig;
}

JsonText measurement_members(const Measurement& measurement) {
  JsonText features = JsonText::array();
  for (const auto& [name, value] : measurement.features) {
    JsonText feature = JsonText::object();
    feature.add("name", name);
    feature.add("value", value);
    features.push_back(feature);
  }
  // add() needs less code than braces.
  JsonText json = JsonText::object();
  json.add("name", measurement.name);
  json.add("features", features);
  json.add("end", to_string(measurement.end));
  json.add("warmup", measurement.warmup);
  json.add("items", measurement.items);
  json.add("items_per_s", measurement.host.n == 0 ? JsonText() : JsonText(measurement.items_per_s()));
  json.add("first_ns", measurement.first_ns);
  json.add("took_ns", measurement.took_ns);
  json.add("failed_waits", measurement.failed_waits);
  json.add("host", measured_times_json(measurement.host));
  json.add("stream", measured_times_json(measurement.stream));
  json.add("memory_bytes", measurement.memory_bytes);
  json.add("memory_of", unless_empty(measurement.memory_of));
  json.add("mig", mig_json(measurement));
  json.add("host_peak_bytes", measurement.host_peak_bytes);
  json.add("joules", measurement.joules);
  json.add("error_joules", measurement.joules ? JsonText(measurement.error_joules) : JsonText());
  json.add("energy_of", unless_empty(measurement.energy_of));
  json.add("no_energy", unless_empty(measurement.no_energy));
  json.add("notes", measured_notes_json(measurement.notes));
  json.add("meters", measured_sensors_json(measurement.sensors));
  json.add("runs_left_out", measurement.runs_left_out);
  json.add("runs", runs_json(measurement.runs));
  return json;
}

}  // namespace

std::string measurement_json(const Measurement& measurement) {
  return printable_json(measurement_members(measurement).text());
}

std::string measurements_json(const RunInfo& run, const std::vector<std::string>& elements) {
  std::string text;
  const JsonLines::Sink take = [&text](const std::string& piece) {
    text += piece;
    return true;
  };
  JsonLines lines(take);
  lines.member("schema", kResultsSchema);
  lines.member("run_id", run.id);
  lines.member("rank", run.rank);
  lines.member("world_size", run.world_size);
  lines.member("host", run.host);
  lines.array_of_printable("measurements", elements);
  lines.finish();
  return text;
}

std::string measurements_json(const RunInfo& run, const std::vector<std::shared_ptr<const Measurement>>& measurements) {
  std::vector<std::string> elements;
  elements.reserve(measurements.size());
  for (const auto& each : measurements) { elements.push_back(measurement_json(*each)); }
  return measurements_json(run, elements);
}

}  // namespace detail
TAKT_END_NAMESPACE
