// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/finding_text.hpp"
#include "findings/rules.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Of what lies between steps, a region that takes less is not named.
constexpr double kLeastNamedShare = 0.1;

/// From the first step to the last one.
struct StepsInTime {
  double span_ns = 0;
  double batches_ns = 0;
};

StepsInTime steps_in_time(const SeriesHistory& steps) {
  StepsInTime time;
  if (steps.blocks().empty()) { return time; }
  time.span_ns =
      static_cast<double>(steps.blocks().back().end_ns) - static_cast<double>(steps.blocks().front().begin_ns);
  for (const StepBlock& each : steps.blocks()) { time.batches_ns += static_cast<double>(each.sum_ns); }
  return time;
}

/// Whether Batches of the thread that makes the steps lie in the region, or it is the only thread there is.
bool is_on_thread(const RunView& view, std::uint32_t path) {
  if (view.run.threads.size() < 2) { return true; }
  return std::any_of(view.run.series.begin(), view.run.series.end(), [&](const Series& each) {
    std::uint32_t above = each.path;
    while (above < view.run.paths.size() && above != path) { above = view.run.paths[above].parent; }
    return above == path && each.thread == view.series->thread;
  });
}

/// Regions beside the Batch, and beside what it lies in, that ran more than once: with their times, the longest first.
std::vector<std::pair<double, std::uint32_t>> regions_between(const RunView& view) {
  std::vector<std::uint32_t> around = {PathStats::kNoParent};
  std::uint32_t above = view.above_batch();
  for (; above < view.run.paths.size(); above = view.run.paths[above].parent) { around.push_back(above); }
  const auto is_around = [&](std::uint32_t path) {
    return std::find(around.begin(), around.end(), path) != around.end();
  };
  std::vector<std::pair<double, std::uint32_t>> regions;
  for (std::uint32_t path = 0; path < view.run.paths.size(); ++path) {
    const PathStats& each = view.run.paths[path];
    const bool beside = path != view.series->path && is_around(each.parent) && !is_around(path);
    if (!beside || each.host.n() < 2 || !is_on_thread(view, path)) { continue; }
    regions.emplace_back(static_cast<double>(each.host.total_ns()), path);
  }
  std::sort(regions.rbegin(), regions.rend());
  return regions;
}

std::string between_text(const RunView& view, const std::vector<std::string>& names) {
  if (!names.empty()) { return detail::format("{} lie{} between", list_text(names), names.size() == 1 ? "s" : ""); }
  return view.run.threads.size() > 1 ? "several threads record, so that nobody knows what lies between"
                                     : "no region covers what lies between";
}

}  // namespace

void add_between_steps(const RunView& view, Conclusions& said) {
  if (view.steps == nullptr || static_cast<double>(view.steps->steps()) < kFewestSteps) { return; }
  if (view.has_time_of_others()) {
    said.abstentions.push_back({"between_steps", kTimeOfOthers});
    return;
  }
  const StepsInTime time = steps_in_time(*view.steps);
  double rest_ns = time.span_ns - time.batches_ns;
  std::vector<std::pair<double, std::uint32_t>> regions = regions_between(view);
  // What another rule has told is not told again.
  const auto is_told = [&](const auto& region) {
    return std::any_of(said.findings.begin(), said.findings.end(),
                       [&](const Finding& each) { return each.where == view.name(region.second); });
  };
  for (const auto& each : regions) { rest_ns -= is_told(each) ? each.first : 0; }
  if (time.span_ns <= 0 || rest_ns < kLeastBetweenShare * time.span_ns) { return; }
  std::vector<std::string> names;
  Finding finding;
  for (const auto& each : regions) {
    if (is_told(each) || each.first < kLeastNamedShare * rest_ns || each.first > time.span_ns) { continue; }
    if (names.empty()) { finding.where = view.name(each.second); }
    names.push_back(view.label(each.second));
  }
  const auto steps = static_cast<double>(view.steps->steps());
  finding.what = "between_steps";
  finding.sentence = detail::format("a step takes {}, of it Batch {}: {}, {} of the run",
                                    human_time(time.span_ns / steps), human_time(time.batches_ns / steps),
                                    between_text(view, names), share_text(view.share_of_run(rest_ns)));
  finding.evidence = {{"span", time.span_ns, "ns"},         {"batches", time.batches_ns, "ns"},
                      {"between", rest_ns, "ns"},           {"steps", steps, "steps"},
                      {"step", time.span_ns / steps, "ns"}, {"batches_a_step", time.batches_ns / steps, "ns"}};
  finding.cost = Cost{rest_ns, rest_ns, rest_ns, view.share_of_run(rest_ns)};
  said.findings.push_back(std::move(finding));
}

}  // namespace detail
TAKT_END_NAMESPACE
