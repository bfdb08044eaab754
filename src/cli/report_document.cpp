// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report_document.hpp"

#include <takt/exporters/json.hpp>

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/ls.hpp"
#include "findings/findings.hpp"
#include "report/csv.hpp"
#include "report/job_report.hpp"
#include "report/json_parts.hpp"
#include "report/results_text.hpp"
#include "report/trials_report.hpp"

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::JsonText;

/// Returns null if no exception ended the run.
JsonText uncaught_json(const Snapshot& snapshot) {
  const Uncaught& death = snapshot.uncaught;
  if (!death.happened) { return {}; }
  JsonText open = JsonText::array();
  for (const std::uint32_t path : death.open) { open.push_back(snapshot.path_name(path)); }
  JsonText thread;
  if (death.thread && *death.thread < snapshot.threads.size()) { thread = snapshot.threads[*death.thread].name; }
  return {{"type", death.type}, {"message", death.message}, {"thread", thread}, {"open", open}};
}

JsonText paths_json(const Snapshot& snapshot) {
  JsonText paths = JsonText::array();
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const PathStats& each = snapshot.paths[path];
    paths.push_back({{"path", snapshot.path_name(path)},
                     {"n", each.host.n()},
                     {"total_ns", each.host.total_ns()},
                     {"self_ns", each.self_ns},
                     {"threads", detail::threads_json(each)}});
  }
  return paths;
}

JsonText rank_findings_json(const Snapshot& snapshot) {
  JsonText findings = JsonText::array();
  for (const Finding& each : snapshot.findings) { findings.push_back(detail::finding_json(each)); }
  return findings;
}

JsonText skipped_rules_json(const Snapshot& snapshot) {
  JsonText skipped_rules = JsonText::array();
  for (const SkippedRule& each : snapshot.skipped_rules) { skipped_rules.push_back(detail::skipped_rule_json(each)); }
  return skipped_rules;
}

JsonText rank_json(const Rank& rank) {
  JsonText open = JsonText::array();
  for (const OpenRegion& each : rank.snapshot.open) {
    open.push_back({{"path", rank.snapshot.path_name(each.path)},
                    {"thread", rank.snapshot.threads[each.thread].name},
                    {"open_ns", each.open_ns}});
  }
  return {
      {"rank", rank.snapshot.run.rank},
      {"attempt", rank.snapshot.run.attempt},
      {"host", rank.snapshot.run.host},
      {"pid", rank.snapshot.run.pid},
      {"machine", detail::machine_json(rank.snapshot.run.machine)},
      {"directory", rank.directory.path()},
      {"state", state_word(rank.ending)},
      {"last_sign_unix_ns", rank.heartbeat_unix_ns},
      {"wall_ns", rank.snapshot.wall_ns},
      {"paths", paths_json(rank.snapshot)},
      {"region_memories", detail::region_memories_json(rank.snapshot)},
      {"open", open},
      {"findings", rank_findings_json(rank.snapshot)},
      {"abstentions", skipped_rules_json(rank.snapshot)},
      {"uncaught", uncaught_json(rank.snapshot)},
      {"damage", damages(rank)},
  };
}

JsonText spread_json(const detail::RankSpread& spread) {
  return {{"ranks", spread.ranks},         {"mean_ns", spread.mean_ns()},    {"min_ns", spread.min.ns},
          {"min_rank", spread.min.rank},   {"max_ns", spread.max.ns},        {"max_rank", spread.max.rank},
          {"stdev_ns", spread.stdev_ns()}, {"imbalance", spread.imbalance()}};
}

JsonText job_paths_json(const detail::JobReport& job) {
  JsonText paths = JsonText::array();
  for (const std::uint32_t path : detail::paths_by_name(job.sum)) {
    const detail::RankPath* const over_ranks = detail::find_path(job.record, job.sum, path);
    if (over_ranks == nullptr || over_ranks->host_totals.ranks == 0) { continue; }
    JsonText json = {{"path", job.sum.path_name(path)},
                     {"n", over_ranks->host.n()},
                     {"total", spread_json(over_ranks->host_totals)},
                     {"share", detail::share_of_job(job.record, *over_ranks)}};
    if (over_ranks->device_totals.ranks != 0) { json.add("device_total", spread_json(over_ranks->device_totals)); }
    paths.push_back(json);
  }
  return paths;
}

JsonText job_json(const detail::JobReport& job) {
  JsonText json = {{"wall", spread_json(job.record.wall)}};
  detail::add_comparison(json, job.comparison);
  json.add("throughput", detail::throughput_json(detail::job_throughputs(job.sum),
                                                 [&](std::uint32_t path) { return job.sum.path_name(path); }));
  json.add("paths", job_paths_json(job));
  return json;
}

JsonText attempts_json(const std::vector<AttemptSpan>& attempts) {
  JsonText all = JsonText::array();
  for (const AttemptSpan& each : attempts) {
    all.push_back({{"attempt", each.attempt},
                   {"ranks", each.ranks},
                   {"start_unix_ns", each.start_unix_ns},
                   {"end_unix_ns", each.end_unix_ns}});
  }
  return all;
}

std::string decimal(double value, bool known) { return known ? detail::format("{:.3f}", value) : ""; }

/// Returns empty columns for a single rank.
std::string over_ranks(const detail::JobReport& job, std::uint32_t index) {
  const detail::RankPath* const path = detail::find_path(job.record, job.sum, index);
  if (path == nullptr || path->host_totals.ranks == 0) { return ",,,,,"; }
  const detail::RankSpread& spread = path->host_totals;
  return detail::format(",{},{},{},{},{}", spread.ranks, spread.min.ns, spread.min.rank, spread.max.ns,
                        spread.max.rank);
}

std::string csv_line(const detail::JobReport& job, std::uint32_t index) {
  const Snapshot& sum = job.sum;
  const PathStats& path = sum.paths[index];
  const Summary& host = path.host;
  const bool measured = host.measured_n() != 0;
  std::string line =
      detail::format("{},{},{},{},{},{}", detail::csv_field(sum.run.id), detail::csv_field(sum.path_name(index)),
                     to_string(path.kind), host.n(), host.total_ns(), path.self_ns);
  line += detail::format(",{},{}", decimal(host.mean_ns(), measured), decimal(host.stdev_ns(), host.measured_n() > 1));
  const auto add = [&line](bool known, std::uint64_t ns) { line += known ? detail::format(",{}", ns) : ","; };
  add(measured, host.min_ns());
  for (const double q : {0.5, 0.9, 0.99}) { add(has_percentile(host, q), host.percentile_ns(q)); }
  add(measured, host.max_ns());
  line += detail::format(",{},{},{}", path.items, path.bytes, path.skipped);
  line += path.device.n() == 0 ? ",," : detail::format(",{},{}", path.device.n(), path.device.total_ns());
  return line + over_ranks(job, index) + "\n";
}

/// Returns the results as in trials.json; null if there were none.
JsonText trials_json_of(const RunReport& run) {
  if (!run.trials) { return {}; }
  JsonText trials = JsonText::raw(detail::trials_json(run.job.sum.run, run.trials->sum));
  trials.add("ranks", run.trials->ranks);
  trials.add("at_once", run.trials->at_once);
  JsonText by_rank = JsonText::array();
  for (const Rank& each : run.ranks) {
    if (run.ranks.size() == 1 || each.snapshot.trials == nullptr) { continue; }
    by_rank.push_back(JsonText::raw(detail::trials_json(each.snapshot.run, *each.snapshot.trials)));
  }
  trials.add("by_rank", by_rank);
  return trials;
}

/// Returns the measurements as in results.json, without runs, of each rank that has some.
JsonText measurements_of(const RunReport& run) {
  JsonText all = JsonText::array();
  for (const Rank& rank : run.ranks) {
    const Snapshot& snapshot = rank.snapshot;
    if (snapshot.measurements.empty()) { continue; }
    all.push_back(JsonText::raw(detail::measurements_json(snapshot.run, snapshot.measurements)));
  }
  return all;
}

}  // namespace

std::string report_json(const std::vector<RunReport>& runs) {
  JsonText list = JsonText::array();
  for (const RunReport& run : runs) {
    JsonText ranks = JsonText::array();
    for (const Rank& rank : run.ranks) { ranks.push_back(rank_json(rank)); }
    list.push_back({{"run_id", run.job.sum.run.id},
                    {"attempts", attempts_json(run.attempts)},
                    {"between_attempts_ns", ns_between(run.attempts)},
                    {"ranks", ranks},
                    {"missing_ranks", run.missing},
                    {"job", run.ranks.size() > 1 ? job_json(run.job) : JsonText()},
                    {"trials", trials_json_of(run)},
                    {"measurements", measurements_of(run)},
                    {"summary", JsonText::raw(format_json(run.job.sum))}});
  }
  const JsonText document = {{"schema", "takt-report/2"}, {"runs", list}};
  return detail::printable_json(document.indented()) + "\n";
}

std::string report_csv(const std::vector<RunReport>& runs) {
  std::string text =
      "run_id,path,kind,n,total_ns,self_ns,mean_ns,stdev_ns,min_ns,p50_ns,p90_ns,p99_ns,max_ns,items,bytes,skipped,"
      "device_n,device_total_ns,ranks,least_total_ns,least_rank,most_total_ns,most_rank\n";
  for (const RunReport& run : runs) {
    for (std::uint32_t path = 0; path < run.job.sum.paths.size(); ++path) { text += csv_line(run.job, path); }
  }
  return text;
}

}  // namespace cli
TAKT_END_NAMESPACE
