// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/median.hpp"
#include "base/text.hpp"
#include "findings/finding_text.hpp"
#include "findings/rules.hpp"
#include "findings/thresholds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// A time that was read, not estimated.
void add_read_time(const RunView& view, const char* what, const std::string& sentence, double ns, Conclusions& said) {
  Finding finding;
  finding.what = what;
  finding.sentence = detail::format("{}: {} of the run", sentence, share_text(view.share_of_run(ns)));
  finding.evidence = {{"time", ns, "ns"}, {"run", view.wall_ns(), "ns"}};
  finding.cost = Cost{ns, ns, ns, view.share_of_run(ns)};
  said.findings.push_back(std::move(finding));
}

/// The steps up to the last one at the beginning that is longer than others.
struct SlowBeginning {
  std::size_t steps = 0;
  double longer_ns = 0;     ///< all together
  double deviation_ns = 0;  ///< of a step behind them
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
  return ns >= kLeastOutsideNs && view.share_of_run(ns) >= kLeastOutsideShare;
}

}  // namespace

void add_start_and_end(const RunView& view, Conclusions& said) {
  if (view.steps == nullptr || view.steps->blocks().empty()) { return; }
  if (view.has_time_of_others()) {
    for (const char* const what : {"start_up", "after_steps"}) { said.abstentions.push_back({what, kTimeOfOthers}); }
    return;
  }
  const auto begin = static_cast<double>(view.steps->blocks().front().begin_ns);
  const auto end = static_cast<double>(view.steps->blocks().back().end_ns);
  if (counts_outside(view, begin)) {
    add_read_time(view, "start_up", detail::format("start-up: the first step begins after {}", human_time(begin)),
                  begin, said);
  }
  const double left = view.wall_ns() - end;
  if (view.run.finished && counts_outside(view, left)) {
    add_read_time(view, "after_steps", detail::format("the run goes on for {} after its last step", human_time(left)),
                  left, said);
  }
}

void add_warm_up(const RunView& view, Conclusions& said) {
  if (view.usual_steps < kFewestSteps) { return; }
  const SlowBeginning slow = slow_beginning(view);
  const double least_ns = std::max(kLeastWarmupLonger * view.usual_ns, kLeastWarmupDeviations * slow.deviation_ns);
  const auto steps = static_cast<double>(slow.steps);
  if (slow.steps == 0 || slow.longer_ns < least_ns * steps) { return; }
  if (view.share_of_run(slow.longer_ns) < kLeastWarmupShare) { return; }
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

}  // namespace detail
TAKT_END_NAMESPACE
