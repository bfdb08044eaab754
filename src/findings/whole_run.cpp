// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "findings/rules.hpp"
#include "findings/step_history.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Adds a finding for a measured, not estimated, time.
void add_read_time(const RunView& view, const char* what, const std::string& sentence, double ns, Conclusions& said) {
  Finding finding;
  finding.what = what;
  finding.sentence = detail::format("{}: {} of the run", sentence, share_text(view.share_of_run(ns)));
  finding.evidence = {{"time", ns, "ns"}, {"run", view.wall_ns(), "ns"}};
  finding.cost = Cost{ns, ns, ns, view.share_of_run(ns)};
  said.findings.push_back(std::move(finding));
}

/// The initial steps up to the last one that is longer than usual.
struct SlowBeginning {
  std::size_t steps = 0;
  double longer_ns = 0;     ///< total excess
  double deviation_ns = 0;  ///< standard deviation of a later step
};

SlowBeginning slow_beginning(const RunView& view) {
  const std::vector<std::uint64_t>& first = view.steps->beginning();
  SlowBeginning slow;
  slow.steps = std::min<std::size_t>(view.transient, first.size());
  while (slow.steps > 0 && static_cast<double>(first[slow.steps - 1]) <= RunView::kLonger * view.usual_ns) {
    --slow.steps;
  }
  std::vector<double> others;
  for (std::size_t at = 0; at < first.size(); ++at) {
    const auto ns = static_cast<double>(first[at]);
    if (at < slow.steps) {
      slow.longer_ns += ns - view.usual_ns;
    } else {
      others.push_back(ns);
    }
  }
  slow.deviation_ns = kMadToDeviation * median_deviation(std::move(others));
  return slow;
}

bool counts_outside(const RunView& view, double ns) {
  return ns >= kMinOutsideNs && view.share_of_run(ns) >= kMinOutsideShare;
}

}  // namespace

void add_start_and_end(const RunView& view, Conclusions& said) {
  if (view.steps == nullptr || view.steps->blocks().empty()) { return; }
  if (view.has_time_of_others()) {
    for (const char* const what : {"start_up", "after_steps"}) { said.skipped_rules.push_back({what, kTimeOfOthers}); }
    return;
  }
  const auto begin = static_cast<double>(view.steps->blocks().front().begin_ns);
  const auto end = static_cast<double>(view.steps->blocks().back().end_ns);
  if (counts_outside(view, begin)) {
    add_read_time(view, "start_up", detail::format("start-up: the first step starts after {}", human_time(begin)),
                  begin, said);
  }
  const double left = view.wall_ns() - end;
  if (view.run.finished && counts_outside(view, left)) {
    add_read_time(view, "after_steps", detail::format("the run continues for {} after its last step", human_time(left)),
                  left, said);
  }
}

void add_warm_up(const RunView& view, Conclusions& said) {
  if (view.usual_steps < kMinSteps) { return; }
  const SlowBeginning slow = slow_beginning(view);
  const double min_ns = std::max(kMinWarmupLonger * view.usual_ns, kMinWarmupDeviations * slow.deviation_ns);
  const auto steps = static_cast<double>(slow.steps);
  if (slow.steps == 0 || slow.longer_ns < min_ns * steps) { return; }
  if (view.share_of_run(slow.longer_ns) < kMinWarmupShare) { return; }
  Finding finding;
  finding.what = "warm_up";
  const std::string which =
      slow.steps == 1 ? "the first step costs" : detail::format("the first {} steps cost", human_count(slow.steps));
  finding.sentence = detail::format("warm-up: {} {} more than others: {} of the run", which, human_time(slow.longer_ns),
                                    share_text(view.share_of_run(slow.longer_ns)));
  finding.evidence = {
      {"slow_steps", steps, "steps"}, {"usual_step", view.usual_ns, "ns"}, {"steps", view.usual_steps, "steps"}};
  const double half = kNormal95 * slow.deviation_ns * std::sqrt(steps);
  finding.cost = Cost{slow.longer_ns, std::max(slow.longer_ns - half, 0.0), slow.longer_ns + half,
                      view.share_of_run(slow.longer_ns)};
  said.findings.push_back(std::move(finding));
}

namespace {

// A process above this processor utilisation waits for its own threads.
constexpr double kUsesAll = 0.9;

Finding halt_finding(const RunView& view, const char* what, std::string sentence, std::int64_t ns) {
  const auto time = static_cast<double>(ns);
  Finding finding;
  finding.what = what;
  finding.sentence = std::move(sentence);
  finding.evidence = {{"time", time, "ns"}, {"run", view.wall_ns(), "ns"}};
  finding.cost = Cost{time, time, time, view.share_of_run(time)};
  return finding;
}

}  // namespace

void add_stops(const RunView& view, Conclusions& said) {
  if (view.is_short()) { return; }
  const ProcessTimes& process = view.run.process;
  const auto counts = [&](std::int64_t ns) {
    return view.share_of_run(static_cast<double>(ns)) >= kMinStoppedShare && ns > 0;
  };
  if (counts(process.stopped_ns)) {
    const auto ns = static_cast<double>(process.stopped_ns);
    said.findings.push_back(halt_finding(
        view, "stopped",
        detail::format("the process did not run for at least {} (stopped, or without a processor): {} of the run",
                       human_time(ns), share_text(view.share_of_run(ns))),
        process.stopped_ns));
  }
  if (counts(process.suspended_ns)) {
    said.findings.push_back(halt_finding(view, "slept",
                                         detail::format("the machine slept for {}: excluded from these times",
                                                        human_time(static_cast<double>(process.suspended_ns))),
                                         process.suspended_ns));
  }
}

void add_busy_processors(const RunView& view, Conclusions& said) {
  const ProcessTimes& process = view.run.process;
  if (!process.waited_ns) {
    said.skipped_rules.push_back(
        {"processors_busy", "the system does not report how long the Session's thread waited for a processor"});
    return;
  }
  const auto waited = static_cast<double>(*process.waited_ns);
  if (view.share_of_run(waited) < kMinWaitShare) { return; }
  const double used = view.share_of_run(static_cast<double>(process.cpu_ns.value_or(-1)));
  const auto processors = static_cast<double>(process.processors.value_or(0));
  const bool own = processors > 0 && process.cpu_ns && used >= kUsesAll * processors;
  const std::string waits = detail::format("the Session's thread was ready to run but had no processor for {} of {}",
                                           human_time(waited), human_time(view.wall_ns()));
  Finding finding =
      own ? halt_finding(view, "oversubscribed",
                         detail::format("more threads than processors: this process keeps {:.1f} of {} busy, and {}",
                                        used, *process.processors, waits),
                         *process.waited_ns)
          : halt_finding(view, "processors_busy", "the processors were busy elsewhere: " + waits, *process.waited_ns);
  finding.evidence.push_back({"processors", processors, "processors"});
  finding.evidence.push_back({"used", used, "processors"});
  said.findings.push_back(std::move(finding));
}

void leave_to_scheduler(const RunView& view, Conclusions& said) {
  const auto is_of_single_steps = [](const Finding& each) {
    const bool by_rule = std::any_of(each.evidence.begin(), each.evidence.end(),
                                     [](const Evidence& evidence) { return evidence.name == "every"; });
    return !by_rule && each.cost &&
           (each.what == "slow_steps" || each.what == "warm_up" || each.what == "change_point" || each.what == "drift");
  };
  const std::optional<std::int64_t> waited = view.run.process.waited_ns;
  const bool known = waited && !view.steps_run_elsewhere();
  const auto explained = [&](const Finding& each) {
    return known && is_of_single_steps(each) && 2 * static_cast<double>(*waited) >= std::fabs(each.cost->ns);
  };
  for (Finding& each : said.findings) {
    if (!known && is_of_single_steps(each)) {
      each.sentence += "; it is unknown whether their thread had a processor";
    } else if (explained(each)) {
      said.skipped_rules.push_back(
          {each.what,
           detail::format(
               "the steps differ by {} in total, but their thread waited {} for a processor, which may be the reason",
               human_time(std::fabs(each.cost->ns)), human_time(static_cast<double>(*waited)))});
    }
  }
  said.findings.erase(std::remove_if(said.findings.begin(), said.findings.end(), explained), said.findings.end());
}

namespace {

constexpr std::size_t kMaxNamedKeys = 8;  // reported individually

std::uint64_t all_steps(const RunView& view) {
  std::uint64_t steps = 0;
  for (const Series& each : view.run.series) { steps += each.steps; }
  return steps;
}

std::uint64_t all_points(const RunView& view) {
  if (view.run.history == nullptr) { return 0; }
  std::uint64_t points = view.run.history->points_left_out();
  for (const auto& [name, metric] : view.run.history->metrics()) { points += metric.points(); }
  return points;
}

/// \param of total number, including the lost ones.
void add_lost(const char* what, std::uint64_t lost, std::uint64_t of, Conclusions& said) {
  const double share = of == 0 ? 1 : static_cast<double>(lost) / static_cast<double>(of);
  if (lost == 0 || share < kMinLostShare) { return; }
  Finding finding;
  finding.what = "lost";
  finding.sentence = detail::format("{} of {} {} were dropped ({}): figures based on them are incomplete",
                                    human_count(lost), human_count(of), what, share_text(share));
  finding.evidence = {
      {"lost", static_cast<double>(lost), what}, {"all", static_cast<double>(of), what}, {"share", share, ""}};
  said.findings.push_back(std::move(finding));
}

}  // namespace

void add_never_ended(const RunView& view, Conclusions& said) {
  std::uint64_t further = 0;
  std::size_t reported = 0;
  for (const Loss& loss : view.run.losses) {
    if (loss.what != "never_ended") { continue; }
    if (reported++ >= kMaxNamedKeys) {
      ++further;
      continue;
    }
    Finding finding;
    finding.what = "never_ended";
    finding.sentence =
        detail::format("\"{}\" was still open when the next step or its thread ended, {} time{}: not timed",
                       fit_end(printable(loss.where), 60), human_count(loss.count), loss.count == 1 ? "" : "s");
    finding.where = loss.where;
    finding.evidence = {{"regions", static_cast<double>(loss.count), "regions"}};
    said.findings.push_back(std::move(finding));
  }
  if (further == 0) { return; }
  Finding finding;
  finding.what = "never_ended";
  finding.sentence = detail::format("{} more keys were still open when the next step or their thread ended: not timed",
                                    human_count(further));
  finding.evidence = {{"keys", static_cast<double>(further), "keys"}};
  said.findings.push_back(std::move(finding));
}

void add_losses(const RunView& view, Conclusions& said) {
  const LostRecords lost = lost_records(view.run.losses);
  add_lost("steps", lost.rows, all_steps(view), said);
  add_lost("metrics", lost.metrics, lost.metrics + all_points(view), said);
  std::uint64_t lost_spans = 0;
  std::uint64_t spans = 0;
  for (const PathStats& each : view.run.paths) {
    lost_spans += each.device_lost;
    spans += each.device.n() + each.device_lost;
  }
  add_lost("stream spans", lost_spans, spans, said);
}

namespace {

/// Returns the path with the most calls; kNoIndex if there is none.
std::uint32_t max_timed(const Snapshot& run) {
  std::uint32_t max = kNoIndex;
  for (std::uint32_t path = 0; path < run.paths.size(); ++path) {
    const std::uint64_t calls = run.paths[path].host.n();
    if (calls != 0 && (max == kNoIndex || calls > run.paths[max].host.n())) { max = path; }
  }
  return max;
}

/// Returns the total cost of all regions, without rows of steps and Takt's threads.
double cost_of_regions(const Snapshot& run) {
  double regions = 0;
  for (const PathStats& each : run.paths) { regions += static_cast<double>(each.host.n()); }
  return regions * run.clock.region_cost_ns.value_or(0);
}

}  // namespace

void add_own_cost(const RunView& view, Conclusions& said) {
  const auto ns = static_cast<double>(view.run.overhead_ns);
  const std::uint32_t path = max_timed(view.run);
  if (view.is_short() || view.share_of_run(ns) < kMinOwnShare || path == kNoIndex) { return; }
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
                    "the Session's constructor, add() and close() blocked the program for {}; if a disk or tracker is "
                    "slow, set TAKT_DIR to a faster disk or use a smaller TAKT_EXIT_MS",
                    human_time(blocked_ns));
  } else {
    finding.sentence =
        begin + detail::format(
                    "regions take {} of it, the rows of steps and Takt's threads {}; a larger {} reduces "
                    "the threads' work",
                    human_time(regions_ns), human_time(ns - regions_ns - blocked_ns),
                    view.run.sensors.empty() ? "TAKT_PERIOD_MS" : "TAKT_SAMPLE_MS");
  }
  finding.evidence = {{"own_cost", ns, "ns"},        {"own_cost_of_regions", regions_ns, "ns"},
                      {"blocked", blocked_ns, "ns"}, {"calls", static_cast<double>(host.n()), "calls"},
                      {"mean_call", mean_ns, "ns"},  {"region_cost", view.run.clock.region_cost_ns.value_or(0), "ns"}};
  finding.cost = Cost{ns, ns, ns, view.share_of_run(ns)};
  said.findings.push_back(std::move(finding));
}

void add_uncovered(const RunView& view, Conclusions& said) {
  const auto ns = static_cast<double>(view.run.uncovered_ns);
  // Time outside steps is usually in no region and was reported already.
  const bool reported = std::any_of(said.findings.begin(), said.findings.end(), [](const Finding& each) {
    return each.what == "start_up" || each.what == "after_steps" || each.what == "between_steps";
  });
  if (reported || view.is_short() || view.share_of_run(ns) < kMinUncoveredShare || view.run.paths.empty()) { return; }
  if (view.steps_run_elsewhere()) {
    said.skipped_rules.push_back({"uncovered", "the Batches do not run on the Session's thread"});
    return;
  }
  Finding finding;
  finding.what = "uncovered";
  finding.sentence = detail::format("no region is open for {} of {} ({}) on the Session's thread: its work is unknown",
                                    human_time(ns), human_time(view.wall_ns()), share_text(view.share_of_run(ns)));
  finding.evidence = {
      {"uncovered", ns, "ns"}, {"run", view.wall_ns(), "ns"}, {"share_of_run", view.share_of_run(ns), ""}};
  said.findings.push_back(std::move(finding));
}

}  // namespace detail
TAKT_END_NAMESPACE
