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
  if (spans_of_steps_ >= kSpansOfSteps) {  // step() will find too few, or none
    spans_of_steps_ -= steps_.begin()->second.size();
    steps_.erase(steps_.begin());
  }
  steps_[{record.series, record.row}].push_back(of_step);
  ++spans_of_steps_;
}

/// On the host's time line; a span does not begin or end there before the host has said so.
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
