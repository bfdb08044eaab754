// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/meter_books.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<MeterWindow> meter_windows(const std::vector<Meter>& meters, const std::vector<Sample>& samples,
                                       std::int64_t begin_ns, std::int64_t end_ns) {
  std::vector<MeterWindow> windows;
  for (std::uint32_t meter = 0; meter < meters.size(); ++meter) {
    MeterBooks inside(meters[meter]);
    MeterBooks around(meters[meter]);
    for (const Sample& each : samples) {
      if (each.meter != meter) { continue; }
      around.add(each);
      if (each.time_ns >= begin_ns && each.time_ns <= end_ns) { inside.add(each); }
    }
    MeterWindow window;
    window.meter = meter;
    window.figures = meters[meter];
    inside.tell(window.figures);
    const EnergyPoints* const energy = around.energy();
    window.has_energy = energy != nullptr && energy->between(begin_ns, end_ns, window.energy);
    if (window.figures.samples != 0 || window.has_energy) { windows.push_back(std::move(window)); }
  }
  return windows;
}

namespace {

constexpr double kMicro = 1e-6;
constexpr double kMilliwattNs = 1e-12;  // in joules

}  // namespace

MeterBooks::MeterBooks(const Meter& meter)
    : columns_(meter.quantities.size()),
      energy_at_(meter.place_of(Quantity::energy)),
      power_at_(meter.place_of(Quantity::power)),
      slowdowns_at_(meter.place_of(Quantity::slowdowns)) {}

std::int64_t MeterBooks::value_of(const Sample& sample, std::size_t place) const {
  return place < columns_.size() ? sample.values[place] : Sample::kAbsent;
}

void MeterBooks::add(const Sample& sample) {
  if (sample.values.size() != columns_.size()) { return; }
  if (samples_ != 0 && sample.time_ns <= last_ns_) { return; }
  for (std::size_t place = 0; place < columns_.size(); ++place) {
    add(columns_[place], sample.values[place], sample.time_ns);
  }
  if (samples_ == 0) { first_ns_ = sample.time_ns; }
  const std::int64_t slowdowns = value_of(sample, slowdowns_at_);
  if (samples_ != 0 && slowdowns != Sample::kAbsent) { add_slowdowns(slowdowns, sample.time_ns - last_ns_); }
  const std::int64_t energy = value_of(sample, energy_at_);
  if (energy != Sample::kAbsent) { counted_.add(sample.time_ns, static_cast<double>(energy) * kMicro); }
  const std::int64_t power = value_of(sample, power_at_);
  if (power != Sample::kAbsent) { add_power(power, sample.time_ns); }
  ++samples_;
  last_ns_ = sample.time_ns;
}

void MeterBooks::add(Column& column, std::int64_t value, std::int64_t time_ns) {
  if (value == Sample::kAbsent) { return; }
  if (column.first == Sample::kAbsent) {
    column.first = column.least = column.most = value;
  } else {
    const std::int64_t since_ns = time_ns - column.last_ns;
    const double mean = (static_cast<double>(column.last) + static_cast<double>(value)) / 2;
    column.integral += mean * static_cast<double>(since_ns);
    column.ns += since_ns;
  }
  column.least = std::min(column.least, value);
  column.most = std::max(column.most, value);
  column.last = value;
  column.last_ns = time_ns;
}

/// The time since the sample before goes to what this one says.
void MeterBooks::add_slowdowns(std::int64_t bits, std::int64_t since_ns) {
  const auto reasons = static_cast<std::uint64_t>(bits) & ((1U << kReasons) - 1);
  if (reasons != 0) { slowed_ns_ += since_ns; }
  for (std::size_t bit = 0; bit < kReasons; ++bit) {
    if ((reasons >> bit & 1U) != 0) { reason_ns_[bit] += since_ns; }
  }
}

void MeterBooks::add_power(std::int64_t milliwatts, std::int64_t time_ns) {
  if (power_mw_ != Sample::kAbsent) {
    const double mean = (static_cast<double>(power_mw_) + static_cast<double>(milliwatts)) / 2;
    power_joules_ += std::max(mean, 0.0) * static_cast<double>(time_ns - power_ns_) * kMilliwattNs;
  }
  power_mw_ = milliwatts;
  power_ns_ = time_ns;
  by_power_.add(time_ns, power_joules_);
}

void MeterBooks::end() noexcept {
  counted_.end();
  by_power_.end();
}

const EnergyPoints* MeterBooks::energy() const noexcept {
  if (energy_at_ < columns_.size()) { return &counted_; }
  return power_at_ < columns_.size() ? &by_power_ : nullptr;
}

QuantityFigures MeterBooks::figures_of(const Column& column) {
  QuantityFigures figures;
  if (column.first == Sample::kAbsent) { return figures; }
  figures.mean = column.ns == 0 ? static_cast<double>(column.last) : column.integral / static_cast<double>(column.ns);
  figures.least = column.least;
  figures.most = column.most;
  figures.change = column.last - column.first;
  return figures;
}

void MeterBooks::tell(Meter& meter) const {
  meter.samples = samples_;
  meter.first_ns = first_ns_;
  meter.last_ns = last_ns_;
  meter.figures.clear();
  if (samples_ != 0) {
    for (const Column& each : columns_) { meter.figures.push_back(figures_of(each)); }
  }
  meter.slowed_ns = slowed_ns_;
  meter.slowed.clear();
  for (std::size_t bit = 0; bit < kReasons; ++bit) {
    if (reason_ns_[bit] != 0) { meter.slowed.push_back({static_cast<Slowdown>(1U << bit), reason_ns_[bit]}); }
  }
  meter.energy = MeterEnergy();
  const EnergyPoints* const energy = this->energy();
  if (energy == nullptr) { return; }
  const bool counts = energy == &counted_;
  meter.energy.source = counts ? MeterEnergy::Source::counter : MeterEnergy::Source::power;
  meter.energy.joules = energy->joules();
  meter.energy.step_ns = energy->step_ns();
  if (counts && power_at_ < columns_.size()) { meter.energy.by_power_joules = power_joules_; }
}

SampleBooks::SampleBooks(std::int64_t interval_ns, std::size_t most_recent)
    : most_recent_(most_recent), energy_(interval_ns) {}

std::vector<std::uint32_t> SampleBooks::take(SampleQueue::News& news) {
  for (Meter& each : news.meters) {
    books_.emplace_back(each);
    meters_.push_back(std::move(each));
  }
  unsampled_.insert(unsampled_.end(), std::make_move_iterator(news.unsampled.begin()),
                    std::make_move_iterator(news.unsampled.end()));
  for (Sample& each : news.samples) {
    each.sequence = next_++;
    books_[each.meter].add(each);
    recent_.push_back(each);
    if (recent_.size() > most_recent_) { recent_.pop_front(); }
  }
  std::vector<std::uint32_t> lost;
  for (auto& [meter, why] : news.lost) {
    meters_[meter].lost = std::move(why);
    books_[meter].end();
    lost.push_back(meter);
  }
  return lost;
}

void SampleBooks::add(const std::vector<Row>& rows, const std::vector<Span>& spans, bool traced) {
  for (const Row& row : rows) { energy_.add_step(row, !traced); }
  for (const Span& span : spans) {
    if (span.stream == kNoIndex) { energy_.add_region(span.name, span.begin_ns, span.begin_ns + span.duration_ns); }
  }
}

void SampleBooks::settle(bool end) {
  EnergyBooks::Meters energies;
  for (MeterBooks& each : books_) {
    if (end) { each.end(); }
    energies.push_back(each.energy());
  }
  energy_.settle(energies, end);
}

void SampleBooks::tell(Snapshot& snapshot) const {
  snapshot.meters = meters_;
  for (std::size_t meter = 0; meter < books_.size(); ++meter) { books_[meter].tell(snapshot.meters[meter]); }
  snapshot.unsampled = unsampled_;
  snapshot.step_energies.clear();
  snapshot.region_energies.clear();
  energy_.tell(snapshot.step_energies, snapshot.region_energies, [&snapshot](std::uint32_t series) {
    return series < snapshot.series.size() ? snapshot.paths[snapshot.series[series].path].name : std::string();
  });
}

void SampleBooks::tell_losses(std::vector<Loss>& losses) const {
  if (energy_.dropped() != 0) { losses.push_back({"energies_dropped", "", energy_.dropped()}); }
}

std::vector<Sample> SampleBooks::between(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::vector<Sample> found;
  std::vector<const Sample*> before(meters_.size());
  std::vector<bool> ended(meters_.size());
  for (const Sample& each : recent_) {
    if (each.time_ns <= begin_ns) { before[each.meter] = &each; }
  }
  for (const Sample& each : recent_) {
    const bool inside = each.time_ns > begin_ns ? !ended[each.meter] : before[each.meter] == &each;
    if (!inside) { continue; }
    if (each.time_ns >= end_ns) { ended[each.meter] = true; }
    found.push_back(each);
  }
  return found;
}

}  // namespace detail
TAKT_END_NAMESPACE
