// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/console.hpp>

#include "base/rank_list.hpp"
#include "base/text.hpp"
#include "cli/attempts.hpp"
#include "cli/commands.hpp"
#include "cli/last_ranks.hpp"
#include "cli/merge.hpp"
#include "cli/rank.hpp"
#include "cli/report_document.hpp"
#include "cli/run_folder.hpp"
#include "findings/findings.hpp"
#include "history/step_history.hpp"
#include "ranks/rank_group.hpp"
#include "report/csv_rows.hpp"
#include "report/job_report.hpp"
#include "report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

void remark(const std::string& line) { std::fprintf(stderr, "takt: %s\n", line.c_str()); }

/// The rows of one journal, as they are read.
class StepPrinter {
 public:
  void print(const Snapshot& snapshot) {
    if (!std::exchange(has_head_, true)) { fmt::print("run_id,rank,attempt,{}", detail::CsvRows::head()); }
    const std::string prefix =
        fmt::format("{},{},{},", detail::csv_field(snapshot.run.id), snapshot.run.rank, snapshot.run.attempt);
    const detail::CsvRows rows(snapshot);
    for (const Row& row : snapshot.rows) { fmt::print("{}", rows.of(row, prefix)); }
  }

 private:
  bool has_head_ = false;
};

/// How the ranks lie beside each other, and who makes whom wait.
void compare(const std::vector<const Snapshot*>& snapshots, RunReport& report) {
  std::vector<detail::RankOfJob> ranks;
  for (const Rank& each : report.ranks) {
    const RunInfo& run = each.snapshot.run;
    detail::merge_into(report.job.record, detail::record_of(each.snapshot));
    ranks.push_back({{static_cast<std::uint32_t>(run.rank), run.host, detail::group_label(run)}, &each.kept_steps});
  }
  const detail::ComparedSteps compared = detail::step_times_of(ranks);
  const detail::StepTimes& times = compared.times;
  if (times.ranks().empty()) { return; }  // no rank has steps, or none were wanted
  report.job.verdicts = detail::verdicts_of(times);
  report.job.efficiency = detail::efficiency_of(times);
  report.job.pipeline = detail::pipeline_of(times, snapshots);
  report.job.steps = times.steps();
  report.job.every = compared.every;
  report.job.left_out = compared.left_out;
}

RunReport add_up(std::vector<Rank> attempts) {
  RunReport report;
  report.attempts = attempts_of(attempts);
  LastRanks last = last_ranks(std::move(attempts));
  tell_left_out(last);
  report.missing = missing_ranks(last);
  report.ranks = std::move(last.ranks);
  std::vector<const Snapshot*> snapshots;
  for (Rank& each : report.ranks) {
    each.snapshot.run.directory = each.directory;  // it may have been moved
    snapshots.push_back(&each.snapshot);
  }
  const bool one = snapshots.size() == 1;
  report.job.sum = one ? *snapshots.front() : merged(snapshots);
  if (!one) { compare(snapshots, report); }
  return report;
}

void print_attempts(const std::vector<AttemptSpan>& attempts) {
  if (attempts.size() < 2) { return; }
  fmt::print("{} attempts, {} between them; the figures are of attempt {}\n", attempts.size(),
             detail::human_time(static_cast<double>(ns_between(attempts))), attempts.back().attempt);
}

/// Below the table: how each rank stands, as far as that is worth a line.
void print_endings(const RunReport& run) {
  print_attempts(run.attempts);
  for (const Rank& rank : run.ranks) {
    const bool usual = rank.ending == Ending::finished && run.ranks.size() > 1;
    if (!usual) { fmt::print("rank {}: {}\n", rank.snapshot.run.rank, describe(rank)); }
    for (const std::string& each : damages(rank)) {
      fmt::print("rank {}: the journal is damaged: {}\n", rank.snapshot.run.rank, each);
    }
  }
  if (run.missing.empty()) { return; }
  fmt::print("{} of {} ranks are not in this report: {}\n", run.missing.size(), run.missing.size() + run.ranks.size(),
             detail::rank_list(run.missing));
}

void print_table(const RunReport& run, const ConsoleOptions& drawn) {
  if (run.ranks.size() == 1) { return ConsoleExporter(drawn).print(run.job.sum); }
  const bool color = detail::wants_color(stdout, drawn.color);
  fmt::print("{}", detail::format_job(run.job, detail::width_of(stdout, drawn.width), color));
}

void print_tables(const std::vector<RunReport>& runs, const ReportWishes& wishes) {
  for (const RunReport& run : runs) {
    print_table(run, wishes.drawn);
    print_endings(run);
    for (const Rank& rank : run.ranks) {
      if (wishes.per_rank && run.ranks.size() > 1) { ConsoleExporter(wishes.drawn).print(rank.snapshot); }
    }
    std::fflush(stdout);
  }
}

/// What the figures say.
void conclude(const detail::StepHistory& history, Snapshot& snapshot) {
  snapshot.history = std::make_shared<const detail::StepHistory>(history.finished());
  snapshot.findings = detail::findings_of(snapshot);
}

/// The ranks of each run, and whether all of them were readable.
struct RanksRead {
  std::vector<std::vector<Rank>> by_run;
  bool all = true;
};

/// Reads the folders; prints rows on the way, if these are asked for.
RanksRead read_ranks(const std::vector<std::string>& folders, const ReportWishes& wishes) {
  RanksRead ranks;
  std::map<std::string, std::size_t> places;  // by run id
  StepPrinter steps;
  const auto is_wanted = [&](const RunInfo& run) { return wishes.rank < 0 || run.rank == wishes.rank; };
  const std::size_t most = detail::values_of_a_rank(folders.size());
  // Of several ranks the figures are those of the job.
  const bool concludes = (folders.size() == 1 || wishes.rank >= 0) && wishes.form != ReportForm::steps;
  const bool compares = wishes.rank < 0 && (wishes.form == ReportForm::table || wishes.form == ReportForm::json);
  for (const std::string& folder : folders) {
    detail::RankSteps kept(most);
    detail::StepHistory history;
    Rank rank = read_rank(folder, [&](const Snapshot& snapshot) {
      if (compares) { kept.add(snapshot); }
      if (concludes && is_wanted(snapshot.run)) { history.add(snapshot); }
      if (wishes.form == ReportForm::steps && is_wanted(snapshot.run)) { steps.print(snapshot); }
    });
    if (!rank.readable()) {
      remark(why_unreadable(rank));
      ranks.all = false;
      continue;
    }
    rank.kept_steps = std::move(kept);
    if (concludes) { conclude(history, rank.snapshot); }
    const auto [place, is_new] = places.emplace(rank.snapshot.run.id, ranks.by_run.size());
    if (is_new) { ranks.by_run.emplace_back(); }
    if (is_wanted(rank.snapshot.run)) { ranks.by_run[place->second].push_back(std::move(rank)); }
  }
  return ranks;
}

}  // namespace

int report(const std::vector<std::string>& runs, const ReportWishes& wishes) {
  std::vector<std::string> remarks;
  const std::vector<std::string> folders = rank_folders(runs, remarks);
  for (const std::string& each : remarks) { remark(each); }
  RanksRead ranks = read_ranks(folders, wishes);
  std::vector<RunReport> reports;
  for (std::vector<Rank>& each : ranks.by_run) {
    if (each.empty()) { throw Error(fmt::format("there is no rank {} in this run", wishes.rank)); }
    reports.push_back(add_up(std::move(each)));
    if (wishes.rank >= 0) { reports.back().missing.clear(); }
  }
  if (wishes.form == ReportForm::table) { print_tables(reports, wishes); }
  if (wishes.form == ReportForm::json) { fmt::print("{}", report_json(reports)); }
  if (wishes.form == ReportForm::csv) { fmt::print("{}", report_csv(reports)); }
  return ranks.all ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
