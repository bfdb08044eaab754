// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/ranks_of_run.hpp"
#include "cli/report_document.hpp"
#include "cli/results_file.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_report.hpp"
#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "measure/trial_rate.hpp"
#include "page/run_page.hpp"
#include "ranks/rank_steps.hpp"
#include "report/csv.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>
#include <takt/exporters/console.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
namespace cli {
namespace {

/// Reads ranks with what a report needs of each. Any thread, several at the same time.
class ReportReader {
 public:
  ReportReader(const ReportWishes& wishes, std::size_t folders)
      : most_values_(detail::values_of_a_rank(folders)),
        concludes_(wishes.form != ReportForm::csv),
        compares_(wishes.rank < 0 && concludes_),
        keeps_history_(folders == 1 || wishes.rank >= 0) {}

  Rank read(const PlannedRank& planned) {
    const auto kept = std::make_shared<detail::RankSteps>(most_values_);
    detail::StepHistory history;
    Rank rank = read_rank(planned.folder, [&](const Snapshot& snapshot) {
      if (compares_) { kept->add(snapshot); }
      if (concludes_) { history.add(snapshot); }
    });
    if (!rank.readable()) { return rank; }
    rank.kept_steps = kept;
    read_further(planned.place, rank);
    if (concludes_) {
      detail::conclude(rank.snapshot, std::make_shared<const detail::StepHistory>(history.finished()));
      detail::add_finding_of_trials(rank.snapshot);
    }
    if (!keeps_history_) { rank.snapshot.history.reset(); }  // of many ranks it is too much
    return rank;
  }

  /// What stands beside journals, and is unreadable. REQUIRES: nobody reads.
  const NotRead& not_read() const noexcept { return not_read_; }

 private:
  void read_further(std::size_t place, Rank& rank) {
    const auto tell = [&](const char* file, const std::string& why) {
      if (why.empty()) { return; }
      const std::lock_guard<std::mutex> lock(mutex_);
      not_read_.emplace_back(place, detail::printable(rank.folder.path()) + "/" + file + " " + why);
    };
    std::string of_trials;
    std::string of_results;
    rank.snapshot.trials = read_trials(rank.folder, of_trials);
    rank.snapshot.measurements = read_results(rank.folder, of_results);
    tell("trials.json", of_trials);
    tell("results.json", of_results);
  }

  std::size_t most_values_;
  bool concludes_;
  bool compares_;
  bool keeps_history_;
  std::mutex mutex_;  // of what follows
  NotRead not_read_;
};

/// A run that was read, and what is to be said of it when those that were named before are told.
struct ReadRun {
  std::size_t place = 0;  // of its first folder
  std::vector<std::string> remarks;
  std::optional<RunReport> report;  // none: it does not have the rank that is wanted
};

/// Whether something is printed of each rank that takes all of its figures.
bool prints_ranks(const ReportWishes& wishes) noexcept { return wishes.per_rank || wishes.form == ReportForm::json; }

/// Nothing where there is no such run.
std::optional<ReadRun> read_report(RunPlan plan, const ReportWishes& wishes, ReportReader& reader, NotRead& not_read) {
  // Of a journal that does not say whose it is only who reads it knows.
  const auto is_other = [&](const PlannedRank& each) { return each.has_run && !is_wanted(wishes, each.run); };
  const auto first_other = std::find_if(plan.begin(), plan.end(), is_other);
  const bool has_others = first_other != plan.end();
  const std::size_t place_of_other = has_others ? first_other->place : 0;
  plan.erase(std::remove_if(plan.begin(), plan.end(), is_other), plan.end());
  ReportBuilder report(prints_ranks(wishes));
  bool any = false;
  WalkedRun walked = walk_ranks(
      plan, [&](const PlannedRank& each) { return reader.read(each); },
      [&](Rank&& rank) {
        any = true;
        report.add(std::move(rank));
      });
  not_read.insert(not_read.end(), walked.not_read.begin(), walked.not_read.end());
  if (!any && !has_others) { return std::nullopt; }
  if (!any) { return ReadRun{place_of_other, {}, std::nullopt}; }
  RunReport made = report.finish(std::move(walked.attempts), walked.world);
  if (wishes.rank >= 0) { made.missing.clear(); }
  return ReadRun{walked.first, std::move(walked.remarks), std::move(made)};
}

}  // namespace

bool is_wanted(const ReportWishes& wishes, const RunInfo& run) noexcept {
  return wishes.rank < 0 || run.rank == wishes.rank;
}

Error no_such_rank(int rank) { return Error(detail::format("there is no rank {} in this run", rank)); }

std::vector<RunReport> read_reports(const std::vector<RankFolder>& folders, const ReportWishes& wishes, bool& all) {
  ReportReader reader(wishes, folders.size());
  std::vector<ReadRun> read;
  NotRead not_read;
  for (RunPlan& plan : plan_runs(folders)) {
    std::optional<ReadRun> run = read_report(std::move(plan), wishes, reader, not_read);
    if (run) { read.push_back(std::move(*run)); }
  }
  not_read.insert(not_read.end(), reader.not_read().begin(), reader.not_read().end());
  all = all && not_read.empty();
  tell_not_read(std::move(not_read));
  std::stable_sort(read.begin(), read.end(), [](const ReadRun& a, const ReadRun& b) { return a.place < b.place; });
  std::vector<RunReport> reports;
  for (ReadRun& each : read) {
    if (!each.report) { throw no_such_rank(wishes.rank); }
    tell_left_out(each.remarks);
    reports.push_back(std::move(*each.report));
  }
  return reports;
}

}  // namespace cli
namespace cli {
namespace {

Snapshot with_history(const RankFolder& folder) {
  detail::StepHistory history;
  Rank rank = read_rank(folder, [&history](const Snapshot& snapshot) { history.add(snapshot); });
  rank.snapshot.history = std::make_shared<const detail::StepHistory>(history.finished());
  return std::move(rank.snapshot);
}

}  // namespace

void write_page(const RunReport& run, const std::string& file) {
  detail::RunPage page;
  page.figures = &run.job.sum;
  page.steps = &run.job.sum;
  page.endings = endings_of(run);
  Snapshot first;
  if (run.ranks.size() > 1) {
    first = with_history(run.ranks.front().folder);
    page.steps = &first;
    page.job = &run.job;
  }
  const std::string text = detail::run_page(page);
  write_page_file(file, text);
  detail::print(stdout, "{}: the page of run {}, {}\n", detail::printable(file), detail::printable(run.job.sum.run.id),
                detail::human_bytes(static_cast<double>(text.size())));
}

}  // namespace cli
TAKT_END_NAMESPACE
