// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "collect/device_time_lines.hpp"

#include <takt/key.hpp>

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
  lines_.push_back(std::move(fresh));
  return true;
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
  line.offset.add(record.begin_ns, record.begin_submitted.steady_ns, record.seen.steady_ns);
  line.offset.add(record.end_ns, record.end_submitted.steady_ns, record.seen.steady_ns);
  for (const Moment* each : {&record.begin_submitted, &record.end_submitted, &record.seen}) { host_.add(*each); }
  waiting_.push_back(waiting);
  const bool is_frame = record.key == kBatchKey || record.key == kEpochKey;
  const std::int64_t begin_ns = std::llround(record.begin_ns);
  const std::int64_t end_ns = std::max<std::int64_t>(begin_ns, std::llround(record.end_ns));
  const PlacedSpan span{streams_[waiting.stream].number,
                        kind,
                        is_frame,
                        begin_ns,
                        end_ns,
                        static_cast<Exposed::For>(record.waits_for),
                        PlacedSpan::kNever};
  add_recent(line, record, span);
  if (record.series == DeviceSpanRecord::kNoSeries) { return; }
  add_to_step(record, {waiting.line, span, record.end_submitted.steady_ns, record.end_recorded_ns});
}

void DeviceTimeLines::add_recent(Line& line, const DeviceSpanRecord& record, const PlacedSpan& span) {
  if (record.series != DeviceSpanRecord::kNoSeries) {
    StreamRows& rows = line.rows[{record.series, span.stream}];
    rows.add(record.row, span.begin_ns, span.end_ns, record.outermost != 0);
    rows.computes = rows.computes || (!span.is_frame && (span.kind == Kind::compute || span.kind == Kind::other));
  }
  if (span.is_frame || span.kind == Kind::wait) { return; }
  line.recent.push_back({{record.series, record.row}, span});
  if (line.recent.size() <= kRecent) { return; }
  line.recent_from_ns = std::max(line.recent_from_ns, line.recent.front().span.end_ns);
  line.recent.pop_front();
}

void DeviceTimeLines::add_to_step(const DeviceSpanRecord& record, const OfStep& of_step) {
  if (spans_of_steps_ >= kSpansOfSteps) {  // step() will find too few, or none
    spans_of_steps_ -= steps_.begin()->second.size();
    steps_.erase(steps_.begin());
  }
  steps_[{record.series, record.row}].push_back(of_step);
  ++spans_of_steps_;
}

SlewedClock::Time DeviceTimeLines::on_host(const Line& line, double device_ns) const {
  const HostOffset::Time steady = line.offset.at(device_ns);
  const SlewedClock::Time time = host_.at(steady.host_ns);
  return {time.ns, time.error_ns + steady.error_ns * (1 + SlewedClock::kMostPpm * 1e-6)};
}

/// On the host's time line; a span does not begin or end there before the host has said so.
DeviceTimeLines::Place DeviceTimeLines::place_of(const Waiting& waiting) {
  const DeviceSpanRecord& record = waiting.record;
  Line& line = lines_[waiting.line];
  const SlewedClock::Time begin = on_host(line, record.begin_ns);
  const SlewedClock::Time end = on_host(line, record.end_ns);
  const auto begin_submitted = static_cast<double>(record.begin_submitted.ns);
  const auto end_submitted = static_cast<double>(record.end_submitted.ns);
  const double error_ns = std::max(begin.error_ns, end.error_ns) + record.error_ns;
  const auto error = static_cast<std::int64_t>(std::ceil(std::min(error_ns, 9e18)));
  line.info.clock_error_ns = std::max(line.info.clock_error_ns, error);
  ++line.info.spans;
  if (begin.ns < begin_submitted || end.ns < end_submitted) { ++line.info.clamped; }
  const std::int64_t begin_ns = std::llround(std::max(begin.ns, begin_submitted));
  const std::int64_t end_ns = std::llround(std::max(end.ns, end_submitted));
  return {begin_ns, std::max(begin_ns, end_ns)};
}

std::vector<DeviceTimeLines::OfStep> DeviceTimeLines::take_step(const RowId& row) {
  // Rows that were dropped on their way never come.
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

void DeviceTimeLines::leave_out(std::uint32_t series, std::uint64_t row) {
  take_step({series, row});
  lacks(series, row);
}

std::vector<Overlap> DeviceTimeLines::step(std::uint32_t series, std::uint64_t row, std::uint32_t spans) {
  std::vector<Overlap> result;
  const std::vector<OfStep> all = take_step({series, row});
  if (all.size() != spans) {
    lacks(series, row);
    return result;
  }
  for (std::uint32_t line = 0; line < lines_.size(); ++line) {
    std::vector<OfStep> of_line;
    for (const OfStep& each : all) {
      if (each.line == line) { of_line.push_back(each); }
    }
    if (of_line.empty()) { continue; }
    result.push_back(overlap_on(lines_[line], {series, row}, of_line));
    result.back().time_line = line;
    add_overlap(lines_[line].info.overlap, result.back());
    ++lines_[line].info.steps;
  }
  return result;
}

/// What the clocks tell of the host: which work was submitted when, on the device's time line.
Overlap DeviceTimeLines::overlap_on(Line& line, const RowId& row, std::vector<OfStep>& all) const {
  constexpr double kSlowest = 1 - HostOffset::kMostPpm * 1e-6;
  std::vector<PlacedSpan> spans;
  std::int64_t begin_ns = all.front().span.begin_ns;
  std::int64_t end_ns = all.front().span.end_ns;
  double submitted_ns = 0;
  for (OfStep& each : all) {
    PlacedSpan& span = each.span;
    begin_ns = std::min(begin_ns, span.begin_ns);
    end_ns = std::max(end_ns, span.end_ns);
    submitted_ns = std::max(submitted_ns, static_cast<double>(each.end_submitted_ns));
    if ((span.kind == Kind::comm || span.kind == Kind::io) && each.end_recorded_ns != 0) {
      // For so long it may have begun before the host was done with it.
      const double early_ns =
          static_cast<double>(each.end_recorded_ns) - line.offset.range(static_cast<double>(span.begin_ns)).least_ns;
      const auto length_ns = static_cast<double>(span.end_ns - span.begin_ns);
      if (early_ns <= 0) { span.queued_ns = span.begin_ns; }
      if (early_ns > 0 && early_ns < length_ns) {
        span.queued_ns = span.begin_ns + static_cast<std::int64_t>(std::ceil(early_ns / kSlowest));
      }
    }
    spans.push_back(span);
  }
  Surroundings surroundings = around(line, row, begin_ns);
  // A thread submits a later step behind this one.
  const double late_ns = std::max(line.offset.range(static_cast<double>(end_ns)).most_ns - submitted_ns, 0.0);
  if (late_ns < static_cast<double>(end_ns - begin_ns)) {
    surroundings.alone_until_ns = end_ns - static_cast<std::int64_t>(std::ceil(late_ns / kSlowest));
  }
  const Overlap overlap = overlap_of(spans, surroundings);
  line.idle_told_until_ns = surroundings.idle_told_until_ns;
  return overlap;
}

Surroundings DeviceTimeLines::around(const Line& line, const RowId& row, std::int64_t begin_ns) const {
  Surroundings around;
  around.known_from_ns = line.recent_from_ns;
  around.idle_told_until_ns = line.idle_told_until_ns;
  for (const OfRow& each : line.recent) {
    if (each.row != row && each.span.end_ns > begin_ns) { around.others.push_back(each.span); }
  }
  constexpr std::int64_t kLatelyNs = 60'000'000'000;
  const auto found = gaps_.find(row.first);
  const RowGaps none{};
  const RowGaps& gaps = found == gaps_.end() ? none : found->second;
  if (!gaps.knows(row.second)) { around.known_from_ns = StreamRows::kNever; }
  const std::uint64_t before = gaps.before(row.second);
  for (const auto& [id, rows] : line.rows) {
    const bool is_used = id.first == row.first && rows.known_until(RowGaps::kNone) > begin_ns - kLatelyNs;
    if (!is_used) { continue; }
    around.streams[id.second] = {rows.known_until(gaps.behind(row.second)), rows.computes,
                                 before == RowGaps::kNone ? Surroundings::kAlways : rows.done_with(before)};
  }
  return around;
}

void DeviceTimeLines::read(Snapshot& snapshot) const {
  for (const Line& line : lines_) { snapshot.time_lines.push_back(line.info); }
  snapshot.streams = streams_;
}

}  // namespace detail
TAKT_END_NAMESPACE
