// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/report.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/report_document.hpp"
#include "cli/results_file.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "cli/run_report.hpp"
#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "page/run_page.hpp"
#include "ranks/rank_steps.hpp"
#include "report/console.hpp"
#include "report/csv.hpp"
#include "report/job_report.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>
#include <takt/exporters/console.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Prints the rows of one journal while it is read.
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

/// \throws takt::Error if no table has a column of one of these names.
void check_columns(const std::string& columns) {
  std::vector<std::string> known = detail::table_columns();
  for (const std::string& each : detail::job_columns()) {
    if (std::find(known.begin(), known.end(), each) == known.end()) { known.push_back(each); }
  }
  for (const std::string& name : detail::names_in(columns)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) { continue; }
    std::string list;
    for (std::string each : known) {
      std::replace(each.begin(), each.end(), ' ', '_');
      list += " " + each;
    }
    throw Error("no column " + detail::printable(name) + "; columns:" + list);
  }
}

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_tables(const std::vector<RunReport>& runs, const ReportOptions& options) {
  TableForm form;
  form.width = detail::width_of(stdout, options.drawn.width);
  form.color = detail::wants_color(stdout, options.drawn.color);
  form.findings = std::numeric_limits<std::size_t>::max();
  form.columns = options.columns;
  for (const RunReport& run : runs) {
    print_text(report_text(run, form));
    for (const Rank& rank : run.ranks) {
      if (options.per_rank && run.ranks.size() > 1) { print_text(format_table(rank.snapshot, form)); }
    }
  }
}

void write_pages(std::vector<RunReport>& runs, const std::string& file) {
  if (runs.empty()) { return; }
  if (runs.size() > 1) { throw Error(detail::format("a page shows one run, but {} are given; name one", runs.size())); }
  add_heat(runs.front());
  write_page(runs.front(), file);
}

/// Prints the rows of all processes in the order in which they were named.
void print_steps(RunReader& reader, const ReportOptions& options) {
  std::map<std::size_t, RankDirectory> directories;  // by place
  for (const RunProcesses& run : reader.runs()) {
    for (const RunProcess& each : run) { directories.emplace(each.place, each.directory); }
  }
  StepPrinter steps;
  std::map<std::size_t, Rank> ranks;  // identities only
  for (const auto& [place, directory] : directories) {
    Rank rank = read_rank(directory, [&](const Snapshot& snapshot) { steps.print(snapshot); });
    drop_figures(rank);
    ranks.emplace(place, std::move(rank));
  }
  std::vector<ReadRun> runs;
  for (const RunProcesses& run : reader.runs()) {
    runs.push_back(reader.read(
        run, [&](const RunProcess& each) { return ranks.at(each.place); }, [](Rank&& /*rank*/) {}));
  }
  reader.report_not_read();
  for (std::size_t at = 0; at < runs.size(); ++at) {
    if (reader.runs()[at].empty()) { throw no_such_rank(options.rank); }
    report_warnings(runs[at].warnings);
  }
}

}  // namespace

int report(const std::vector<std::string>& runs, const ReportOptions& options) {
  check_columns(options.columns);
  const std::vector<RankDirectory> directories = rank_directories(runs);
  RunReader reader(directories);
  if (options.rank >= 0) { reader.keep_rank(options.rank); }
  if (options.form == ReportForm::steps) {
    print_steps(reader, options);
    return reader.all() ? 0 : kBroken;
  }
  std::vector<RunReport> reports = read_reports(reader, options, directories.size());
  if (options.form == ReportForm::table) { print_tables(reports, options); }
  if (options.form == ReportForm::json) { detail::print(stdout, "{}", report_json(reports)); }
  if (options.form == ReportForm::csv) { detail::print(stdout, "{}", report_csv(reports)); }
  if (options.form == ReportForm::html) { write_pages(reports, options.file); }
  return reader.all() ? 0 : kBroken;
}

namespace {

/// Reads a rank with the data that a report needs. Any thread.
Rank read_reported(const RankDirectory& directory, const ReportOptions& options, std::size_t directories) {
  const bool concludes = options.form != ReportForm::csv;
  const bool compares = options.rank < 0 && concludes;
  const auto kept = std::make_shared<detail::RankSteps>(detail::values_of_a_rank(directories));
  StepHistory history;
  Rank rank = read_rank(directory, [&](const Snapshot& snapshot) {
    if (compares) { kept->add(snapshot); }
    if (concludes) { history.add(snapshot); }
  });
  if (!rank.readable()) { return rank; }
  rank.kept_steps = kept;
  const auto note = [&rank](const char* file, const std::string& why) {
    if (!why.empty()) { rank.not_read.push_back(detail::printable(rank.directory.path()) + "/" + file + " " + why); }
  };
  std::string of_trials;
  std::string of_results;
  rank.snapshot.trials = read_trials(directory, of_trials);
  rank.snapshot.measurements = read_results(directory, of_results);
  note("trials.json", of_trials);
  note("results.json", of_results);
  if (!concludes) { return rank; }
  detail::conclude(rank.snapshot, std::make_shared<const StepHistory>(history.finished()));
  const bool is_one = directories == 1 || options.rank >= 0;
  if (!is_one) { rank.snapshot.history.reset(); }  // takes too much memory for many ranks
  return rank;
}

}  // namespace

std::vector<RunReport> read_reports(RunReader& reader, const ReportOptions& options, std::size_t directories) {
  // Some output needs all figures of each rank.
  const bool prints_ranks = options.per_rank || options.form == ReportForm::json;
  std::vector<RunReport> reports;
  for (const RunProcesses& run : reader.runs()) {
    ReportBuilder report(prints_ranks);
    ReadRun read = reader.read(
        run, [&](const RunProcess& each) { return read_reported(each.directory, options, directories); },
        [&](Rank&& rank) { report.add(std::move(rank)); });
    if (read.ranks != 0) {
      reports.push_back(report.finish(std::move(read)));
    } else if (run.empty()) {
      reports.emplace_back();
    }
  }
  reader.report_not_read();
  for (RunReport& each : reports) {
    if (each.ranks.empty()) { throw no_such_rank(options.rank); }
    report_warnings(each.warnings);
    if (options.rank >= 0) { each.missing.clear(); }
  }
  return reports;
}

namespace {

constexpr std::size_t kMaxRanksOfAPage = 8;
constexpr std::size_t kBytesOfARank = std::size_t{512} << 10U;  // of the history of each but the first

Snapshot with_history(const RankDirectory& directory, std::size_t max_bytes) {
  StepHistory history(max_bytes);
  Rank rank = read_rank(directory, [&history](const Snapshot& snapshot) { history.add(snapshot); });
  rank.snapshot.history = std::make_shared<const StepHistory>(history.finished());
  return std::move(rank.snapshot);
}

/// Returns the ranks that the reader of a page can choose: the first one, then the busiest.
std::vector<Snapshot> ranks_of_page(const RunReport& run) {
  std::vector<detail::BusyRank> busiest = run.job.heat.ranks;
  std::stable_sort(busiest.begin(), busiest.end(), [](const auto& a, const auto& b) { return a.excess > b.excess; });
  std::set<int> chosen = {run.ranks.front().snapshot.run.rank};
  for (const detail::BusyRank& each : busiest) {
    if (chosen.size() < kMaxRanksOfAPage) { chosen.insert(static_cast<int>(each.who.number)); }
  }
  for (const Rank& each : run.ranks) {
    if (chosen.size() < kMaxRanksOfAPage) { chosen.insert(each.snapshot.run.rank); }
  }
  std::vector<Snapshot> ranks;
  for (const Rank& each : run.ranks) {
    if (chosen.count(each.snapshot.run.rank) == 0) { continue; }
    ranks.push_back(with_history(each.directory, ranks.empty() ? StepHistory::kMaxBytes : kBytesOfARank));
  }
  return ranks;
}

}  // namespace

void write_page(const RunReport& run, const std::string& file) {
  detail::RunPage page;
  page.figures = &run.job.sum;
  page.steps = &run.job.sum;
  page.endings = endings_of(run);
  if (run.job.sum.run.world_size == 1) {
    for (std::string& each : page.endings) {
      if (each.rfind("rank 0: ", 0) == 0) { each.erase(0, std::strlen("rank 0: ")); }
    }
  }
  std::vector<Snapshot> ranks;
  if (run.ranks.size() > 1) {
    ranks = ranks_of_page(run);
    for (const Snapshot& each : ranks) { page.ranks.push_back(&each); }
    page.steps = &ranks.front();
    page.job = &run.job;
  }
  const std::string text = detail::run_page(page);
  write_page_file(file, text);
  detail::print(stdout, "{}: the page of run {}, {}\n", detail::printable(file), detail::printable(run.job.sum.run.id),
                detail::human_bytes(static_cast<double>(text.size())));
}

}  // namespace cli
TAKT_END_NAMESPACE
