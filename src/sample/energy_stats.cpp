// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "sample/energy_stats.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

void EnergyPoints::add(std::int64_t time_ns, double joules) {
  if (covered_ns_ != kNever && time_ns <= covered_ns_) { return; }
  covered_ns_ = time_ns;
  if (!points_.empty() && joules <= points_.back().joules) { return; }
  if (added_ == 0) {
    first_ns_ = time_ns;
    first_joules_ = joules;
  }
  points_.push_back({time_ns, joules});
  ++added_;
  if (points_.size() > kMax) { points_.pop_front(); }
}

std::int64_t EnergyPoints::step_ns() const noexcept {
  return added_ < 2 ? 0 : (points_.back().time_ns - first_ns_) / static_cast<std::int64_t>(added_ - 1);
}

/// Returns the first value after `time_ns`.
EnergyPoints::Place EnergyPoints::behind(std::int64_t time_ns) const {
  return std::upper_bound(points_.begin(), points_.end(), time_ns,
                          [](std::int64_t time, const Point& point) { return time < point.time_ns; });
}

std::int64_t EnergyPoints::known_ns() const noexcept {
  if (points_.empty()) { return kNever; }
  const std::int64_t newest_ns = points_.back().time_ns;
  const bool flat = ended_ || covered_ns_ - newest_ns > kFlat * std::max<std::int64_t>(step_ns(), 1);
  return flat ? covered_ns_ : newest_ns;
}

bool EnergyPoints::at(std::int64_t time_ns, Edge& edge) const {
  const Place after = behind(time_ns);
  if (after == points_.begin() || time_ns > known_ns()) { return false; }
  const Point& before = *std::prev(after);
  if (after == points_.end()) {
    edge = {before.joules, points_.size() < 2 ? 0 : before.joules - std::prev(after, 2)->joules};
    return true;
  }
  const double used = after->joules - before.joules;
  const double share =
      static_cast<double>(time_ns - before.time_ns) / static_cast<double>(after->time_ns - before.time_ns);
  edge = {before.joules + used * share, used};
  return true;
}

bool EnergyPoints::between(std::int64_t begin_ns, std::int64_t end_ns, WindowEnergy& energy) const {
  Edge begin;
  Edge end;
  if (begin_ns > end_ns || !at(begin_ns, begin) || !at(end_ns, end)) { return false; }
  energy.joules = end.joules - begin.joules;
  energy.error_joules = begin.error_joules + end.error_joules;
  energy.values = values_between(begin_ns, end_ns);
  return true;
}

std::size_t EnergyPoints::values_between(std::int64_t begin_ns, std::int64_t end_ns) const {
  return static_cast<std::size_t>(std::distance(behind(begin_ns), behind(end_ns)));
}

namespace {

constexpr std::int64_t kShortest = 4;  // pieces per sampling interval

// A sensor that lags the newest by this many intervals and this long is considered dead: nothing waits for it.
constexpr std::int64_t kLateIntervals = 10;
constexpr std::int64_t kLateNs = 2 * kSecondNs;

std::int64_t end_ns_of(const Row& row) noexcept { return row.begin_ns + row.host_ns; }

}  // namespace

/// Returns false for times too short to contain enough samples.
bool EnergyStats::is_long(std::int64_t begin_ns, std::int64_t end_ns) const noexcept {
  return end_ns - begin_ns >= static_cast<std::int64_t>(kMinSamples - 1) * interval_ns_;
}

void EnergyStats::add_step(const Row& row, bool and_batch) {
  Piece piece;
  piece.series = row.series;
  piece.begin_ns = row.begin_ns;
  piece.end_ns = end_ns_of(row);
  if (and_batch && is_long(piece.begin_ns, piece.end_ns)) { wait(piece); }
  if (row.warmup || !row.period_ns) { return; }
  piece.begin_ns = piece.end_ns - *row.period_ns;
  piece.steps = 1;
  piece.items = row.items < 0 ? 0 : static_cast<std::uint64_t>(row.items);
  if (!join(piece)) { wait(std::move(piece)); }
}

/// Merges consecutive short steps into one waiting piece.
bool EnergyStats::join(const Piece& piece) {
  if (waiting_.empty()) { return false; }
  Piece& last = waiting_.back();
  const bool follows = last.steps != 0 && last.series == piece.series && last.end_ns == piece.begin_ns;
  if (!follows || piece.end_ns - last.begin_ns >= interval_ns_ / kShortest) { return false; }
  last.end_ns = piece.end_ns;
  last.steps += piece.steps;
  last.items += piece.items;
  return true;
}

void EnergyStats::add_region(std::string_view name, std::int64_t begin_ns, std::int64_t end_ns) {
  if (!is_long(begin_ns, end_ns)) { return; }
  Piece piece;
  piece.name = name;
  piece.begin_ns = begin_ns;
  piece.end_ns = end_ns;
  wait(std::move(piece));
}

void EnergyStats::wait(Piece piece) {
  if (waiting_.size() == kMaxWaiting) {
    dropped_ += std::max<std::uint64_t>(waiting_.front().steps, 1);
    waiting_.pop_front();
  }
  waiting_.push_back(std::move(piece));
}

/// Returns the time up to which all responding sensors have data.
std::int64_t EnergyStats::covered(const Sensors& sensors) const {
  std::int64_t newest = EnergyPoints::kNever;
  for (const EnergyPoints* each : sensors) { newest = each == nullptr ? newest : std::max(newest, each->known_ns()); }
  if (newest == EnergyPoints::kNever) { return newest; }
  const std::int64_t min = newest - std::max(kLateIntervals * interval_ns_, kLateNs);
  std::int64_t covered = newest;
  for (const EnergyPoints* each : sensors) {
    if (each != nullptr && each->known_ns() >= min) { covered = std::min(covered, each->known_ns()); }
  }
  return covered;
}

void EnergyStats::settle(const Sensors& sensors, bool end) {
  const std::int64_t until = covered(sensors);
  while (!waiting_.empty() && (end || waiting_.front().end_ns <= until)) {
    share_out(waiting_.front(), sensors);
    waiting_.pop_front();
  }
}

void EnergyStats::share_out(const Piece& piece, const Sensors& sensors) {
  for (std::uint32_t sensor = 0; sensor < sensors.size(); ++sensor) {
    if (sensors[sensor] == nullptr) { continue; }
    if (piece.steps != 0) {
      add_steps(piece, sensor, *sensors[sensor]);
    } else {
      add_call(piece, sensor, *sensors[sensor]);
    }
  }
}

void EnergyStats::add_steps(const Piece& piece, std::uint32_t sensor, const EnergyPoints& energy) {
  const Place place(piece.series, sensor);
  if (series_.size() >= kMaxPlaces && series_.count(place) == 0) { return; }
  Series& series = series_[place];
  Stretch& stretch = series.stretch;
  EnergyPoints::Edge begin;
  EnergyPoints::Edge end;
  const bool known = energy.at(piece.begin_ns, begin) && energy.at(piece.end_ns, end);
  if (!known || stretch.end_ns != piece.begin_ns) { close(series); }
  if (!known) { return; }
  if (stretch.steps == 0) {
    stretch.begin = begin;
    stretch.begin_ns = piece.begin_ns;
  }
  stretch.end = end;
  stretch.end_ns = piece.end_ns;
  stretch.steps += piece.steps;
  stretch.items += piece.items;
  stretch.values += energy.values_between(piece.begin_ns, piece.end_ns);
}

void EnergyStats::add_call(const Piece& piece, std::uint32_t sensor, const EnergyPoints& energy) {
  WindowEnergy window;
  if (!energy.between(piece.begin_ns, piece.end_ns, window) || window.values < kMinSamples) { return; }
  const Called place(piece.name, piece.series, sensor);
  if (calls_.size() >= kMaxPlaces && calls_.count(place) == 0) { return; }
  RegionEnergy& calls = calls_[place];
  ++calls.calls;
  calls.time_ns += piece.end_ns - piece.begin_ns;
  calls.joules += window.joules;
  calls.error_joules += window.error_joules;
}

void EnergyStats::add_to(StepEnergy& sum, const Stretch& stretch) {
  if (stretch.values < kMinSamples) { return; }
  sum.steps += stretch.steps;
  sum.items += stretch.items;
  sum.time_ns += stretch.end_ns - stretch.begin_ns;
  sum.joules += stretch.end.joules - stretch.begin.joules;
  sum.error_joules += stretch.begin.error_joules + stretch.end.error_joules;
}

void EnergyStats::close(Series& series) {
  add_to(series.closed, series.stretch);
  series.stretch = Stretch();
}

void EnergyStats::report(std::vector<StepEnergy>& steps, std::vector<RegionEnergy>& regions,
                         const std::function<std::string(std::uint32_t)>& batch_of) const {
  for (const auto& [place, series] : series_) {
    StepEnergy sum = series.closed;
    add_to(sum, series.stretch);
    sum.series = place.first;
    sum.sensor = place.second;
    if (sum.steps != 0) { steps.push_back(sum); }
  }
  std::map<std::pair<std::string, std::uint32_t>, RegionEnergy> named;
  for (const auto& [place, calls] : calls_) {
    const auto& [name, series, sensor] = place;
    RegionEnergy& region = named[{series == kNoSeries ? name : batch_of(series), sensor}];
    region.calls += calls.calls;
    region.time_ns += calls.time_ns;
    region.joules += calls.joules;
    region.error_joules += calls.error_joules;
  }
  for (auto& [place, region] : named) {
    region.name = place.first;
    region.sensor = place.second;
    regions.push_back(std::move(region));
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
