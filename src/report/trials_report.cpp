// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/trials_report.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/notes.hpp"
#include "report/page.hpp"
#include "report/text_table.hpp"

#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using TrialLines = std::vector<std::string>;

// Of a time, from which on it is worth a line.
constexpr double kMuchTime = 0.01;
// All ranks ran their trials at once, as far as that matters.
constexpr double kAtOnce = 0.9;

std::string ns_text(std::uint64_t ns) { return human_time(static_cast<double>(ns)); }

template <class Use>
void each_kind(const TrialResults& results, Use use) {
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (results.kinds[kind].trials != 0) { use(to_string(static_cast<TrialKind>(kind)), results.kinds[kind]); }
  }
}

TextTable::Line line_of_kind(const char* kind, const TrialRate& rate) {
  const std::string interval =
      rate.has_interval() ? detail::format("{} to {}", human_rate(rate.low), human_rate(rate.high)) : "-";
  const std::string over =
      rate.has_interval() ? detail::format("{} {}", rate.n, rate.over_trials ? "trials" : "windows") : "-";
  return {kind, 0, {human_rate(rate.per_s), interval, over, human_count(rate.steps), ns_text(rate.ns)}};
}

void rate_lines(const TrialResults& results, TrialLines& lines) {
  each_kind(results, [&](const char* kind, const TrialRate& rate) {
    if (!rate.has_interval()) {
      lines.push_back(
          detail::format("{}: no interval: {} trial{}, it takes 3", kind, rate.trials, plural(rate.trials)));
    }
    if (rate.left_out_steps != 0) {
      lines.push_back(detail::format("left out of {}: {} step{}, {}, in which the loader began again", kind,
                                     human_count(rate.left_out_steps), plural(rate.left_out_steps),
                                     ns_text(rate.left_out_ns)));
    } else if (rate.begun_again != 0) {
      lines.push_back(detail::format("{}: the loader began again {} time{}, which counts", kind,
                                     human_count(rate.begun_again), plural(rate.begun_again)));
    }
    if (static_cast<double>(rate.copy_ns) > kMuchTime * static_cast<double>(rate.ns)) {
      lines.push_back(detail::format("{}: {} went into copies of the kept batch, {}", kind, ns_text(rate.copy_ns),
                                     rate.copies_count ? "which is in its time" : "which is left out"));
    }
  });
}

void condition_lines(const TrialResults& results, TrialLines& lines) {
  if (results.of(TrialKind::synthetic).trials != 0) {
    lines.push_back("the kept batch of SYNTHETIC lies: " +
                    (results.batch_place.empty() ? "not known where" : printable(results.batch_place)));
  }
  if (results.waits_by == "function") { lines.emplace_back("each trial ended with a wait by the program's function"); }
  if (results.waits_by == "streams") {
    lines.push_back(detail::format("each trial ended with a wait for {} stream{}", human_count(results.streams),
                                   plural(results.streams)));
  }
  if (results.failed_waits != 0) {
    lines.push_back(detail::format("{} of these waits failed: the figures may lack work of devices",
                                   human_count(results.failed_waits)));
  }
  if (!results.cut.empty()) { lines.push_back("cut off " + printable(results.cut)); }
  if (results.went_on && !results.restored) {
    lines.push_back(
        detail::format("the loop went on without TrialOptions::restore: weights and random state have moved by {} "
                       "steps, and {} batches were taken from the loader",
                       human_count(results.steps_done), human_count(results.batches_taken)));
  }
}

void add_results(const TrialResults& results, TrialLines conditions, Page& page) {
  std::vector<TextTable::Line> kinds;
  each_kind(results, [&](const char* kind, const TrialRate& rate) { kinds.push_back(line_of_kind(kind, rate)); });
  if (!kinds.empty()) {
    const std::string a_second = results.unit == "samples" ? "samples/s" : "batches/s";
    const TextTable table({{a_second.c_str(), 0}, {"95 % interval", 0}, {"over", 1}, {"steps", 1}, {"time", 1}},
                          std::move(kinds), page.width(), "trial");
    page.add({table.head()}, Page::Style::bold);
    page.add_part(table.body(), Page::Style::plain);
  }
  page.add_part({results.finding ? printable(results.finding->sentence) : "not told: " + printable(results.untold)},
                Page::Style::plain);
  rate_lines(results, conditions);
  condition_lines(results, conditions);
  page.add_part(conditions, Page::Style::dim);
}

std::string trials_title(const RunInfo& run, const std::string& ranks, const TrialResults& results) {
  return detail::format("Takt: trials of {}, run {}, {}, took {}", printable(run.name), printable(run.id), ranks,
                        human_time(static_cast<double>(results.took_ns)));
}

}  // namespace

std::string format_trials(const RunInfo& run, const TrialResults& results, int width, bool color) {
  Page page(width, color);
  const std::string rank = detail::format("rank {} of {}", run.rank, run.world_size);
  page.add_part({trials_title(run, rank, results)}, Page::Style::bold);
  add_results(results, {}, page);
  return page.text();
}

std::string format_job_trials(const RunInfo& run, const JobTrials& job, int width, bool color) {
  Page page(width, color);
  page.add_part({trials_title(run, detail::format("{} ranks", job.ranks), job.sum)}, Page::Style::bold);
  TrialLines conditions;
  conditions.emplace_back("samples of all ranks by the time of the slowest one");
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (job.sum.kinds[kind].trials == 0 || job.at_once[kind] >= kAtOnce) { continue; }
    conditions.push_back(
        detail::format("{} ran on all ranks at once for {} of the time: with TrialOptions::barrier they begin "
                       "together",
                       to_string(static_cast<TrialKind>(kind)), percent(job.at_once[kind], 1)));
  }
  add_results(job.sum, std::move(conditions), page);
  return page.text();
}

}  // namespace detail
TAKT_END_NAMESPACE
