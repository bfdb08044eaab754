// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/console.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/last_ranks.hpp"
#include "cli/rank.hpp"
#include "cli/report_document.hpp"
#include "cli/report_page.hpp"
#include "cli/report_reading.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_report.hpp"
#include "report/csv_rows.hpp"
#include "report/page.hpp"

#include <cstdio>
#include <map>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

void remark(const std::string& line) { std::fprintf(stderr, "takt: %s\n", line.c_str()); }

/// The rows of one journal, as they are read.
class StepPrinter {
 public:
  void print(const Snapshot& snapshot) {
    if (!std::exchange(has_head_, true)) { detail::print(stdout, "run_id,rank,attempt,{}", detail::CsvRows::head()); }
    const std::string prefix =
        detail::format("{},{},{},", detail::csv_field(snapshot.run.id), snapshot.run.rank, snapshot.run.attempt);
    const detail::CsvRows rows(snapshot);
    for (const Row& row : snapshot.rows) { detail::print(stdout, "{}", rows.of(row, prefix)); }
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
  if (runs.size() > 1) { throw Error(detail::format("a page is of one run, and these are {}; name one", runs.size())); }
  add_heat(runs.front());
  write_page(runs.front(), file);
}

/// Prints the rows of all processes, in the order in which these were named. Returns whether all could be read.
bool print_steps(const std::vector<RankFolder>& folders, const ReportWishes& wishes) {
  StepPrinter steps;
  std::vector<std::string> ids;
  std::map<std::string, std::vector<Rank>> runs;  // by id; of ranks only who they are
  bool all = true;
  for (const RankFolder& folder : folders) {
    Rank rank = read_rank(folder, [&](const Snapshot& snapshot) {
      if (is_wanted(wishes, snapshot.run)) { steps.print(snapshot); }
    });
    if (!rank.readable()) {
      remark(why_unreadable(rank));
      all = false;
      continue;
    }
    const std::string id = rank.snapshot.run.id;
    const auto [place, is_new] = runs.try_emplace(id);
    if (is_new) { ids.push_back(id); }
    if (!is_wanted(wishes, rank.snapshot.run)) { continue; }
    drop_figures(rank);
    place->second.push_back(std::move(rank));
  }
  for (const std::string& id : ids) {
    if (runs[id].empty()) { throw no_such_rank(wishes.rank); }
    tell_left_out(pick_last(std::move(runs[id])).remarks);
  }
  return all;
}

}  // namespace

int report(const std::vector<std::string>& runs, const ReportWishes& wishes) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders = rank_folders(runs, remarks);
  for (const std::string& each : remarks) { remark(each); }
  bool all = are_whole(folders);
  if (wishes.form == ReportForm::steps) { return print_steps(folders, wishes) && all ? 0 : kBroken; }
  std::vector<RunReport> reports = read_reports(folders, wishes, all);
  if (wishes.form == ReportForm::table) { print_tables(reports, wishes); }
  if (wishes.form == ReportForm::json) { detail::print(stdout, "{}", report_json(reports)); }
  if (wishes.form == ReportForm::csv) { detail::print(stdout, "{}", report_csv(reports)); }
  if (wishes.form == ReportForm::html) { write_pages(reports, wishes.file); }
  return all ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
