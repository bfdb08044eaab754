// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trials/trial_rate.hpp"

#include "base/ratio_scatter.hpp"
#include "record/throughput_windows.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kFewestTrials = 3;  // that an interval rests on
// Of the time, in waits at the ends of trials: with more, the host ran ahead of its device, and when it began a step
// does not tell when that one ran.
constexpr double kMostWaiting = 0.01;

/// What of the steps counts, and how.
struct Counting {
  bool items = false;       ///< else batches
  bool boundaries = false;  ///< steps in which the loader began again count, too
  bool copies = false;      ///< so does what copying took

  bool takes(const TrialStep& step) const noexcept { return boundaries || !step.boundary; }
  std::uint64_t ns_of(const TrialStep& step) const noexcept {
    return copies ? step.ns : step.ns - std::min(step.ns, step.copy_ns);
  }
  std::uint64_t items_of(const TrialStep& step) const noexcept { return items ? step.items : 1; }
};

Counting counting_of(const std::vector<Trial>& trials, bool has_device) {
  Counting counting;
  counting.items = std::all_of(trials.begin(), trials.end(), [](const Trial& each) { return each.has_all_items(); });
  counting.copies = has_device;
  std::size_t steps = 0;
  std::size_t boundaries = 0;
  for (const Trial& trial : trials) {
    steps += trial.steps.size();
    boundaries += static_cast<std::size_t>(
        std::count_if(trial.steps.begin(), trial.steps.end(), [](const TrialStep& each) { return each.boundary; }));
  }
  counting.boundaries = 2 * boundaries > steps;  // a loader of one or two batches does nothing else
  return counting;
}

void add_trial(const Trial& trial, const Counting& counting, TrialRate& rate, WindowShare& share) {
  for (const TrialStep& step : trial.steps) {
    rate.copy_ns += step.copy_ns;
    if (!counting.takes(step)) {
      ++rate.left_out_steps;
      rate.left_out_ns += step.ns;
      continue;
    }
    ++rate.steps;
    rate.items += counting.items_of(step);
    rate.ns += counting.ns_of(step);
    share.items += static_cast<double>(counting.items_of(step));
    share.ns += static_cast<double>(counting.ns_of(step));
  }
  rate.ns += trial.wait_ns;
  share.ns += static_cast<double>(trial.wait_ns);
  rate.wait_ns += trial.wait_ns;
  rate.begun_again += trial.begun_again;
}

/// By which factor the interval of windows of neighbouring steps reaches up and down; 0: they cannot tell. Of waits,
/// which are short here, they know nothing.
double factor_of_windows(const std::vector<Trial>& trials, const Counting& counting, std::uint64_t& n) {
  ThroughputWindows windows;
  for (const Trial& trial : trials) {
    for (const TrialStep& step : trial.steps) {
      if (counting.takes(step)) { windows.add(counting.items_of(step), counting.ns_of(step)); }
    }
  }
  const Throughput told = windows.read();
  n = told.windows;
  return told.no_interval == NoInterval::none ? told.items_high / told.items_per_s : 0;
}

/// The same of trials.
double factor_of_trials(const std::vector<WindowShare>& trials) {
  const bool all_have_items =
      std::all_of(trials.begin(), trials.end(), [](const WindowShare& each) { return each.items > 0; });
  if (trials.size() < kFewestTrials || !all_have_items) { return 0; }
  return scatter_of(trials.data(), trials.size()).interval_factor(1);
}

}  // namespace

bool Trial::has_all_items() const noexcept {
  return std::all_of(steps.begin(), steps.end(), [](const TrialStep& each) { return each.items != 0; });
}

TrialRate rate_of(const std::vector<Trial>& trials, bool has_device) {
  TrialRate rate;
  if (trials.empty()) { return rate; }
  const Counting counting = counting_of(trials, has_device);
  rate.trials = trials.size();
  rate.copies_count = counting.copies;
  rate.begin_unix_ns = trials.front().begin_unix_ns;
  rate.end_unix_ns = trials.back().end_unix_ns;
  std::vector<WindowShare> shares(trials.size());
  for (std::size_t at = 0; at < trials.size(); ++at) { add_trial(trials[at], counting, rate, shares[at]); }
  if (rate.ns == 0 || rate.items == 0) { return rate; }
  rate.per_s = static_cast<double>(rate.items) * 1e9 / static_cast<double>(rate.ns);
  const bool host_tells = static_cast<double>(rate.wait_ns) <= kMostWaiting * static_cast<double>(rate.ns);
  const double of_windows = host_tells ? factor_of_windows(trials, counting, rate.n) : 0;
  const double of_trials = factor_of_trials(shares);
  const double factor = std::max(of_windows, of_trials);
  rate.over_trials = of_trials >= of_windows;
  if (rate.over_trials) { rate.n = trials.size(); }
  if (factor > 0) {
    rate.low = rate.per_s / factor;
    rate.high = rate.per_s * factor;
  }
  return rate;
}

void count_samples(TrialResults& results, const std::array<bool, kTrialKinds>& counted) {
  double a_step = 0;
  for (const TrialKind kind : {TrialKind::io, TrialKind::synthetic, TrialKind::full}) {  // the last one is the best
    const TrialRate& rate = results.of(kind);
    if (!counted[static_cast<unsigned>(kind)] || rate.steps == 0) { continue; }
    a_step = static_cast<double>(rate.items) / static_cast<double>(rate.steps);
  }
  if (a_step <= 0) { return; }
  results.unit = "samples";
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (counted[kind]) { continue; }
    TrialRate& rate = results.kinds[kind];
    rate.items = static_cast<std::uint64_t>(std::llround(a_step * static_cast<double>(rate.items)));
    for (double* each : {&rate.per_s, &rate.low, &rate.high}) { *each *= a_step; }
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
