// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/json.hpp>
#include <takt/snapshot.hpp>

#include "base/file.hpp"
#include "base/json_text.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "report/epochs.hpp"
#include "report/json_lines.hpp"
#include "report/json_parts.hpp"

#include <cmath>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace {

using Json = detail::JsonText;

constexpr const char* kSchema = "takt-summary/2";
constexpr const char* kSummaryFile = "summary.json";
constexpr std::int64_t kPeriodNs = 10'000'000'000;

/// null for NaN and infinities, which JSON lacks.
Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }
template <class T>
Json number_if(bool known, T value) {
  return known ? Json(value) : Json();
}

Json strings(const std::map<std::string, std::string>& values) {
  Json out = Json::object();
  for (const auto& [name, value] : values) { out.add(name, value); }
  return out;
}

Json histogram(const Histogram& counts) {
  Json out = Json::array();
  counts.each([&out](unsigned bucket, std::uint64_t count) { out.push_back({Histogram::lowest_ns(bucket), count}); });
  return out;
}

Json summary(const Summary& summary) {
  const Stats stats = summary.stats();
  const bool measured = summary.measured_n() != 0;
  return {
      {"n", stats.n},
      {"warmup_n", stats.warmup_n},
      {"total_ns", stats.total_ns},
      {"warmup_total_ns", stats.warmup_total_ns},
      {"first_ns", number_if(summary.first_n() != 0, stats.first_ns)},
      {"mean_ns", number_if(measured, stats.mean_ns)},
      {"stdev_ns", number_if(summary.measured_n() > 1, stats.stdev_ns)},
      {"min_ns", number_if(measured, stats.min_ns)},
      {"max_ns", number_if(measured, stats.max_ns)},
      {"p50_ns", number_if(has_percentile(summary, 0.5), stats.p50_ns)},
      {"p90_ns", number_if(has_percentile(summary, 0.9), stats.p90_ns)},
      {"p99_ns", number_if(has_percentile(summary, 0.99), stats.p99_ns)},
      {"p999_ns", number_if(has_percentile(summary, 0.999), stats.p999_ns)},
      {"unbinned", summary.histogram().unbinned()},
      {"histogram", histogram(summary.histogram())},
  };
}

Json device_summary(const Summary& device) { return device.n() == 0 ? Json() : summary(device); }

Json run_json(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  Json groups = Json::object();
  for (const auto& [name, number] : run.groups) { groups.add(name, number); }
  return {
      {"name", run.name},
      {"id", run.id},
      {"rank", run.rank},
      {"world_size", run.world_size},
      {"local_rank", run.local_rank},
      {"attempt", run.attempt},
      {"groups", groups},
      {"rank_source", run.rank_source},
      {"host", run.host},
      {"pid", run.pid},
      {"start_unix_ns", run.start_unix_ns},
      {"directory", run.directory},
      {"takt_version", run.takt_version.empty() ? Json() : Json(run.takt_version)},
  };
}

Json clock(const ClockInfo& clock) {
  return {
      {"name", clock.name},
      {"reason", clock.reason},
      {"frequency_hz", number(clock.frequency_hz)},
      {"error_ppm", number(clock.error_ppm)},
      {"worst_error_ppm", number(clock.worst_error_ppm)},
      {"error_since_ns", clock.error_since_ns},
      {"empty_region_ns", clock.empty_region_ns},
      {"fallbacks", clock.fallbacks},
      {"region_cost_ns", clock.region_cost_ns},
      {"resolution_ns", clock.resolution_ns},
  };
}

Json process(const ProcessTimes& times) {
  return {
      {"cpu_ns", times.cpu_ns},
      {"stopped_ns", times.stopped_ns},
      {"suspended_ns", times.suspended_ns},
      {"before_session_ns", times.before_ns},
      {"earlier_sessions", times.earlier_sessions},
      {"waited_ns", times.waited_ns},
      {"processors", times.processors},
      {"blocked_ns", times.blocked_ns},
  };
}

Json path(const Snapshot& snapshot, std::uint32_t index) {
  const PathStats& path = snapshot.paths[index];
  return {
      {"name", path.name},
      {"path", snapshot.path_name(index)},
      {"parent", number_if(path.parent != kNoIndex, path.parent)},
      {"depth", path.depth},
      {"kind", to_string(path.kind)},
      {"self_ns", path.self_ns},
      {"share_of_parent", snapshot.share_of_parent(index)},
      {"items", path.items},
      {"bytes", path.bytes},
      {"skipped", path.skipped},
      {"host", summary(path.host)},
      {"device", device_summary(path.device)},
      {"device_pending", path.device_pending},
      {"device_lost", path.device_lost},
      {"threads", detail::threads_json(path)},
  };
}

/// Paths of each key, in order of the keys' appearance.
using PathsOfKey = std::vector<const PathStats*>;

std::vector<PathsOfKey> paths_of_keys(const Snapshot& snapshot) {
  std::vector<PathsOfKey> keys;
  std::map<std::string, std::size_t> places;
  for (const PathStats& path : snapshot.paths) {
    const std::size_t place = places.emplace(path.name, keys.size()).first->second;
    if (place == keys.size()) { keys.emplace_back(); }
    keys[place].push_back(&path);
  }
  return keys;
}

/// Adds up one key at a time: all at once would take as much memory as the recorded data.
Json key(const PathsOfKey& paths) {
  PathStats sum;
  for (const PathStats* path : paths) {
    sum.self_ns = detail::bounded_sum(sum.self_ns, path->self_ns);
    sum.items = detail::bounded_sum(sum.items, path->items);
    sum.bytes = detail::bounded_sum(sum.bytes, path->bytes);
    sum.host.merge(path->host);
    sum.device.merge(path->device);
  }
  return {
      {"name", paths.front()->name},
      {"kind", to_string(paths.front()->kind)},
      {"self_ns", sum.self_ns},
      {"items", sum.items},
      {"bytes", sum.bytes},
      {"host", summary(sum.host)},
      {"device", device_summary(sum.device)},
  };
}

/// null if there is an interval.
Json no_interval(const Throughput& throughput) {
  switch (throughput.no_interval) {
    case NoInterval::few_steps:
      return "few_steps";
    case NoInterval::few_stalls:
      return "few_stalls";
    case NoInterval::correlated:
      return "correlated";
    case NoInterval::none:
      break;
  }
  return {};
}

Json throughput(const Throughput& throughput) {
  const bool items = throughput.items != 0 && throughput.period_ns != 0;
  const bool interval = items && throughput.no_interval == NoInterval::none;
  return {
      {"steps", throughput.steps},
      {"items", throughput.items},
      {"period_ns", throughput.period_ns},
      {"excluded_steps", throughput.excluded_steps},
      {"excluded_ns", throughput.excluded_ns},
      {"first_ns", throughput.first_ns},
      {"last_ns", throughput.last_ns},
      {"windows", throughput.windows},
      {"items_per_s", items ? number(throughput.items_per_s) : Json()},
      {"items_low", interval ? number(throughput.items_low) : Json()},
      {"items_high", interval ? number(throughput.items_high) : Json()},
      {"no_interval", no_interval(throughput)},
      {"stalls", number_if(throughput.no_interval == NoInterval::few_stalls, throughput.stalls)},
      {"steps_per_s", throughput.period_ns != 0 ? number(throughput.steps_per_s) : Json()},
  };
}

Json threads(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const ThreadInfo& each : snapshot.threads) {
    out.push_back({{"id", each.id}, {"name", each.name}, {"ended", each.ended}});
  }
  return out;
}

Json series(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const Series& each : snapshot.series) {
    out.push_back({
        {"path", each.path},
        {"thread", each.thread},
        {"steps", each.steps},
        {"warmup_steps", each.warmup_steps},
        {"throughput", throughput(each.throughput)},
    });
  }
  return out;
}

Json open_regions(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const OpenRegion& each : snapshot.open) {
    out.push_back({{"path", each.path}, {"thread", each.thread}, {"open_ns", each.open_ns}});
  }
  return out;
}

/// Cause of the process's death; null if it did not die.
Json uncaught(const Snapshot& snapshot) {
  const Uncaught& death = snapshot.uncaught;
  if (!death.happened) { return {}; }
  Json open = Json::array();
  for (const auto path : death.open) { open.push_back(path); }
  return {{"type", number_if(!death.type.empty(), death.type)},
          {"message", death.message},
          {"thread", death.thread},
          {"open", open}};
}

Json devices(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const DeviceInfo& each : snapshot.devices) {
    out.push_back({{"name", each.name},
                   {"unavailable", number_if(!each.unavailable.empty(), each.unavailable)},
                   {"caveat", number_if(!each.caveat.empty(), each.caveat)}});
  }
  return out;
}

Json exposed(const Exposed& exposed) {
  return {{"comm_ns", exposed.comm_ns}, {"io_ns", exposed.io_ns}, {"other_ns", exposed.other_ns}};
}

Json time_lines(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const TimeLineInfo& each : snapshot.time_lines) {
    const Overlap& overlap = each.overlap;
    out.push_back({
        {"device", each.device},
        {"number", each.number},
        {"gpu_clock_error_ns", each.clock_error_ns},
        {"spans", each.spans},
        {"clamped", each.clamped},
        {"steps", each.steps},
        {"span_ns", overlap.span_ns},
        {"compute_ns", overlap.compute_ns},
        {"comm_ns", overlap.comm_ns},
        {"io_ns", overlap.io_ns},
        {"undecided", overlap.undecided},
        {"exposed", exposed(Exposed::on(overlap))},
    });
  }
  return out;
}

Json losses(const Snapshot& snapshot) {
  Json out = Json::array();
  for (const Loss& each : snapshot.losses) {
    out.push_back({{"what", each.what}, {"where", each.where}, {"count", each.count}});
  }
  return out;
}

bool write_json(const Snapshot& snapshot, const detail::JsonLines::Sink& take) {
  detail::JsonLines lines(take);
  lines.member("schema", kSchema);
  lines.member("run", run_json(snapshot));
  lines.member("machine", detail::machine_json(snapshot.run.machine));
  lines.member("clock", clock(snapshot.clock));
  lines.member("wall_ns", snapshot.wall_ns);
  lines.member("uncovered_ns", snapshot.uncovered_ns);
  lines.member("overhead_ns", snapshot.overhead_ns);
  lines.member("process", process(snapshot.process));
  lines.member("finished", snapshot.finished);
  lines.member("failed", snapshot.failed);
  lines.member("killed", snapshot.killed);
  lines.member("uncaught", uncaught(snapshot));
  lines.member("params", strings(snapshot.params));
  lines.member("tags", strings(snapshot.tags));
  std::uint32_t index = 0;
  lines.array("paths", snapshot.paths, [&](const PathStats&) { return path(snapshot, index++); });
  lines.array("keys", paths_of_keys(snapshot), [&](const PathsOfKey& paths) { return key(paths); });
  lines.member("threads", threads(snapshot));
  lines.member("series", series(snapshot));
  lines.member("epochs", detail::epochs_json(snapshot));
  lines.member("open", open_regions(snapshot));
  lines.member("devices", devices(snapshot));
  lines.member("exposed", exposed(Exposed::of(snapshot)));
  lines.member("time_lines", time_lines(snapshot));
  lines.member("meters", detail::sensors_json(snapshot));
  lines.member("unsampled", detail::unsampled_json(snapshot));
  lines.member("step_energies", detail::step_energies_json(snapshot));
  lines.member("region_energies", detail::region_energies_json(snapshot));
  lines.member("region_memories", detail::region_memories_json(snapshot));
  lines.member("losses", losses(snapshot));
  lines.array("findings", snapshot.findings, [](const Finding& each) { return detail::finding_json(each); });
  lines.array("abstentions", snapshot.skipped_rules,
              [](const SkippedRule& each) { return detail::skipped_rule_json(each); });
  lines.member("job", detail::job_json(snapshot));
  return lines.finish();
}

/// Writes the figures of Epochs into the run directory, if there are any.
bool write_epochs(const Snapshot& snapshot, std::string& error) {
  if (snapshot.epochs.empty() || snapshot.run.directory.empty()) { return true; }
  return detail::write_whole(
      snapshot.run.directory + "/epochs.csv",
      [&snapshot](detail::WholeFile& file) { return file.write(detail::epochs_csv(snapshot.epochs)); }, error);
}

bool write_summary(const std::string& path, const Snapshot& snapshot, std::string& error) {
  return detail::write_whole(
      path,
      [&snapshot](detail::WholeFile& file) {
        return write_json(snapshot, [&file](const std::string& text) { return file.write(text); });
      },
      error);
}

}  // namespace

std::string format_json(const Snapshot& snapshot) {
  std::string text;
  write_json(snapshot, [&text](const std::string& piece) {
    text += piece;
    return true;
  });
  return text;
}

ExportResult JsonExporter::export_snapshot(const Snapshot& snapshot) {
  if (!snapshot.finished && snapshot.wall_ns - written_at_ns_ < kPeriodNs) { return ExportResult::ok; }
  try {
    std::string error;
    if (write_summary(detail::path_or_in(snapshot.run.directory, kSummaryFile, path_), snapshot, error) &&
        (!path_.empty() || write_epochs(snapshot, error))) {
      written_at_ns_ = snapshot.wall_ns;
      return ExportResult::ok;
    }
    detail::report_error("json", error);
  } catch (const std::bad_alloc&) {
    detail::report_error(
        "json", detail::Words("out of memory, cannot write ", path_.empty() ? std::string_view(kSummaryFile) : path_));
  }
  // This file has no rows, so taking them drops no data; the last summary is worth a retry.
  return snapshot.finished ? ExportResult::retry : ExportResult::ok;
}

TAKT_END_NAMESPACE
