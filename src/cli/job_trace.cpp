// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/job_trace.hpp"

#include <takt/error.hpp>

#include "base/json_text.hpp"
#include "base/wrapping.hpp"
#include "report/counter_tracks.hpp"
#include "report/trace_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// How the clock of a rank was treated.
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

detail::JsonText other_data(const AlignedRanks& run, std::int64_t origin_ns) {
  detail::JsonText ranks = detail::JsonText::array();
  detail::JsonText losses = detail::JsonText::array();
  for (const AlignedRank& each : run.ranks) {
    ranks.push_back(clock_json(each));
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
  throw Error("the time line was not written: " + why + "; name another file with -o");
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
  must(file_.write(detail::trace_tail(other_data(run, origin_ns_))) && file_.commit());
}

void JobTrace::add_rank(const AlignedRank& each) {
  const RunInfo& run = each.rank.snapshot.run;
  const std::string name = fmt::format("rank {} ({})", run.rank, run.host);
  add(detail::trace_metadata("process_name", run.rank, 0, {{"name", name}}));
  add(detail::trace_metadata("process_sort_index", run.rank, 0, {{"sort_index", run.rank}}));
  detail::CounterTracks tracks;
  const Rank again = read_rank(each.rank.folder, [&](const Snapshot& part) {
    add_steps(each, part);
    add_samples(each, part, tracks);
  });
  add_end(each, again.snapshot);
}

void JobTrace::add_steps(const AlignedRank& each, const Snapshot& snapshot) {
  for (const Row& row : snapshot.rows) {
    if (row.series >= snapshot.series.size()) { continue; }
    const Series& series = snapshot.series[row.series];
    const PathStats& path = snapshot.paths[series.path];
    add_slice(each, row.begin_ns, row.host_ns, snapshot.threads[series.thread],
              fmt::format("{} {}", path.name, row.step), path.kind);
  }
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
  for (const OpenRegion& open : snapshot.open) {
    const PathStats& path = snapshot.paths[open.path];
    add_slice(each, detail::wrapped_difference(snapshot.wall_ns, open.open_ns), open.open_ns,
              snapshot.threads[open.thread], path.name + " (open)", path.kind);
  }
  for (const ThreadInfo& thread : snapshot.threads) {
    add(detail::track_names(each.rank.snapshot.run.rank, thread.id, thread.name, thread.id));
  }
}

void JobTrace::add_slice(const AlignedRank& each, std::int64_t begin_ns, std::int64_t length_ns,
                         const ThreadInfo& thread, const std::string& name, Kind kind) {
  const std::int64_t begin = each.common_ns(begin_ns);
  const std::int64_t end = each.common_ns(detail::wrapped_sum(begin_ns, length_ns));
  const detail::TraceSlice slice = {name, to_string(kind), detail::wrapped_difference(begin, origin_ns_),
                                    std::max<std::int64_t>(detail::wrapped_difference(end, begin), 0)};
  add(detail::trace_slice(slice, each.rank.snapshot.run.rank, thread.id));
  ++slices_;
}

}  // namespace cli
TAKT_END_NAMESPACE
