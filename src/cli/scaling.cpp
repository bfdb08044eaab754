// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scaling.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/ls.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "ranks/rank_steps.hpp"
#include "report/csv.hpp"
#include "report/job_report.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

int scaling(const ScalingOptions& options) {
  bool all = true;
  const auto read = [&all](const std::vector<std::string>& runs) {
    if (runs.empty()) { return std::vector<JobRun>(); }
    JobRuns found = read_job_runs(runs);
    all = all && found.all;
    return std::move(found.runs);
  };
  const detail::Scaling wanted = options.weak     ? detail::Scaling::weak
                                 : options.strong ? detail::Scaling::strong
                                                  : detail::Scaling::unclear;
  const ScalingReport report = scaling_report_of(
      {read(options.runs), read(options.without_loader), read(options.without_communication), wanted});
  for (const std::string& each : report.warnings) { detail::print(stderr, "takt: {}\n", each); }
  detail::print(stdout, "{}",
                options.form == ScalingForm::csv    ? scaling_csv(report)
                : options.form == ScalingForm::json ? scaling_json(report)
                                                    : scaling_table(report, detail::page_on_stdout(options.drawn)));
  return all ? 0 : kBroken;
}

namespace {

Rank read_with_steps(const RankDirectory& directory, std::size_t max_values) {
  const auto steps = std::make_shared<detail::RankSteps>(max_values);
  Rank rank = read_rank(directory, [&](const Snapshot& snapshot) { steps->add(snapshot); });
  rank.kept_steps = steps;
  return rank;
}

std::optional<JobEfficiency> efficiency_of(const std::vector<Rank>& ranks) {
  std::vector<detail::RankOfJob> of_job;
  for (const Rank& each : ranks) {
    const RunInfo& run = each.snapshot.run;
    of_job.push_back({{static_cast<std::uint32_t>(run.rank), run.host, ""}, each.kept_steps.get()});
  }
  return detail::efficiency_of(detail::step_times_of(of_job).times);
}

/// Sets the throughput of the Batch with items that took longest: training rather than validation.
void take_throughput(const Snapshot& sum, JobRun& run) {
  for (const JobThroughput& each : detail::job_throughputs(sum)) {
    if (each.throughput.items == 0 || each.throughput.period_ns <= run.throughput.period_ns) { continue; }
    run.path = sum.path_name(each.path);
    run.throughput = each.throughput;
  }
  if (run.throughput.items == 0) {
    throw Error(
        detail::format("run {} counts no samples, so it has no rate to compare; call items(n) on the Batch, with "
                       "the number of samples of the rank in a step, and run more steps than the warm-up",
                       detail::printable(run.id)));
  }
}

JobRun job_run_of(const RunReading& reading) {
  report_warnings(reading.warnings);
  JobRun run;
  run.id = reading.ranks.front().snapshot.run.id;
  run.ranks = reading.world_size;
  run.missing = reading.world_size - reading.ranks.size();
  take_throughput(reading.sum, run);
  run.efficiency = efficiency_of(reading.ranks);
  if (run.missing != 0) {
    detail::print(stderr,
                  "takt: {} of the {} ranks of run {} have no journal: their samples are not counted, so its rate, "
                  "speed-up and efficiency are too low\n",
                  run.missing, run.ranks, detail::printable(run.id));
  }
  return run;
}

}  // namespace

JobRuns read_job_runs(const std::vector<std::string>& given) {
  const std::vector<RankDirectory> directories = rank_directories(given);
  const std::size_t max = detail::values_of_a_rank(directories.size());
  RunReader reader(directories);
  std::vector<RunReading> readings;
  for (const RunProcesses& run : reader.runs()) {
    readings.push_back(
        read_run(reader, run, [max](const RunProcess& each) { return read_with_steps(each.directory, max); }));
  }
  JobRuns runs;
  runs.all = reader.report_not_read();
  for (const RunReading& each : readings) {
    if (each.readable()) { runs.runs.push_back(job_run_of(each)); }
  }
  return runs;
}

namespace {

using detail::Scaling;

const char* name_of(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

bool is_smaller(const JobRun& a, const JobRun& b) { return a.ranks < b.ranks; }

/// Detects weak or strong scaling from the runs whose items are all counted.
Scaling reported_by_items(const std::vector<JobRun>& runs) {
  std::vector<detail::ScalingRun> whole;
  for (const JobRun& each : runs) {
    if (each.missing == 0) { whole.push_back(each.figures()); }
  }
  return detail::scaling_of(whole);
}

void note_scaling(const ScalingRuns& runs, ScalingReport& report) {
  const Scaling reported = reported_by_items(runs.runs);
  report.scaling = runs.wanted == Scaling::unclear ? reported : runs.wanted;
  if (runs.wanted != Scaling::unclear && reported != Scaling::unclear && reported != runs.wanted) {
    report.warnings.push_back(detail::format("according to the samples a step this is {} scaling, not {}",
                                             name_of(reported), name_of(runs.wanted)));
  }
  if (report.scaling == Scaling::unclear) {
    report.warnings.emplace_back(
        "neither each rank nor all ranks together have the same samples a step in all runs: efficiency compares the "
        "rates of different work; use --weak or --strong if that is intended");
  }
}

void note_equal_sizes(ScalingReport& report) {
  const JobRun& base = report.lines.front().run;
  if (report.lines.size() > 1 && report.lines[1].run.ranks == base.ranks) {
    report.warnings.push_back(
        detail::format("several runs have {} ranks, the minimum; the first one is the reference: {}", base.ranks,
                       detail::printable(base.id)));
  }
  const auto other = std::find_if(report.lines.begin(), report.lines.end(),
                                  [&](const ScalingLine& each) { return each.run.path != base.path; });
  if (other != report.lines.end()) {
    report.warnings.push_back(detail::format("runs count samples in different Batches: {} and {}",
                                             detail::printable(base.path), detail::printable(other->run.path)));
  }
}

/// Assigns each of `runs` to the line of its size.
void add_runs_without(const std::vector<JobRun>& runs, const char* what, std::optional<RunWithout> ScalingLine::*where,
                      ScalingReport& report) {
  for (const JobRun& each : runs) {
    bool placed = false;
    bool taken = false;
    for (ScalingLine& line : report.lines) {
      if (line.run.ranks != each.ranks) { continue; }
      placed = true;
      taken = (line.*where).has_value();
      if (!taken) { line.*where = RunWithout{each.id, detail::items_per_s(each.figures())}; }
    }
    if (placed && !taken) { continue; }
    report.warnings.push_back(detail::format("run {} without {} is excluded: {}", detail::printable(each.id), what,
                                             taken ? "another run of its size was named before it"
                                                   : detail::format("no run with it has {} ranks", each.ranks)));
  }
}

}  // namespace

ScalingReport scaling_report_of(ScalingRuns runs) {
  if (runs.runs.empty()) { throw Error("none of these runs is readable; run takt check for the reason"); }
  std::stable_sort(runs.runs.begin(), runs.runs.end(), is_smaller);
  const bool one_size = runs.runs.front().ranks == runs.runs.back().ranks;
  const bool has_without = !runs.without_loader.empty() || !runs.without_communication.empty();
  if (one_size && !has_without) {
    throw Error(
        detail::format("{} has {} rank{}: scaling compares sizes; name a run of another size too, or one of this "
                       "size with --without-loader or --without-communication",
                       runs.runs.size() == 1 ? "this run" : "each of these runs", runs.runs.front().ranks,
                       runs.runs.front().ranks == 1 ? "" : "s"));
  }
  ScalingReport report;
  std::vector<detail::ScalingRun> figures;
  for (const JobRun& each : runs.runs) { figures.push_back(each.figures()); }
  const std::vector<detail::ScalingRow> rows = detail::scaling_rows(std::move(figures));
  for (std::size_t at = 0; at < rows.size(); ++at) { report.lines.push_back({runs.runs[at], rows[at], {}, {}}); }
  if (!one_size) { note_scaling(runs, report); }
  note_equal_sizes(report);
  add_runs_without(runs.without_loader, "loader", &ScalingLine::without_loader, report);
  add_runs_without(runs.without_communication, "communication", &ScalingLine::without_communication, report);
  return report;
}

namespace {

using detail::JsonText;
using detail::Scaling;

constexpr std::size_t kRunColumns = 60;

std::string percent(double value) { return detail::format("{:.1f} %", 100 * value); }

bool has_interval(const ScalingLine& line) { return line.run.throughput.items_high > 0; }

std::string run_label(const std::string& id) { return detail::fit_end(detail::printable(id), kRunColumns); }

std::string scaling_title(const ScalingReport& report) {
  const ScalingLine& base = report.lines.front();
  const double items = detail::ratio(base.row.run.items, static_cast<double>(base.row.run.steps));
  const double a_rank = detail::ratio(items, static_cast<double>(base.run.ranks - base.run.missing));
  std::string path = detail::printable(base.run.path);
  switch (report.scaling) {
    case Scaling::weak:
      return detail::format("{}: weak scaling, {} samples a step and rank", path, detail::human_rate(a_rank));
    case Scaling::strong:
      return detail::format("{}: strong scaling, {} samples a step of all ranks", path, detail::human_rate(items));
    case Scaling::unclear:
      break;
  }
  return path;
}

constexpr detail::TextColumn kScalingColumns[] = {{"ranks", 0},         {"samples/s", 0},  {"95 % interval", 3},
                                                  {"speed-up", 0},      {"efficiency", 0}, {"load balance", 2},
                                                  {"communication", 2}, {"parallel", 1}};

detail::TextTable::Line scaling_line(const ScalingLine& line) {
  const Throughput& rate = line.run.throughput;
  const JobEfficiency used = line.run.efficiency.value_or(JobEfficiency());
  const auto known = [&](double value) { return line.run.efficiency ? percent(value) : std::string("-"); };
  return {run_label(line.run.id),
          0,
          {detail::format("{}", line.run.ranks), detail::human_rate(line.row.items_per_s),
           has_interval(line)
               ? detail::format("{} to {}", detail::human_rate(rate.items_low), detail::human_rate(rate.items_high))
               : "-",
           detail::format("{:.2f}", line.row.speed_up), percent(line.row.efficiency), known(used.load_balance),
           known(used.communication), known(used.parallel)}};
}

double stall_of(const ScalingLine& line) {
  return detail::data_stall(line.row.items_per_s, line.without_loader->items_per_s);
}
double communication_share_of(const ScalingLine& line) {
  return detail::communication_share(line.row.items_per_s, line.without_communication->items_per_s);
}
double lengthening_of(const ScalingLine& line) {
  return detail::communication_lengthening(line.row.items_per_s, line.without_communication->items_per_s);
}

void add_overheads(const ScalingLine& line, std::vector<std::string>& lines) {
  if (line.without_loader) {
    lines.push_back(detail::format("{} ranks: data stall {} of the rate; without the loader {} samples/s ({})",
                                   line.run.ranks, percent(stall_of(line)),
                                   detail::human_rate(line.without_loader->items_per_s),
                                   run_label(line.without_loader->id)));
  }
  if (line.without_communication) {
    lines.push_back(detail::format(
        "{} ranks: communication costs {} of the rate and lengthens steps by {}; without it {} samples/s ({})",
        line.run.ranks, percent(communication_share_of(line)), percent(lengthening_of(line)),
        detail::human_rate(line.without_communication->items_per_s), run_label(line.without_communication->id)));
  }
}

const char* scaling_word(Scaling scaling) {
  return scaling == Scaling::weak ? "weak" : scaling == Scaling::strong ? "strong" : nullptr;
}

JsonText line_json(const ScalingLine& line) {
  const Throughput& rate = line.run.throughput;
  JsonText interval;
  if (has_interval(line)) { interval = {rate.items_low, rate.items_high}; }
  JsonText efficiency;
  if (const std::optional<JobEfficiency>& used = line.run.efficiency) {
    efficiency = {
        {"load_balance", used->load_balance}, {"communication", used->communication}, {"parallel", used->parallel}};
  }
  JsonText without_loader;
  if (line.without_loader) {
    without_loader = {{"run_id", line.without_loader->id},
                      {"items_per_s", line.without_loader->items_per_s},
                      {"data_stall", stall_of(line)}};
  }
  JsonText without_communication;
  if (line.without_communication) {
    without_communication = {{"run_id", line.without_communication->id},
                             {"items_per_s", line.without_communication->items_per_s},
                             {"share", communication_share_of(line)},
                             {"lengthening", lengthening_of(line)}};
  }
  return {{"run_id", line.run.id},
          {"ranks", line.run.ranks},
          {"missing_ranks", line.run.missing},
          {"path", line.run.path},
          {"steps", rate.steps},
          {"items", rate.items},
          {"period_ns", rate.period_ns},
          {"items_per_s", line.row.items_per_s},
          {"items_per_s_interval", interval},
          {"speed_up", line.row.speed_up},
          {"efficiency", line.row.efficiency},
          {"job_efficiency", efficiency},
          {"without_loader", without_loader},
          {"without_communication", without_communication}};
}

std::string field(bool known, double value) { return known ? detail::format("{}", value) : ""; }

}  // namespace

std::string scaling_table(const ScalingReport& report, detail::Page page) {
  std::vector<detail::TextTable::Line> lines;
  std::vector<std::string> overheads;
  for (const ScalingLine& each : report.lines) {
    lines.push_back(scaling_line(each));
    add_overheads(each, overheads);
  }
  const detail::TextTable table({std::begin(kScalingColumns), std::end(kScalingColumns)}, std::move(lines),
                                page.width(), "run");
  page.add_part({scaling_title(report)}, detail::Page::Style::bold);
  page.add({table.head()}, detail::Page::Style::bold);
  page.add(table.body(), detail::Page::Style::plain);
  if (!overheads.empty()) { page.gap(); }
  page.add(overheads, detail::Page::Style::plain);
  return page.text();
}

std::string scaling_csv(const ScalingReport& report) {
  std::string text =
      "run_id,ranks,missing_ranks,path,steps,items,period_ns,items_per_s,items_low,items_high,speed_up,efficiency,"
      "load_balance,communication,parallel,data_stall,communication_share,communication_lengthening\n";
  for (const ScalingLine& each : report.lines) {
    const Throughput& rate = each.run.throughput;
    const JobEfficiency used = each.run.efficiency.value_or(JobEfficiency());
    const bool has_steps = each.run.efficiency.has_value();
    const bool loader = each.without_loader.has_value();
    const bool communication = each.without_communication.has_value();
    text += detail::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", detail::csv_field(each.run.id),
                           each.run.ranks, each.run.missing, detail::csv_field(each.run.path), rate.steps, rate.items,
                           rate.period_ns, each.row.items_per_s, field(has_interval(each), rate.items_low),
                           field(has_interval(each), rate.items_high), each.row.speed_up, each.row.efficiency,
                           field(has_steps, used.load_balance), field(has_steps, used.communication),
                           field(has_steps, used.parallel), field(loader, loader ? stall_of(each) : 0),
                           field(communication, communication ? communication_share_of(each) : 0),
                           field(communication, communication ? lengthening_of(each) : 0));
  }
  return text;
}

std::string scaling_json(const ScalingReport& report) {
  JsonText runs = JsonText::array();
  for (const ScalingLine& each : report.lines) { runs.push_back(line_json(each)); }
  JsonText scaling;
  if (scaling_word(report.scaling) != nullptr) { scaling = scaling_word(report.scaling); }
  const JsonText document = {
      {"schema", "takt-scaling/1"}, {"scaling", scaling}, {"runs", runs}, {"remarks", report.warnings}};
  return detail::printable_json(document.indented()) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
