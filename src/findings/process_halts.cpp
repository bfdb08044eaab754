// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "findings/finding_text.hpp"
#include "findings/rules.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// A process that uses so much of its processors waits for its own threads.
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
    return view.share_of_run(static_cast<double>(ns)) >= kLeastStoppedShare && ns > 0;
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
                                         detail::format("the machine slept for {}: not in these times",
                                                        human_time(static_cast<double>(process.suspended_ns))),
                                         process.suspended_ns));
  }
}

void add_busy_processors(const RunView& view, Conclusions& said) {
  const ProcessTimes& process = view.run.process;
  if (process.waited_ns == ProcessTimes::kUnknown) {
    said.abstentions.push_back(
        {"processors_busy", "the system does not tell for how long the thread of the Session waited for a processor"});
    return;
  }
  const auto waited = static_cast<double>(process.waited_ns);
  if (view.share_of_run(waited) < kLeastWaitShare) { return; }
  const double used = view.share_of_run(static_cast<double>(process.cpu_ns));
  const auto processors = static_cast<double>(process.processors);
  const bool own = processors > 0 && process.cpu_ns != ProcessTimes::kUnknown && used >= kUsesAll * processors;
  const std::string waits = detail::format("the thread of the Session was ready to run and got none for {} of {}",
                                           human_time(waited), human_time(view.wall_ns()));
  Finding finding =
      own ? halt_finding(view, "oversubscribed",
                         detail::format("more threads than processors: this process keeps {:.1f} of {} busy, and {}",
                                        used, process.processors, waits),
                         process.waited_ns)
          : halt_finding(view, "processors_busy", "the processors were busy elsewhere: " + waits, process.waited_ns);
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
  const std::int64_t waited = view.run.process.waited_ns;
  const bool known = waited != ProcessTimes::kUnknown && !view.steps_run_elsewhere();
  const auto explained = [&](const Finding& each) {
    return known && is_of_single_steps(each) && 2 * static_cast<double>(waited) >= std::fabs(each.cost->ns);
  };
  for (Finding& each : said.findings) {
    if (!known && is_of_single_steps(each)) {
      each.sentence += "; whether their thread had a processor is not known";
    } else if (explained(each)) {
      said.abstentions.push_back(
          {each.what,
           detail::format("the steps differ by {} in all, and their thread waited {} for a processor, which may be why",
                          human_time(std::fabs(each.cost->ns)), human_time(static_cast<double>(waited)))});
    }
  }
  said.findings.erase(std::remove_if(said.findings.begin(), said.findings.end(), explained), said.findings.end());
}

}  // namespace detail
TAKT_END_NAMESPACE
