// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scaling.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/ls.hpp"
#include "cli/rank.hpp"
#include "cli/results_file.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "cli/scaling_page.hpp"
#include "measure/job_trials.hpp"
#include "ranks/rank_steps.hpp"
#include "report/csv.hpp"
#include "report/job_report.hpp"
#include "report/notes.hpp"
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
  if (!options.html.empty()) { write_page_file(options.html, scaling_page(report)); }
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
  std::string why;
  rank.snapshot.trials = read_trials(directory, why);
  if (!why.empty()) { rank.not_read.push_back(detail::printable(directory.path()) + "/trials.json " + why); }
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
}

Throughput throughput_of(const TrialRate& rate) {
  Throughput throughput;
  throughput.steps = rate.steps;
  throughput.items = rate.items;
  throughput.period_ns = rate.ns;
  throughput.items_per_s = rate.per_s;
  if (rate.interval) {
    throughput.items_low = rate.interval->low;
    throughput.items_high = rate.interval->high;
  }
  return throughput;
}

void take_trials(const std::vector<Rank>& ranks, JobRun& run) {
  std::vector<TrialResults> trials;
  for (const Rank& each : ranks) {
    if (each.snapshot.trials != nullptr) { trials.push_back(*each.snapshot.trials); }
  }
  if (trials.empty()) { return; }
  const detail::JobTrials job = detail::job_trials(trials);
  if (job.sum.unit != "samples") {
    detail::print(stderr,
                  "takt: the trials of run {} count batches, not samples, so they are left out; set "
                  "TrialOptions::items, or call items(n) on the Batch\n",
                  detail::printable(run.id));
    return;
  }
  run.without_trials = run.ranks - trials.size();
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) { run.trials[kind] = throughput_of(job.sum.kinds[kind]); }
  if (run.without_trials != 0) {
    detail::print(stderr,
                  "takt: {} of the {} ranks of run {} have no trials.json: their samples are not counted, so the rates "
                  "and efficiencies of its trials are too low\n",
                  run.without_trials, run.ranks, detail::printable(run.id));
  }
}

bool has_trials(const JobRun& run) {
  return std::any_of(run.trials.begin(), run.trials.end(), [](const Throughput& each) { return each.items != 0; });
}

JobRun job_run_of(const RunReading& reading) {
  report_warnings(reading.warnings);
  JobRun run;
  run.id = reading.ranks.front().snapshot.run.id;
  run.ranks = reading.world_size;
  run.missing = reading.world_size - reading.ranks.size();
  take_throughput(reading.sum, run);
  take_trials(reading.ranks, run);
  if (run.throughput.items == 0 && !has_trials(run)) {
    throw Error(
        detail::format("run {} counts no samples, so it has no rate to compare; call items(n) on the Batch, with "
                       "the number of samples of the rank in a step, and run more steps than the warm-up",
                       detail::printable(run.id)));
  }
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

/// Adds a note once, although several comparisons of the same runs may have it.
void add_warning(std::string warning, std::vector<std::string>& warnings) {
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) {
    warnings.push_back(std::move(warning));
  }
}

Scaling noted_scaling(const ScalingRuns& runs, std::vector<std::string>& warnings) {
  const Scaling reported = reported_by_items(runs.runs);
  const Scaling scaling = runs.wanted == Scaling::unclear ? reported : runs.wanted;
  if (runs.wanted != Scaling::unclear && reported != Scaling::unclear && reported != runs.wanted) {
    add_warning(detail::format("according to the samples a step this is {} scaling, not {}", name_of(reported),
                               name_of(runs.wanted)),
                warnings);
  }
  if (scaling == Scaling::unclear) {
    add_warning(
        "neither each rank nor all ranks together have the same samples a step in all runs: efficiency compares the "
        "rates of different work; use --weak or --strong if that is intended",
        warnings);
  }
  return scaling;
}

void note_equal_sizes(const std::vector<ScalingLine>& lines, std::vector<std::string>& warnings) {
  const JobRun& base = lines.front().run;
  if (lines.size() > 1 && lines[1].run.ranks == base.ranks) {
    add_warning(detail::format("several runs have {} ranks, the minimum; the first one is the reference: {}",
                               base.ranks, detail::printable(base.id)),
                warnings);
  }
  const auto other =
      std::find_if(lines.begin(), lines.end(), [&](const ScalingLine& each) { return each.run.path != base.path; });
  if (other != lines.end()) {
    add_warning(detail::format("runs count samples in different Batches: {} and {}", detail::printable(base.path),
                               detail::printable(other->run.path)),
                warnings);
  }
}

/// Assigns each of `runs` to the line of its size.
void add_runs_without(const std::vector<JobRun>& runs, const char* what, std::optional<RunWithout> ScalingLine::*where,
                      std::vector<ScalingLine>& lines, std::vector<std::string>& warnings) {
  for (const JobRun& each : runs) {
    bool placed = false;
    bool taken = false;
    for (ScalingLine& line : lines) {
      if (line.run.ranks != each.ranks) { continue; }
      placed = true;
      taken = (line.*where).has_value();
      if (!taken) { line.*where = RunWithout{each.id, detail::items_per_s(each.figures())}; }
    }
    if (placed && !taken) { continue; }
    add_warning(detail::format("run {} without {} is excluded: {}", detail::printable(each.id), what,
                               taken ? "another run of its size was named before it"
                                     : detail::format("no run with it has {} ranks", each.ranks)),
                warnings);
  }
}

bool have_one_size(const std::vector<JobRun>& runs) { return runs.front().ranks == runs.back().ranks; }

/// Returns a comparison without lines if there is nothing to compare. REQUIRES: runs are ordered by ranks.
ScalingComparison compare(const ScalingRuns& runs, std::vector<std::string>& warnings) {
  ScalingComparison comparison;
  const bool has_without = !runs.without_loader.empty() || !runs.without_communication.empty();
  if (runs.runs.empty() || (have_one_size(runs.runs) && !has_without)) { return comparison; }
  std::vector<detail::ScalingRun> figures;
  for (const JobRun& each : runs.runs) { figures.push_back(each.figures()); }
  const std::vector<detail::ScalingRow> rows = detail::scaling_rows(std::move(figures));
  for (std::size_t at = 0; at < rows.size(); ++at) { comparison.lines.push_back({runs.runs[at], rows[at], {}, {}}); }
  if (!have_one_size(runs.runs)) { comparison.scaling = noted_scaling(runs, warnings); }
  note_equal_sizes(comparison.lines, warnings);
  add_runs_without(runs.without_loader, "loader", &ScalingLine::without_loader, comparison.lines, warnings);
  add_runs_without(runs.without_communication, "communication", &ScalingLine::without_communication, comparison.lines,
                   warnings);
  return comparison;
}

std::vector<JobRun> runs_with_steps(std::vector<JobRun> runs) {
  runs.erase(std::remove_if(runs.begin(), runs.end(), [](const JobRun& each) { return each.throughput.items == 0; }),
             runs.end());
  return runs;
}

/// Returns the runs with trials of this kind, with the figures of these trials.
std::vector<JobRun> runs_with_trials(const std::vector<JobRun>& runs, TrialKind kind) {
  std::vector<JobRun> trials;
  for (const JobRun& each : runs) {
    const Throughput& throughput = each.trials[static_cast<unsigned>(kind)];
    if (throughput.items == 0) { continue; }
    trials.push_back(each);
    JobRun& run = trials.back();
    run.path = detail::format("trial {}", to_string(kind));
    run.throughput = throughput;
    run.missing = each.without_trials;
    run.efficiency.reset();
  }
  return trials;
}

/// Sets the run without a loader of each FULL: its own SYNTHETIC, unless another run was named.
void add_synthetic(std::vector<ScalingLine>& lines) {
  for (ScalingLine& each : lines) {
    const Throughput& synthetic = each.run.trials[static_cast<unsigned>(TrialKind::synthetic)];
    if (each.without_loader || synthetic.items == 0) { continue; }
    each.without_loader = RunWithout{each.run.id, synthetic.items_per_s};
  }
}

/// Adds a note if some runs have a figure, but of one size only.
void note_left_out(const std::vector<JobRun>& runs, const std::string& what, std::vector<std::string>& warnings) {
  std::string names;
  for (const JobRun& each : runs) { names += (names.empty() ? "" : ", ") + detail::printable(each.id); }
  if (runs.empty()) { return; }
  add_warning(detail::format("{} is left out: of these runs only those with {} rank{} have it: {}", what,
                             runs.front().ranks, runs.front().ranks == 1 ? "" : "s", names),
              warnings);
}

Error nothing_to_compare(const std::vector<JobRun>& runs, const std::vector<std::string>& left_out) {
  const std::uint64_t ranks = runs.front().ranks;
  if (have_one_size(runs)) {
    return Error(
        detail::format("{} has {} rank{}: scaling compares sizes; name a run of another size too, or one of this "
                       "size with --without-loader or --without-communication",
                       runs.size() == 1 ? "this run" : "each of these runs", ranks, ranks == 1 ? "" : "s"));
  }
  std::string text =
      "runs of different sizes have no figure in common; run all of them with the same TAKT_TRIALS, or "
      "all without";
  for (const std::string& each : left_out) { text += "; " + each; }
  return Error(text);
}

}  // namespace

ScalingReport scaling_report_of(ScalingRuns runs) {
  if (runs.runs.empty()) { throw Error("none of these runs is readable; run takt check for the reason"); }
  std::stable_sort(runs.runs.begin(), runs.runs.end(), is_smaller);
  ScalingReport report;
  const auto add = [&report](const ScalingRuns& part, const std::string& what) {
    ScalingComparison comparison = compare(part, report.warnings);
    if (comparison.lines.empty()) { note_left_out(part.runs, what, report.warnings); }
    return comparison;
  };
  report.steps = add({runs_with_steps(runs.runs), runs_with_steps(runs.without_loader),
                      runs_with_steps(runs.without_communication), runs.wanted},
                     "the rate of the steps");
  for (const TrialKind kind : {TrialKind::synthetic, TrialKind::io, TrialKind::full}) {
    ScalingComparison trials = add({runs_with_trials(runs.runs, kind), runs_with_trials(runs.without_loader, kind),
                                    runs_with_trials(runs.without_communication, kind), runs.wanted},
                                   detail::format("trial {}", to_string(kind)));
    if (trials.lines.empty()) { continue; }
    trials.is_trials = true;
    if (kind == TrialKind::full) { add_synthetic(trials.lines); }
    report.trials.push_back(std::move(trials));
  }
  if (report.steps.lines.empty() && report.trials.empty()) { throw nothing_to_compare(runs.runs, report.warnings); }
  return report;
}

namespace {

using detail::JsonText;
using detail::Scaling;

constexpr std::size_t kRunColumns = 60;

std::string percent(double value) { return detail::format("{:.1f} %", 100 * value); }

bool has_interval(const ScalingLine& line) { return line.run.throughput.items_high > 0; }

std::string run_label(const std::string& id) { return detail::fit_end(detail::printable(id), kRunColumns); }

/// \param what counts the samples.
std::string scaling_title(const std::string& what, const ScalingComparison& comparison) {
  const ScalingLine& base = comparison.lines.front();
  const double items = detail::ratio(base.row.run.items, static_cast<double>(base.row.run.steps));
  const double a_rank = detail::ratio(items, static_cast<double>(base.run.ranks - base.run.missing));
  std::string path = detail::printable(what);
  switch (comparison.scaling) {
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
constexpr std::size_t kTrialColumns = 5;  // of these: trials have no efficiencies of ranks

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

/// \param of the trial, such as "FULL of "; empty for steps.
void add_overheads(const std::string& of, const ScalingLine& line, std::vector<std::string>& lines) {
  if (line.without_loader) {
    const double stall = stall_of(line);
    const std::string what = stall > 0 ? "data stall " + percent(stall) + " of the rate" : "no data stall seen";
    lines.push_back(detail::format(
        "{}{} rank{}: {}; without the loader {} samples/s ({})", of, line.run.ranks, detail::plural(line.run.ranks),
        what, detail::human_rate(line.without_loader->items_per_s), run_label(line.without_loader->id)));
  }
  if (line.without_communication) {
    lines.push_back(detail::format(
        "{}{} rank{}: communication costs {} of the rate and lengthens steps by {}; without it {} samples/s ({})", of,
        line.run.ranks, detail::plural(line.run.ranks), percent(communication_share_of(line)),
        percent(lengthening_of(line)), detail::human_rate(line.without_communication->items_per_s),
        run_label(line.without_communication->id)));
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

namespace {

ScalingPart steps_part(const ScalingComparison& steps) {
  ScalingPart part;
  part.title = scaling_title(steps.lines.front().run.path, steps);
  part.columns.assign(std::begin(kScalingColumns), std::end(kScalingColumns));
  for (const ScalingLine& each : steps.lines) {
    part.lines.push_back(scaling_line(each));
    add_overheads("", each, part.overheads);
  }
  return part;
}

/// Returns one table of all kinds of trials, the runs below their kind.
ScalingPart trials_part(const std::vector<ScalingComparison>& trials) {
  ScalingPart part;
  part.name_head = "trial";
  part.title = scaling_title("trials", trials.front());
  part.columns.assign(kScalingColumns, kScalingColumns + kTrialColumns);
  bool same_title = true;
  for (const ScalingComparison& each : trials) {
    const std::string kind = scaling_name(each);
    same_title = same_title && scaling_title("trials", each) == part.title;
    part.lines.push_back({kind, 0, std::vector<std::string>(kTrialColumns)});
    for (const ScalingLine& line : each.lines) {
      part.lines.push_back(scaling_line(line));
      part.lines.back().depth = 1;
      part.lines.back().cells.resize(kTrialColumns);
      add_overheads(kind + " of ", line, part.overheads);
    }
  }
  if (!same_title) { part.title = "trials"; }
  return part;
}

}  // namespace

std::string scaling_name(const ScalingComparison& comparison) {
  const std::string path = detail::printable(comparison.lines.front().run.path);
  return comparison.is_trials ? path.substr(path.find(' ') + 1) : path;
}

std::vector<ScalingPart> scaling_parts(const ScalingReport& report) {
  std::vector<ScalingPart> parts;
  if (!report.steps.lines.empty()) { parts.push_back(steps_part(report.steps)); }
  if (!report.trials.empty()) { parts.push_back(trials_part(report.trials)); }
  return parts;
}

std::string scaling_table(const ScalingReport& report, detail::Page page) {
  for (const ScalingPart& each : scaling_parts(report)) {
    if (!page.text().empty()) { page.gap(); }
    const detail::TextTable table(each.columns, each.lines, page.width(), each.name_head);
    page.add_part({each.title}, detail::Page::Style::bold);
    page.add({table.head()}, detail::Page::Style::bold);
    page.add(table.body(), detail::Page::Style::plain);
    if (!each.overheads.empty()) { page.gap(); }
    page.add(each.overheads, detail::Page::Style::plain);
  }
  return page.text();
}

namespace {

std::string scaling_csv_line(const ScalingLine& line) {
  const Throughput& rate = line.run.throughput;
  const JobEfficiency used = line.run.efficiency.value_or(JobEfficiency());
  const bool has_steps = line.run.efficiency.has_value();
  const bool loader = line.without_loader.has_value();
  const bool communication = line.without_communication.has_value();
  return detail::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", detail::csv_field(line.run.id),
                        line.run.ranks, line.run.missing, detail::csv_field(line.run.path), rate.steps, rate.items,
                        rate.period_ns, line.row.items_per_s, field(has_interval(line), rate.items_low),
                        field(has_interval(line), rate.items_high), line.row.speed_up, line.row.efficiency,
                        field(has_steps, used.load_balance), field(has_steps, used.communication),
                        field(has_steps, used.parallel), field(loader, loader ? stall_of(line) : 0),
                        field(communication, communication ? communication_share_of(line) : 0),
                        field(communication, communication ? lengthening_of(line) : 0));
}

JsonText lines_json(const ScalingComparison& comparison) {
  JsonText runs = JsonText::array();
  for (const ScalingLine& each : comparison.lines) { runs.push_back(line_json(each)); }
  return runs;
}

JsonText word_json(Scaling scaling) {
  return scaling_word(scaling) == nullptr ? JsonText() : JsonText(scaling_word(scaling));
}

}  // namespace

std::string scaling_csv(const ScalingReport& report) {
  std::string text =
      "run_id,ranks,missing_ranks,path,steps,items,period_ns,items_per_s,items_low,items_high,speed_up,efficiency,"
      "load_balance,communication,parallel,data_stall,communication_share,communication_lengthening\n";
  for (const ScalingLine& each : report.steps.lines) { text += scaling_csv_line(each); }
  for (const ScalingComparison& trials : report.trials) {
    for (const ScalingLine& each : trials.lines) { text += scaling_csv_line(each); }
  }
  return text;
}

std::string scaling_json(const ScalingReport& report) {
  JsonText trials = JsonText::array();
  for (const ScalingComparison& each : report.trials) {
    trials.push_back({{"scaling", word_json(each.scaling)}, {"runs", lines_json(each)}});
  }
  const JsonText document = {{"schema", "takt-scaling/1"},
                             {"scaling", word_json(report.steps.scaling)},
                             {"runs", lines_json(report.steps)},
                             {"trials", trials},
                             {"remarks", report.warnings}};
  return detail::printable_json(document.indented()) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
