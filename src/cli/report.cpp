// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/console.hpp>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/report_document.hpp"
#include "cli/report_page.hpp"
#include "cli/results_file.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_report.hpp"
#include "cli/trials_file.hpp"
#include "findings/findings.hpp"
#include "history/step_history.hpp"
#include "ranks/rank_steps.hpp"
#include "report/csv_rows.hpp"
#include "report/page.hpp"
#include "trials/trial_finding.hpp"

#include <fmt/format.h>

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

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_tables(const std::vector<RunReport>& runs, const ReportWishes& wishes) {
  const int width = detail::width_of(stdout, wishes.drawn.width);
  const bool color = detail::wants_color(stdout, wishes.drawn.color);
  for (const RunReport& run : runs) {
    print_text(report_text(run, width, color));
    for (const Rank& rank : run.ranks) {
      if (wishes.per_rank && run.ranks.size() > 1) { print_text(format_table(rank.snapshot, width, color)); }
    }
  }
}

void write_pages(std::vector<RunReport>& runs, const std::string& file) {
  if (runs.empty()) { return; }
  if (runs.size() > 1) { throw Error(fmt::format("a page is of one run, and these are {}; name one", runs.size())); }
  add_heat(runs.front());
  write_page(runs.front(), file);
}

/// What stands beside the journal. False: some of it is unreadable, which is told.
bool read_further(Rank& rank) {
  bool all = true;
  const auto tell = [&](const char* file, const std::string& why) {
    if (why.empty()) { return; }
    remark(detail::printable(rank.folder.path()) + "/" + file + " " + why);
    all = false;
  };
  std::string of_trials;
  std::string of_results;
  rank.snapshot.trials = read_trials(rank.folder, of_trials);
  rank.snapshot.measurements = read_results(rank.folder, of_results);
  tell("trials.json", of_trials);
  tell("results.json", of_results);
  return all;
}

/// The ranks of each run, and whether all of them were readable.
struct RanksRead {
  std::vector<std::vector<Rank>> by_run;
  bool all = true;
};

/// Returns whether they could be read, if there are any.
/// Reads the folders; prints rows on the way, if these are asked for.
RanksRead read_ranks(const std::vector<RankFolder>& folders, const ReportWishes& wishes) {
  RanksRead ranks;
  ranks.all = are_whole(folders);
  std::map<std::string, std::size_t> places;  // by run id
  StepPrinter steps;
  const auto is_wanted = [&](const RunInfo& run) { return wishes.rank < 0 || run.rank == wishes.rank; };
  const std::size_t most = detail::values_of_a_rank(folders.size());
  const bool concludes = wishes.form != ReportForm::csv && wishes.form != ReportForm::steps;
  const bool compares = wishes.rank < 0 && concludes;
  const bool keeps_history = folders.size() == 1 || wishes.rank >= 0;  // of many ranks it is too much
  for (const RankFolder& folder : folders) {
    const auto kept = std::make_shared<detail::RankSteps>(most);
    detail::StepHistory history;
    Rank rank = read_rank(folder, [&](const Snapshot& snapshot) {
      if (compares) { kept->add(snapshot); }
      if (concludes && is_wanted(snapshot.run)) { history.add(snapshot); }
      if (wishes.form == ReportForm::steps && is_wanted(snapshot.run)) { steps.print(snapshot); }
    });
    if (!rank.readable()) {
      remark(why_unreadable(rank));
      ranks.all = false;
      continue;
    }
    rank.kept_steps = kept;
    ranks.all = read_further(rank) && ranks.all;
    if (concludes) {
      detail::conclude(rank.snapshot, std::make_shared<const detail::StepHistory>(history.finished()));
      detail::add_finding_of_trials(rank.snapshot);
    }
    if (!keeps_history) { rank.snapshot.history.reset(); }
    const auto [place, is_new] = places.emplace(rank.snapshot.run.id, ranks.by_run.size());
    if (is_new) { ranks.by_run.emplace_back(); }
    if (is_wanted(rank.snapshot.run)) { ranks.by_run[place->second].push_back(std::move(rank)); }
  }
  return ranks;
}

}  // namespace

int report(const std::vector<std::string>& runs, const ReportWishes& wishes) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders = rank_folders(runs, remarks);
  for (const std::string& each : remarks) { remark(each); }
  RanksRead ranks = read_ranks(folders, wishes);
  std::vector<RunReport> reports;
  for (std::vector<Rank>& each : ranks.by_run) {
    if (each.empty()) { throw Error(fmt::format("there is no rank {} in this run", wishes.rank)); }
    reports.push_back(report_of(std::move(each)));
    for (const std::string& remarked : reports.back().remarks) { remark(remarked); }
    if (wishes.rank >= 0) { reports.back().missing.clear(); }
  }
  if (wishes.form == ReportForm::table) { print_tables(reports, wishes); }
  if (wishes.form == ReportForm::json) { fmt::print("{}", report_json(reports)); }
  if (wishes.form == ReportForm::csv) { fmt::print("{}", report_csv(reports)); }
  if (wishes.form == ReportForm::html) { write_pages(reports, wishes.file); }
  return ranks.all ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
