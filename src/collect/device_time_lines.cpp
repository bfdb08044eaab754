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
  if (record.series != DeviceSpanRecord::kNoSeries) { add_to_step(waiting, kind); }
}

void DeviceTimeLines::add_to_step(const Waiting& waiting, Kind kind) {
  const DeviceSpanRecord& record = waiting.record;
  if (spans_of_steps_ >= kSpansOfSteps) {  // step() will find too few, or none
    spans_of_steps_ -= steps_.begin()->second.size();
    steps_.erase(steps_.begin());
  }
  const bool is_frame = record.key == kBatchKey || record.key == kEpochKey;
  const std::int64_t begin_ns = std::llround(record.begin_ns);
  const std::int64_t end_ns = std::max<std::int64_t>(begin_ns, std::llround(record.end_ns));
  steps_[{record.series, record.row}].push_back({waiting.line,
                                                 {streams_[waiting.stream].number, kind, is_frame, begin_ns, end_ns,
                                                  static_cast<Exposed::For>(record.waits_for)}});
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

std::vector<Overlap> DeviceTimeLines::step(std::uint32_t series, std::uint64_t row, std::uint32_t spans) {
  std::vector<Overlap> result;
  // Rows that were dropped on their way never come.
  auto old = steps_.lower_bound({series, 0});
  while (old != steps_.end() && old->first.first == series && old->first.second + kMaxLag <= row) {
    spans_of_steps_ -= old->second.size();
    old = steps_.erase(old);
  }
  const auto found = steps_.find({series, row});
  if (found == steps_.end()) { return result; }
  const std::vector<OfStep> all = std::move(found->second);
  steps_.erase(found);
  spans_of_steps_ -= all.size();
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
