// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/trials_report.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "report/json_lines.hpp"
#include "report/notes.hpp"
#include "report/text_table.hpp"

#include <cstdint>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using TrialLines = std::vector<std::string>;

// Minimum share of a time that is worth a line.
constexpr double kMuchTime = 0.01;
// Trials of all ranks count as simultaneous if they overlap for at least this share of the time.
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
      rate.interval ? detail::format("{} to {}", human_rate(rate.interval->low), human_rate(rate.interval->high)) : "-";
  const std::string over =
      rate.interval ? detail::format("{} {}", rate.n, rate.over_trials ? "trials" : "windows") : "-";
  return {kind, 0, {human_rate(rate.per_s), interval, over, human_count(rate.steps), ns_text(rate.ns)}};
}

void rate_lines(const TrialResults& results, TrialLines& lines) {
  each_kind(results, [&](const char* kind, const TrialRate& rate) {
    if (!rate.interval) {
      lines.push_back(
          detail::format("{}: no interval: {} trial{}, 3 are needed", kind, rate.trials, plural(rate.trials)));
    }
    if (rate.left_out_steps != 0) {
      lines.push_back(detail::format("left out of {}: {} step{}, {}, in which the loader restarted", kind,
                                     human_count(rate.left_out_steps), plural(rate.left_out_steps),
                                     ns_text(rate.left_out_ns)));
    } else if (rate.begun_again != 0) {
      lines.push_back(detail::format("{}: the loader restarted {} time{}, included in the time", kind,
                                     human_count(rate.begun_again), plural(rate.begun_again)));
    }
    if (static_cast<double>(rate.copy_ns) > kMuchTime * static_cast<double>(rate.ns)) {
      lines.push_back(detail::format("{}: {} spent copying the kept batch, {}", kind, ns_text(rate.copy_ns),
                                     rate.copies_count ? "included in its time" : "left out of its time"));
    }
  });
}

void condition_lines(const TrialResults& results, TrialLines& lines) {
  if (results.of(TrialKind::synthetic).trials != 0) {
    lines.push_back("place of SYNTHETIC's kept batch: " +
                    (results.batch_place.empty() ? "unknown" : printable(results.batch_place)));
  }
  if (results.waits_by == "function") { lines.emplace_back("each trial ended with a wait by the program's function"); }
  if (results.waits_by == "streams") {
    lines.push_back(detail::format("each trial ended with a wait for {} stream{}", human_count(results.streams),
                                   plural(results.streams)));
  }
  if (results.failed_waits != 0) {
    lines.push_back(detail::format("{} of these waits failed: the figures may lack device work",
                                   human_count(results.failed_waits)));
  }
  if (!results.cut.empty()) { lines.push_back("cut off " + printable(results.cut)); }
  if (results.went_on && !results.restored) {
    lines.push_back(
        detail::format("the loop continued without TrialOptions::restore: weights and random state advanced by {} "
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
  page.add_part(
      {results.finding ? printable(results.finding->sentence) : "no finding: " + printable(results.unreported)},
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
        detail::format("{} ran on all ranks at once for {} of the time: use TrialOptions::barrier to start them "
                       "together",
                       to_string(static_cast<TrialKind>(kind)), percent(job.at_once[kind], 1)));
  }
  add_results(job.sum, std::move(conditions), page);
  return page.text();
}

namespace {

constexpr const char* kTrialsSchema = "takt-trials/1";

JsonText text_or_null(const std::string& text) { return text.empty() ? JsonText() : JsonText(text); }

JsonText kind_json(TrialKind kind, const TrialRate& rate) {
  JsonText each = JsonText::array();
  for (const OneTrial& one : rate.each) {
    each.push_back({{"steps", one.steps}, {"items", one.items}, {"ns", one.ns}, {"per_s", one.per_s}});
  }
  const bool has_rate = rate.ns != 0;
  return {{"kind", to_string(kind)},
          {"trials", rate.trials},
          {"steps", rate.steps},
          {"items", rate.items},
          {"ns", rate.ns},
          {"per_s", has_rate ? JsonText(rate.per_s) : JsonText()},
          {"low", rate.interval ? JsonText(rate.interval->low) : JsonText()},
          {"high", rate.interval ? JsonText(rate.interval->high) : JsonText()},
          {"over", rate.over_trials ? "trials" : "windows"},
          {"n", rate.n},
          {"wait_ns", rate.wait_ns},
          {"copy_ns", rate.copy_ns},
          {"copies_count", rate.copies_count},
          {"begun_again", rate.begun_again},
          {"left_out_steps", rate.left_out_steps},
          {"left_out_ns", rate.left_out_ns},
          {"begin_unix_ns", rate.begin_unix_ns},
          {"end_unix_ns", rate.end_unix_ns},
          {"each", each}};
}

}  // namespace

std::string trials_json(const RunInfo& run, const TrialResults& results) {
  std::string text;
  const JsonLines::Sink take = [&text](const std::string& piece) {
    text += piece;
    return true;
  };
  JsonLines lines(take);
  lines.member("schema", kTrialsSchema);
  lines.member("run_id", run.id);
  lines.member("rank", run.rank);
  lines.member("world_size", run.world_size);
  lines.member("host", run.host);
  lines.member("unit", results.unit);
  lines.member("steps_a_trial", results.steps_a_trial);
  lines.member("seconds_a_trial", results.seconds_a_trial);
  lines.member("took_ns", results.took_ns);
  lines.member("batches_taken", results.batches_taken);
  lines.member("steps_done", results.steps_done);
  lines.member("batch_place", text_or_null(results.batch_place));
  lines.member("waits_by", text_or_null(results.waits_by));
  lines.member("streams", results.streams);
  lines.member("failed_waits", results.failed_waits);
  lines.member("cut", text_or_null(results.cut));
  lines.member("went_on", results.went_on);
  lines.member("restored", results.restored);
  unsigned kind = 0;
  lines.array("kinds", results.kinds,
              [&kind](const TrialRate& rate) { return kind_json(static_cast<TrialKind>(kind++), rate); });
  lines.member("finding", results.finding ? finding_json(*results.finding) : JsonText());
  lines.member("untold", text_or_null(results.unreported));
  lines.finish();
  return text;
}

}  // namespace detail
TAKT_END_NAMESPACE
