// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/run_figures.hpp"

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "page/html.hpp"
#include "page/run_page.hpp"
#include "report/job_report.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kTenths = 10;

std::string page_time(double ns) { return human_time(ns); }
std::string page_time(std::uint64_t ns) { return human_time(static_cast<double>(ns)); }

/// "-" if nothing was measured after warm-up.
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

/// Neighbouring blocks combined to one row of the steps table.
struct PartOfMeanStep {
  std::uint64_t steps = 0;
  std::uint64_t sum_ns = 0;
  std::uint64_t min_ns = ~std::uint64_t{0};
  std::uint64_t max_ns = 0;
};

std::string range_text(std::int64_t first, std::int64_t last) {
  return first == last ? detail::format("{}", first) : detail::format("{} to {}", first, last);
}

}  // namespace

std::string steps_html(const PageSeries& series, const Snapshot& snapshot) {
  HtmlTable tenths("steps-table", "Step time over the run, in ten parts",
                   {{"steps"}, {"mean", true}, {"min", true}, {"max", true}});
  const std::size_t each = std::max<std::size_t>((series.blocks.size() + kTenths - 1) / kTenths, 1);
  for (std::size_t begin = 0; begin < series.blocks.size(); begin += each) {
    const std::size_t end = std::min(begin + each, series.blocks.size());
    PartOfMeanStep part;
    for (std::size_t at = begin; at < end; ++at) {
      const StepBlock& block = series.blocks[at];
      part.steps += block.steps;
      part.sum_ns = bounded_sum(part.sum_ns, block.sum_ns);
      part.min_ns = std::min(part.min_ns, block.min_ns);
      part.max_ns = std::max(part.max_ns, block.max_ns);
    }
    tenths.add(
        {range_text(series.blocks[begin].first_step, last_step_of(series.blocks[end - 1])),
         page_time(static_cast<double>(part.sum_ns) / static_cast<double>(std::max<std::uint64_t>(part.steps, 1))),
         page_time(part.min_ns), page_time(part.max_ns)});
  }
  HtmlTable worst("worst-table", "The longest steps after warm-up", {{"step"}, {"time", true}, {"largest excess in"}});
  for (const WorstStep& step : series.worst) {
    worst.add({detail::format("{}", step.step), page_time(step.ns), phase_name(step.path, snapshot, kNoIndex)});
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
    streams.add({phase_name(each.path, snapshot, kNoIndex), page_time(static_cast<double>(each.total_ns) / steps)});
  }
  return "<div class=\"pair\">" + table.html() + streams.html() + "</div>\n";
}

std::string epochs_html(const Snapshot& snapshot) {
  constexpr std::size_t kMaxMetricColumns = 8;
  constexpr std::size_t kLongestEpochMetric = 40;
  if (snapshot.epochs.empty()) { return ""; }
  std::set<std::string> names;
  for (const EpochStats& each : snapshot.epochs) {
    for (const auto& [name, value] : each.metrics) { names.insert(name); }
  }
  const std::uint64_t more_names = names.size() - std::min(names.size(), kMaxMetricColumns);
  while (names.size() > kMaxMetricColumns) { names.erase(std::prev(names.end())); }
  std::vector<HtmlColumn> columns = {{"Epoch"}, {"time", true}, {"steps", true}, {item_unit(snapshot) + "/s", true}};
  for (const std::string& each : names) { columns.push_back({fit(printable(each), kLongestEpochMetric), true}); }
  HtmlTable table("epochs-table", "Epochs", std::move(columns));
  const std::size_t count = snapshot.epochs.size();
  for (std::size_t at = 0; at < count; ++at) {
    if (at >= kMaxPageLines / 2 && at + kMaxPageLines / 2 < count) { continue; }
    const EpochStats& epoch = snapshot.epochs[at];
    std::vector<std::string> cells = {
        detail::format("{}", at), page_time(1e9 * epoch.seconds),
        epoch.steps ? human_count(static_cast<std::uint64_t>(std::max(*epoch.steps, 0.0))) : "-",
        epoch.samples_per_s ? human_rate(*epoch.samples_per_s) : "-"};
    for (const std::string& name : names) {
      const auto found = epoch.metrics.find(name);
      cells.push_back(found == epoch.metrics.end() ? "-" : detail::format("{:.4g}", found->second));
    }
    table.add(cells);
  }
  const std::uint64_t more_epochs = count - std::min(count, kMaxPageLines) + snapshot.epochs_left_out;
  std::string rest;
  if (more_epochs != 0) { rest += detail::format(" {} further Epochs are not listed.", human_count(more_epochs)); }
  if (more_names != 0) { rest += detail::format(" {} further metrics are in epochs.csv.", human_count(more_names)); }
  return "<h3 id=\"epochs-title\">Epochs</h3>\n" + table.html() +
         (rest.empty() ? "" : "<p class=\"quiet\">" + rest.substr(1) + "</p>\n");
}

std::string tree_html(const Snapshot& snapshot, const PagePaths& paths, std::uint64_t ranks) {
  const bool has_device = std::any_of(snapshot.paths.begin(), snapshot.paths.end(),
                                      [](const PathStats& each) { return each.device.n() != 0; });
  std::vector<HtmlColumn> columns = {{"region"},  {"share", true}, {"mean", true}, {"total", true}, {"self", true},
                                     {"n", true}, {"p50", true},   {"p99", true},  {"max", true},   {"kind"}};
  const auto of_a_rank = [ranks](std::uint64_t sum) { return static_cast<double>(sum) / static_cast<double>(ranks); };
  if (has_device) { columns.insert(columns.end(), {{"stream total", true}, {"stream mean", true}}); }
  HtmlTable table("tree-table", "The call tree", std::move(columns));
  for (const std::uint32_t index : paths.shown()) {
    const PathStats& path = snapshot.paths[index];
    const Summary& host = path.host;
    const std::optional<double> share = snapshot.share_of_parent(index);
    std::vector<std::string> cells = {fit(printable(path.name), PagePaths::kLongestName),
                                      share ? percent(*share, 1) : "-",
                                      measured_time(host, host.mean_ns()),
                                      page_time(of_a_rank(snapshot.time_so_far_ns(index))),
                                      page_time(of_a_rank(path.self_ns)),
                                      human_count(static_cast<std::uint64_t>(std::llround(of_a_rank(host.n())))),
                                      percentile_text(host, 0.5),
                                      percentile_text(host, 0.99),
                                      measured_time(host, static_cast<double>(host.max_ns())),
                                      to_string(path.kind)};
    if (path.device.n() != 0) {
      cells.push_back(page_time(of_a_rank(path.device.total_ns())));
      cells.push_back(measured_time(path.device, path.device.mean_ns()));
    }
    table.add(cells, path.depth);
  }
  if (ranks == 1) { return table.html(); }
  return table.html() + "<p class=\"quiet\" id=\"tree-note\">" +
         detail::format("total, self and n are the mean of {} ranks</p>\n", human_count(ranks));
}

namespace {

// In SVG units; the picture scales to the available width.
constexpr double kLeft = 72;
constexpr double kWidth = 880;
constexpr double kTop = 10;
constexpr double kHeight = 180;
constexpr std::size_t kMaxColumns = 440;

struct StepColumn {
  std::uint64_t min_ns = ~std::uint64_t{0};
  std::uint64_t max_ns = 0;
};

std::vector<StepColumn> columns_of_picture(const std::vector<StepBlock>& blocks) {
  std::vector<StepColumn> columns(std::min(blocks.size(), kMaxColumns));
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    StepColumn& column = columns[at * columns.size() / blocks.size()];
    column.min_ns = std::min(column.min_ns, blocks[at].min_ns);
    column.max_ns = std::max(column.max_ns, blocks[at].max_ns);
  }
  return columns;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return detail::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>", x, y, anchor, html_text(text));
}

}  // namespace

std::string step_picture(const PageSeries& series) {
  const std::vector<StepColumn> columns = columns_of_picture(series.blocks);
  const auto min = static_cast<double>(series.min_ns());
  const double max = std::max(static_cast<double>(series.max_ns()), min + 1);
  const auto y = [&](std::uint64_t ns) { return kTop + kHeight * (max - static_cast<double>(ns)) / (max - min); };
  std::string path;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const double x = kLeft + kWidth * (static_cast<double>(at) + 0.5) / static_cast<double>(columns.size());
    path += detail::format("{}{:.0f} {:.0f}L{:.0f} {:.0f}", at == 0 ? "M" : "L", x, y(columns[at].min_ns), x,
                           y(columns[at].max_ns));
  }
  const double bottom = kTop + kHeight;
  const std::string first_step = detail::format("{}", series.blocks.front().first_step);
  const std::string last_step = detail::format("{}", last_step_of(series.blocks.back()));
  const std::string what = detail::format("Step time from step {} to {}: between {} and {}", first_step, last_step,
                                          human_time(min), human_time(static_cast<double>(series.max_ns())));
  return detail::format(
             "<svg class=\"still\" viewBox=\"0 0 960 216\" role=\"img\" aria-label=\"{}\"><path class=\"axis\" "
             "d=\"M{} {}V{}H{}\"/><path class=\"steps\" d=\"{}\"/>",
             html_text(what), kLeft, kTop, bottom, kLeft + kWidth, path) +
         label(kLeft - 6, kTop + 10, "end", human_time(static_cast<double>(series.max_ns()))) +
         label(kLeft - 6, bottom, "end", human_time(min)) + label(kLeft, bottom + 20, "start", "step " + first_step) +
         label(kLeft + kWidth, bottom + 20, "end", last_step) + "</svg>\n";
}

namespace {

/// The Batch with the most time: its throughput, and its index into Snapshot::paths.
struct MainSteps {
  std::uint32_t path = kNoIndex;  // kNoIndex if there are no steps
  Throughput throughput;
  std::uint64_t steps = 0;  // of the process with the most
  std::uint64_t warmup = 0;
};

MainSteps main_steps(const Snapshot& snapshot) {
  MainSteps main;
  for (const JobThroughput& each : job_throughputs(snapshot)) {
    if (each.throughput.period_ns <= main.throughput.period_ns) { continue; }
    main.path = each.path;
    main.throughput = each.throughput;
  }
  std::map<std::uint32_t, std::map<std::uint32_t, MainSteps>> counts;  // by path and process
  for (const Series& each : snapshot.series) {
    MainSteps& here = counts[each.path][each.process];
    here.steps += each.steps;
    here.warmup += each.warmup_steps;
    if (main.throughput.period_ns == 0 && here.steps > main.steps) {
      main.path = each.path;  // none has a throughput
      main.steps = here.steps;
    }
  }
  for (const auto& [process, here] : counts[main.path]) {
    if (here.steps < main.steps) { continue; }
    main.steps = here.steps;
    main.warmup = here.warmup;
  }
  return main;
}

/// \param link HTML after `below`.
std::string tile(const char* name, const std::string& value, const std::string& unit, const std::string& below,
                 const char* link = "") {
  return detail::format("<div><dt>{}</dt><dd>{}<span>{}{}</span><small>{}{}</small></dd></div>\n", name,
                        html_text(value), unit.empty() ? "" : " ", html_text(unit), html_text(below), link);
}

/// Shows the unit smaller than the number.
std::string time_tile(const char* name, double ns, const std::string& below) {
  const std::string text = human_time(ns);
  const std::size_t space = text.rfind(' ');
  return tile(name, text.substr(0, space), text.substr(space + 1), below);
}

std::string throughput_tile(const Throughput& throughput, const std::string& items) {
  const std::string steps = human_rate(throughput.steps_per_s) + " steps/s";
  if (throughput.items == 0) {
    return tile("throughput", human_rate(throughput.steps_per_s), "steps/s", "call items() for " + items + "/s");
  }
  const bool has_interval = throughput.no_interval == NoInterval::none;
  const std::string interval = has_interval ? detail::format("95 % CI [{}, {}]; ", human_rate(throughput.items_low),
                                                             human_rate(throughput.items_high))
                                            : "";
  return tile("throughput", human_rate(throughput.items_per_s), items + "/s", interval + steps,
              has_interval ? "" : "; no interval: <a href=\"#rates\">why</a>");
}

std::string step_tile(const Snapshot& snapshot, const MainSteps& main) {
  if (main.path >= snapshot.paths.size()) { return ""; }
  const Summary& host = snapshot.paths[main.path].host;
  if (host.measured_n() == 0) { return tile("step time", "-", "", "all steps were warm-up"); }
  const auto time = [](std::uint64_t ns) { return human_time(static_cast<double>(ns)); };
  std::string below;
  if (has_percentile(host, 0.99)) { below = "p99 " + time(host.percentile_ns(0.99)) + ", "; }
  return time_tile("step time, median", static_cast<double>(host.percentile_ns(0.5)),
                   below + "max " + time(host.max_ns()));
}

std::string ranks_tile(const RunPage& page) {
  const RunInfo& run = page.figures->run;
  if (page.job == nullptr) {
    return run.world_size > 1 ? tile("rank", detail::format("{} of {}", run.rank, run.world_size), "", "this rank only")
                              : "";
  }
  std::string below = "in these figures";
  if (page.job->comparison.efficiency) {
    below = detail::format("parallel efficiency {}", percent(page.job->comparison.efficiency->parallel, 1));
  }
  return tile("ranks", human_count(page.job->record.wall.ranks), "", below);
}

std::string losses_tile(const Snapshot& snapshot) {
  const LostRecords lost = lost_records(snapshot.losses);
  if (lost.any()) {
    return tile("dropped", "", lost.words(), "of the recorded data; ", "<a href=\"#lacks\">which</a>");
  }
  if (snapshot.losses.empty()) { return tile("dropped", "nothing", "", "of the recorded data"); }
  return tile("dropped", "no steps", "",
              detail::format("{} note{} in ", snapshot.losses.size(), plural(snapshot.losses.size())),
              "<a href=\"#lacks\">Caveats</a>");
}

HtmlTable table_of_texts(const char* id, const char* caption, const std::map<std::string, std::string>& texts) {
  constexpr std::size_t kLongestText = 400;
  HtmlTable table(id, caption, {{"name"}, {"value"}});
  std::size_t count = 0;
  for (const auto& [name, value] : texts) {
    if (++count > kMaxPageLines) { break; }
    table.add({fit(printable(name), PagePaths::kLongestName), fit(printable(value), kLongestText)});
  }
  if (texts.size() > kMaxPageLines) {
    table.add({detail::format("{} more", texts.size() - kMaxPageLines), "in summary.json"});
  }
  return table;
}

}  // namespace

std::string state_html(const Snapshot& snapshot) {
  const char* const state = snapshot.uncaught.happened ? "died"
                            : snapshot.killed          ? "killed"
                            : snapshot.failed          ? "failed"
                            : snapshot.finished        ? "finished"
                                                       : "not finished";
  const bool is_good = snapshot.finished && !snapshot.failed && !snapshot.uncaught.happened;
  return detail::format("<span class=\"state {}\">{} {}</span>", is_good ? "good" : "bad", is_good ? "✓" : "!", state);
}

std::string figures_html(const RunPage& page) {
  const Snapshot& snapshot = *page.figures;
  const MainSteps main = main_steps(snapshot);
  std::string html = "<dl class=\"tiles\">\n";
  if (main.path != kNoIndex) {
    html += throughput_tile(main.throughput, item_unit(snapshot)) + step_tile(snapshot, main);
    html += tile("steps", human_count(main.steps), "",
                 main.warmup == 0 ? "without warm-up" : human_count(main.warmup) + " of them warm-up");
  }
  const auto wall = static_cast<double>(snapshot.wall_ns);
  html += time_tile("wall time", wall, percent(static_cast<double>(snapshot.uncovered_ns), wall) + " in no region");
  html += ranks_tile(page) + losses_tile(snapshot) + "</dl>\n";
  const std::string rates = lines_html(notes_of(snapshot).rates);
  return rates.empty() ? html
                       : html + "<details id=\"rates\"><summary>Rates in detail</summary>" + rates + "</details>\n";
}

std::string facts_html(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  std::map<std::string, std::string> machine = {{"run", run.id},
                                                {"started", utc_text(run.start_unix_ns) + " UTC"},
                                                {"host", run.host},
                                                {"clock", snapshot.clock.name}};
  machine["machine"] = machine_text(snapshot);
  machine["commit"] = run.machine.commit;
  if (run.rank >= 0) {
    machine["command"] = join(run.machine.command, " ");
    machine["process"] = std::to_string(run.pid);
    machine["attempt"] = std::to_string(run.attempt);
    if (run.world_size > 1) { machine["rank from"] = run.rank_source; }
  }
  for (const auto& [name, number] : run.groups) { machine["group " + name] = std::to_string(number); }
  for (const DeviceInfo& each : snapshot.devices) {
    machine["device " + each.name] = each.unavailable.empty() ? "timed" : "not timed";
  }
  for (auto at = machine.begin(); at != machine.end();) { at = at->second.empty() ? machine.erase(at) : ++at; }
  std::string html = "<div class=\"facts\">\n";
  if (!snapshot.params.empty()) {
    html += "<div><h3>Parameters</h3>" + table_of_texts("params", "Parameters", snapshot.params).html() + "</div>\n";
  }
  if (!snapshot.tags.empty()) {
    html += "<div><h3>Tags</h3>" + table_of_texts("tags", "Tags", snapshot.tags).html() + "</div>\n";
  }
  return html + "<div><h3>Machine</h3>" + table_of_texts("machine", "Machine", machine).html() + "</div>\n</div>\n";
}

}  // namespace detail
TAKT_END_NAMESPACE
