// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/ls.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/run_reader.hpp"
#include "cli/run_report.hpp"
#include "report/job_report.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>
#include <takt/session.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fnmatch.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::JsonText;
/// One line of the list.
struct ListedRun {
  std::string directory;
  RunReading run;  // ranks without their figures
};

using LsNotes = std::map<std::string, std::string>;  // parameters or tags

bool fits_pattern(const std::string& pattern, const std::string& text) {
  return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

/// \param wanted "key", or "key=pattern".
bool has_note(const LsNotes& notes, const std::string& wanted) {
  const std::size_t sign = wanted.find('=');
  const auto found = notes.find(wanted.substr(0, sign));
  return found != notes.end() && (sign == std::string::npos || fits_pattern(wanted.substr(sign + 1), found->second));
}

bool is_wanted(const RunReading& run, const LsOptions& options) {
  const auto has_all = [](const std::vector<std::string>& wanted, const LsNotes& notes) {
    return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& each) { return has_note(notes, each); });
  };
  return (options.name.empty() || fits_pattern(options.name, run.sum.run.name)) &&
         has_all(options.params, run.sum.params) && has_all(options.tags, run.sum.tags);
}

JsonText ls_json(const ListedRun& listed) {
  const RunReading& run = listed.run;
  const Throughput& throughput = run.throughput;
  return {{"run_id", run.sum.run.id},
          {"name", run.sum.run.name},
          {"directory", listed.directory},
          {"start_unix_ns", run.sum.run.start_unix_ns},
          {"ranks", run.ranks.size()},
          {"world_size", run.world_size},
          {"steps", run.steps},
          {"items_per_s", throughput.items > 0 ? JsonText(throughput.items_per_s) : JsonText()},
          {"steps_per_s", throughput.steps > 0 ? JsonText(throughput.steps_per_s) : JsonText()},
          {"state", state_word(run.state)},
          {"params", run.sum.params},
          {"tags", run.sum.tags}};
}

constexpr detail::TextColumn kLsColumns[] = {
    {"name", 4, true, true}, {"started (UTC)", 3, true, true}, {"ranks", 2}, {"steps", 0},
    {"samples/s", 1},        {"state", 0, true, true}};

detail::TextTable::Line ls_line(const ListedRun& listed) {
  const RunReading& run = listed.run;
  const std::filesystem::path directory(listed.directory);
  const std::string ranks = run.ranks.size() == run.world_size
                                ? detail::format("{}", run.world_size)
                                : detail::format("{} of {}", run.ranks.size(), run.world_size);
  return {detail::fit(detail::printable(directory.filename().string()), 60),
          0,
          {detail::fit(detail::printable(run.sum.run.name), 30), detail::utc_text(run.sum.run.start_unix_ns), ranks,
           detail::human_count(run.steps),
           run.throughput.items > 0 ? detail::human_rate(run.throughput.items_per_s) : "", state_word(run.state)}};
}

void print_list(const std::vector<ListedRun>& runs, const ConsoleOptions& drawn) {
  std::vector<detail::TextTable::Line> lines;
  lines.reserve(runs.size());
  for (const ListedRun& run : runs) { lines.push_back(ls_line(run)); }
  detail::Page page = detail::page_on_stdout(drawn);
  const detail::TextTable table({std::begin(kLsColumns), std::end(kLsColumns)}, std::move(lines), page.width(), "run");
  page.add({table.head()}, detail::Page::Style::bold);
  page.add(table.body(), detail::Page::Style::plain);
  detail::print(stdout, "{}", page.text());
}

/// Sorts runs newest first; runs that started at the same time stay in directory order.
void sort_by_age(std::vector<ListedRun>& runs) {
  std::stable_sort(runs.begin(), runs.end(), [](const ListedRun& a, const ListedRun& b) {
    return a.run.sum.run.start_unix_ns > b.run.sum.run.start_unix_ns;
  });
}

}  // namespace

int ls(const std::string& directory, const LsOptions& options) {
  std::vector<std::string> warnings;
  const std::vector<RunDirectory> directories =
      all_runs(directory.empty() ? SessionOptions::from_env().directory : directory, warnings);
  report_warnings(warnings);
  std::vector<ListedRun> runs;
  bool all = true;
  for (const RunDirectory& each : directories) {
    if (each.ranks.empty()) { report_warnings({why_closed(each.directory)}); }
    RunReader reader(each.ranks);
    for (const RunProcesses& processes : reader.runs()) {
      RunReading run = read_run(reader, processes, [](const RunProcess& rank) { return read_rank(rank.directory); });
      if (!run.readable() || !is_wanted(run, options)) { continue; }
      for (Rank& rank : run.ranks) { rank.snapshot = Snapshot(); }  // keeps only sums: there may be thousands
      runs.push_back({each.directory, std::move(run)});
    }
    all = reader.report_not_read() && all && !each.ranks.empty();
  }
  sort_by_age(runs);
  if (options.json) {
    JsonText list = JsonText::array();
    for (const ListedRun& run : runs) { list.push_back(ls_json(run)); }
    const JsonText document = {{"schema", "takt-ls/1"}, {"runs", list}};
    detail::print(stdout, "{}\n", detail::printable_json(document.indented()));
  } else if (!runs.empty()) {
    print_list(runs, options.drawn);
  }
  if (runs.empty() && all) { report_warnings({detail::format("none of {} runs matches", directories.size())}); }
  return all ? 0 : kBroken;
}

namespace {

/// Returns a rank for sorting: worse states are larger.
int badness(Ending ending) noexcept {
  switch (ending) {
    case Ending::finished:
      return 0;
    case Ending::running:
      return 1;
    case Ending::killed:
      return 2;
    case Ending::failed:
      return 3;
    case Ending::silent:
      return 4;
    case Ending::died:
      break;
  }
  return 5;
}

}  // namespace

Ending state_of(const std::vector<Rank>& ranks) noexcept {
  Ending worst = Ending::finished;
  for (const Rank& each : ranks) {
    if (badness(each.ending) > badness(worst)) { worst = each.ending; }
  }
  return worst;
}

std::uint64_t max_steps(const std::vector<Rank>& ranks) noexcept {
  std::uint64_t max = 0;
  for (const Rank& rank : ranks) {
    std::map<std::uint32_t, std::uint64_t> of_batch;  // sum over all threads
    for (const SeriesSteps& each : rank.steps) { max = std::max(max, of_batch[each.batch] += each.steps); }
  }
  return max;
}

JobThroughput main_throughput(const Snapshot& sum) {
  JobThroughput main;
  for (const JobThroughput& each : detail::job_throughputs(sum)) {
    if (main.series == 0 || each.throughput.period_ns > main.throughput.period_ns) { main = each; }
  }
  return main;
}

RunReading read_run(RunReader& reader, const RunProcesses& run, const RunReader::Read& read) {
  RunReading reading;
  RankSum sum;
  ReadRun done = reader.read(run, read, [&](Rank&& rank) {
    sum.add(rank.snapshot);
    reading.ranks.push_back(std::move(rank));
  });
  if (!reading.readable()) { return reading; }
  reading.world_size = done.world;
  reading.warnings = std::move(done.warnings);
  reading.state = state_of(reading.ranks);
  reading.steps = max_steps(reading.ranks);
  reading.sum = sum.take();
  const JobThroughput main = main_throughput(reading.sum);
  if (main.series == 0) { return reading; }
  reading.step_path = main.path;
  reading.throughput = main.throughput;
  return reading;
}

const char* state_word(Ending ending) noexcept {
  switch (ending) {
    case Ending::finished:
      return "finished";
    case Ending::failed:
      return "failed";
    case Ending::killed:
      return "killed";
    case Ending::running:
      return "running";
    case Ending::died:
      return "died";
    case Ending::silent:
      break;
  }
  return "silent";
}

}  // namespace cli
TAKT_END_NAMESPACE
