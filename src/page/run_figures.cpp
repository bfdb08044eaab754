// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/losses.hpp"
#include "base/text.hpp"
#include "page/html_table.hpp"
#include "page/html_text.hpp"
#include "page/run_sections.hpp"
#include "report/job_throughput.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// The Batch in which the run spent most: its throughput, and its place in Snapshot::paths.
struct MainSteps {
  std::uint32_t path = PathStats::kNoParent;  // there are no steps
  Throughput throughput;
  std::uint64_t steps = 0;  // of the process that has most there
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

std::string tile(const char* name, const std::string& value, const std::string& unit, const std::string& below) {
  return detail::format("<div><dt>{}</dt><dd>{}<span>{}{}</span><small>{}</small></dd></div>\n", name, html_text(value),
                        unit.empty() ? "" : " ", html_text(unit), html_text(below));
}

/// The time's unit is smaller than its number.
std::string time_tile(const char* name, double ns, const std::string& below) {
  const std::string text = human_time(ns);
  const std::size_t space = text.rfind(' ');
  return tile(name, text.substr(0, space), text.substr(space + 1), below);
}

std::string throughput_tile(const Throughput& throughput) {
  const std::string steps = human_rate(throughput.steps_per_s) + " steps/s";
  if (throughput.items == 0) {
    return tile("throughput", human_rate(throughput.steps_per_s), "steps/s", "items() tells samples/s");
  }
  const std::string interval =
      throughput.no_interval == NoInterval::none
          ? detail::format("95 % CI [{}, {}]", human_rate(throughput.items_low), human_rate(throughput.items_high))
          : "no interval, see below";
  return tile("throughput", human_rate(throughput.items_per_s), "samples/s", interval + "; " + steps);
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
    return run.world_size > 1
               ? tile("rank", detail::format("{} of {}", run.rank, run.world_size), "", "this rank alone")
               : "";
  }
  std::string below = "in these figures";
  if (page.job->comparison.efficiency.parallel > 0) {
    below = detail::format("parallel efficiency {}", percent(page.job->comparison.efficiency.parallel, 1));
  }
  return tile("ranks", human_count(page.job->record.wall.ranks), "", below);
}

std::string losses_tile(const Snapshot& snapshot) {
  const LostRecords lost = lost_records(snapshot.losses);
  if (lost.any()) { return tile("lost", "", lost.words(), "of what was recorded; see below"); }
  if (snapshot.losses.empty()) { return tile("lost", "nothing", "", "of what was recorded"); }
  return tile("lost", "no steps", "",
              detail::format("{} note{} below", snapshot.losses.size(), plural(snapshot.losses.size())));
}

HtmlTable table_of_texts(const char* id, const char* caption, const std::map<std::string, std::string>& texts) {
  constexpr std::size_t kLongestText = 400;
  HtmlTable table(id, caption, {{"name"}, {"value"}});
  std::size_t count = 0;
  for (const auto& [name, value] : texts) {
    if (++count > kMostPageLines) { break; }
    table.add({fit(printable(name), PagePaths::kLongestName), fit(printable(value), kLongestText)});
  }
  if (texts.size() > kMostPageLines) {
    table.add({detail::format("{} more", texts.size() - kMostPageLines), "in summary.json"});
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
  if (main.path != PathStats::kNoParent) {
    html += throughput_tile(main.throughput) + step_tile(snapshot, main);
    html += tile("steps", human_count(main.steps), "",
                 main.warmup == 0 ? "without warm-up" : human_count(main.warmup) + " of them warm-up");
  }
  const auto wall = static_cast<double>(snapshot.wall_ns);
  html +=
      time_tile("wall time", wall, percent(static_cast<double>(snapshot.uncovered_ns), wall) + " of it in no region");
  html += ranks_tile(page) + losses_tile(snapshot) + "</dl>\n";
  const std::string rates = lines_html(notes_of(snapshot).rates);
  return rates.empty() ? html : html + "<details><summary>Rates in detail</summary>" + rates + "</details>\n";
}

std::string facts_html(const Snapshot& snapshot) {
  const RunInfo& run = snapshot.run;
  std::map<std::string, std::string> machine = {{"run", run.id},
                                                {"began", utc_text(run.start_unix_ns) + " UTC"},
                                                {"host", run.host},
                                                {"clock", snapshot.clock.name}};
  if (run.rank >= 0) {
    machine["process"] = std::to_string(run.pid);
    machine["attempt"] = std::to_string(run.attempt);
    machine["rank from"] = run.rank_source;
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
