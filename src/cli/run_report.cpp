// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_report.hpp"

#include "base/rank_list.hpp"
#include "base/text.hpp"
#include "cli/last_ranks.hpp"
#include "cli/merge.hpp"
#include "findings/findings.hpp"
#include "ranks/rank_group.hpp"
#include "ranks/rank_record.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// How the ranks lie beside each other, and who makes whom wait.
void compare(const std::vector<const Snapshot*>& snapshots, RunReport& report) {
  std::vector<detail::RankOfJob> ranks;
  for (const Rank& each : report.ranks) {
    const RunInfo& run = each.snapshot.run;
    detail::merge_into(report.job.record, detail::record_of(each.snapshot));
    if (each.kept_steps == nullptr) { continue; }
    ranks.push_back(
        {{static_cast<std::uint32_t>(run.rank), run.host, detail::group_label(run)}, each.kept_steps.get()});
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

std::string attempts_text(const std::vector<AttemptSpan>& attempts) {
  if (attempts.size() < 2) { return ""; }
  return fmt::format("{} attempts, {} between them; the figures are of attempt {}\n", attempts.size(),
                     detail::human_time(static_cast<double>(ns_between(attempts))), attempts.back().attempt);
}

std::string ending_text(const Rank& rank, bool is_alone) {
  const int number = rank.snapshot.run.rank;
  const bool usual = rank.ending == Ending::finished && !is_alone;
  std::string text = usual ? "" : fmt::format("rank {}: {}\n", number, describe(rank));
  for (const std::string& each : damages(rank)) {
    text += fmt::format("rank {}: the journal is damaged: {}\n", number, each);
  }
  return text;
}

std::string endings_text(const RunReport& run) {
  std::string text = attempts_text(run.attempts);
  for (const bool running : {false, true}) {  // those first that need a look
    for (const Rank& each : run.ranks) {
      if ((each.ending == Ending::running) == running) { text += ending_text(each, run.ranks.size() == 1); }
    }
  }
  if (run.missing.empty()) { return text; }
  return text + fmt::format("{} of {} ranks are not in this report: {}\n", run.missing.size(),
                            run.missing.size() + run.ranks.size(), detail::rank_list(run.missing));
}

}  // namespace

RunReport report_of(std::vector<Rank> attempts) {
  RunReport report;
  report.attempts = attempts_of(attempts);
  LastRanks last = last_ranks(std::move(attempts));
  report.remarks = std::move(last.remarks);
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

void conclude(const detail::StepHistory& history, Snapshot& snapshot) {
  snapshot.history = std::make_shared<const detail::StepHistory>(history.finished());
  snapshot.findings = detail::findings_of(snapshot);
}

std::string report_text(const RunReport& run, int width, bool color) {
  return (run.ranks.size() == 1 ? format_table(run.job.sum, width, color) : detail::format_job(run.job, width, color)) +
         endings_text(run);
}

}  // namespace cli
TAKT_END_NAMESPACE
