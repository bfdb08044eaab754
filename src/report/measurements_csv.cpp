// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/measurements_csv.hpp"

#include "base/format.hpp"
#include "measure/model_costs.hpp"
#include "report/csv_rows.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Empty where it is not known.
std::string csv_amount(double value, bool known) { return known ? detail::format("{}", value) : ""; }

std::string csv_milliseconds(double ns, bool known) { return csv_amount(ns / 1e6, known); }
std::string csv_megabytes(std::int64_t bytes) { return csv_amount(static_cast<double>(bytes) / 1e6, bytes >= 0); }

}  // namespace

std::string measurement_csv(const Measurement& measurement) {
  const MeasuredTimes& host = measurement.host;
  const bool measured = host.n != 0;
  std::string line =
      detail::format("{},{},{},{}", csv_field(measurement.name), csv_milliseconds(host.mean_ns, measured),
                     csv_megabytes(measurement.memory_bytes), csv_amount(measurement.joules, measurement.has_energy()));
  const auto add = [&line](const std::string& field) { line += "," + field; };
  add(csv_milliseconds(host.median_ns, measured));
  add(csv_milliseconds(host.low_ns, host.has_interval));
  add(csv_milliseconds(host.high_ns, host.has_interval));
  add(csv_milliseconds(host.stdev_ns, host.n > 1));
  add(csv_milliseconds(host.min_ns, measured));
  add(csv_milliseconds(host.max_ns, measured));
  for (const double each : host.percentiles_ns) { add(csv_milliseconds(each, each >= 0)); }
  add(csv_milliseconds(static_cast<double>(measurement.first_ns), measured));
  add(csv_milliseconds(measurement.stream.mean_ns, measurement.stream.n != 0));
  add(csv_milliseconds(measurement.stream.median_ns, measurement.stream.n != 0));
  add(csv_amount(measurement.items_per_s(), measured));
  line += detail::format(",{},{},{},{}", measurement.items, host.n, measurement.warmup, to_string(measurement.end));
  add(csv_field(measurement.memory_of));
  add(csv_megabytes(measurement.host_peak_bytes));
  add(csv_field(measurement.energy_of));
  add(csv_amount(measurement.error_joules, measurement.has_energy()));
  return line + detail::format(",{},{}\n", measurement.notes.slowed_runs, measurement.notes.switched_runs);
}

std::string measurements_csv(const std::vector<std::string>& rows) {
  std::string text = "name";
  for (const char* each : kModelCosts) { text += detail::format(",{}", each); }
  text +=
      ",median_ms,median_low_ms,median_high_ms,stdev_ms,min_ms,max_ms,p90_ms,p95_ms,p99_ms,p999_ms,first_ms,"
      "stream_ms,stream_median_ms,items_per_s,items,runs,warmup,end,memory_of,host_peak_mb,energy_of,energy_error_j,"
      "slowed_runs,switched_runs\n";
  for (const std::string& each : rows) { text += each; }
  return text;
}

}  // namespace detail
TAKT_END_NAMESPACE
