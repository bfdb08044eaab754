// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/sample.hpp>

#include "journal/journal_records.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

// What frames say of samples, but for the samples themselves; by the rules of journal_records.hpp.

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What is sampled, without figures, and what is not.
struct MetersRecord {
  std::vector<Meter> meters;
  std::vector<Unsampled> unsampled;
};

/// What the samples come to so far: the figures of each meter, by its place, and energies.
struct SampledRecord {
  std::vector<Meter> meters;
  std::vector<StepEnergy> steps;
  std::vector<RegionEnergy> regions;
};

/// A number that stands for one of an enumeration. A reader keeps what it does not know.
template <class Coder, class Enum>
void visit_enum(Coder& coder, Enum& value) {
  auto number = static_cast<std::uint32_t>(value);
  coder.number(number);
  if constexpr (!std::is_const_v<Enum>) { value = static_cast<Enum>(std::min<std::uint32_t>(number, 255)); }
}

template <class Coder, class Record, OnlyFor<Record, MetersRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.meters, [](auto& inner, auto& meter) {
    visit_enum(inner, meter.kind);
    inner.number(meter.number);
    for (auto* text : {&meter.name, &meter.model, &meter.id, &meter.caveat, &meter.lost}) { inner.text(*text); }
    inner.list(meter.quantities, [](auto& innermost, auto& quantity) { visit_enum(innermost, quantity); });
    visit_numbers(inner, meter.memory_bytes, meter.power_limit_mw, meter.processors, meter.interval_ns);
  });
  coder.list(record.unsampled, [](auto& inner, auto& each) {
    inner.text(each.what);
    inner.text(each.why);
  });
  if (!coder.more()) { return; }  // the first version ended here
  for (auto& meter : record.meters) { coder.number(meter.reserved_bytes); }
}

template <class Coder, class Figures>
void visit_figures(Coder& coder, Figures& figures) {
  coder.real(figures.mean);
  visit_numbers(coder, figures.least, figures.most, figures.change);
}

/// Of a StepEnergy or a RegionEnergy.
template <class Coder, class Energy>
void visit_energy(Coder& coder, Energy& energy) {
  coder.number(energy.time_ns);
  coder.real(energy.joules);
  coder.real(energy.error_joules);
}

template <class Coder, class Record, OnlyFor<Record, SampledRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.meters, [](auto& inner, auto& meter) {
    visit_numbers(inner, meter.samples, meter.first_ns, meter.last_ns, meter.slowed_ns);
    visit_enum(inner, meter.energy.source);
    inner.real(meter.energy.joules);
    inner.real(meter.energy.by_power_joules);
    inner.number(meter.energy.step_ns);
    inner.list(meter.figures, [](auto& innermost, auto& figures) { visit_figures(innermost, figures); });
    inner.list(meter.slowed, [](auto& innermost, auto& slowed) {
      visit_enum(innermost, slowed.why);
      innermost.number(slowed.ns);
    });
  });
  coder.list(record.steps, [](auto& inner, auto& steps) {
    visit_numbers(inner, steps.series, steps.meter, steps.steps, steps.items);
    visit_energy(inner, steps);
  });
  coder.list(record.regions, [](auto& inner, auto& region) {
    inner.text(region.name);
    visit_numbers(inner, region.meter, region.calls);
    visit_energy(inner, region);
  });
}

}  // namespace detail
TAKT_END_NAMESPACE
