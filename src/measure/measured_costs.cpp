// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/measured_costs.hpp"

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Of the device with most of it: which one the function uses is not known.
void conclude_memory(Measurement& measurement) {
  if (!measurement.memory_of.empty()) { return; }  // the hook has told
  for (const MeasuredMeter& each : measurement.meters) {
    if (each.memory_bytes <= measurement.memory_bytes) { continue; }
    measurement.memory_bytes = each.memory_bytes;
    measurement.memory_of = each.name;
  }
}

/// Of all meters of one kind together. False: none of them tells any.
bool add_energy(Measurement& measurement, Meter::Kind kind) {
  double joules = 0;
  double error = 0;
  std::string names;
  for (const MeasuredMeter& each : measurement.meters) {
    if (each.kind != kind || !each.has_energy) { continue; }
    joules += each.joules;
    error += each.error_joules;
    names += (names.empty() ? "" : " + ") + each.name;
  }
  if (names.empty()) { return false; }
  const auto runs = static_cast<double>(measurement.host.n);
  measurement.joules = joules / runs;
  measurement.error_joules = error / runs;
  measurement.energy_of = names;
  measurement.no_energy.clear();
  return true;
}

}  // namespace

void conclude_costs(Measurement& measurement) {
  conclude_memory(measurement);
  if (measurement.host.n == 0) { return; }
  if (add_energy(measurement, Meter::Kind::device) || add_energy(measurement, Meter::Kind::processors)) { return; }
  for (const MeasuredMeter& each : measurement.meters) {
    if (each.no_energy.empty()) { continue; }
    measurement.no_energy = each.no_energy;
    break;
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
