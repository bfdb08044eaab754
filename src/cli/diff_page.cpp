// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff_page.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/diff_document.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"
#include "page/html.hpp"
#include "page/page_data.hpp"
#include "page/run_page.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::ComparedFigure;
using detail::ComparedRegion;
using detail::Comparison;
using detail::html_text;
using PageJson = detail::JsonText;

constexpr std::size_t kMaxChanges = 100;
constexpr std::size_t kMaxTableRows = 600;
constexpr std::size_t kMaxListedOfASide = 100;
constexpr std::size_t kMaxBlocksOfARun = 512;
constexpr std::size_t kBytesOfAHistory = std::size_t{256} << 10U;

PageJson change_json(const ComparedRegion& region) {
  const ComparedFigure& figure = region.figures.front();
  const bool has_interval = figure.change.basis != detail::Basis::none;
  const char* const mark = mark_word(region.mark);
  return {{"path", detail::fit(detail::printable(region.path), 80)},
          {"base", figure.base},
          {"new", figure.now},
          {"change", figure.change.change},
          {"low", has_interval ? PageJson(figure.change.low) : PageJson()},
          {"high", has_interval ? PageJson(figure.change.high) : PageJson()},
          {"basis", basis_word(figure.change.basis)},
          {"mark", *mark == 0 ? PageJson() : PageJson(mark)}};
}

/// Returns true if the step numbers only increase. Otherwise steps are shown in the order in which they ran.
bool is_counted(const detail::PageSeries& series) {
  for (std::size_t at = 1; at < series.blocks.size(); ++at) {
    if (detail::last_step_of(series.blocks[at - 1]) >= series.blocks[at].first_step) { return false; }
  }
  return true;
}

/// Returns the middle of each group of blocks on the step axis.
std::vector<double> middles_of(const detail::PageSeries& series, std::size_t blocks_a_point) {
  const bool counted = is_counted(series);
  std::vector<double> middles;
  double place = 0;
  for (std::size_t begin = 0; begin < series.blocks.size(); begin += blocks_a_point) {
    const std::size_t end = std::min(begin + blocks_a_point, series.blocks.size());
    double steps = 0;
    for (std::size_t at = begin; at < end; ++at) { steps += static_cast<double>(series.blocks[at].steps); }
    const auto first = static_cast<double>(series.blocks[begin].first_step);
    const auto last = static_cast<double>(detail::last_step_of(series.blocks[end - 1]));
    middles.push_back(counted ? first / 2 + last / 2 : place + (steps - 1) / 2);
    place += steps;
  }
  return middles;
}

/// Returns the medians of adjacent steps; with few steps, the time of each one.
std::vector<double> typical_times(const detail::PageSeries& series) {
  std::vector<double> times;
  for (const detail::StepBand& each : series.bands) { times.push_back(static_cast<double>(each.median_ns)); }
  if (!times.empty()) { return times; }
  for (const detail::StepBlock& each : series.blocks) {
    times.push_back(static_cast<double>(each.sum_ns) / static_cast<double>(std::max<std::uint64_t>(each.steps, 1)));
  }
  return times;
}

PageJson drawn_json(const DrawnRun& run, const detail::SeriesHistory& history) {
  const detail::PageSeries series(history, kMaxBlocksOfARun);
  const std::vector<double> times = typical_times(series);
  std::vector<double> places = middles_of(series, series.bands.empty() ? 1 : series.blocks_a_band);
  places.resize(times.size());  // the last steps may have no sample
  PageJson x = PageJson::array();
  for (const double each : places) { x.push_back(each); }
  const bool counted = is_counted(series);
  return {{"side", run.is_new ? "new" : "base"},
          {"name", detail::fit(detail::printable(run.name), 60)},
          {"first", counted ? series.blocks.front().first_step : 0},
          {"last", counted ? detail::last_step_of(series.blocks.back()) : static_cast<std::int64_t>(series.steps) - 1},
          {"x", x},
          {"ns", detail::times_json(times)}};
}

PageJson data_of(const Comparison& comparison, const DrawnRuns& drawn) {
  PageJson regions = PageJson::array();
  std::size_t shown = 0;
  std::size_t left_out = 0;
  for (const ComparedRegion& each : comparison.regions) {
    if (shown == kMaxChanges) {
      ++left_out;
      continue;
    }
    ++shown;
    regions.push_back(change_json(each));
  }
  PageJson runs = PageJson::array();
  for (const DrawnRun& each : drawn.runs()) {
    const StepHistory history = each.history.finished();
    const std::size_t main = history.main_series();
    if (main < history.series().size()) { runs.push_back(drawn_json(each, history.series()[main])); }
  }
  return {{"schema", "takt-diff-page/1"},
          {"statistic", detail::statistic_word(comparison.statistic)},
          {"threshold", comparison.has_gate ? PageJson(comparison.threshold) : PageJson()},
          {"left_out", left_out},
          {"regions", regions},
          {"drawn", runs}};
}

std::string state_of(const Comparison& comparison) {
  if (!comparison.has_gate) { return ""; }
  const char* const word = answer_word(comparison.answer);
  const char* const html = comparison.answer == detail::Answer::no_regression ? "good\">\u2713"
                           : comparison.answer == detail::Answer::regression  ? "bad\">\u25B2"
                                                                              : "open\">?";
  return detail::format("<span class=\"state {} {}</span>", html, word);
}

std::string numbers_of(const Comparison& comparison) {
  const std::vector<std::vector<std::string>> lines = diff_table(comparison, true);
  std::vector<detail::HtmlColumn> columns;
  for (const std::string& each : lines.front()) { columns.push_back({each, !columns.empty()}); }
  detail::HtmlTable table("numbers-table", "Figures of both sides", std::move(columns));
  for (std::size_t at = 1; at < std::min(lines.size(), kMaxTableRows); ++at) {
    std::vector<std::string> cells = lines[at];
    const std::size_t indent = std::min(cells.front().find_first_not_of(' '), cells.front().size());
    cells.front().erase(0, indent);
    table.add(cells, indent / 2);
  }
  if (lines.size() <= kMaxTableRows) { return table.html(); }
  return table.html() + detail::format("<p class=\"quiet\">{} more lines are in takt diff --json.</p>\n",
                                       detail::human_count(lines.size() - kMaxTableRows));
}

std::string runs_text(const Comparison& comparison) {
  detail::HtmlTable table(
      "runs-table", "The runs",
      {{"run"}, {"side"}, {"state"}, {"ranks", true}, {"step", true}, {"samples/s", true}, {"losses", true}});
  for (const auto* side : {&comparison.base, &comparison.now}) {
    for (std::size_t at = 0; at < std::min(side->size(), kMaxListedOfASide); ++at) {
      const detail::ComparedRun& run = (*side)[at];
      std::uint64_t losses = 0;
      for (const auto& [what, count] : run.losses) { losses = detail::bounded_sum(losses, count); }
      table.add({detail::fit(detail::printable(run.name), 80), side == &comparison.base ? "base" : "new", run.state,
                 detail::format("{} of {}", run.ranks, run.world_size),
                 run.step.mean.value > 0 ? detail::human_time(run.step.mean.value) : "-",
                 run.items_per_s > 0 ? detail::human_rate(run.items_per_s) : "-", detail::human_count(losses)});
    }
  }
  const auto beyond = [](const auto& side) { return side.size() - std::min(side.size(), kMaxListedOfASide); };
  const std::size_t left_out = beyond(comparison.base) + beyond(comparison.now);
  if (left_out == 0) { return table.html(); }
  return table.html() +
         detail::format("<p class=\"quiet\">{} more runs are not listed.</p>\n", detail::human_count(left_out));
}

/// Returns the obstacles of the comparison, which are shown first.
std::string obstacles_of(const Comparison& comparison, const std::string& reason) {
  std::vector<std::string> lines;
  for (const Finding& each : comparison.obstacles) { lines.push_back("should not be compared: " + each.sentence); }
  if (lines.empty()) { return ""; }
  lines.push_back("compared anyway, for this reason: " + reason);
  return "<div class=\"mistakes\">" + detail::lines_html(lines) + "</div>\n";
}

std::vector<std::string> sentences_of(const std::vector<Finding>& findings) {
  std::vector<std::string> sentences;
  sentences.reserve(findings.size());
  for (const Finding& each : findings) { sentences.push_back(each.sentence); }
  return sentences;
}

/// Says which steps are drawn if not all are.
std::string drawn_text(const Comparison& comparison, const DrawnRuns& drawn) {
  const auto has_ranks = [](const detail::ComparedRun& run) { return run.ranks > 1; };
  std::vector<std::string> lines;
  if (std::any_of(comparison.base.begin(), comparison.base.end(), has_ranks) ||
      std::any_of(comparison.now.begin(), comparison.now.end(), has_ranks)) {
    lines.emplace_back("the steps of a run with several ranks are those of its first rank");
  }
  if (drawn.left_out() != 0) {
    lines.push_back(detail::format("{} further runs are not drawn", detail::human_count(drawn.left_out())));
  }
  return detail::lines_html(lines);
}

}  // namespace

void DrawnRuns::add(const std::string& name, bool is_new, const std::function<void(StepHistory&)>& fill) {
  const auto of_side =
      std::count_if(runs_.begin(), runs_.end(), [&](const auto& each) { return each.is_new == is_new; });
  if (static_cast<std::size_t>(of_side) >= kMaxOfASide) {
    ++left_out_;
    return;
  }
  runs_.push_back({name, is_new, StepHistory(kBytesOfAHistory)});
  fill(runs_.back().history);
}

void DrawnRuns::add(const std::string& name, const RankDirectory& first, bool is_new) {
  add(name, is_new,
      [&](StepHistory& history) { read_rank(first, [&](const Snapshot& snapshot) { history.add(snapshot); }); });
}

std::string diff_page(const Comparison& comparison, const std::string& reason, const DrawnRuns& drawn) {
  const std::string version = detail::page_version();
  const std::string heading =
      detail::format("{} base run{} and {} new run{}", comparison.base.size(), comparison.base.size() == 1 ? "" : "s",
                     comparison.now.size(), comparison.now.size() == 1 ? "" : "s");
  detail::PageParts parts;
  const std::string headline = answer_line(comparison);
  parts.title = headline;
  parts.body = detail::filled(
      detail::kPageDiffBody.text,
      {{"version", version},
       {"headline", html_text(headline)},
       {"state", state_of(comparison)},
       {"meta", html_text(detail::format("{}: {} \u2192 {}", heading,
                                         detail::fit(detail::printable(comparison.base.front().name), 60),
                                         detail::fit(detail::printable(comparison.now.front().name), 60)))},
       {"obstacles", obstacles_of(comparison, reason)},
       {"verdict", detail::lines_html(gate_lines(comparison)) + detail::lines_html(basis_lines(comparison))},
       {"findings", detail::lines_html(sentences_of(comparison.findings))},
       {"steps", drawn_text(comparison, drawn)},
       {"numbers", numbers_of(comparison)},
       {"differences", detail::lines_html(sentences_of(comparison.differences))},
       {"runs", runs_text(comparison)}});
  parts.data = data_of(comparison, drawn).text();
  parts.script = &detail::kPageDiffScript;
  return detail::page_document(parts);
}

}  // namespace cli
TAKT_END_NAMESPACE
