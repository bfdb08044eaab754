// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/sensor_stats.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::vector<SensorWindow> sensor_windows(const std::vector<Sensor>& sensors, const std::vector<Sample>& samples,
                                         std::int64_t begin_ns, std::int64_t end_ns) {
  std::vector<SensorWindow> windows;
  for (std::uint32_t sensor = 0; sensor < sensors.size(); ++sensor) {
    SensorStats inside(sensors[sensor]);
    SensorStats around(sensors[sensor]);
    for (const Sample& each : samples) {
      if (each.sensor != sensor) { continue; }
      around.add(each);
      if (each.time_ns >= begin_ns && each.time_ns <= end_ns) { inside.add(each); }
    }
    SensorWindow window;
    window.sensor = sensor;
    window.figures = sensors[sensor];
    inside.report(window.figures);
    const EnergyPoints* const energy = around.energy();
    window.has_energy = energy != nullptr && energy->between(begin_ns, end_ns, window.energy);
    if (window.figures.samples != 0 || window.has_energy) { windows.push_back(std::move(window)); }
  }
  return windows;
}

namespace {

constexpr double kMicro = 1e-6;
constexpr double kMilliwattNs = 1e-12;  // in J

}  // namespace

SensorStats::SensorStats(const Sensor& sensor)
    : columns_(sensor.quantities.size()),
      energy_at_(sensor.place_of(Quantity::energy)),
      power_at_(sensor.place_of(Quantity::power)),
      slowdowns_at_(sensor.place_of(Quantity::slowdowns)) {}

std::int64_t SensorStats::value_of(const Sample& sample, std::size_t place) const {
  return place < columns_.size() ? sample.values[place] : Sample::kAbsent;
}

void SensorStats::add(const Sample& sample) {
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

void SensorStats::add(Column& column, std::int64_t value, std::int64_t time_ns) {
  if (value == Sample::kAbsent) { return; }
  if (column.first == Sample::kAbsent) {
    column.first = column.min = column.max = value;
  } else {
    const std::int64_t since_ns = time_ns - column.last_ns;
    const double mean = (static_cast<double>(column.last) + static_cast<double>(value)) / 2;
    column.integral += mean * static_cast<double>(since_ns);
    column.ns += since_ns;
  }
  column.min = std::min(column.min, value);
  column.max = std::max(column.max, value);
  column.last = value;
  column.last_ns = time_ns;
}

/// Attributes the time since the previous sample to this sample's reasons.
void SensorStats::add_slowdowns(std::int64_t bits, std::int64_t since_ns) {
  const auto reasons = static_cast<std::uint64_t>(bits) & ((1U << kReasons) - 1);
  if (reasons != 0) { slowed_ns_ += since_ns; }
  for (std::size_t bit = 0; bit < kReasons; ++bit) {
    if ((reasons >> bit & 1U) != 0) { reason_ns_[bit] += since_ns; }
  }
}

void SensorStats::add_power(std::int64_t milliwatts, std::int64_t time_ns) {
  if (power_mw_ != Sample::kAbsent) {
    const double mean = (static_cast<double>(power_mw_) + static_cast<double>(milliwatts)) / 2;
    power_joules_ += std::max(mean, 0.0) * static_cast<double>(time_ns - power_ns_) * kMilliwattNs;
  }
  power_mw_ = milliwatts;
  power_ns_ = time_ns;
  by_power_.add(time_ns, power_joules_);
}

void SensorStats::end() noexcept {
  counted_.end();
  by_power_.end();
}

const EnergyPoints* SensorStats::energy() const noexcept {
  if (energy_at_ < columns_.size()) { return &counted_; }
  return power_at_ < columns_.size() ? &by_power_ : nullptr;
}

QuantityFigures SensorStats::figures_of(const Column& column) {
  QuantityFigures figures;
  if (column.first == Sample::kAbsent) { return figures; }
  figures.mean = column.ns == 0 ? static_cast<double>(column.last) : column.integral / static_cast<double>(column.ns);
  figures.min = column.min;
  figures.max = column.max;
  figures.change = column.last - column.first;
  return figures;
}

void SensorStats::report(Sensor& sensor) const {
  sensor.samples = samples_;
  sensor.first_ns = first_ns_;
  sensor.last_ns = last_ns_;
  sensor.figures.clear();
  if (samples_ != 0) {
    for (const Column& each : columns_) { sensor.figures.push_back(figures_of(each)); }
  }
  sensor.slowed_ns = slowed_ns_;
  sensor.slowed.clear();
  for (std::size_t bit = 0; bit < kReasons; ++bit) {
    if (reason_ns_[bit] != 0) { sensor.slowed.push_back({static_cast<Slowdown>(1U << bit), reason_ns_[bit]}); }
  }
  sensor.energy = SensorEnergy();
  const EnergyPoints* const energy = this->energy();
  if (energy == nullptr) { return; }
  const bool counts = energy == &counted_;
  sensor.energy.source = counts ? SensorEnergy::Source::counter : SensorEnergy::Source::power;
  sensor.energy.joules = energy->joules();
  sensor.energy.step_ns = energy->step_ns();
  if (counts && power_at_ < columns_.size()) { sensor.energy.by_power_joules = power_joules_; }
}

SampleStats::SampleStats(std::int64_t interval_ns, std::size_t most_recent)
    : most_recent_(most_recent), energy_(interval_ns) {}

std::vector<std::uint32_t> SampleStats::take(SampleQueue::News& news) {
  for (Sensor& each : news.sensors) {
    stats_.emplace_back(each);
    sensors_.push_back(std::move(each));
  }
  unsampled_.insert(unsampled_.end(), std::make_move_iterator(news.unsampled.begin()),
                    std::make_move_iterator(news.unsampled.end()));
  for (Sample& each : news.samples) {
    each.sequence = next_++;
    stats_[each.sensor].add(each);
    recent_.push_back(each);
    if (recent_.size() > most_recent_) { recent_.pop_front(); }
  }
  std::vector<std::uint32_t> lost;
  for (auto& [sensor, why] : news.lost) {
    sensors_[sensor].lost = std::move(why);
    stats_[sensor].end();
    lost.push_back(sensor);
  }
  return lost;
}

void SampleStats::add(const std::vector<Row>& rows, const std::vector<Span>& spans, bool traced) {
  for (const Row& row : rows) { energy_.add_step(row, !traced); }
  for (const Span& span : spans) {
    if (span.stream == kNoIndex) { energy_.add_region(span.name, span.begin_ns, span.begin_ns + span.duration_ns); }
  }
}

void SampleStats::settle(bool end) {
  EnergyStats::Sensors energies;
  for (SensorStats& each : stats_) {
    if (end) { each.end(); }
    energies.push_back(each.energy());
  }
  energy_.settle(energies, end);
}

void SampleStats::report(Snapshot& snapshot) const {
  snapshot.sensors = sensors_;
  for (std::size_t sensor = 0; sensor < stats_.size(); ++sensor) { stats_[sensor].report(snapshot.sensors[sensor]); }
  snapshot.unsampled = unsampled_;
  snapshot.step_energies.clear();
  snapshot.region_energies.clear();
  energy_.report(snapshot.step_energies, snapshot.region_energies, [&snapshot](std::uint32_t series) {
    return series < snapshot.series.size() ? snapshot.paths[snapshot.series[series].path].name : std::string();
  });
}

void SampleStats::report_losses(std::vector<Loss>& losses) const {
  if (energy_.dropped() != 0) { losses.push_back({"energies_dropped", "", energy_.dropped()}); }
}

std::vector<Sample> SampleStats::between(std::int64_t begin_ns, std::int64_t end_ns) const {
  std::vector<Sample> found;
  std::vector<const Sample*> before(sensors_.size());
  std::vector<bool> ended(sensors_.size());
  for (const Sample& each : recent_) {
    if (each.time_ns <= begin_ns) { before[each.sensor] = &each; }
  }
  for (const Sample& each : recent_) {
    const bool inside = each.time_ns > begin_ns ? !ended[each.sensor] : before[each.sensor] == &each;
    if (!inside) { continue; }
    if (each.time_ns >= end_ns) { ended[each.sensor] = true; }
    found.push_back(each);
  }
  return found;
}

}  // namespace detail
TAKT_END_NAMESPACE
