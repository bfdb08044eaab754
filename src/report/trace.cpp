// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/trace.hpp>

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/stream_file.hpp"
#include "base/text.hpp"
#include "report/counter_tracks.hpp"
#include "report/trace_events.hpp"
#include "report/track_lanes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a trace has no room for.
struct DroppedEvents {
  std::uint64_t spans = 0;
  std::uint64_t counters = 0;
};

}  // namespace detail
namespace {

using Json = detail::JsonText;

std::int64_t process_of(const RunInfo& run) { return run.pid != 0 ? run.pid : run.rank; }

// Tracks of streams have numbers beyond those of threads, of which a process tells 4 096 apart.
constexpr std::uint32_t kFirstStream = 1'000'001;
// And behind them the further lanes of both.
constexpr std::uint32_t kFirstLane = 2'000'001;

/// "cuda 0", the first device of this kind that was seen.
std::string name_of_line(const TimeLineInfo& line) { return detail::format("{} {}", line.device, line.number); }

std::uint32_t track_of(const Snapshot& snapshot, const Span& span) {
  return span.stream != Span::kHost              ? kFirstStream + span.stream
         : span.thread < snapshot.threads.size() ? snapshot.threads[span.thread].id
                                                 : span.thread;
}

std::int64_t end_of_span(const Span& span) {
  if (span.duration_ns <= 0) { return span.begin_ns; }
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  return span.begin_ns > kLast - span.duration_ns ? kLast : span.begin_ns + span.duration_ns;
}

std::string event(const Snapshot& snapshot, const Span& span, std::uint32_t track) {
  return detail::trace_slice({span.name, to_string(span.kind), span.begin_ns, span.duration_ns},
                             process_of(snapshot.run), track);
}

std::string tail(const Snapshot& snapshot, const detail::DroppedEvents& dropped) {
  Json losses = Json::array();
  for (const Loss& loss : snapshot.losses) {
    losses.push_back({{"what", loss.what}, {"where", loss.where}, {"count", loss.count}});
  }
  Json lines = Json::array();
  for (const TimeLineInfo& line : snapshot.time_lines) {
    lines.push_back({{"device", name_of_line(line)},
                     {"gpu_clock_error_ns", line.clock_error_ns},
                     {"spans", line.spans},
                     {"clamped", line.clamped}});
  }
  Json unavailable = Json::object();
  for (const DeviceInfo& device : snapshot.devices) {
    if (!device.unavailable.empty()) { unavailable.add(device.name, device.unavailable); }
  }
  const Json other = {
      {"run_id", snapshot.run.id},
      {"run_name", snapshot.run.name},
      {"rank", snapshot.run.rank},
      {"start_unix_ns", snapshot.run.start_unix_ns},
      {"dropped_spans", dropped.spans},
      {"dropped_counters", dropped.counters},
      {"time_lines", lines},
      {"unavailable", unavailable},
      {"losses", losses},
  };
  return detail::trace_tail(other);
}

}  // namespace

struct TraceExporter::Impl {
  /// A track of its own for spans that overlap others of their thread or stream.
  struct FurtherLane {
    std::uint32_t thread;  // index into Snapshot::threads
    std::uint32_t stream;  // index into Snapshot::streams, or Span::kHost
    std::uint32_t track;   // which it is a lane of
    std::uint32_t own_track;
    std::uint32_t number;  // from 2
    std::string name;      // as written
  };

  Impl(std::string path, std::uint64_t max_events)
      : file(std::move(path), "trace"), left(max_events), counters_left(max_events) {}

  struct Placed {
    const Span* span;
    std::int64_t end_ns;
    std::uint32_t lane;
    /// Of what ends together, the inner one.
    bool is_before(const Placed& other) const {
      return end_ns != other.end_ns ? end_ns < other.end_ns : span->begin_ns > other.span->begin_ns;
    }
  };

  std::string separated(const std::string& text) const { return first ? text : ",\n" + text; }
  void add(const std::string& text) {
    file.append(separated(text));
    first = false;
  }

  /// A thread is named when it is first seen, not at the end, so that a killed run has names too; and again when its
  /// name has changed.
  void name_tracks(const Snapshot& snapshot) {
    const std::int64_t process = process_of(snapshot.run);
    if (first) {
      const std::string label = detail::format("{} rank {}", snapshot.run.name, snapshot.run.rank);
      add(detail::trace_metadata("process_name", process, 0, {{"name", label}}));
    }
    for (std::size_t index = 0; index < snapshot.threads.size(); ++index) {
      const ThreadInfo& thread = snapshot.threads[index];
      if (index < names.size() && names[index] == thread.name) { continue; }
      names.resize(std::max(names.size(), index + 1));
      add(detail::track_names(process, thread.id, thread.name, thread.id));
      names[index] = thread.name;
    }
    for (; streams < snapshot.streams.size(); ++streams) {
      const auto track = static_cast<std::uint32_t>(kFirstStream + streams);
      add(detail::track_names(process, track, stream_name(snapshot, streams), track));
    }
    for (FurtherLane& each : further) { name_lane(snapshot, each); }
  }

  /// The name of its track and a number, "main (2)"; again when that has changed.
  void name_lane(const Snapshot& snapshot, FurtherLane& lane) {
    std::string name = lane.stream != Span::kHost              ? stream_name(snapshot, lane.stream)
                       : lane.thread < snapshot.threads.size() ? snapshot.threads[lane.thread].name
                                                               : detail::format("thread {}", lane.track);
    name += detail::format(" ({})", lane.number);
    if (name == lane.name) { return; }
    add(detail::track_names(process_of(snapshot.run), lane.own_track, name, lane.track));
    lane.name = name;
  }

  /// The track on which a span of this lane belongs.
  std::uint32_t lane_track(const Snapshot& snapshot, const Span& span, std::uint32_t lane) {
    const std::uint32_t track = track_of(snapshot, span);
    if (lane == 0) { return track; }
    const auto number = static_cast<std::uint32_t>(further.size());
    if (number == further.capacity()) { further.reserve(2U * number + 8); }  // what may throw comes first
    const auto [place, is_new] = lane_numbers.emplace(std::make_pair(track, lane), number);
    if (is_new) { further.push_back({span.thread, span.stream, track, kFirstLane + number, lane + 1, {}}); }
    FurtherLane& own = further[place->second];
    if (own.name.empty()) { name_lane(snapshot, own); }
    return own.own_track;
  }

  /// "cuda 0 stream 1"; where another thread put spans there before, "cuda 0 stream 1 (loader)".
  static std::string stream_name(const Snapshot& snapshot, std::size_t index) {
    const StreamInfo& stream = snapshot.streams[index];
    const auto is_same = [&stream](const StreamInfo& other) {
      return other.time_line == stream.time_line && other.number == stream.number;
    };
    const auto end = snapshot.streams.begin() + static_cast<std::ptrdiff_t>(index);
    std::string name =
        detail::format("{} stream {}", name_of_line(snapshot.time_lines[stream.time_line]), stream.number);
    if (std::none_of(snapshot.streams.begin(), end, is_same)) { return name; }
    return detail::format("{} ({})", name, snapshot.threads[stream.thread].name);
  }

  /// Threads hand over late what ended on others, and streams what is done: lanes are given by the ends, lines written
  /// in order.
  void add_spans(const Snapshot& snapshot) {
    std::vector<Placed> placed;
    std::vector<Placed*> by_end;
    for (const Span& span : snapshot.spans) {
      if (file.is_new(span.sequence)) { placed.push_back({&span, end_of_span(span), detail::TrackLanes::kNone}); }
    }
    for (Placed& each : placed) {
      if (by_end.size() < left) { by_end.push_back(&each); }
    }
    std::sort(by_end.begin(), by_end.end(), [](const Placed* a, const Placed* b) { return a->is_before(*b); });
    for (Placed* each : by_end) {
      each->lane = lanes[track_of(snapshot, *each->span)].place(each->span->begin_ns, each->end_ns);
    }
    for (const Placed& each : placed) { add_span(snapshot, *each.span, each.lane); }
  }

  void add_span(const Snapshot& snapshot, const Span& span, std::uint32_t lane) {
    if (left == 0 || lane == detail::TrackLanes::kNone) {
      file.append(span.sequence, "");
      ++dropped.spans;
      return;
    }
    const std::uint32_t track = lane_track(snapshot, span, lane);
    file.append(span.sequence, separated(event(snapshot, span, track)));
    first = false;
    --left;
  }

  /// Points of curves, which have no lanes.
  void add_samples(const Snapshot& snapshot) {
    for (const Sample& sample : snapshot.samples) {
      if (sample.sequence < next_sample) { continue; }
      std::string text;
      for (const detail::CounterValue& each : counters.values(snapshot, sample)) {
        if (!std::isfinite(each.value)) { continue; }
        if (counters_left == 0) {
          ++dropped.counters;
          continue;
        }
        --counters_left;
        text += first && text.empty() ? "" : ",\n";
        text += detail::trace_counter(each.track, each.unit, each.value, sample.time_ns, process_of(snapshot.run));
      }
      file.append(text);
      first = first && text.empty();
      next_sample = sample.sequence + 1;
    }
  }

  detail::StreamFile file;
  std::uint64_t left;  // spans that may still be written
  std::uint64_t counters_left;
  detail::DroppedEvents dropped;
  detail::CounterTracks counters;
  std::uint64_t next_sample = 0;
  bool first = true;
  std::vector<std::string> names;                     // as written, by index into Snapshot::threads
  std::size_t streams = 0;                            // named so far
  std::map<std::uint32_t, detail::TrackLanes> lanes;  // by track
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> lane_numbers;  // by track and lane, into `further`
  std::vector<FurtherLane> further;
};

TraceExporter::TraceExporter(std::string path, std::uint64_t max_events)
    : impl_(std::make_unique<Impl>(std::move(path), max_events)) {}
TraceExporter::~TraceExporter() = default;
TraceExporter::TraceExporter(TraceExporter&&) noexcept = default;
TraceExporter& TraceExporter::operator=(TraceExporter&&) noexcept = default;

ExportResult TraceExporter::export_snapshot(const Snapshot& snapshot) {
  Impl& trace = *impl_;
  try {
    const ExportResult begun = trace.file.begin(detail::kTraceHead, snapshot.finished);
    if (begun != ExportResult::ok) { return begun; }
    trace.name_tracks(snapshot);
    trace.add_spans(snapshot);
    trace.add_samples(snapshot);
    return trace.file.end(tail(snapshot, trace.dropped), snapshot.finished);
  } catch (const std::bad_alloc&) { return trace.file.refuse_for_memory(); }
}

TAKT_END_NAMESPACE
