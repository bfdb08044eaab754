// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "page/html_table.hpp"
#include "page/html_text.hpp"
#include "page/run_sections.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::string cost_html(const Cost& cost) {
  constexpr double kBarWidth = 96;
  const double share = std::clamp(std::isfinite(cost.share) ? cost.share : 0, 0.0, 1.0);
  const std::string interval =
      cost.high_ns > cost.low_ns ? detail::format("95 % CI [{}, {}]", human_time(cost.low_ns), human_time(cost.high_ns))
                                 : "";
  return detail::format(
      "<p class=\"cost\"><strong>{}</strong> <span>{} of the whole</span> <svg class=\"bar\" width=\"{}\" height=\"8\" "
      "aria-hidden=\"true\"><rect class=\"whole\" width=\"{}\" height=\"8\"/><rect class=\"part\" width=\"{:.1f}\" "
      "height=\"8\"/></svg> <span class=\"quiet\">{}</span></p>",
      html_text(human_time(cost.ns)), html_text(percent(share, 1)), kBarWidth, kBarWidth, share * kBarWidth,
      html_text(interval));
}

/// "12.3 ms" of ns, "20 %" of a share, or the number as it is.
std::string evidence_text(const Evidence& evidence) {
  if (evidence.unit == "ns") { return human_time(evidence.value); }
  const std::string number = detail::format("{:.4g}", evidence.value);
  return evidence.unit.empty() ? number : number + " " + evidence.unit;
}

std::string evidence_html(const Finding& finding, std::size_t number) {
  if (finding.evidence.empty()) { return ""; }
  HtmlTable table(detail::format("evidence-{}", number), detail::format("Evidence of finding {}", number),
                  {{"figure"}, {"value", true}});
  for (std::size_t at = 0; at < std::min(finding.evidence.size(), kMostPageLines); ++at) {
    std::string name = finding.evidence[at].name;
    std::replace(name.begin(), name.end(), '_', ' ');
    table.add({name, evidence_text(finding.evidence[at])});
  }
  return "<details><summary>Evidence</summary>" + table.html() + "</details>";
}

}  // namespace

std::string lines_html(const std::vector<std::string>& lines) {
  if (lines.empty()) { return ""; }
  std::string html = "<ul class=\"lines\">\n";
  for (std::size_t at = 0; at < std::min(lines.size(), kMostPageLines); ++at) {
    html += "<li>" + html_text(lines[at]) + "</li>\n";
  }
  if (lines.size() > kMostPageLines) {
    html += detail::format("<li>{} more are not on this page</li>\n", human_count(lines.size() - kMostPageLines));
  }
  return html + "</ul>\n";
}

std::string findings_html(const std::vector<Finding>& findings) {
  constexpr std::size_t kMostFindings = 16;
  std::string html;
  for (std::size_t at = 0; at < std::min(findings.size(), kMostFindings); ++at) {
    const Finding& finding = findings[at];
    html += "<li>\n<p class=\"sentence\">" + html_text(finding.sentence) + "</p>\n";
    if (finding.cost) { html += cost_html(*finding.cost) + "\n"; }
    html += evidence_html(finding, at + 1) + "</li>\n";
  }
  if (html.empty()) { return "<p class=\"calm\">Nothing stands out.</p>\n"; }
  std::string rest;
  if (findings.size() > kMostFindings) {
    rest = detail::format("<p class=\"quiet\">{} more are in summary.json.</p>\n", findings.size() - kMostFindings);
  }
  return "<ol class=\"findings\">\n" + html + "</ol>\n" + rest;
}

}  // namespace detail
TAKT_END_NAMESPACE
