// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/finding_text.hpp"
#include "findings/rules.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// What Takt timed most often; kNoParent: nothing.
std::uint32_t most_timed(const Snapshot& run) {
  std::uint32_t most = PathStats::kNoParent;
  for (std::uint32_t path = 0; path < run.paths.size(); ++path) {
    const std::uint64_t calls = run.paths[path].host.n();
    if (calls != 0 && (most == PathStats::kNoParent || calls > run.paths[most].host.n())) { most = path; }
  }
  return most;
}

/// Of all regions, by what one costs. Rows of steps and Takt's threads are not in it.
double cost_of_regions(const Snapshot& run) {
  double regions = 0;
  for (const PathStats& each : run.paths) { regions += static_cast<double>(each.host.n()); }
  return regions * run.clock.region_cost_ns;
}

}  // namespace

void add_own_cost(const RunView& view, Conclusions& said) {
  const auto ns = static_cast<double>(view.run.overhead_ns);
  const std::uint32_t path = most_timed(view.run);
  if (view.is_short() || view.share_of_run(ns) < kLeastOwnShare || path == PathStats::kNoParent) { return; }
  const Summary& host = view.run.paths[path].host;
  Finding finding;
  finding.what = "own_cost";
  finding.where = view.name(path);
  const double regions_ns = cost_of_regions(view.run);
  const std::string begin = detail::format("Takt's own cost is {} of the run: ", share_text(view.share_of_run(ns)));
  const double mean_ns = host.n() == 0 ? 0 : static_cast<double>(host.total_ns()) / static_cast<double>(host.n());
  const auto blocked_ns = static_cast<double>(view.run.process.blocked_ns);
  if (2 * regions_ns >= ns) {
    finding.sentence =
        begin + detail::format("{} is timed {} times, {} each on average; every(n) times it less often",
                               fit_end(printable(view.name(path)), 60), human_count(host.n()), human_time(mean_ns));
  } else if (2 * blocked_ns >= ns) {
    finding.sentence =
        begin + detail::format(
                    "for {} the Session's constructor, add() and close() held up the program; if that was a disk or a "
                    "tracker, TAKT_DIR on a faster disk or a smaller TAKT_EXIT_MS shortens it",
                    human_time(blocked_ns));
  } else {
    finding.sentence =
        begin + detail::format(
                    "regions take {} of it, the rows of steps and Takt's threads {}; a larger {} makes the "
                    "threads do less",
                    human_time(regions_ns), human_time(ns - regions_ns - blocked_ns),
                    view.run.meters.empty() ? "TAKT_PERIOD_MS" : "TAKT_SAMPLE_MS");
  }
  finding.evidence = {{"own_cost", ns, "ns"},        {"own_cost_of_regions", regions_ns, "ns"},
                      {"blocked", blocked_ns, "ns"}, {"calls", static_cast<double>(host.n()), "calls"},
                      {"mean_call", mean_ns, "ns"},  {"region_cost", view.run.clock.region_cost_ns, "ns"}};
  finding.cost = Cost{ns, ns, ns, view.share_of_run(ns)};
  said.findings.push_back(std::move(finding));
}

void add_uncovered(const RunView& view, Conclusions& said) {
  const auto ns = static_cast<double>(view.run.uncovered_ns);
  // What lies outside steps is in no region, most likely, and is told already.
  const bool told = std::any_of(said.findings.begin(), said.findings.end(), [](const Finding& each) {
    return each.what == "start_up" || each.what == "after_steps" || each.what == "between_steps";
  });
  if (told || view.is_short() || view.share_of_run(ns) < kLeastUncoveredShare || view.run.paths.empty()) { return; }
  if (view.steps_run_elsewhere()) {
    said.abstentions.push_back({"uncovered", "the Batches run on another thread than the Session's"});
    return;
  }
  Finding finding;
  finding.what = "uncovered";
  finding.sentence =
      detail::format("no region is open for {} of {} ({}) on the thread of the Session: nothing tells what it did",
                     human_time(ns), human_time(view.wall_ns()), share_text(view.share_of_run(ns)));
  finding.evidence = {
      {"uncovered", ns, "ns"}, {"run", view.wall_ns(), "ns"}, {"share_of_run", view.share_of_run(ns), ""}};
  said.findings.push_back(std::move(finding));
}

}  // namespace detail
TAKT_END_NAMESPACE
