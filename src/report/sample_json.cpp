// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/sample_json.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// JSON has no NaN and no infinities.
JsonText real(double value) { return std::isfinite(value) ? JsonText(value) : JsonText(); }

template <class T>
JsonText known(bool is_known, T value) {
  return is_known ? JsonText(value) : JsonText();
}

const char* word_of(Meter::Kind kind) {
  switch (kind) {
    case Meter::Kind::device:
      return "device";
    case Meter::Kind::processors:
      return "processors";
    case Meter::Kind::process:
      return "process";
    case Meter::Kind::machine:
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

/// By the names of the quantities: of what counts up the change, of all else mean, least and most. Why a clock was
/// lower is told as times.
JsonText figures_json(const Meter& meter) {
  JsonText all = JsonText::object();
  for (std::size_t place = 0; place < std::min(meter.figures.size(), meter.quantities.size()); ++place) {
    const Quantity quantity = meter.quantities[place];
    if (static_cast<std::uint8_t>(quantity) >= kQuantities || quantity == Quantity::slowdowns) { continue; }
    const QuantityForm form = form_of(quantity);
    const QuantityFigures& figures = meter.figures[place];
    const auto in_unit = [&form](auto value) { return real(static_cast<double>(value) * form.scale); };
    if (form.counts) {
      all.add(form.name, in_unit(figures.change));
    } else {
      all.add(form.name,
              {{"mean", in_unit(figures.mean)}, {"least", in_unit(figures.least)}, {"most", in_unit(figures.most)}});
    }
  }
  return all;
}

/// null: it tells none.
JsonText energy_json(const MeterEnergy& energy) {
  if (energy.source == MeterEnergy::Source::none) { return {}; }
  const bool both = energy.by_power_joules != MeterEnergy::kUnknown;
  return {{"source", energy.source == MeterEnergy::Source::counter ? "counter" : "power"},
          {"joules", real(energy.joules)},
          {"by_power_joules", both ? real(energy.by_power_joules) : JsonText()},
          {"step_ns", energy.step_ns}};
}

JsonText slowed_json(const Meter& meter) {
  JsonText reasons = JsonText::object();
  for (const SlowTime& each : meter.slowed) { reasons.add(word_of(each.why), each.ns); }
  return {{"ns", meter.slowed_ns}, {"reasons_ns", reasons}};
}

JsonText meter_json(const Meter& meter) {
  return {
      {"kind", word_of(meter.kind)},
      {"name", meter.name},
      {"number", known(meter.kind == Meter::Kind::device, meter.number)},
      {"model", known(!meter.model.empty(), meter.model)},
      {"id", meter.id},
      {"memory_bytes", known(meter.memory_bytes != 0, meter.memory_bytes)},
      {"reserved_bytes", known(meter.reserved_bytes != Meter::kUnknown, meter.reserved_bytes)},
      {"power_limit_w", meter.power_limit_mw != 0 ? real(static_cast<double>(meter.power_limit_mw) / 1e3) : JsonText()},
      {"processors", known(meter.processors != 0, meter.processors)},
      {"interval_ns", meter.interval_ns},
      {"caveat", known(!meter.caveat.empty(), meter.caveat)},
      {"lost", known(!meter.lost.empty(), meter.lost)},
      {"samples", meter.samples},
      {"first_ns", meter.first_ns},
      {"last_ns", meter.last_ns},
      {"energy", energy_json(meter.energy)},
      {"slowed", slowed_json(meter)},
      {"figures", figures_json(meter)},
  };
}

}  // namespace

JsonText meters_json(const Snapshot& snapshot) {
  JsonText all = JsonText::array();
  for (const Meter& each : snapshot.meters) { all.push_back(meter_json(each)); }
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
                   {"meter", each.meter},
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
                   {"meter", each.meter},
                   {"calls", each.calls},
                   {"time_ns", each.time_ns},
                   {"joules", real(each.joules)},
                   {"error_joules", real(each.error_joules)}});
  }
  return all;
}

}  // namespace detail
TAKT_END_NAMESPACE
