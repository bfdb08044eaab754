// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/trace.hpp"

#include "base/directory_files.hpp"
#include "base/encoding.hpp"
#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/aligned_ranks.hpp"
#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "report/notes.hpp"
#include "report/trace.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

int trace_of(const std::vector<RankDirectory>& directories, const std::string& file, int rank) {
  const AlignedRanks run = read_aligned(directories, rank);
  JobTrace line(file);
  line.write(run);
  report_alignment(run);
  for (const std::string& each : line.warnings()) { detail::print(stderr, "takt: {}\n", each); }
  const std::string recorded = line.recorded_ranks() == 0 ? ""
                                                          : detail::format(" {} regions that {} of them recorded,",
                                                                           line.regions(), line.recorded_ranks());
  detail::print(stdout, "{}: {} slices of {} rank{}{}{} steps and regions open at the end\n", detail::printable(file),
                line.slices(), run.ranks.size(), detail::plural(run.ranks.size()), recorded.empty() ? "," : ":",
                recorded);
  return run.all && line.all() ? 0 : kBroken;
}

}  // namespace

int trace(const std::string& run, const std::string& file, int rank) {
  const std::vector<RankDirectory> directories =
      rank_directories(run.empty() ? std::vector<std::string>() : std::vector<std::string>{run});
  return trace_of(directories, trace_file(file, directories.front(), rank), rank);
}

namespace {

/// Returns the name in plain characters: run directories have such names unless they were renamed.
std::string plain_name(std::string name) {
  constexpr const char* kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  for (std::size_t at = name.find_first_not_of(kPlain); at != std::string::npos; at = name.find_first_not_of(kPlain)) {
    name[at] = '_';
  }
  return name.empty() || name.front() == '.' || name.front() == '-' ? "run" + name : name;
}

/// Returns the name of the parent of the rank's directory.
std::string run_name(const RankDirectory& directory) {
  std::filesystem::path path = directory.path();
  std::error_code error;  // a removed directory gets an odd name, and reading it fails
  if (directory.file() == nullptr) { path = std::filesystem::canonical(path, error); }
  return path.parent_path().filename().string();
}

}  // namespace

std::string trace_file(const std::string& given, const RankDirectory& directory, int rank) {
  std::string file = given;
  if (file.empty()) {
    file = plain_name(run_name(directory)) + (rank < 0 ? "" : detail::format(".rank-{}", rank)) + ".trace.json";
  }
  const detail::DirectoryFiles files(detail::directory_part(file));
  const std::string name = detail::name_part(file);
  struct stat status = {};
  const bool is_there = files.look(name, status);
  const bool is_empty = S_ISREG(status.st_mode) && status.st_size == 0;  // as created by mktemp
  if (is_there && !is_empty && !detail::open_time_line(files, name).is_open()) {
    throw Error(
        detail::format("{} exists and is not a time line of Takt: it is not replaced; name another file with -o",
                       detail::printable(file)));
  }
  return file;
}

namespace {

/// Returns the alignment of a rank's clock.
detail::JsonText clock_json(const AlignedRank& each) {
  const RunInfo& run = each.rank.snapshot.run;
  detail::JsonText json = {{"rank", run.rank}, {"host", run.host}, {"start_unix_ns", run.start_unix_ns}};
  const detail::RankAlignment& alignment = each.alignment;
  if (!alignment.clock.is_known()) {
    json.add("clock", each.is_common ? "common" : "not aligned");
    return json;
  }
  json.add("clock", "aligned");
  json.add("by", each.by_answers ? "answers" : "collectives");
  if (!each.by_answers) {
    json.add("collective", alignment.path);
    json.add("collectives", alignment.ends);
  }
  json.add("error_ns", each.error_ns());
  json.add("drift_ppm", alignment.clock.drift_ppm());
  return json;
}

/// Returns a rank's recorded regions, and the clock error between its streams and threads.
detail::JsonText recorded_json(const RecordedTimeLine& line, const Snapshot& snapshot) {
  detail::JsonText devices = detail::JsonText::array();
  for (const TimeLineInfo& each : snapshot.time_lines) {
    devices.push_back(
        {{"device", detail::format("{} {}", each.device, each.number)}, {"gpu_clock_error_ns", each.clock_error_ns}});
  }
  return {{"file", line.file()},
          {"slices", line.slices()},
          {"dropped_spans", line.dropped_spans()},
          {"damaged_lines", line.damaged_lines()},
          {"time_lines", devices}};
}

detail::JsonText other_data(const AlignedRanks& run, const detail::JsonText& ranks, std::int64_t origin_ns) {
  detail::JsonText losses = detail::JsonText::array();
  for (const AlignedRank& each : run.ranks) {
    for (const Loss& loss : each.rank.snapshot.losses) {
      losses.push_back(
          {{"rank", each.rank.snapshot.run.rank}, {"what", loss.what}, {"where", loss.where}, {"count", loss.count}});
    }
  }
  const RunInfo& first = run.ranks.front().rank.snapshot.run;
  return {{"run_id", first.id}, {"run_name", first.name},     {"clock_of_rank", first.rank},
          {"ranks", ranks},     {"start_unix_ns", origin_ns}, {"missing_ranks", run.missing},
          {"losses", losses}};
}

}  // namespace

JobTrace::JobTrace(const std::string& file) { must(file_.open(file)); }

void JobTrace::must(bool written) {
  if (written) { return; }
  const std::string why = file_.error();
  file_.discard();
  throw Error("cannot write the time line: " + why + "; name another file with -o");
}

void JobTrace::add(const std::string& event) {
  must(file_.write(is_first_ ? event : ",\n" + event));
  is_first_ = false;
}

void JobTrace::write(const AlignedRanks& run) {
  origin_ns_ = run.ranks.front().common_ns(0);
  for (const AlignedRank& each : run.ranks) { origin_ns_ = std::min(origin_ns_, each.common_ns(0)); }
  must(file_.write(detail::kTraceHead));
  for (const AlignedRank& each : run.ranks) { add_rank(each); }
  must(file_.write(detail::trace_tail(other_data(run, ranks_, origin_ns_))) && file_.commit());
}

void JobTrace::add_rank(const AlignedRank& each) {
  const RunInfo& run = each.rank.snapshot.run;
  const std::string name = detail::format("rank {} ({})", run.rank, run.host);
  add(detail::trace_metadata("process_name", run.rank, 0, {{"name", name}}));
  add(detail::trace_metadata("process_sort_index", run.rank, 0, {{"sort_index", run.rank}}));
  RecordedTimeLine line(each.rank.directory, run);
  add_recorded(each, line);
  detail::CounterTracks tracks;
  const Rank again = read_rank(each.rank.directory, [&](const Snapshot& part) {
    add_steps(each, part, line);
    add_samples(each, part, tracks);
  });
  add_end(each, again.snapshot);
  detail::JsonText json = clock_json(each);
  if (line.is_there()) { json.add("recorded", recorded_json(line, again.snapshot)); }
  ranks_.push_back(json);
}

void JobTrace::add_recorded(const AlignedRank& each, RecordedTimeLine& line) {
  if (!line.refusal().empty()) {
    warnings_.push_back(line.refusal() + "; for this rank the time line has the steps of its journal");
    all_ = false;
  }
  if (line.is_there()) {
    line.read([&](const TraceEvent& event) { add_event(each, event); });
    regions_ += line.slices();
    ++recorded_ranks_;
  }
  warnings_.insert(warnings_.end(), line.warnings().begin(), line.warnings().end());
}

void JobTrace::add_event(const AlignedRank& each, const TraceEvent& event) {
  const int rank = each.rank.snapshot.run.rank;
  if (event.what == TraceEvent::What::slice) {
    add_slice(each, event.begin_ns, event.duration_ns, event.track, event.name, event.kind);
  } else if (event.what == TraceEvent::What::track_name) {
    add(detail::trace_metadata("thread_name", rank, event.track, {{"name", event.name}}));
  } else if (event.what == TraceEvent::What::track_order) {
    add(detail::trace_metadata("thread_sort_index", rank, event.track, {{"sort_index", event.order}}));
  }
}

/// Adds the steps. A step with a recorded region is skipped: its slice exists already. A step that ends after its
/// thread's last region was not recorded: a killed run's journal is newer, or the time line was full.
void JobTrace::add_steps(const AlignedRank& each, const Snapshot& snapshot, const RecordedTimeLine& line) {
  for (const Row& row : snapshot.rows) {
    if (row.series >= snapshot.series.size()) { continue; }
    const Series& series = snapshot.series[row.series];
    const PathStats& path = snapshot.paths[series.path];
    const ThreadInfo& thread = snapshot.threads[series.thread];
    const std::int64_t end_ns = detail::wrapped_sum(row.begin_ns, row.host_ns);
    if (line.covers(thread.id, end_ns)) { continue; }
    add_slice(each, row.begin_ns, row.host_ns, lane_of(each, thread, row.begin_ns, end_ns),
              detail::format("{} {}", path.name, row.step), path.kind);
  }
}

/// Returns the track for a slice of the journal: its thread's, or a further one if it overlaps another slice.
std::uint32_t JobTrace::lane_of(const AlignedRank& each, const ThreadInfo& thread, std::int64_t begin_ns,
                                std::int64_t end_ns) {
  constexpr std::uint32_t kFirstTrack = 3'000'001;  // after those of recorded time lines
  const std::uint32_t lane = lanes_[thread.id].place(begin_ns, end_ns);
  if (lane == 0 || lane == detail::TrackLanes::kNone) { return thread.id; }
  const auto track = static_cast<std::uint32_t>(kFirstTrack + tracks_.size());
  const auto [place, is_new] = tracks_.emplace(std::make_pair(thread.id, lane), track);
  if (is_new) {
    const std::string name = detail::format("{} ({})", thread.name, lane + 1);
    add(detail::track_names(each.rank.snapshot.run.rank, track, name, thread.id));
  }
  return place->second;
}

void JobTrace::add_samples(const AlignedRank& each, const Snapshot& snapshot, detail::CounterTracks& tracks) {
  for (const Sample& sample : snapshot.samples) {
    const std::int64_t time_ns = detail::wrapped_difference(each.common_ns(sample.time_ns), origin_ns_);
    for (const detail::CounterValue& value : tracks.values(snapshot, sample)) {
      if (!std::isfinite(value.value)) { continue; }
      add(detail::trace_counter(value.track, value.unit, value.value, time_ns, each.rank.snapshot.run.rank));
    }
  }
}

void JobTrace::add_end(const AlignedRank& each, const Snapshot& snapshot) {
  std::vector<std::uint32_t> tracks(snapshot.open.size());
  for (std::size_t at = tracks.size(); at-- > 0;) {  // inner ones first
    const OpenRegion& open = snapshot.open[at];
    const std::int64_t begin_ns = detail::wrapped_difference(snapshot.wall_ns, open.open_ns);
    tracks[at] = lane_of(each, snapshot.threads[open.thread], begin_ns, snapshot.wall_ns);
  }
  for (std::size_t at = 0; at < tracks.size(); ++at) {
    const OpenRegion& open = snapshot.open[at];
    const PathStats& path = snapshot.paths[open.path];
    add_slice(each, detail::wrapped_difference(snapshot.wall_ns, open.open_ns), open.open_ns, tracks[at],
              path.name + " (open)", path.kind);
  }
  lanes_.clear();
  tracks_.clear();
  for (const ThreadInfo& thread : snapshot.threads) {
    add(detail::track_names(each.rank.snapshot.run.rank, thread.id, thread.name, thread.id));
  }
}

void JobTrace::add_slice(const AlignedRank& each, std::int64_t begin_ns, std::int64_t length_ns, std::uint32_t track,
                         const std::string& name, Kind kind) {
  const std::int64_t begin = each.common_ns(begin_ns);
  const std::int64_t end = each.common_ns(detail::wrapped_sum(begin_ns, length_ns));
  const detail::TraceSlice slice = {name, to_string(kind), detail::wrapped_difference(begin, origin_ns_),
                                    std::max<std::int64_t>(detail::wrapped_difference(end, begin), 0)};
  add(detail::trace_slice(slice, each.rank.snapshot.run.rank, track));
  ++slices_;
}

}  // namespace cli
TAKT_END_NAMESPACE
