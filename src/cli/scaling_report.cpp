// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scaling_report.hpp"

#include <takt/error.hpp>

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::Scaling;

const char* name_of(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

bool is_smaller(const JobRun& a, const JobRun& b) { return a.ranks < b.ranks; }

/// Weak or strong, by runs of which all items are counted.
Scaling told_by_items(const std::vector<JobRun>& runs) {
  std::vector<detail::ScalingRun> whole;
  for (const JobRun& each : runs) {
    if (each.missing == 0) { whole.push_back(each.figures()); }
  }
  return detail::scaling_of(whole);
}

void note_scaling(const ScalingRuns& runs, ScalingReport& report) {
  const Scaling told = told_by_items(runs.runs);
  report.scaling = runs.wanted == Scaling::unclear ? told : runs.wanted;
  if (runs.wanted != Scaling::unclear && told != Scaling::unclear && told != runs.wanted) {
    report.remarks.push_back(
        detail::format("by the samples a step this is {} scaling, not {}", name_of(told), name_of(runs.wanted)));
  }
  if (report.scaling == Scaling::unclear) {
    report.remarks.emplace_back(
        "neither each rank nor all ranks together have the same samples a step in all runs: efficiency compares the "
        "rates of different work; say --weak or --strong if that is meant");
  }
}

void note_equal_sizes(ScalingReport& report) {
  const JobRun& base = report.lines.front().run;
  if (report.lines.size() > 1 && report.lines[1].run.ranks == base.ranks) {
    report.remarks.push_back(
        detail::format("several runs have {} ranks, the fewest; the first named is compared with: {}", base.ranks,
                       detail::printable(base.id)));
  }
  const auto other = std::find_if(report.lines.begin(), report.lines.end(),
                                  [&](const ScalingLine& each) { return each.run.path != base.path; });
  if (other != report.lines.end()) {
    report.remarks.push_back(detail::format("runs count samples in different Batches: {} and {}",
                                            detail::printable(base.path), detail::printable(other->run.path)));
  }
}

/// Puts each of `runs` beside those of its size.
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
    report.remarks.push_back(detail::format("run {} without {} is left out: {}", detail::printable(each.id), what,
                                            taken ? "another one of its size was named before it"
                                                  : detail::format("no run with it has {} ranks", each.ranks)));
  }
}

}  // namespace

ScalingReport scaling_report_of(ScalingRuns runs) {
  if (runs.runs.empty()) { throw Error("none of these runs can be read; takt check says why"); }
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

}  // namespace cli
TAKT_END_NAMESPACE
