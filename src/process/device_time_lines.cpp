// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/device_time_lines.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Maximum stretch of the time between two corrections, as a fraction: the error of span lengths.
constexpr double kMaxStretch = 0.01;

}  // namespace

void HostOffset::add(double device_ns, std::uint64_t submitted_ns, std::uint64_t seen_ns) {
  // Bounds are kept for a minute; without settle() calls, they are used before they expire.
  if (has_new_ && device_ns > oldest_ns_ + kWindows * kWindowNs / 2) { settle(); }
  const Bound lower{device_ns, static_cast<double>(submitted_ns)};
  const Bound upper{device_ns, static_cast<double>(seen_ns)};
  const auto number = static_cast<std::int64_t>(std::floor(device_ns / kWindowNs));
  const std::int64_t place = number % static_cast<std::int64_t>(kWindows);
  Window& window = window_[static_cast<std::size_t>(place < 0 ? place + kWindows : place)];
  if (window.number > number) { return; }  // older than a minute
  if (window.number < number) {
    window = {number, lower, upper};
  } else {
    if (is_tighter(window.lower, lower)) { window.lower = lower; }
    if (is_tighter(upper, window.upper)) { window.upper = upper; }
  }
  are_rates_found_ = false;
  oldest_ns_ = has_new_ ? std::min(oldest_ns_, device_ns) : device_ns;
  newest_ns_ = has_new_ || !knots_.empty() ? std::max(newest_ns_, device_ns) : device_ns;
  has_new_ = true;
}

/// Returns true if `b` is a tighter lower bound than `a`, or `a` a tighter upper bound than `b`.
bool HostOffset::is_tighter(const Bound& a, const Bound& b) const {
  return b.host_ns - a.host_ns > rate_ * (b.device_ns - a.device_ns);
}

double HostOffset::carried(const Bound& from, double device_ns, double rate_ahead, double rate_back) {
  const double distance = device_ns - from.device_ns;
  return from.host_ns + distance * (distance > 0 ? rate_ahead : rate_back);
}

bool HostOffset::is_recent(const Window& window) const {
  return static_cast<double>(window.number) * kWindowNs > newest_ns_ - kWindows * kWindowNs;
}

/// Computes the rates that the bounds allow. Between an event and a later one, the host's clock advanced at most from
/// the first's submission to the second's observed completion. It advanced at least from the first's observed
/// completion to the second's submission.
HostOffset::Rates HostOffset::find_rates() const {
  const Rates rates{1 - max_ppm_ * 1e-6, 1 + max_ppm_ * 1e-6};
  Rates found = rates;
  for (const Window& one : window_) {
    for (const Window& other : window_) {
      if (!is_recent(one) || !is_recent(other)) { continue; }
      const double ns = other.upper.device_ns - one.lower.device_ns;
      if (ns == 0) { continue; }
      const double rate = (other.upper.host_ns - one.lower.host_ns) / ns;
      if (ns > 0) {
        found.max = std::min(found.max, rate);
      } else {
        found.min = std::max(found.min, rate);
      }
    }
  }
  // The bounds limit mean rates over parts of the minute; two such means differ by up to twice the allowed deviation.
  const double apart = 2 * wander_ppm_ * 1e-6;
  // The rate changed by more than that: uses only the first assumption. If that fails too, the error shows it.
  if (found.min > found.max + apart) { return rates; }
  return {std::max(found.min - apart, rates.min), std::min(found.max + apart, rates.max)};
}

HostOffset::Rates HostOffset::rates() const {
  if (!are_rates_found_) { rates_ = find_rates(); }
  are_rates_found_ = true;
  return rates_;
}

HostOffset::Knot HostOffset::estimate(double device_ns) const {
  const Rates rates = this->rates();
  double min_ns = -std::numeric_limits<double>::infinity();
  double max_ns = std::numeric_limits<double>::infinity();
  for (const Window& window : window_) {
    if (!is_recent(window)) { continue; }
    min_ns = std::max(min_ns, carried(window.lower, device_ns, rates.min, rates.max));
    max_ns = std::min(max_ns, carried(window.upper, device_ns, rates.max, rates.min));
  }
  // Contradicting bounds contribute their difference to the error.
  return {device_ns, min_ns / 2 + max_ns / 2, std::fabs(max_ns - min_ns) / 2 + kResolutionNs};
}

void HostOffset::host_may_be_slewed() {
  max_ppm_ = kMaxPpm + kSlewPpm;
  wander_ppm_ = kSlewPpm;  // deviation from a mean, over part of its time
  are_rates_found_ = false;
}

void HostOffset::join(Knot knot) {
  if (!knots_.empty()) {
    const Knot& last = knots_.back();
    const double passed = knot.device_ns - last.device_ns;
    const double joined =
        std::clamp(knot.host_ns, last.host_ns + passed * (1 - kMaxStretch), last.host_ns + passed * (1 + kMaxStretch));
    knot.error_ns += std::fabs(joined - knot.host_ns);
    knot.host_ns = joined;
  }
  knots_.push_back(knot);
  if (knots_.size() > kKnots) { knots_.pop_front(); }
}

void HostOffset::settle() {
  if (!has_new_) { return; }
  if (knots_.empty()) { join(estimate(oldest_ns_)); }
  if (newest_ns_ > knots_.back().device_ns) { join(estimate(newest_ns_)); }
  const Rates now = rates();
  rate_ = now.min / 2 + now.max / 2;
  has_new_ = false;
}

HostOffset::Time HostOffset::at(double device_ns) const {
  if (knots_.empty()) { return {device_ns, std::numeric_limits<double>::infinity()}; }
  const auto after = std::lower_bound(knots_.begin(), knots_.end(), device_ns,
                                      [](const Knot& knot, double ns) { return knot.device_ns < ns; });
  if (after != knots_.end() && after->device_ns == device_ns) { return {after->host_ns, after->error_ns}; }
  if (after == knots_.begin() || after == knots_.end()) {
    const Knot& near = after == knots_.end() ? knots_.back() : *after;
    const double away = device_ns - near.device_ns;
    return {near.host_ns + away * rate_, near.error_ns + std::fabs(away) * 2 * max_ppm_ * 1e-6};
  }
  const Knot& before = *(after - 1);
  const double share = (device_ns - before.device_ns) / (after->device_ns - before.device_ns);
  const double passed = after->device_ns - before.device_ns;
  return {before.host_ns + share * (after->host_ns - before.host_ns),
          std::max(before.error_ns, after->error_ns) + passed * wander_ppm_ * 1e-6};
}

bool DeviceTimeLines::find_line(const DeviceSpanRecord& record, std::uint32_t& line) {
  if (record.line == nullptr) { return false; }
  for (line = 0; line < lines_.size(); ++line) {
    if (lines_[line].id == record.line) { return true; }
  }
  if (lines_.size() >= kLines) { return false; }
  Line fresh;
  fresh.id = record.line;
  fresh.info.device = record.device;
  fresh.info.overlap.time_line = line;
  for (const Line& each : lines_) { fresh.info.number += each.info.device == fresh.info.device ? 1 : 0; }
  if (is_slewed_) { fresh.offset.host_may_be_slewed(); }
  lines_.push_back(std::move(fresh));
  return true;
}

void DeviceTimeLines::host_may_be_slewed() {
  if (is_slewed_) { return; }
  is_slewed_ = true;
  for (Line& line : lines_) { line.offset.host_may_be_slewed(); }
}

bool DeviceTimeLines::find_stream(std::uint32_t line, const DeviceSpanRecord& record, std::uint32_t& stream) {
  const StreamId id{line, record.stream};
  if (const auto known = tracks_.find({id, record.thread}); known != tracks_.end()) {
    stream = known->second;
    return true;
  }
  if (streams_.size() >= kStreams) { return false; }
  const auto [number, is_new] = numbers_.emplace(id, lines_[line].streams);
  if (is_new) { ++lines_[line].streams; }
  stream = static_cast<std::uint32_t>(streams_.size());
  streams_.push_back({line, number->second, record.thread});
  tracks_.emplace(std::make_pair(id, record.thread), stream);
  return true;
}

void DeviceTimeLines::add(const DeviceSpanRecord& record, Kind kind) {
  Waiting waiting{record, 0, 0};
  if (!find_line(record, waiting.line) || !find_stream(waiting.line, record, waiting.stream)) {
    ++unplaced_[record.device];
    return;
  }
  Line& line = lines_[waiting.line];
  line.offset.add(record.begin_ns, record.begin_submitted_ns, record.seen_ns);
  line.offset.add(record.end_ns, record.end_submitted_ns, record.seen_ns);
  waiting_.push_back(waiting);
  if (record.series == DeviceSpanRecord::kNoSeries) { return; }
  const bool is_frame = record.key == kBatchKey || record.key == kEpochKey;
  const std::int64_t begin_ns = std::llround(record.begin_ns);
  const std::int64_t end_ns = std::max<std::int64_t>(begin_ns, std::llround(record.end_ns));
  add_to_step(record, {waiting.line,
                       {streams_[waiting.stream].number, kind, is_frame, begin_ns, end_ns,
                        static_cast<Exposed::For>(record.waits_for)}});
}

void DeviceTimeLines::add_to_step(const DeviceSpanRecord& record, const OfStep& of_step) {
  if (spans_of_steps_ >= kSpansOfSteps) {  // step() will find too few spans, or none
    spans_of_steps_ -= steps_.begin()->second.size();
    steps_.erase(steps_.begin());
  }
  steps_[{record.series, record.row}].push_back(of_step);
  ++spans_of_steps_;
}

/// Returns the span's host times, clamped to its submission times.
DeviceTimeLines::Place DeviceTimeLines::place_of(const Waiting& waiting) {
  const DeviceSpanRecord& record = waiting.record;
  Line& line = lines_[waiting.line];
  const HostOffset::Time begin = line.offset.at(record.begin_ns);
  const HostOffset::Time end = line.offset.at(record.end_ns);
  const auto begin_submitted = static_cast<double>(record.begin_submitted_ns);
  const auto end_submitted = static_cast<double>(record.end_submitted_ns);
  const double error_ns = std::max(begin.error_ns, end.error_ns) + record.error_ns;
  const auto error = static_cast<std::int64_t>(std::ceil(std::min(error_ns, 9e18)));
  line.info.clock_error_ns = std::max(line.info.clock_error_ns, error);
  ++line.info.spans;
  if (begin.host_ns < begin_submitted || end.host_ns < end_submitted) { ++line.info.clamped; }
  const std::int64_t begin_ns = std::llround(std::max(begin.host_ns, begin_submitted));
  const std::int64_t end_ns = std::llround(std::max(end.host_ns, end_submitted));
  return {begin_ns, std::max(begin_ns, end_ns)};
}

std::vector<DeviceTimeLines::OfStep> DeviceTimeLines::take_step(const RowId& row) {
  // Removes spans of older rows, which were dropped.
  auto old = steps_.lower_bound({row.first, 0});
  while (old != steps_.end() && old->first.first == row.first && old->first.second + kMaxLag <= row.second) {
    spans_of_steps_ -= old->second.size();
    old = steps_.erase(old);
  }
  const auto found = steps_.find(row);
  if (found == steps_.end()) { return {}; }
  std::vector<OfStep> all = std::move(found->second);
  steps_.erase(found);
  spans_of_steps_ -= all.size();
  return all;
}

void DeviceTimeLines::leave_out(std::uint32_t series, std::uint64_t row) { take_step({series, row}); }

std::vector<Overlap> DeviceTimeLines::step(std::uint32_t series, std::uint64_t row, std::uint32_t spans) {
  std::vector<Overlap> result;
  const std::vector<OfStep> all = take_step({series, row});
  if (all.size() != spans) { return result; }
  for (std::uint32_t line = 0; line < lines_.size(); ++line) {
    std::vector<PlacedSpan> of_line;
    for (const OfStep& each : all) {
      if (each.line == line) { of_line.push_back(each.span); }
    }
    if (of_line.empty()) { continue; }
    result.push_back(overlap_of(of_line));
    result.back().time_line = line;
    add_overlap(lines_[line].info.overlap, result.back());
    ++lines_[line].info.steps;
  }
  return result;
}

void DeviceTimeLines::read(Snapshot& snapshot) const {
  for (const Line& line : lines_) { snapshot.time_lines.push_back(line.info); }
  snapshot.streams = streams_;
}

}  // namespace detail
TAKT_END_NAMESPACE
