// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff_document.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "report/text_table.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using DiffLine = std::vector<std::string>;
using detail::Basis;
using detail::Change;
using detail::ChangeMark;
using detail::ComparedFigure;
using detail::ComparedRegion;
using detail::Comparison;
using detail::JsonText;

constexpr detail::TextColumn kDiffColumns[] = {{"base", 2},          {"new", 2},     {"change", 0},
                                               {"95 % interval", 1}, {"scatter", 3}, {"", 0, true, true}};

using detail::signed_percent;

std::string interval_text(const Change& change) {
  if (change.basis == Basis::none) { return "-"; }
  return signed_percent(change.low) + " to " + signed_percent(change.high);
}

std::string shown_path(const std::string& path) { return detail::fit_end(detail::printable(path), 80); }

DiffLine table_line(const std::string& name, const ComparedFigure& figure, ChangeMark mark) {
  const bool is_rate = figure.name == "items_per_s";
  const auto value = [&](double number) { return is_rate ? detail::human_rate(number) : detail::human_time(number); };
  const Change& change = figure.change;
  return {name,
          value(figure.base),
          value(figure.now),
          signed_percent(change.change),
          interval_text(change),
          change.basis == Basis::none ? "-" : detail::format("{:.2f} %", 100 * change.scatter),
          mark_word(mark)};
}

const ComparedRegion* step_of(const Comparison& comparison) {
  const bool has_step = !comparison.regions.empty() && comparison.regions.front().path == detail::kStepRegion;
  return has_step ? &comparison.regions.front() : nullptr;
}

/// Returns true if the region is the Batch of the step, or contains it, and changed as the step did.
bool says_the_same(const Comparison& comparison, const ComparedRegion& region) {
  constexpr double kTheSame = 0.005;
  const ComparedRegion* const step = step_of(comparison);
  if (step == nullptr || &region == step || region.is_gate || region.mark != step->mark) { return false; }
  const std::string& batch = comparison.base.front().step_path;
  const bool is_around = batch == region.path || batch.compare(0, region.path.size() + 1, region.path + "/") == 0;
  return is_around && std::fabs(region.figures.front().change.change - step->figures.front().change.change) <= kTheSame;
}

/// Returns the change of the region's time in a step, in ns.
double change_a_step(const ComparedRegion& region) {
  return (region.figures.front().now - region.figures.front().base) * region.times_a_step;
}

/// Returns the region with a significant change that changed a step the most; nullptr: none.
const ComparedRegion* largest_change(const Comparison& comparison) {
  const ComparedRegion* largest = nullptr;
  for (const ComparedRegion& each : comparison.regions) {
    if (each.path == detail::kStepRegion || each.mark == ChangeMark::unclear) { continue; }
    if (says_the_same(comparison, each)) { continue; }
    if (largest == nullptr || std::fabs(change_a_step(each)) > std::fabs(change_a_step(*largest))) { largest = &each; }
  }
  return largest;
}

std::string sure_text(const Comparison& comparison) {
  if (const ComparedRegion* const region = largest_change(comparison)) {
    const double ns = change_a_step(*region);
    return detail::format("largest significant change: {} {}, {} a step {}", shown_path(region->path),
                          signed_percent(region->figures.front().change.change), detail::human_time(std::fabs(ns)),
                          ns > 0 ? "more" : "less");
  }
  if (std::min(comparison.base.size(), comparison.now.size()) < detail::kRunsForScatter) {
    return "no significant change: three runs on each side are needed";
  }
  if (!comparison.in_turn) { return "no significant change: the sides were not run in turn"; }
  const ComparedRegion* const step = step_of(comparison);
  return step != nullptr && step->mark != ChangeMark::unclear ? "no region has a significant change"
                                                              : "no significant change";
}

std::string words_of(const std::string& figure) {
  return figure == "device_mean" ? "device mean" : figure == "time_an_item" ? "time an item" : figure;
}

std::string names_of_runs(const std::vector<detail::ComparedRun>& runs) {
  constexpr std::size_t kMaxNamedRuns = 10;
  std::string text;
  for (std::size_t at = 0; at < std::min(runs.size(), kMaxNamedRuns); ++at) {
    text += (at == 0 ? "" : ", ") + detail::fit(detail::printable(runs[at].name), 60);
  }
  return text + (runs.size() > kMaxNamedRuns ? ", ..." : "");
}

std::string gate_line(const Comparison& comparison, const ComparedRegion& region) {
  const detail::GateAnswer& gate = region.gate;
  std::string text =
      detail::format("gate: {} may take up to {:.2f} % more, by its {}: {}", shown_path(region.path),
                     100 * comparison.threshold, words_of(region.figures.front().name), answer_word(gate.answer));
  if (gate.detectable > 0) {
    text += detail::format("; a change of {} would be detected in 95 % of cases", signed_percent(gate.detectable));
  }
  if (gate.answer != detail::Answer::inconclusive) { return text; }
  const std::size_t runs = std::min(comparison.base.size(), comparison.now.size());
  if (runs < detail::kRunsForScatter) {
    return text + (comparison.noise >= 0
                       ? "; three runs a side would show how much runs differ"
                       : "; fewer than three runs on a side do not show how much runs differ: give three, or set "
                         "--noise");
  }
  if (!comparison.in_turn) {
    return text +
           "; the sides were not run in turn, so the machine may have changed: run them in turn, or set "
           "--noise to its maximum change";
  }
  if (gate.runs_needed > detail::kMaxRunsNeeded) {
    return text + detail::format("; more than {} runs a side are needed", detail::kMaxRunsNeeded);
  }
  if (gate.runs_needed <= runs) {
    return text + "; there are enough runs, but the change is too close to the threshold for a decision";
  }
  return text + detail::format("; about {} runs a side are needed", gate.runs_needed);
}

JsonText figure_json(const ComparedFigure& figure) {
  const Change& change = figure.change;
  const bool has_interval = change.basis != Basis::none;
  return {{"figure", figure.name},
          {"base", figure.base},
          {"new", figure.now},
          {"change", change.change},
          {"low", has_interval ? JsonText(change.low) : JsonText()},
          {"high", has_interval ? JsonText(change.high) : JsonText()},
          {"basis", basis_word(change.basis)},
          {"scatter", has_interval ? JsonText(change.scatter) : JsonText()}};
}

JsonText region_json(const ComparedRegion& region) {
  JsonText figures = JsonText::array();
  for (const ComparedFigure& each : region.figures) { figures.push_back(figure_json(each)); }
  JsonText gate;
  if (region.is_gate) {
    gate = {{"answer", answer_word(region.gate.answer)},
            {"detectable", region.gate.detectable > 0 ? JsonText(region.gate.detectable) : JsonText()},
            {"runs_needed", region.gate.runs_needed > 0 ? JsonText(region.gate.runs_needed) : JsonText()}};
  }
  const char* const mark = mark_word(region.mark);
  return {
      {"path", region.path}, {"mark", *mark == 0 ? JsonText() : JsonText(mark)}, {"gate", gate}, {"figures", figures}};
}

JsonText side_json(const std::vector<detail::ComparedRun>& runs) {
  JsonText list = JsonText::array();
  for (const detail::ComparedRun& run : runs) {
    JsonText losses = JsonText::object();
    for (const auto& [what, count] : run.losses) { losses.add(what, count); }
    list.push_back({{"run", run.name},
                    {"state", run.state},
                    {"ranks", run.ranks},
                    {"world_size", run.world_size},
                    {"step_ns", run.step.mean.value},
                    {"items_per_s", run.items_per_s},
                    {"losses", losses}});
  }
  return list;
}

JsonText findings_json(const std::vector<Finding>& findings) {
  JsonText list = JsonText::array();
  for (const Finding& each : findings) { list.push_back(detail::finding_json(each)); }
  return list;
}

}  // namespace

const char* mark_word(ChangeMark mark) noexcept {
  return mark == ChangeMark::slower ? "slower" : mark == ChangeMark::faster ? "faster" : "";
}

const char* basis_word(Basis basis) noexcept {
  return basis == Basis::pairs ? "pairs" : basis == Basis::runs ? "runs" : "none";
}

const char* answer_word(detail::Answer answer) noexcept {
  return answer == detail::Answer::regression      ? "regression"
         : answer == detail::Answer::no_regression ? "no regression"
                                                   : "inconclusive";
}

std::string answer_line(const Comparison& comparison) {
  const std::string answer = comparison.has_gate ? std::string(answer_word(comparison.answer)) + ": " : "";
  const ComparedRegion* const step = step_of(comparison);
  if (step == nullptr) { return answer + "these runs have no steps in common; " + sure_text(comparison); }
  const ComparedFigure& figure = step->figures.front();
  const std::string interval = figure.change.basis == Basis::none ? "" : " (" + interval_text(figure.change) + ")";
  return answer + detail::format("a step takes {} instead of {}, by its {}: {}{}; {}", detail::human_time(figure.now),
                                 detail::human_time(figure.base), words_of(figure.name),
                                 signed_percent(figure.change.change), interval, sure_text(comparison));
}

std::vector<std::string> diff_head(const Comparison& comparison, const std::string& reason) {
  std::vector<std::string> lines = {answer_line(comparison)};
  for (const Finding& each : comparison.obstacles) { lines.push_back("should not be compared: " + each.sentence); }
  if (!comparison.obstacles.empty()) {
    lines.push_back("compared anyway, for this reason: " + detail::printable(reason));
  }
  return lines;
}

std::vector<std::string> basis_lines(const Comparison& comparison) {
  const std::string what = detail::statistic_word(comparison.statistic);
  const std::string others =
      comparison.statistic == detail::Statistic::p25
          ? ": a quarter of the steps take no longer; --on p50, mean, p95 or throughput decides by these"
          : "";
  std::vector<std::string> lines = {"by " + what + others};
  if (std::min(comparison.base.size(), comparison.now.size()) < detail::kRunsForScatter) {
    lines.emplace_back(
        "no intervals: the steps of one run do not show how much runs differ; three runs on each side are needed");
  } else if (!comparison.pairs.empty()) {
    lines.push_back(detail::format(
        "intervals: the shorter of those of the ratios of {} pairs of adjacent runs and those between runs",
        comparison.pairs.size()));
  } else {
    lines.emplace_back("intervals: between the runs of each side, which were not run in pairs");
  }
  return lines;
}

std::vector<std::string> gate_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const ComparedRegion& each : comparison.regions) {
    if (each.is_gate) { lines.push_back(gate_line(comparison, each)); }
  }
  if (lines.size() > 1) { lines.push_back(detail::format("all gates: {}", answer_word(comparison.answer))); }
  return lines;
}

std::vector<std::string> diff_end(const Comparison& comparison) {
  std::vector<std::string> lines = gate_lines(comparison);
  for (const Finding& each : comparison.findings) { lines.push_back(each.sentence); }
  for (const Finding& each : comparison.differences) { lines.push_back("other difference: " + each.sentence); }
  for (const std::string& each : basis_lines(comparison)) { lines.push_back(each); }
  std::string same;
  for (const ComparedRegion& each : comparison.regions) {
    if (says_the_same(comparison, each)) { same += (same.empty() ? "" : ", ") + shown_path(each.path); }
  }
  if (!same.empty()) { lines.push_back("not in the table, as they changed like the step: " + same); }
  lines.emplace_back("other figures of regions: --json, --html");
  lines.push_back(detail::format("base, {} run{}: {}", comparison.base.size(), comparison.base.size() == 1 ? "" : "s",
                                 names_of_runs(comparison.base)));
  lines.push_back(detail::format("new, {} run{}: {}", comparison.now.size(), comparison.now.size() == 1 ? "" : "s",
                                 names_of_runs(comparison.now)));
  return lines;
}

std::vector<std::vector<std::string>> diff_table(const Comparison& comparison, bool whole) {
  std::vector<DiffLine> lines = {{"region"}};
  for (const detail::TextColumn& each : kDiffColumns) { lines.front().emplace_back(each.head); }
  for (const ComparedRegion& region : comparison.regions) {
    if (!whole && says_the_same(comparison, region)) { continue; }
    const bool is_step = region.path == detail::kStepRegion;
    const std::string name = detail::fit_end(detail::printable(region.path), 50);
    for (const ComparedFigure& figure : region.figures) {
      const bool decides = &figure == &region.figures.front();
      if (!decides && !whole && !is_step) { break; }
      lines.push_back(table_line(decides ? name + " " + words_of(figure.name) : "  " + words_of(figure.name), figure,
                                 decides ? region.mark : ChangeMark::unclear));
    }
    if (!is_step) { continue; }
    for (const ComparedFigure& figure : comparison.rates) {
      lines.push_back(table_line("  samples/s", figure, ChangeMark::unclear));
    }
  }
  return lines;
}

std::string diff_text(const Comparison& comparison, const std::string& reason, detail::Page page) {
  const std::vector<DiffLine> all = diff_table(comparison, false);
  std::vector<detail::TextTable::Line> lines;
  for (std::size_t at = 1; at < all.size(); ++at) {
    lines.push_back({all[at].front(), 0, {all[at].begin() + 1, all[at].end()}});
  }
  const detail::TextTable table({std::begin(kDiffColumns), std::end(kDiffColumns)}, std::move(lines), page.width());
  page.add_part(diff_head(comparison, reason), detail::Page::Style::plain);
  page.add({table.head()}, detail::Page::Style::bold);
  page.add_part(table.body(), detail::Page::Style::plain);
  page.add(diff_end(comparison), detail::Page::Style::plain);
  return page.text();
}

std::string diff_markdown(const Comparison& comparison, const std::string& reason) {
  const auto escaped = [](const std::string& text) {
    std::string out;
    for (const char each : text) {
      if (std::string("|\\`*_<>[]#&").find(each) != std::string::npos) { out += '\\'; }
      out += each;
    }
    return out;
  };
  std::string text;
  for (const std::string& each : diff_head(comparison, reason)) { text += "* " + escaped(each) + "\n"; }
  bool is_head = true;
  text += "\n";
  for (const DiffLine& line : diff_table(comparison, false)) {
    for (const std::string& cell : line) { text += "| " + escaped(cell) + " "; }
    text += "|\n";
    if (std::exchange(is_head, false)) { text += "|---|---:|---:|---:|---:|---:|---|\n"; }
  }
  text += "\n";
  for (const std::string& each : diff_end(comparison)) { text += "* " + escaped(each) + "\n"; }
  return text;
}

std::string diff_json(const Comparison& comparison, const std::string& reason) {
  JsonText regions = JsonText::array();
  for (const ComparedRegion& each : comparison.regions) { regions.push_back(region_json(each)); }
  JsonText rates = JsonText::array();
  for (const ComparedFigure& each : comparison.rates) { rates.push_back(figure_json(each)); }
  const bool asked = comparison.has_gate;
  const JsonText document = {{"schema", "takt-diff/1"},
                             {"base", side_json(comparison.base)},
                             {"new", side_json(comparison.now)},
                             {"obstacles", findings_json(comparison.obstacles)},
                             {"reason", comparison.obstacles.empty() ? JsonText() : JsonText(reason)},
                             {"differences", findings_json(comparison.differences)},
                             {"regions", regions},
                             {"rates", rates},
                             {"findings", findings_json(comparison.findings)},
                             {"threshold", asked ? JsonText(comparison.threshold) : JsonText()},
                             {"noise", comparison.noise >= 0 ? JsonText(comparison.noise) : JsonText()},
                             {"statistic", detail::statistic_word(comparison.statistic)},
                             {"pairs", comparison.pairs.size()},
                             {"in_turn", comparison.in_turn},
                             {"answer", asked ? JsonText(answer_word(comparison.answer)) : JsonText()}};
  return detail::printable_json(document.indented()) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
