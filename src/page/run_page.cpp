// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/run_page.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/step_history.hpp"
#include "page/html.hpp"
#include "page/page_data.hpp"
#include "page/run_figures.hpp"
#include "report/job_report.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

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

/// Formats ns as "12.3 ms"; other units as number and unit.
std::string evidence_text(const Evidence& evidence) {
  if (evidence.unit == "ns") { return human_time(evidence.value); }
  const std::string number = detail::format("{:.4g}", evidence.value);
  return evidence.unit.empty() ? number : number + " " + evidence.unit;
}

std::string evidence_html(const Finding& finding, std::size_t number) {
  if (finding.evidence.empty()) { return ""; }
  HtmlTable table(detail::format("evidence-{}", number), detail::format("Evidence of finding {}", number),
                  {{"figure"}, {"value", true}});
  for (std::size_t at = 0; at < std::min(finding.evidence.size(), kMaxPageLines); ++at) {
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
  for (std::size_t at = 0; at < std::min(lines.size(), kMaxPageLines); ++at) {
    html += "<li>" + html_text(lines[at]) + "</li>\n";
  }
  if (lines.size() > kMaxPageLines) {
    html += detail::format("<li>{} more are not on this page</li>\n", human_count(lines.size() - kMaxPageLines));
  }
  return html + "</ul>\n";
}

std::string findings_html(const std::vector<Finding>& findings) {
  constexpr std::size_t kMaxFindings = 16;
  std::string html;
  for (std::size_t at = 0; at < std::min(findings.size(), kMaxFindings); ++at) {
    const Finding& finding = findings[at];
    html += "<li>\n<p class=\"sentence\">" + html_text(finding.sentence) + "</p>\n";
    if (finding.cost) { html += cost_html(*finding.cost) + "\n"; }
    html += evidence_html(finding, at + 1) + "</li>\n";
  }
  if (html.empty()) { return "<p class=\"calm\">No findings.</p>\n"; }
  std::string rest;
  if (findings.size() > kMaxFindings) {
    rest = detail::format("<p class=\"quiet\">{} more are in summary.json.</p>\n", findings.size() - kMaxFindings);
  }
  return "<ol class=\"findings\">\n" + html + "</ol>\n" + rest;
}

namespace {

constexpr std::size_t kMaxRankRows = 64;
constexpr std::size_t kFewRanks = 16;  // maximum number of ranks for an open table

void add_spread(HtmlTable& table, const std::string& name, std::size_t depth, const RankSpread& spread,
                const std::string& share) {
  table.add({name, share, human_time(spread.mean_ns()), percent(spread.imbalance(), 1),
             human_time(static_cast<double>(spread.min.ns)), human_time(static_cast<double>(spread.max.ns)),
             detail::format("{}", spread.max.rank), detail::format("{}", spread.ranks)},
            depth);
}

std::string spreads_html(const JobReport& job) {
  HtmlTable table("spread-table", "Totals of regions over ranks",
                  {{"region"},
                   {"share", true},
                   {"mean", true},
                   {"imbalance", true},
                   {"min", true},
                   {"max", true},
                   {"rank of max", true},
                   {"ranks", true}});
  add_spread(table, "run", 0, job.record.wall, "");
  std::size_t rows = 0;
  for (const std::uint32_t path : paths_by_name(job.sum)) {
    const RankPath* const over = find_path(job.record, job.sum, path);
    if (over == nullptr || over->host_totals.ranks == 0 || ++rows > PagePaths::kMax) { continue; }
    add_spread(table, fit(printable(job.sum.paths[path].name), PagePaths::kLongestName), job.sum.paths[path].depth,
               over->host_totals, percent(share_of_job(job.record, *over), 1));
  }
  return table.html();
}

/// Sorted by excess, largest first.
std::string busy_html(const RankHeat& heat) {
  HtmlTable table("busy-table", "Busy time of ranks per step, compared with the median of their group",
                  {{"rank"}, {"host"}, {"group"}, {"busy a step", true}, {"vs. median", true}});
  std::vector<const BusyRank*> ranks;
  for (const BusyRank& each : heat.ranks) { ranks.push_back(&each); }
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) { return a->excess > b->excess; });
  for (std::size_t at = 0; at < std::min(ranks.size(), kMaxRankRows); ++at) {
    const BusyRank& rank = *ranks[at];
    table.add({detail::format("{}", rank.who.number), fit(printable(rank.who.host), 40), printable(rank.who.group),
               human_time(rank.busy_ns), detail::format("{:+.1f} %", std::round(1000 * rank.excess) / 10 + 0.0)});
  }
  const std::string what = ranks.size() <= kMaxRankRows
                               ? std::string("Ranks in numbers")
                               : detail::format("The {} busiest of {} ranks", kMaxRankRows, human_count(ranks.size()));
  return detail::format("<details{}><summary>{}</summary>{}</details>\n", ranks.size() <= kFewRanks ? " open" : "",
                        what, table.html());
}

}  // namespace

std::string ranks_html(const JobReport& job) {
  std::string html;
  if (!job.heat.ranks.empty()) { html += "<div id=\"heat\" class=\"chart\"></div>\n" + busy_html(job.heat); }
  return html + lines_html(job_lines(job)) + spreads_html(job);
}

namespace {

constexpr std::size_t kMaxBlocks = 4096;  // for the series with the most time
constexpr std::size_t kMaxFurtherBlocks = 512;
constexpr std::size_t kMaxDrawnSeries = 4;
// Shared by all ranks to choose from. A page with such ranks has half the other blocks.
constexpr std::size_t kMaxRankBlocks = 768;
constexpr std::size_t kMaxRankPaths = 800;
constexpr std::size_t kMaxMetricBlocks = 3072;  // of all metrics together

/// A drawn series.
struct DrawnSeries {
  std::size_t index = 0;  // into Snapshot::series
  PageSeries series;
};

/// Returns the series to draw, starting with the one that took the most time.
std::vector<DrawnSeries> drawn_series(const StepHistory& history, std::size_t max_blocks) {
  std::vector<DrawnSeries> drawn;
  const std::size_t main = history.main_series();
  if (main >= history.series().size()) { return drawn; }
  drawn.push_back({main, PageSeries(history.series()[main], max_blocks)});
  for (std::size_t at = 0; at < history.series().size() && drawn.size() < kMaxDrawnSeries; ++at) {
    if (at == main || history.series()[at].steps() == 0) { continue; }
    drawn.push_back({at, PageSeries(history.series()[at], kMaxFurtherBlocks)});
  }
  return drawn;
}

/// Builds the page of one run.
class RunPageWriter {
 public:
  explicit RunPageWriter(const RunPage& page)
      : page_(page), figures_(*page.figures), steps_(*page.steps), history_(steps_.history.get()), paths_(figures_) {
    if (history_ != nullptr) { drawn_ = drawn_series(*history_, kMaxBlocks / (page.ranks.empty() ? 1 : 2)); }
    numbers_ = paths_.numbers_in(steps_);
  }

  std::string html() const {
    PageParts parts;
    parts.title = figures_.run.name + ": a run timed by Takt";
    parts.body = body();
    parts.data = data().text();
    parts.script = &kPageRunScript;
    return page_document(parts);
  }

 private:
  std::string body() const {
    const bool has_steps = !drawn_.empty();
    const std::string no_steps = "<p class=\"quiet\">" + std::string(why_no_steps()) + "</p>\n";
    const std::uint32_t batch = has_steps ? steps_.series[drawn_.front().index].path : kNoIndex;
    return filled(kPageRunBody.text,
                  {{"version", page_version()},
                   {"name", html_text(figures_.run.name)},
                   {"state", state_html(figures_)},
                   {"meta", html_text(meta())},
                   {"findings", findings_html(findings())},
                   {"figures", figures_html(page_)},
                   {"picture", has_steps ? step_picture(drawn_.front().series) : ""},
                   {"steps", has_steps ? whose_steps() + steps_html(drawn_.front().series, steps_) : no_steps},
                   {"epochs", epochs_html(steps_)},
                   {"phases", has_steps ? phases_html(drawn_.front().series, steps_, batch) : no_steps},
                   {"tree", tree_html(figures_, paths_, summed_ranks())},
                   {"ranks", ranks()},
                   {"ranks_link", page_.job == nullptr ? "" : "<li><a href=\"#ranks\">Ranks</a></li>\n"},
                   {"lacks", lines_html(lacks())},
                   {"facts", facts_html(figures_)}});
  }

  const char* why_no_steps() const {
    return history_ == nullptr ? "No steps were kept." : "No step has been recorded: no Batch has ended.";
  }

  /// For a job, names the rank whose steps are shown.
  std::string whose_steps() const {
    if (page_.job == nullptr || page_.figures == page_.steps) { return ""; }
    return detail::format("<p class=\"quiet\">{} rank {}.</p>\n",
                          page_.ranks.size() > 1 ? "Metrics, step time in numbers and Epochs are of"
                                                 : "These are the steps and metrics of",
                          steps_.run.rank);
  }

  /// Returns the number of ranks whose times add up in the figures.
  std::uint64_t summed_ranks() const {
    const bool is_sum = page_.job != nullptr && figures_.run.rank < 0;
    return is_sum ? std::max<std::uint64_t>(page_.job->record.wall.ranks, 1) : 1;
  }

  std::string ranks() const {
    if (page_.job == nullptr) { return ""; }
    return "<section id=\"ranks\">\n<h2>Ranks</h2>\n" + ranks_html(*page_.job) + "</section>\n";
  }

  std::string meta() const {
    const RunInfo& run = figures_.run;
    const std::string ranks = run.rank < 0         ? detail::format(" \u00B7 {} ranks", run.world_size)
                              : run.world_size > 1 ? detail::format(" \u00B7 rank {} of {}", run.rank, run.world_size)
                                                   : "";
    return detail::format("after {} \u00B7 {} \u00B7 {} UTC \u00B7 {}{}",
                          human_time(static_cast<double>(figures_.wall_ns)), run.id, utc_text(run.start_unix_ns),
                          run.host, ranks);
  }

  /// Lists the job's findings first, because waiting ranks usually cost more.
  std::vector<Finding> findings() const {
    std::vector<Finding> all;
    if (page_.job != nullptr) {
      for (const Finding& each : page_.job->comparison.findings) { all.push_back(each); }
    }
    all.insert(all.end(), figures_.findings.begin(), figures_.findings.end());
    return all;
  }

  /// Returns the caveats of the figures, and what this page omits.
  std::vector<std::string> lacks() const {
    std::vector<std::string> lines = page_.endings;
    const std::vector<std::string> caveats = notes_of(figures_).caveats;
    lines.insert(lines.end(), caveats.begin(), caveats.end());
    const auto add = [&](std::uint64_t count, const char* what) {
      if (count != 0) { lines.push_back(detail::format("this page: {} {}", human_count(count), what)); }
    };
    add(paths_.left_out(), "paths of the call tree took too little time for the table; summary.json has them");
    add(paths_.without_histogram(), "regions took too little time for a distribution");
    if (history_ == nullptr) { return lines; }
    if (!drawn_.empty() && drawn_.front().series.stride > 1) {
      lines.push_back(detail::format("this page: minimum, maximum and mean of each {} steps; steps.csv has all",
                                     human_count(drawn_.front().series.stride)));
    }
    const auto& series = history_->series();
    const auto kept = std::count_if(series.begin(), series.end(), [](const auto& each) { return each.steps() != 0; });
    add(static_cast<std::uint64_t>(kept) - drawn_.size(), "series of steps are not drawn");
    add(history_->rows_left_out(), "steps of further series are not drawn");
    add(history_->points_left_out(), "points of further metrics are not drawn");
    for (const auto& [name, metric] : history_->metrics()) {
      if (metric.not_finite() == 0) { continue; }
      lines.push_back(detail::format("this page: {} points of {} are not finite and not drawn",
                                     human_count(metric.not_finite()), fit(printable(name), 60)));
    }
    return lines;
  }

  JsonText data() const {
    const RunInfo& run = figures_.run;
    JsonText json = {
        {"schema", "takt-page/1"},
        {"run",
         {{"name", run.name},
          {"id", run.id},
          {"rank", run.rank},
          {"world_size", run.world_size},
          {"ranks", summed_ranks()},
          {"ranks_ns", summed_ranks() == 1 ? static_cast<double>(figures_.wall_ns)
                                           : page_.job->record.wall.mean_ns() * static_cast<double>(summed_ranks())}}},
        {"wall_ns", figures_.wall_ns}};
    json.add("paths", paths_.json());
    json.add("series", all_series());
    json.add("ranks", ranks_json());
    json.add("metrics", metrics());
    json.add("heat", heat());
    return json;
  }

  JsonText all_series() const {
    JsonText all = JsonText::array();
    for (const DrawnSeries& each : drawn_) {
      const Series& series = steps_.series[each.index];
      JsonText json = series_json(each.series, numbers_);
      json.add("path", series.path < numbers_.size() ? numbers_[series.path] : PagePaths::kNone);
      json.add("label", path_label(steps_, series.path) + " on " + thread_label(steps_, series.thread));
      json.add("has_epochs", ends_with_epochs(steps_, series.path, each.series));
      all.push_back(json);
    }
    return all;
  }

  /// Returns the figures and steps of the ranks to choose from.
  JsonText ranks_json() const {
    JsonText all = JsonText::array();
    if (page_.ranks.empty()) { return all; }
    const std::size_t wanted = kMaxRankPaths / std::max<std::size_t>(paths_.shown().size(), 1);
    const std::size_t count = std::min(page_.ranks.size(), std::max<std::size_t>(wanted, 2));
    const std::size_t blocks = kMaxRankBlocks / count;
    for (std::size_t at = 0; at < count; ++at) {
      const Snapshot* const rank = page_.ranks[at];
      JsonText json = {{"rank", rank->run.rank}, {"wall_ns", rank->wall_ns}};
      json.add("paths", paths_.figures_in(*rank));
      const StepHistory* const history = rank->history.get();
      if (history != nullptr && history->main_series() < history->series().size()) {
        const PageSeries series(history->series()[history->main_series()], blocks);
        const std::vector<int> numbers = paths_.numbers_in(*rank);
        const std::uint32_t path = rank->series[history->main_series()].path;
        JsonText steps = series_json(series, numbers);
        steps.add("path", path < numbers.size() ? numbers[path] : PagePaths::kNone);
        steps.add("has_epochs", ends_with_epochs(*rank, path, series));
        json.add("series", steps);
      }
      all.push_back(json);
    }
    return all;
  }

  /// Returns true if each pause of the series is the end of a surrounding Epoch with as many calls.
  static bool ends_with_epochs(const Snapshot& snapshot, std::uint32_t path, const PageSeries& drawn) {
    if (path >= snapshot.paths.size()) { return false; }
    const std::uint32_t parent = snapshot.paths[path].parent;
    return parent != kNoIndex && snapshot.paths[parent].name == Epoch.name() &&
           drawn.all_breaks + 1 == snapshot.paths[parent].host.n() + (snapshot.finished ? 0 : 1);
  }

  JsonText metrics() const {
    JsonText all = JsonText::array();
    if (history_ == nullptr) { return all; }
    const std::size_t blocks =
        kMaxMetricBlocks / (page_.ranks.empty() ? 1 : 2) / std::max<std::size_t>(history_->metrics().size(), 1);
    for (const auto& [name, metric] : history_->metrics()) {
      if (!metric.blocks().empty()) { all.push_back(metric_json(name, metric, blocks)); }
    }
    return all;
  }

  JsonText heat() const {
    if (page_.job == nullptr || page_.job->heat.cells.empty()) { return {}; }
    const RankHeat& heat = page_.job->heat;
    JsonText ranks = JsonText::array();
    for (const BusyRank& each : heat.ranks) { ranks.push_back(each.who.number); }
    JsonText first = JsonText::array();
    for (const std::int64_t each : heat.first_steps) { first.push_back(each); }
    JsonText cells = JsonText::array();
    for (const int each : heat.cells) { cells.push_back(each); }
    return {{"ranks_a_row", heat.ranks_a_row},
            {"ranks", ranks},
            {"first", first},
            {"last", heat.last_step},
            {"cells", cells}};
  }

  const RunPage& page_;
  const Snapshot& figures_;
  const Snapshot& steps_;
  const StepHistory* history_;
  const PagePaths paths_;
  std::vector<DrawnSeries> drawn_;
  std::vector<int> numbers_;  // page numbers, by path of steps_
};

}  // namespace

std::string run_page(const RunPage& page) { return RunPageWriter(page).html(); }

std::string page_of(const Snapshot& snapshot) {
  RunPage page;
  page.figures = &snapshot;
  page.steps = &snapshot;
  if (snapshot.job == nullptr) { return run_page(page); }
  const JobReport job = report_of_job(snapshot);
  page.job = &job;
  return run_page(page);
}

}  // namespace detail
TAKT_END_NAMESPACE
