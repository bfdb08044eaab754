// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_report.hpp"

#include "base/format.hpp"
#include "base/rank_list.hpp"
#include "base/text.hpp"
#include "cli/last_ranks.hpp"
#include "cli/run_reading.hpp"
#include "findings/rank_findings.hpp"
#include "ranks/rank_comparison.hpp"
#include "ranks/rank_group.hpp"
#include "report/measurements_report.hpp"
#include "report/trials_report.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

std::vector<detail::RankOfJob> compared_ranks(const std::vector<Rank>& all) {
  std::vector<detail::RankOfJob> ranks;
  for (const Rank& each : all) {
    if (each.kept_steps != nullptr) { ranks.push_back({detail::job_rank_of(each.snapshot), each.kept_steps.get()}); }
  }
  return ranks;
}

std::optional<detail::JobTrials> trials_of(const std::vector<Rank>& ranks) {
  std::vector<TrialResults> trials;
  for (const Rank& rank : ranks) {
    if (rank.snapshot.trials != nullptr) { trials.push_back(*rank.snapshot.trials); }
  }
  return trials.empty() ? std::nullopt : std::optional(detail::job_trials(trials));
}

std::vector<Finding> findings_of(const std::vector<Rank>& ranks) {
  std::vector<detail::RankFindings> findings;
  findings.reserve(ranks.size());
  for (const Rank& each : ranks) { findings.push_back({each.snapshot.run.rank, each.snapshot.findings}); }
  return detail::findings_of_ranks(findings, ranks.size());
}

void add_ending(const Rank& rank, bool is_alone, std::vector<std::string>& lines) {
  const int number = rank.snapshot.run.rank;
  const bool usual = rank.ending == Ending::finished && !is_alone;
  if (!usual) { lines.push_back(detail::format("rank {}: {}", number, rank.standing)); }
  for (const std::string& each : damages(rank)) {
    lines.push_back(detail::format("rank {}: the journal is damaged: {}", number, each));
  }
}

std::string trials_text(const RunReport& run, int width, bool color) {
  if (!run.trials) { return ""; }
  const RunInfo& info = run.job.sum.run;
  return "\n" + (run.ranks.size() == 1 ? detail::format_trials(info, run.trials->sum, width, color)
                                       : detail::format_job_trials(info, *run.trials, width, color));
}

/// Those of the first rank that has some; of one rank alone they stand below its table.
std::string measurements_text(const RunReport& run, int width, bool color) {
  const auto has_some = [](const Rank& rank) { return !rank.snapshot.measurements.empty(); };
  const auto first = std::find_if(run.ranks.begin(), run.ranks.end(), has_some);
  if (run.ranks.size() == 1 || first == run.ranks.end()) { return ""; }
  const RunInfo& info = first->snapshot.run;
  std::string whose = detail::format("rank {} of {}", info.rank, info.world_size);
  if (std::any_of(std::next(first), run.ranks.end(), has_some)) {
    whose += "; other ranks have some, too: --rank N tells them";
  }
  return "\n" + detail::format_measurements(info, whose, first->snapshot.measurements, width, color);
}

}  // namespace

void ReportBuilder::add(Rank&& rank) {
  rank.snapshot.run.directory = rank.folder.path();  // it may have been moved
  rank.standing = describe(rank);
  sum_.add(rank.snapshot);
  detail::merge_into(report_.job.record, detail::record_of(rank.snapshot));
  if (!keeps_figures_) { drop_figures(rank); }
  report_.ranks.push_back(std::move(rank));
}

RunReport ReportBuilder::finish(std::vector<AttemptSpan> attempts, std::uint64_t world) {
  RunReport report = std::move(report_);
  report.attempts = std::move(attempts);
  report.missing = missing_ranks(report.ranks, world);
  report.job.sum = sum_.take();
  report.trials = trials_of(report.ranks);
  if (report.ranks.size() == 1) {
    report.job.record = {};
  } else {
    report.job.comparison = detail::compare_ranks(compared_ranks(report.ranks));
    report.job.sum.findings = findings_of(report.ranks);
  }
  return report;
}

RunReport report_of(std::vector<Rank> attempts) {
  PickedRanks last = pick_last(std::move(attempts));
  ReportBuilder report(true);
  for (Rank& each : last.ranks) { report.add(std::move(each)); }
  return report.finish(std::move(last.attempts), last.world);
}

void add_heat(RunReport& run) {
  if (run.ranks.size() == 1) { return; }
  const detail::ComparedSteps compared = detail::step_times_of(compared_ranks(run.ranks));
  run.job.heat = detail::heat_of(compared.times, compared.numbers);
}

std::vector<std::string> endings_of(const RunReport& run) {
  std::vector<std::string> lines;
  if (run.attempts.size() > 1) {
    lines.push_back(detail::format("{} attempts, {} between them; the figures are of attempt {}", run.attempts.size(),
                                   detail::human_time(static_cast<double>(ns_between(run.attempts))),
                                   run.attempts.back().attempt));
  }
  for (const bool running : {false, true}) {
    for (const Rank& each : run.ranks) {
      if ((each.ending == Ending::running) == running) { add_ending(each, run.ranks.size() == 1, lines); }
    }
  }
  if (!run.missing.empty()) {
    lines.push_back(detail::format("{} of {} ranks are not in this report: {}", run.missing.size(),
                                   run.missing.size() + run.ranks.size(), detail::rank_list(run.missing)));
  }
  return lines;
}

std::string report_text(const RunReport& run, int width, bool color) {
  const std::string table =
      run.ranks.size() == 1 ? format_table(run.job.sum, width, color) : detail::format_job(run.job, width, color);
  std::string endings;
  for (const std::string& each : endings_of(run)) { endings += each + "\n"; }
  const Ending state = state_of(run.ranks);
  // How a run broke off is the first thing to know of it.
  const bool usual = run.missing.empty() && (state == Ending::finished || state == Ending::running);
  const std::string text = usual ? table + endings : endings + table;
  return text + trials_text(run, width, color) + measurements_text(run, width, color);
}

}  // namespace cli
TAKT_END_NAMESPACE
