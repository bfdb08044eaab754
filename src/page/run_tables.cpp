// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "page/html_table.hpp"
#include "page/run_sections.hpp"
#include "report/notes.hpp"

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kTenths = 10;

std::string page_time(double ns) { return human_time(ns); }
std::string page_time(std::uint64_t ns) { return human_time(static_cast<double>(ns)); }

/// "-" where nothing was measured after warm-up.
std::string measured_time(const Summary& summary, double ns) {
  return summary.measured_n() == 0 ? "-" : human_time(ns);
}
std::string percentile_text(const Summary& summary, double q) {
  return has_percentile(summary, q) ? page_time(summary.percentile_ns(q)) : "-";
}

std::string phase_name(std::uint32_t path, const Snapshot& snapshot, std::uint32_t batch) {
  if (path == HistoryColumn::kBetween) { return "between two steps"; }
  if (path == StepPhase::kRest) { return "further regions"; }
  if (path == batch) { return "no region inside the step"; }
  return path_label(snapshot, path, PagePaths::kLongestName);
}

/// What stands for so many neighbouring blocks in the table of steps.
struct PartOfMeanStep {
  std::uint64_t steps = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t least_ns = ~std::uint64_t{0};
  std::uint64_t most_ns = 0;
};

std::string range_text(std::int64_t first, std::int64_t last) {
  return first == last ? detail::format("{}", first) : detail::format("{} to {}", first, last);
}

}  // namespace

std::string steps_html(const PageSeries& series, const Snapshot& snapshot) {
  HtmlTable tenths("steps-table", "Step time over the run, in ten parts",
                   {{"steps"}, {"mean", true}, {"least", true}, {"most", true}});
  const std::size_t each = std::max<std::size_t>((series.blocks.size() + kTenths - 1) / kTenths, 1);
  for (std::size_t begin = 0; begin < series.blocks.size(); begin += each) {
    const std::size_t end = std::min(begin + each, series.blocks.size());
    PartOfMeanStep part;
    for (std::size_t at = begin; at < end; ++at) {
      const StepBlock& block = series.blocks[at];
      part.steps += block.steps;
      part.sum_ns = bounded_sum(part.sum_ns, block.sum_ns);
      part.least_ns = std::min(part.least_ns, block.least_ns);
      part.most_ns = std::max(part.most_ns, block.most_ns);
    }
    tenths.add(
        {range_text(series.blocks[begin].first_step, last_step_of(series.blocks[end - 1])),
         page_time(static_cast<double>(part.sum_ns) / static_cast<double>(std::max<std::uint64_t>(part.steps, 1))),
         page_time(part.least_ns), page_time(part.most_ns)});
  }
  HtmlTable worst("worst-table", "The longest steps after warm-up", {{"step"}, {"time", true}, {"longer by most in"}});
  for (const WorstStep& step : series.worst) {
    worst.add(
        {detail::format("{}", step.step), page_time(step.ns), phase_name(step.path, snapshot, PathStats::kNoParent)});
  }
  return "<details><summary>Step time in numbers</summary><div class=\"pair\">" + tenths.html() +
         (series.worst.empty() ? "" : worst.html()) + "</div></details>\n";
}

std::string phases_html(const PageSeries& series, const Snapshot& snapshot, std::uint32_t batch) {
  HtmlTable table("phases-table", "What a step consists of", {{"part"}, {"mean a step", true}, {"share", true}});
  std::uint64_t whole = 0;
  for (const StepPhase& each : series.phases) { whole = bounded_sum(whole, each.total_ns); }
  const auto steps = static_cast<double>(std::max<std::uint64_t>(series.steps, 1));
  for (const StepPhase& each : series.phases) {
    const auto total = static_cast<double>(each.total_ns);
    table.add(
        {phase_name(each.path, snapshot, batch), page_time(total / steps), percent(total, static_cast<double>(whole))});
  }
  if (series.streams.empty()) { return table.html(); }
  HtmlTable streams("streams-table", "Stream spans", {{"stream span of"}, {"mean a step", true}});
  for (const StepPhase& each : series.streams) {
    streams.add(
        {phase_name(each.path, snapshot, PathStats::kNoParent), page_time(static_cast<double>(each.total_ns) / steps)});
  }
  return "<div class=\"pair\">" + table.html() + streams.html() + "</div>\n";
}

std::string tree_html(const Snapshot& snapshot, const PagePaths& paths) {
  const bool has_device = std::any_of(snapshot.paths.begin(), snapshot.paths.end(),
                                      [](const PathStats& each) { return each.device.n() != 0; });
  std::vector<HtmlColumn> columns = {{"region"},      {"kind"},       {"n", true},   {"total", true}, {"self", true},
                                     {"share", true}, {"mean", true}, {"p50", true}, {"p99", true},   {"max", true}};
  if (has_device) { columns.insert(columns.end(), {{"stream total", true}, {"stream mean", true}}); }
  HtmlTable table("tree-table", "The call tree", std::move(columns));
  for (const std::uint32_t index : paths.shown()) {
    const PathStats& path = snapshot.paths[index];
    const Summary& host = path.host;
    const double share = snapshot.share_of_parent(index);
    std::vector<std::string> cells = {fit(printable(path.name), PagePaths::kLongestName),
                                      to_string(path.kind),
                                      human_count(host.n()),
                                      page_time(snapshot.time_so_far_ns(index)),
                                      page_time(path.self_ns),
                                      share < 0 ? "-" : percent(share, 1),
                                      measured_time(host, host.mean_ns()),
                                      percentile_text(host, 0.5),
                                      percentile_text(host, 0.99),
                                      measured_time(host, static_cast<double>(host.max_ns()))};
    if (path.device.n() != 0) {
      cells.push_back(page_time(path.device.total_ns()));
      cells.push_back(measured_time(path.device, path.device.mean_ns()));
    }
    table.add(cells, path.depth);
  }
  return table.html();
}

}  // namespace detail
TAKT_END_NAMESPACE
