// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/scaling_page.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "page/html.hpp"
#include "page/page_data.hpp"
#include "page/run_page.hpp"
#include "report/notes.hpp"

#include <cstddef>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using detail::html_text;
using PageJson = detail::JsonText;

constexpr std::size_t kNameColumns = 60;

PageJson scaling_line_json(const ScalingComparison& comparison) {
  PageJson runs = PageJson::array();
  for (const ScalingLine& each : comparison.lines) {
    const Throughput& rate = each.run.throughput;
    const bool has_interval = rate.items_high > 0;
    runs.push_back({{"run", detail::fit_end(detail::printable(each.run.id), kNameColumns)},
                    {"ranks", each.run.ranks},
                    {"rate", each.row.items_per_s},
                    {"low", has_interval ? PageJson(rate.items_low) : PageJson()},
                    {"high", has_interval ? PageJson(rate.items_high) : PageJson()},
                    {"speed_up", each.row.speed_up},
                    {"efficiency", each.row.efficiency}});
  }
  return {{"name", detail::fit(scaling_name(comparison), kNameColumns)}, {"runs", runs}};
}

/// Returns the comparison that the headline is about: the steps, or else the last kind of trial, which is FULL.
const ScalingComparison& main_of(const ScalingReport& report) {
  return report.steps.lines.empty() ? report.trials.back() : report.steps;
}

std::string headline_of(const ScalingComparison& comparison) {
  const ScalingLine& smallest = comparison.lines.front();
  const ScalingLine& largest = comparison.lines.back();
  const std::string name = detail::fit(scaling_name(comparison), kNameColumns);
  if (largest.run.ranks == smallest.run.ranks) {
    return detail::format("{} with {} rank{}", name, smallest.run.ranks, detail::plural(smallest.run.ranks));
  }
  return detail::format("{} from {} to {} ranks: {:.2f} times the rate, {:.1f} % efficiency", name, smallest.run.ranks,
                        largest.run.ranks, largest.row.speed_up, 100 * largest.row.efficiency);
}

std::string table_of(const ScalingPart& part) {
  std::vector<detail::HtmlColumn> columns = {{part.name_head}};
  for (const detail::TextColumn& each : part.columns) { columns.push_back({each.head, true}); }
  detail::HtmlTable table(std::string(part.name_head) + "-table", part.title, std::move(columns));
  for (const detail::TextTable::Line& each : part.lines) {
    std::vector<std::string> cells = {each.name};
    cells.insert(cells.end(), each.cells.begin(), each.cells.end());
    table.add(cells, each.depth);
  }
  return "<h3>" + html_text(part.title) + "</h3>\n" + table.html() + detail::lines_html(part.overheads);
}

}  // namespace

std::string scaling_page(const ScalingReport& report) {
  PageJson drawn = PageJson::array();
  if (!report.steps.lines.empty()) { drawn.push_back(scaling_line_json(report.steps)); }
  for (const ScalingComparison& each : report.trials) { drawn.push_back(scaling_line_json(each)); }
  std::string tables;
  for (const ScalingPart& each : scaling_parts(report)) { tables += table_of(each); }
  const ScalingComparison& main = main_of(report);
  const std::string& reference = main.lines.front().run.id;
  detail::PageParts parts;
  parts.title = headline_of(main);
  parts.body = detail::filled(
      detail::kPageScalingBody.text,
      {{"version", detail::page_version()},
       {"headline", html_text(parts.title)},
       {"meta",
        html_text(detail::format("{} run{}, compared with {}", main.lines.size(), detail::plural(main.lines.size()),
                                 detail::fit_end(detail::printable(reference), kNameColumns)))},
       {"warnings",
        report.warnings.empty() ? "" : "<div class=\"mistakes\">" + detail::lines_html(report.warnings) + "</div>\n"},
       {"tables", tables}});
  parts.data = PageJson({{"schema", "takt-scaling-page/1"}, {"lines", drawn}}).text();
  parts.script = &detail::kPageScalingScript;
  return detail::page_document(parts);
}

}  // namespace cli
TAKT_END_NAMESPACE
