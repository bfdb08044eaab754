// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/diff_document.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "findings/finding_json.hpp"
#include "report/text_table.hpp"

#include <algorithm>
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

constexpr detail::TextColumn kDiffColumns[] = {
    {"base", 2}, {"new", 2}, {"change", 0}, {"95 % interval", 1}, {"between / within runs", 3}, {"", 0, true, true}};

std::string signed_percent(double value) { return detail::format("{:+.2f} %", 100 * value); }

std::string interval_text(const Change& change) {
  if (change.basis == Basis::none) { return "-"; }
  return detail::format("{} to {}{}", signed_percent(change.low), signed_percent(change.high),
                        change.basis == Basis::within ? " (within runs)" : "");
}

std::string scatter_text(const Change& change) {
  const std::string within = change.within > 0 ? detail::format("{:.2f} %", 100 * change.within) : "-";
  return (change.basis == Basis::runs ? detail::format("{:.2f} %", 100 * change.between) : "-") + " / " + within;
}

DiffLine table_line(const std::string& name, const ComparedFigure& figure, ChangeMark mark) {
  const bool is_rate = figure.name == "items_per_s";
  const auto value = [&](double number) { return is_rate ? detail::human_rate(number) : detail::human_time(number); };
  return {name,
          value(figure.base),
          value(figure.now),
          signed_percent(figure.change.change),
          interval_text(figure.change),
          scatter_text(figure.change),
          mark_word(mark)};
}

std::string names_of_runs(const std::vector<detail::ComparedRun>& runs) {
  constexpr std::size_t kMostNamedRuns = 10;
  std::string text;
  for (std::size_t at = 0; at < std::min(runs.size(), kMostNamedRuns); ++at) {
    text += (at == 0 ? "" : ", ") + detail::fit(detail::printable(runs[at].name), 60);
  }
  return text + (runs.size() > kMostNamedRuns ? ", ..." : "");
}

std::string gate_line(const Comparison& comparison, const ComparedRegion& region) {
  const detail::GateAnswer& gate = region.gate;
  std::string text =
      detail::format("gate: {} may take {:.2f} % more: {}", detail::fit_end(detail::printable(region.path), 80),
                     100 * comparison.threshold, answer_word(gate.answer));
  if (gate.detectable > 0) {
    text += detail::format("; a change of {} would be found 95 times of 100", signed_percent(gate.detectable));
  }
  if (gate.answer != detail::Answer::inconclusive) { return text; }
  if (gate.runs_needed > detail::kMostRunsNeeded) {
    return text + detail::format("; it takes more than {} runs a side", detail::kMostRunsNeeded);
  }
  if (gate.runs_needed > 0 && gate.runs_needed <= std::min(comparison.base.size(), comparison.now.size())) {
    return text +
           "; the runs would do for another change, but this one lies too near to the bound to tell on which side";
  }
  if (gate.runs_needed > 0) { return text + detail::format("; it takes about {} runs a side", gate.runs_needed); }
  if (comparison.noise >= 0) { return text + "; three runs a side tell by how much runs differ"; }
  return text +
         "; fewer than three runs on a side do not tell by how much runs differ: give three, or say it by --noise";
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
          {"between", change.basis == Basis::runs ? JsonText(change.between) : JsonText()},
          {"within", change.within > 0 ? JsonText(change.within) : JsonText()}};
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
  return basis == Basis::runs ? "runs" : basis == Basis::within ? "within_runs" : "none";
}

const char* answer_word(detail::Answer answer) noexcept {
  return answer == detail::Answer::regression      ? "regression"
         : answer == detail::Answer::no_regression ? "no regression"
                                                   : "inconclusive";
}

std::vector<std::string> diff_head(const Comparison& comparison, const std::string& reason) {
  std::vector<std::string> lines;
  lines.push_back(detail::format("base, {} runs: {}", comparison.base.size(), names_of_runs(comparison.base)));
  lines.push_back(detail::format("new, {} runs: {}", comparison.now.size(), names_of_runs(comparison.now)));
  for (const Finding& each : comparison.obstacles) { lines.push_back("should not be compared: " + each.sentence); }
  if (!comparison.obstacles.empty()) {
    lines.push_back("compared all the same, for this reason: " + detail::printable(reason));
  }
  for (const Finding& each : comparison.differences) { lines.push_back("differs besides: " + each.sentence); }
  return lines;
}

std::vector<std::string> basis_lines(const Comparison& comparison) {
  if (std::min(comparison.base.size(), comparison.now.size()) >= detail::kRunsForScatter) { return {}; }
  return {
      "intervals are those within runs: they do not know by how much runs of one side differ, which takes three runs "
      "on each side"};
}

std::vector<std::string> gate_lines(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const ComparedRegion& each : comparison.regions) {
    if (each.is_gate) { lines.push_back(gate_line(comparison, each)); }
  }
  if (comparison.has_gate) { lines.push_back(detail::format("all gates: {}", answer_word(comparison.answer))); }
  return lines;
}

std::vector<std::string> diff_end(const Comparison& comparison) {
  std::vector<std::string> lines = basis_lines(comparison);
  for (const Finding& each : comparison.findings) { lines.push_back(each.sentence); }
  const std::vector<std::string> gates = gate_lines(comparison);
  lines.insert(lines.end(), gates.begin(), gates.end());
  return lines;
}

std::vector<std::vector<std::string>> diff_table(const Comparison& comparison) {
  std::vector<DiffLine> lines = {{"region"}};
  for (const detail::TextColumn& each : kDiffColumns) { lines.front().emplace_back(each.head); }
  for (const ComparedRegion& region : comparison.regions) {
    std::string name = detail::fit_end(detail::printable(region.path), 50);
    for (const ComparedFigure& figure : region.figures) {
      const bool is_mean = figure.name == "mean";
      lines.push_back(table_line(is_mean ? name : "  " + (figure.name == "device_mean" ? "device mean" : figure.name),
                                 figure, is_mean ? region.mark : ChangeMark::unclear));
    }
  }
  for (const ComparedFigure& figure : comparison.rates) {
    lines.push_back(table_line("samples/s", figure, ChangeMark::unclear));
  }
  return lines;
}

std::string diff_text(const Comparison& comparison, const std::string& reason, detail::Page page) {
  const std::vector<DiffLine> all = diff_table(comparison);
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
  for (const DiffLine& line : diff_table(comparison)) {
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
                             {"answer", asked ? JsonText(answer_word(comparison.answer)) : JsonText()}};
  return detail::printable_json(detail::indented_json(document.text())) + "\n";
}

}  // namespace cli
TAKT_END_NAMESPACE
