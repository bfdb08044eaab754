// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_report.hpp"

#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/ls.hpp"
#include "cli/run_reader.hpp"
#include "findings/findings.hpp"
#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_comparison.hpp"
#include "report/console.hpp"
#include "report/notes.hpp"
#include "report/rank_trials.hpp"
#include "report/results_report.hpp"
#include "report/text_table.hpp"
#include "report/trials_report.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

std::int64_t sampled_ns(const Sensor& sensor) {
  // Differences wrap: a journal may contain any number.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(sensor.last_ns) -
                                   static_cast<std::uint64_t>(sensor.first_ns));
}

}  // namespace

std::uint32_t MergedSensors::add_sensor(const Sensor& sensor, const Snapshot& rank, const std::string& label) {
  Owned owned{sensor, ranks_};
  const bool of_rank = sensor.kind == Sensor::Kind::device || sensor.kind == Sensor::Kind::process;
  owned.sensor.name = (of_rank ? label : rank.run.host) + ", " + sensor.name;
  const auto number = static_cast<std::uint32_t>(sensors_.size());
  // Sensors without an id are all distinct.
  const std::string id = sensor.id.empty() ? std::to_string(number) : rank.run.host + " " + sensor.id;
  const auto [place, is_new] = places_.emplace(std::make_pair(sensor.kind, id), number);
  if (is_new) {
    sensors_.push_back(std::move(owned));
  } else if (Owned& there = sensors_[place->second]; sampled_ns(sensor) > sampled_ns(there.sensor)) {
    there = std::move(owned);
  }
  return place->second;
}

void MergedSensors::add(const Snapshot& rank, const std::string& label, std::uint32_t first_series) {
  std::vector<std::uint32_t> places;
  for (const Sensor& each : rank.sensors) { places.push_back(add_sensor(each, rank, label)); }
  for (StepEnergy each : rank.step_energies) {
    if (each.sensor >= places.size()) { continue; }
    each.sensor = places[each.sensor];
    each.series += first_series;
    steps_.emplace_back(ranks_, each);
  }
  for (RegionEnergy each : rank.region_energies) {
    if (each.sensor >= places.size()) { continue; }
    each.sensor = places[each.sensor];
    regions_.emplace_back(ranks_, std::move(each));
  }
  for (const Unsampled& each : rank.unsampled) { unsampled_.emplace(each.what, each.why); }
  ++ranks_;
}

void MergedSensors::move_into(Snapshot& sum) {
  for (const auto& [rank, each] : steps_) {
    if (sensors_[each.sensor].rank == rank) { sum.step_energies.push_back(each); }
  }
  for (auto& [rank, each] : regions_) {
    if (sensors_[each.sensor].rank == rank) { sum.region_energies.push_back(std::move(each)); }
  }
  for (Owned& each : sensors_) { sum.sensors.push_back(std::move(each.sensor)); }
  for (const auto& [what, why] : unsampled_) { sum.unsampled.push_back({what, why}); }
}

namespace {

/// Reorders paths that ranks met in different orders: parents already precede children, but not directly.
void put_in_order(Snapshot& snapshot) {
  std::vector<PathStats> ordered;
  std::vector<std::uint32_t> now(snapshot.paths.size());
  for (const std::uint32_t at : detail::tree_order(snapshot)) {
    now[at] = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(std::move(snapshot.paths[at]));
    if (ordered.back().parent != kNoIndex) { ordered.back().parent = now[ordered.back().parent]; }
  }
  snapshot.paths = std::move(ordered);
  for (Series& each : snapshot.series) { each.path = now[each.path]; }
  for (OpenRegion& each : snapshot.open) { each.path = now[each.path]; }
}

}  // namespace

void RankSum::add(const Snapshot& rank) {
  if (merged_ == 0 && !only_) {
    only_ = rank;
    return;
  }
  if (only_) { merge(*only_); }
  only_.reset();
  merge(rank);
}

Snapshot RankSum::take() {
  Snapshot sum = only_ ? std::move(*only_) : std::move(sum_);
  if (!only_) {
    sensors_.move_into(sum);
    put_in_order(sum);
  }
  *this = RankSum();
  return sum;
}

void RankSum::merge(const Snapshot& rank) {
  const std::string label = detail::format("rank {}", rank.run.rank);
  add_run(rank);
  const auto first_thread = static_cast<std::uint32_t>(sum_.threads.size());
  std::vector<std::uint32_t> paths;  // new index by old index
  for (PathStats each : rank.paths) {
    each.spread.longest += each.spread.threads == 0 ? 0 : first_thread;
    paths.push_back(add_path(each, paths));
  }
  for (ThreadInfo each : rank.threads) {
    each.id = static_cast<std::uint32_t>(sum_.threads.size());
    each.name = label + ", " + each.name;
    sum_.threads.push_back(each);
  }
  sensors_.add(rank, label, static_cast<std::uint32_t>(sum_.series.size()));
  for (Series each : rank.series) {
    each.path = paths[each.path];
    each.thread += first_thread;
    each.process = static_cast<std::uint32_t>(sum_.run.world_size - 1);
    sum_.series.push_back(each);
  }
  for (const OpenRegion& each : rank.open) {
    sum_.open.push_back({paths[each.path], each.thread + first_thread, each.open_ns});
  }
  for (const DeviceInfo& each : rank.devices) { add_device(each, label); }
  for (TimeLineInfo each : rank.time_lines) {
    each.device = label + ", " + each.device;
    each.overlap.time_line = static_cast<std::uint32_t>(sum_.time_lines.size());
    sum_.time_lines.push_back(each);
  }
  for (const RegionMemory& each : rank.region_memories) { add_memory(each); }
  for (const Loss& each : rank.losses) {
    sum_.losses.push_back({each.what, each.where.empty() ? label : label + ", " + each.where, each.count});
  }
}

/// Adds up calls and changes; other values are the maximum over ranks.
void RankSum::add_memory(const RegionMemory& region) {
  auto& all = sum_.region_memories;
  const auto same = [&region](const RegionMemory& each) { return each.name == region.name; };
  const auto found = std::find_if(all.begin(), all.end(), same);
  if (found == all.end()) { return all.push_back(region); }
  for (auto member : {&RegionMemory::resident, &RegionMemory::allocator}) {
    MemoryFigures& here = (*found).*member;
    const MemoryFigures& more = region.*member;
    if (more.calls == 0) { continue; }
    here.max_change_bytes =
        here.calls == 0 ? more.max_change_bytes : std::max(here.max_change_bytes, more.max_change_bytes);
    here.peak_bytes = std::max(here.peak_bytes, more.peak_bytes);
    here.change_bytes = static_cast<std::int64_t>(  // wraps: a journal may contain any number
        static_cast<std::uint64_t>(here.change_bytes) + static_cast<std::uint64_t>(more.change_bytes));
    here.calls += more.calls;
  }
}

/// Adds a device once for all ranks, or once per variant if ranks describe it differently.
void RankSum::add_device(const DeviceInfo& device, const std::string& label) {
  const bool is_new = devices_.insert({device.name, device.unavailable, device.caveat}).second;
  if (!is_new) { return; }
  const bool another = std::any_of(sum_.devices.begin(), sum_.devices.end(),
                                   [&](const DeviceInfo& each) { return each.name == device.name; });
  sum_.devices.push_back(device);
  if (another) { sum_.devices.back().name += " (" + label + ")"; }
}

void RankSum::add_run(const Snapshot& rank) {
  if (merged_++ == 0) {
    sum_.run = rank.run;
    sum_.run.directory.clear();
    sum_.run.groups.clear();
    sum_.clock = rank.clock;
    sum_.finished = true;
  }
  sum_.run.rank = -1;
  sum_.run.world_size = merged_;
  sum_.run.start_unix_ns = std::min(sum_.run.start_unix_ns, rank.run.start_unix_ns);
  sum_.clock.error_ppm = std::max(sum_.clock.error_ppm, rank.clock.error_ppm);
  sum_.clock.worst_error_ppm = std::max(sum_.clock.worst_error_ppm, rank.clock.worst_error_ppm);
  sum_.clock.error_since_ns = std::max(sum_.clock.error_since_ns, rank.clock.error_since_ns);
  sum_.clock.region_cost_ns = std::max(sum_.clock.region_cost_ns, rank.clock.region_cost_ns);
  sum_.clock.resolution_ns = std::max(sum_.clock.resolution_ns, rank.clock.resolution_ns);
  sum_.clock.empty_region_ns = std::max(sum_.clock.empty_region_ns, rank.clock.empty_region_ns);
  sum_.wall_ns = std::max(sum_.wall_ns, rank.wall_ns);
  sum_.uncovered_ns = std::max(sum_.uncovered_ns, rank.uncovered_ns);
  sum_.overhead_ns += rank.overhead_ns;
  add_process(rank.process);
  sum_.finished = sum_.finished && rank.finished;
  sum_.failed = sum_.failed || rank.failed;
  sum_.killed = sum_.killed || rank.killed;
  sum_.params.insert(rank.params.begin(), rank.params.end());
  sum_.tags.insert(rank.tags.begin(), rank.tags.end());
}

/// Adds up processor time and blocked time; other values are the maximum over ranks.
void RankSum::add_process(const ProcessTimes& process) {
  ProcessTimes& sum = sum_.process;
  if (merged_ == 1) { sum.cpu_ns = 0; }
  sum.cpu_ns = sum.cpu_ns && process.cpu_ns ? std::optional(*sum.cpu_ns + *process.cpu_ns) : std::nullopt;
  sum.stopped_ns = std::max(sum.stopped_ns, process.stopped_ns);
  sum.suspended_ns = std::max(sum.suspended_ns, process.suspended_ns);
  sum.before_ns = std::max(sum.before_ns, process.before_ns);
  sum.earlier_sessions = std::max(sum.earlier_sessions, process.earlier_sessions);
  sum.waited_ns = std::max(sum.waited_ns, process.waited_ns);
  sum.processors = std::max(sum.processors, process.processors);
  sum.blocked_ns += process.blocked_ns;
}

std::uint32_t RankSum::add_path(const PathStats& path, const std::vector<std::uint32_t>& paths) {
  const bool at_top = path.parent == kNoIndex;
  const std::uint32_t parent = at_top ? kNoIndex : paths[path.parent];
  const auto [place, is_new] = places_.emplace(std::make_tuple(parent, path.name, path.kind), sum_.paths.size());
  if (is_new) {
    sum_.paths.push_back(path);
    sum_.paths.back().parent = parent;
    return place->second;
  }
  PathStats& here = sum_.paths[place->second];
  here.host.merge(path.host);
  here.device.merge(path.device);
  here.self_ns = detail::bounded_sum(here.self_ns, path.self_ns);
  here.items = detail::bounded_sum(here.items, path.items);
  here.bytes = detail::bounded_sum(here.bytes, path.bytes);
  here.skipped += path.skipped;
  here.device_pending += path.device_pending;
  here.device_lost += path.device_lost;
  const std::uint32_t threads = here.spread.threads + path.spread.threads;
  if (path.spread.longest_ns > here.spread.longest_ns || here.spread.threads == 0) { here.spread = path.spread; }
  here.spread.threads = threads;
  return place->second;
}

namespace {

std::vector<detail::RankOfJob> compared_ranks(const std::vector<Rank>& all) {
  std::vector<detail::RankOfJob> ranks;
  for (const Rank& each : all) {
    if (each.kept_steps != nullptr) { ranks.push_back({detail::job_rank_of(each.snapshot), each.kept_steps.get()}); }
  }
  return ranks;
}

std::optional<detail::JobTrials> trials_of(const std::vector<Rank>& ranks) {
  std::vector<TrialResults> trials;
  for (const Rank& rank : ranks) {
    if (rank.snapshot.trials != nullptr) { trials.push_back(*rank.snapshot.trials); }
  }
  return trials.empty() ? std::nullopt : std::optional(detail::job_trials(trials));
}

std::vector<Finding> findings_of(const std::vector<Rank>& ranks) {
  std::vector<detail::RankFindings> findings;
  findings.reserve(ranks.size());
  for (const Rank& each : ranks) { findings.push_back({each.snapshot.run.rank, each.snapshot.findings}); }
  return detail::findings_of_ranks(findings, ranks.size());
}

/// Ranks may differ in host and command.
void drop_differing_machines(const std::vector<Rank>& ranks, detail::JobReport& job) {
  std::set<std::string> kinds;
  for (const Rank& each : ranks) { kinds.insert(detail::machine_text(each.snapshot)); }
  if (kinds.size() < 2) { return; }
  job.sum.run.machine = {};
  job.warnings.push_back(
      detail::format("the ranks have {} kinds of machine or program; takt report --json lists them", kinds.size()));
}

void add_ending(const Rank& rank, bool is_alone, std::vector<std::string>& lines) {
  const int number = rank.snapshot.run.rank;
  const bool usual = rank.ending == Ending::finished && !is_alone;
  if (!usual) { lines.push_back(detail::format("rank {}: {}", number, rank.standing)); }
  for (const std::string& each : damages(rank)) {
    lines.push_back(detail::format("rank {}: the journal is damaged: {}", number, each));
  }
}

std::vector<detail::RankTrials> trials_of_ranks(const std::vector<Rank>& ranks) {
  std::vector<detail::RankTrials> trials;
  for (const Rank& each : ranks) {
    const Snapshot& rank = each.snapshot;
    if (rank.trials != nullptr) { trials.push_back({rank.run.rank, rank.run.host, *rank.trials}); }
  }
  return trials;
}

std::string trials_text(const RunReport& run, int width, bool color) {
  if (!run.trials) { return ""; }
  const RunInfo& info = run.job.sum.run;
  if (run.ranks.size() == 1) { return "\n" + detail::format_trials(info, run.trials->sum, width, color); }
  return "\n" + detail::format_job_trials(info, *run.trials, width, color) + "\n" +
         detail::format_rank_trials(trials_of_ranks(run.ranks), width, color);
}

/// Returns the measurements of the first rank that has some; a single rank has them below its table.
std::string measurements_text(const RunReport& run, int width, bool color) {
  const auto has_some = [](const Rank& rank) { return !rank.snapshot.measurements.empty(); };
  const auto first = std::find_if(run.ranks.begin(), run.ranks.end(), has_some);
  if (run.ranks.size() == 1 || first == run.ranks.end()) { return ""; }
  const RunInfo& info = first->snapshot.run;
  std::string whose = detail::format("rank {} of {}", info.rank, info.world_size);
  if (std::any_of(std::next(first), run.ranks.end(), has_some)) {
    whose += "; other ranks have some as well: use --rank N";
  }
  return "\n" + detail::format_measurements(info, whose, first->snapshot.measurements, width, color);
}

}  // namespace

void ReportBuilder::add(Rank&& rank) {
  rank.snapshot.run.directory = rank.directory.path();  // the directory may have been moved
  rank.standing = describe(rank);
  sum_.add(rank.snapshot);
  detail::merge_into(report_.job.record, detail::record_of(rank.snapshot));
  if (!keeps_figures_) { drop_figures(rank); }
  report_.ranks.push_back(std::move(rank));
}

RunReport ReportBuilder::finish(ReadRun run) {
  RunReport report = std::move(report_);
  report.attempts = std::move(run.attempts);
  report.warnings = std::move(run.warnings);
  report.missing = missing_ranks(report.ranks, run.world);
  report.job.sum = sum_.take();
  drop_differing_machines(report.ranks, report.job);
  report.trials = trials_of(report.ranks);
  if (report.ranks.size() == 1) {
    report.job.record = {};
  } else {
    report.job.comparison = detail::compare_ranks(compared_ranks(report.ranks));
    report.job.sum.findings = findings_of(report.ranks);
  }
  return report;
}

void add_heat(RunReport& run) {
  if (run.ranks.size() == 1) { return; }
  const detail::ComparedSteps compared = detail::step_times_of(compared_ranks(run.ranks));
  run.job.heat = detail::heat_of(compared.times, compared.numbers);
}

std::vector<std::string> endings_of(const RunReport& run) {
  std::vector<std::string> lines;
  if (run.attempts.size() > 1) {
    lines.push_back(detail::format("{} attempts, {} between them; the figures are of attempt {}", run.attempts.size(),
                                   detail::human_time(static_cast<double>(ns_between(run.attempts))),
                                   run.attempts.back().attempt));
  }
  for (const bool running : {false, true}) {
    for (const Rank& each : run.ranks) {
      if ((each.ending == Ending::running) == running) { add_ending(each, run.ranks.size() == 1, lines); }
    }
  }
  if (!run.missing.empty()) {
    lines.push_back(detail::format("{} of {} ranks are not in this report: {}", run.missing.size(),
                                   run.missing.size() + run.ranks.size(), detail::rank_list(run.missing)));
  }
  return lines;
}

std::string report_text(const RunReport& run, const TableForm& form) {
  const std::string table = run.ranks.size() == 1 ? format_table(run.job.sum, form) : detail::format_job(run.job, form);
  std::string endings;
  for (const std::string& each : endings_of(run)) { endings += each + "\n"; }
  const Ending state = state_of(run.ranks);
  // An abnormal end is shown first.
  const bool usual = run.missing.empty() && (state == Ending::finished || state == Ending::running);
  const std::string text = usual ? table + endings : endings + table;
  return text + trials_text(run, form.width, form.color) + measurements_text(run, form.width, form.color);
}

}  // namespace cli
TAKT_END_NAMESPACE
