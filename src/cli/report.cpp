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
#include "cli/report_page.hpp"
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
void compare(const std::vector<const Snapshot*>& snapshots, bool draws, RunReport& report) {
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
  if (draws) { report.job.heat = detail::heat_of(times, compared.numbers); }
}

RunReport add_up(std::vector<Rank> attempts, bool draws) {
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
  if (!one) { compare(snapshots, draws, report); }
  return report;
}

/// Below the table: how each rank stands, as far as that is worth a line.
std::vector<std::string> endings_of(const RunReport& run) {
  std::vector<std::string> lines;
  if (run.attempts.size() > 1) {
    lines.push_back(fmt::format("{} attempts, {} between them; the figures are of attempt {}", run.attempts.size(),
                                detail::human_time(static_cast<double>(ns_between(run.attempts))),
                                run.attempts.back().attempt));
  }
  for (const Rank& rank : run.ranks) {
    const bool usual = rank.ending == Ending::finished && run.ranks.size() > 1;
    if (!usual) { lines.push_back(fmt::format("rank {}: {}", rank.snapshot.run.rank, describe(rank))); }
    for (const std::string& each : damages(rank)) {
      lines.push_back(fmt::format("rank {}: the journal is damaged: {}", rank.snapshot.run.rank, each));
    }
  }
  if (!run.missing.empty()) {
    lines.push_back(fmt::format("{} of {} ranks are not in this report: {}", run.missing.size(),
                                run.missing.size() + run.ranks.size(), detail::rank_list(run.missing)));
  }
  return lines;
}

void print_table(const RunReport& run) {
  if (run.ranks.size() == 1) { return ConsoleExporter().print(run.job.sum); }
  const bool color = detail::wants_color(stdout, ConsoleOptions::Color::automatic);
  fmt::print("{}", detail::format_job(run.job, detail::width_of(stdout, 0), color));
}

void print_tables(const std::vector<RunReport>& runs, bool per_rank) {
  for (const RunReport& run : runs) {
    print_table(run);
    for (const std::string& each : endings_of(run)) { fmt::print("{}\n", each); }
    for (const Rank& rank : run.ranks) {
      if (per_rank && run.ranks.size() > 1) { ConsoleExporter().print(rank.snapshot); }
    }
    std::fflush(stdout);
  }
}

void write_pages(const std::vector<RunReport>& runs, const std::string& file) {
  if (runs.empty()) { return; }
  if (runs.size() > 1) { throw Error(fmt::format("a page is of one run, and these are {}; name one", runs.size())); }
  write_page(runs.front(), endings_of(runs.front()), file);
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
  const bool compares = wishes.rank < 0 && wishes.form != ReportForm::csv && wishes.form != ReportForm::steps;
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
    reports.push_back(add_up(std::move(each), wishes.form == ReportForm::html));
    if (wishes.rank >= 0) { reports.back().missing.clear(); }
  }
  if (wishes.form == ReportForm::table) { print_tables(reports, wishes.per_rank); }
  if (wishes.form == ReportForm::json) { fmt::print("{}", report_json(reports)); }
  if (wishes.form == ReportForm::csv) { fmt::print("{}", report_csv(reports)); }
  if (wishes.form == ReportForm::html) { write_pages(reports, wishes.file); }
  return ranks.all ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
