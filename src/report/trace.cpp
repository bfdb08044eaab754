// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/trace.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

#include <takt/exporters/trace.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

std::string trace_microseconds(std::int64_t ns) {
  const auto magnitude = ns < 0 ? 0U - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  return detail::format("{}{}.{:03}", ns < 0 ? "-" : "", magnitude / 1000, magnitude % 1000);
}

std::string trace_metadata(const char* what, std::int64_t process, std::uint32_t track, const JsonText& arguments) {
  return detail::format("{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{}}}", what, process, track,
                        printable_json(arguments.text()));
}

std::string track_names(std::int64_t process, std::uint32_t track, const std::string& name, std::uint32_t order) {
  return trace_metadata("thread_name", process, track, {{"name", name}}) + ",\n" +
         trace_metadata("thread_sort_index", process, track, {{"sort_index", order}});
}

std::string trace_slice(const TraceSlice& slice, std::int64_t process, std::uint32_t track) {
  return detail::format("{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":{},\"tid\":{}}}",
                        printable_json(JsonText(slice.name).text()), slice.category, trace_microseconds(slice.begin_ns),
                        trace_microseconds(slice.duration_ns), process, track);
}

std::string trace_counter(std::string_view name, std::string_view unit, double value, std::int64_t time_ns,
                          std::int64_t process) {
  const JsonText arguments = {{unit.empty() ? std::string_view("value") : unit, value}};
  return detail::format("{{\"name\":{},\"ph\":\"C\",\"ts\":{},\"pid\":{},\"args\":{}}}",
                        printable_json(JsonText(name).text()), trace_microseconds(time_ns), process,
                        printable_json(arguments.text()));
}

std::string trace_tail(const JsonText& other) { return "\n],\"otherData\":" + printable_json(other.text()) + "}\n"; }

std::uint32_t TrackLanes::place(std::int64_t begin_ns, std::int64_t end_ns) {
  if (end_ns <= begin_ns) { return 0; }  // inside any neighbour
  const auto count = static_cast<std::uint32_t>(lanes_.size());
  for (std::uint32_t lane = 0; lane < count; ++lane) {
    if (lanes_[lane].take({begin_ns, end_ns})) { return lane; }
  }
  if (count == kMaxLanes) { return kNone; }
  lanes_.emplace_back().take({begin_ns, end_ns});
  return count;
}

bool TrackLanes::Lane::take(Stretch span) {
  if (outermost_.empty() || outermost_.back().end_ns <= span.begin_ns) {  // the usual case
    outermost_.push_back(span);
    if (outermost_.size() > kMax) { shorten(); }
    return true;
  }
  if (outermost_.back().begin_ns < span.begin_ns) { return false; }  // overlaps the last one
  const auto first =
      std::lower_bound(outermost_.begin(), outermost_.end(), span,
                       [](const Stretch& each, const Stretch& its) { return each.end_ns <= its.begin_ns; });
  auto last = first;
  for (; last != outermost_.end() && last->begin_ns < span.end_ns; ++last) {
    // Spans inside an outermost one are unknown, so nothing more is placed there.
    if (last->begin_ns < span.begin_ns || last->end_ns > span.end_ns) { return false; }
  }
  if (first == last) {
    outermost_.insert(first, span);
  } else {
    *first = span;
    outermost_.erase(first + 1, last);
  }
  return true;
}

/// Merges the middle quarters. Long open spans, such as an Epoch, started among the oldest, which are kept.
void TrackLanes::Lane::shorten() {
  const auto quarter = static_cast<std::ptrdiff_t>(outermost_.size() / 4);
  const auto first = outermost_.begin() + quarter;
  const auto last = outermost_.end() - quarter;
  first->end_ns = (last - 1)->end_ns;
  outermost_.erase(first + 1, last);
}

namespace {

/// Display of a quantity on a time line. Quantities not listed have no track.
struct Track {
  Quantity quantity;
  const char* name;
  const char* unit;
  double scale;  ///< for values, or for a counter's increase per nanosecond
};
constexpr double kPerSecond = 1e9;
constexpr Track kTracks[] = {
    {Quantity::energy, "power by the counter", "W", 1e-6 * kPerSecond},
    {Quantity::power, "power", "W", 1e-3},
    {Quantity::memory, "memory", "MB", 1e-6},
    {Quantity::utilization, "busy", "%", 1e-1},
    {Quantity::clock, "clock", "MHz", 1},
    {Quantity::temperature, "temperature", "\u00B0C", 1e-3},
    {Quantity::cpu_time, "processors busy", "processors", 1},
    {Quantity::major_faults, "page faults that wait for storage", "1/s", kPerSecond},
    {Quantity::forced_switches, "forced context switches", "1/s", kPerSecond},
    {Quantity::storage_read, "read from storage", "MB/s", 1e-6 * kPerSecond},
    {Quantity::storage_written, "written to storage", "MB/s", 1e-6 * kPerSecond},
};

const Track* counter_track_of(Quantity quantity) {
  for (const Track& each : kTracks) {
    if (each.quantity == quantity) { return &each; }
  }
  return nullptr;
}

/// One curve for all reasons; four would be mostly 0.
constexpr const char* kSlowed = "slowed down";

}  // namespace

std::vector<CounterValue> CounterTracks::values(const Snapshot& snapshot, const Sample& sample) {
  std::vector<CounterValue> values;
  if (sample.sensor >= snapshot.sensors.size()) { return values; }
  const Sensor& sensor = snapshot.sensors[sample.sensor];
  if (sample.values.size() != sensor.quantities.size()) { return values; }
  const auto found = last_.find(sample.sensor);
  const Sample* const last =
      found == last_.end() || found->second.values.size() != sample.values.size() ? nullptr : &found->second;
  for (std::size_t place = 0; place < sample.values.size(); ++place) {
    const Quantity quantity = sensor.quantities[place];
    const std::int64_t value = sample.values[place];
    if (value == Sample::kAbsent) { continue; }
    if (quantity == Quantity::slowdowns) {
      values.push_back({sensor.name + " " + kSlowed, "", value == 0 ? 0.0 : 1.0});
    }
    const Track* const track = counter_track_of(quantity);
    if (track == nullptr) { continue; }
    auto number = static_cast<double>(value);
    if (form_of(quantity).counts) {
      const bool known = last != nullptr && last->values[place] != Sample::kAbsent && sample.time_ns > last->time_ns;
      if (!known) { continue; }
      const double passed = static_cast<double>(sample.time_ns) - static_cast<double>(last->time_ns);
      number = (number - static_cast<double>(last->values[place])) / passed;
    }
    values.push_back({sensor.name + " " + track->name, track->unit, number * track->scale});
  }
  last_[sample.sensor] = sample;
  return values;
}

/// Events that do not fit into a trace.
struct DroppedEvents {
  std::uint64_t spans = 0;
  std::uint64_t counters = 0;
};

}  // namespace detail
namespace {

using Json = detail::JsonText;

std::int64_t process_of(const RunInfo& run) { return run.pid != 0 ? run.pid : run.rank; }

// Stream tracks are numbered above threads; a process has at most 4,096 named ones.
constexpr std::uint32_t kFirstStream = 1'000'001;
// Further lanes of both are numbered above these.
constexpr std::uint32_t kFirstLane = 2'000'001;

/// "cuda 0", the first device seen of this kind.
std::string name_of_line(const TimeLineInfo& line) { return detail::format("{} {}", line.device, line.number); }

std::uint32_t track_of(const Snapshot& snapshot, const Span& span) {
  return span.stream != kNoIndex                 ? kFirstStream + span.stream
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
  /// A separate track for spans that overlap others of their thread or stream.
  struct FurtherLane {
    std::uint32_t thread;  // index into Snapshot::threads
    std::uint32_t stream;  // index into Snapshot::streams, or kNoIndex
    std::uint32_t track;   // track that it is a lane of
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
    /// If both end at the same time, the inner one is first.
    bool is_before(const Placed& other) const {
      return end_ns != other.end_ns ? end_ns < other.end_ns : span->begin_ns > other.span->begin_ns;
    }
  };

  std::string separated(const std::string& text) const { return first ? text : ",\n" + text; }
  void add(const std::string& text) {
    file.append(separated(text));
    first = false;
  }

  /// Names threads when they first appear, so that killed runs have names, and again when a name changes.
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

  /// Writes the track's name with a number, "main (2)", when it changes.
  void name_lane(const Snapshot& snapshot, FurtherLane& lane) {
    std::string name = lane.stream != kNoIndex                 ? stream_name(snapshot, lane.stream)
                       : lane.thread < snapshot.threads.size() ? snapshot.threads[lane.thread].name
                                                               : detail::format("thread {}", lane.track);
    name += detail::format(" ({})", lane.number);
    if (name == lane.name) { return; }
    add(detail::track_names(process_of(snapshot.run), lane.own_track, name, lane.track));
    lane.name = name;
  }

  /// Returns the track for a span of this lane.
  std::uint32_t lane_track(const Snapshot& snapshot, const Span& span, std::uint32_t lane) {
    const std::uint32_t track = track_of(snapshot, span);
    if (lane == 0) { return track; }
    const auto number = static_cast<std::uint32_t>(further.size());
    if (number == further.capacity()) { further.reserve(2U * number + 8); }  // do everything that may throw first
    const auto [place, is_new] = lane_numbers.emplace(std::make_pair(track, lane), number);
    if (is_new) { further.push_back({span.thread, span.stream, track, kFirstLane + number, lane + 1, {}}); }
    FurtherLane& own = further[place->second];
    if (own.name.empty()) { name_lane(snapshot, own); }
    return own.own_track;
  }

  /// Returns "cuda 0 stream 1", or "cuda 0 stream 1 (loader)" if another thread used the stream before.
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

  /// Spans of other threads and streams arrive late. Lanes are assigned by end time; lines are written in order of
  /// arrival.
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

  /// Adds points of curves, which have no lanes.
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
  std::uint64_t left;  // number of spans that may still be written
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
  const ExportResult started = trace.file.begin(detail::kTraceHead, snapshot.finished);
  if (started != ExportResult::ok) { return started; }
  trace.name_tracks(snapshot);
  trace.add_spans(snapshot);
  trace.add_samples(snapshot);
  return trace.file.end(tail(snapshot, trace.dropped), snapshot.finished);
}

TAKT_END_NAMESPACE
