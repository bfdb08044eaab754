// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/trial_rate.hpp"

#include "base/format.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "record/throughput_windows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kMinTrials = 3;  // minimum for an interval
// Maximum share of the time spent waiting at the ends of trials. With more, the host ran ahead of its device, and host
// times of steps do not show when the device ran them.
constexpr double kMaxWaiting = 0.01;

/// Counting rules for steps.
struct Counting {
  bool items = false;       ///< false: count batches
  bool boundaries = false;  ///< include steps in which the loader restarted
  bool copies = false;      ///< include copying time

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
  counting.boundaries = 2 * boundaries > steps;  // a loader of one or two batches restarts in most steps
  return counting;
}

double rate_per_s(std::uint64_t items, std::uint64_t ns) noexcept {
  return ns != 0 ? static_cast<double>(items) * 1e9 / static_cast<double>(ns) : 0;
}

OneTrial added_trial(const Trial& trial, const Counting& counting, TrialRate& rate) {
  OneTrial one;
  for (const TrialStep& step : trial.steps) {
    rate.copy_ns += step.copy_ns;
    if (!counting.takes(step)) {
      ++rate.left_out_steps;
      rate.left_out_ns += step.ns;
      continue;
    }
    ++one.steps;
    one.items += counting.items_of(step);
    one.ns += counting.ns_of(step);
  }
  one.ns += trial.wait_ns;
  one.per_s = rate_per_s(one.items, one.ns);
  rate.steps += one.steps;
  rate.items += one.items;
  rate.ns += one.ns;
  rate.wait_ns += trial.wait_ns;
  rate.begun_again += trial.begun_again;
  return one;
}

/// Returns the factor by which the interval of windows of neighbouring steps extends up and down; 0 if unknown. Waits,
/// which are short here, are not included.
double factor_of_windows(const std::vector<Trial>& trials, const Counting& counting, std::uint64_t& n) {
  ThroughputWindows windows;
  for (const Trial& trial : trials) {
    for (const TrialStep& step : trial.steps) {
      if (counting.takes(step)) { windows.add(counting.items_of(step), counting.ns_of(step)); }
    }
  }
  const Throughput reported = windows.read();
  n = reported.windows;
  return reported.no_interval == NoInterval::none ? reported.items_high / reported.items_per_s : 0;
}

/// The same for trials.
double factor_of_trials(const std::vector<OneTrial>& trials) {
  const bool all_have_items =
      std::all_of(trials.begin(), trials.end(), [](const OneTrial& each) { return each.items != 0; });
  if (trials.size() < kMinTrials || !all_have_items) { return 0; }
  std::vector<WindowShare> shares;
  shares.reserve(trials.size());
  for (const OneTrial& each : trials) {
    shares.push_back({static_cast<double>(each.items), static_cast<double>(each.ns)});
  }
  return scatter_of(shares.data(), shares.size()).interval_factor(1);
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
  for (const Trial& each : trials) { rate.each.push_back(added_trial(each, counting, rate)); }
  if (rate.ns == 0 || rate.items == 0) { return rate; }
  rate.per_s = rate_per_s(rate.items, rate.ns);
  const bool host_reports = static_cast<double>(rate.wait_ns) <= kMaxWaiting * static_cast<double>(rate.ns);
  const double of_windows = host_reports ? factor_of_windows(trials, counting, rate.n) : 0;
  const double of_trials = factor_of_trials(rate.each);
  const double factor = std::max(of_windows, of_trials);
  rate.over_trials = of_trials >= of_windows;
  if (rate.over_trials) { rate.n = trials.size(); }
  if (factor > 0) { rate.interval = TrialInterval{rate.per_s / factor, rate.per_s * factor}; }
  return rate;
}

namespace {

std::uint64_t scaled_items(double factor, std::uint64_t items) {
  return static_cast<std::uint64_t>(std::llround(factor * static_cast<double>(items)));
}

}  // namespace

void scale(TrialRate& rate, double factor) noexcept {
  rate.per_s *= factor;
  if (rate.interval) { rate.interval = TrialInterval{rate.interval->low * factor, rate.interval->high * factor}; }
  for (OneTrial& each : rate.each) { each.per_s *= factor; }
}

void count_samples(TrialResults& results, const std::array<bool, kTrialKinds>& counted) {
  double a_step = 0;
  for (const TrialKind kind : {TrialKind::io, TrialKind::synthetic, TrialKind::full}) {  // the last one wins
    const TrialRate& rate = results.of(kind);
    if (!counted[static_cast<unsigned>(kind)] || rate.steps == 0) { continue; }
    a_step = static_cast<double>(rate.items) / static_cast<double>(rate.steps);
  }
  if (a_step <= 0) { return; }
  results.unit = "samples";
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    if (counted[kind]) { continue; }
    TrialRate& rate = results.kinds[kind];
    rate.items = scaled_items(a_step, rate.items);
    for (OneTrial& each : rate.each) { each.items = scaled_items(a_step, each.items); }
    scale(rate, a_step);
  }
}

namespace {

constexpr double kSomeOverlap = 0.05;

/// "90.0", "376.5", "1 234".
std::string reported_rate(double per_s) { return per_s < 999.95 ? detail::format("{:.1f}", per_s) : human_rate(per_s); }
/// "9.1", "252", "1 234".
std::string short_rate(double per_s) {
  return per_s < 100     ? detail::format("{:.1f}", per_s)
         : per_s < 999.5 ? detail::format("{:.0f}", per_s)
                         : human_rate(per_s);
}

/// The three rates with intervals, and FULL's ratio to the slower of the other two.
struct ThreeRates {
  const TrialRate& io;
  const TrialRate& synthetic;
  const TrialRate& full;
  double of_slower = 0;
  double low = 0;
  double high = 0;

  explicit ThreeRates(const TrialResults& results)
      : io(results.of(TrialKind::io)),
        synthetic(results.of(TrialKind::synthetic)),
        full(results.of(TrialKind::full)),
        of_slower(full.per_s / std::min(io.per_s, synthetic.per_s)),
        low(full.interval->low / std::min(io.interval->high, synthetic.interval->high)),
        high(full.interval->high / std::min(io.interval->low, synthetic.interval->low)) {}

  /// Returns the hidden share of what could be hidden: 0 if loading and computing are sequential, 1 if the shorter one
  /// is free.
  double overlap() const noexcept { return overlap_of(io.per_s, synthetic.per_s, full.per_s); }
  double overlap_low() const noexcept {
    return overlap_of(io.interval->high, synthetic.interval->high, full.interval->low);
  }
  double overlap_high() const noexcept {
    return overlap_of(io.interval->low, synthetic.interval->low, full.interval->high);
  }

 private:
  static double overlap_of(double io, double synthetic, double full) noexcept {
    const double shorter = 1 / std::max(io, synthetic);
    return std::max((1 / io + 1 / synthetic - 1 / full) / shorter, 0.0);
  }
};

Finding finding_of(const ThreeRates& rates, const std::string& unit, const char* what, std::string sentence) {
  Finding finding;
  finding.what = what;
  finding.sentence = std::move(sentence);
  const std::string a_second = unit + "/s";
  const auto add = [&](const char* name, const TrialRate& rate) {
    const std::string begin = name;
    finding.evidence.push_back({begin, rate.per_s, a_second});
    finding.evidence.push_back({begin + "_low", rate.interval->low, a_second});
    finding.evidence.push_back({begin + "_high", rate.interval->high, a_second});
  };
  add("full", rates.full);
  add("io", rates.io);
  add("synthetic", rates.synthetic);
  finding.evidence.push_back({"full_of_slower", rates.of_slower, ""});
  finding.evidence.push_back({"overlap", rates.overlap(), ""});
  finding.evidence.push_back({"overlap_low", rates.overlap_low(), ""});
  finding.evidence.push_back({"overlap_high", rates.overlap_high(), ""});
  finding.evidence.push_back({"data_stall", 1 - rates.full.per_s / rates.synthetic.per_s, ""});
  finding.evidence.push_back({"one_after_the_other", 1 / (1 / rates.io.per_s + 1 / rates.synthetic.per_s), a_second});
  return finding;
}

std::string slower_one(const ThreeRates& rates) {
  if (rates.io.interval->high < rates.synthetic.interval->low) { return "IO is the slower one"; }
  if (rates.synthetic.interval->high < rates.io.interval->low) { return "SYNTHETIC is the slower one"; }
  return "it is unknown which of these is slower";
}

/// Returns true if one of the two is so much faster that even sequential execution is about as fast as the slower one,
/// so overlap does not matter.
bool is_one_alone(const ThreeRates& rates) noexcept {
  const double often = kBound / (1 - kBound);
  return rates.io.interval->low >= often * rates.synthetic.interval->high ||
         rates.synthetic.interval->low >= often * rates.io.interval->high;
}

bool has_three_intervals(const TrialResults& results) {
  return std::all_of(results.kinds.begin(), results.kinds.end(),
                     [](const TrialRate& each) { return each.interval.has_value(); });
}

}  // namespace

void conclude_trials(TrialResults& results) {
  results.finding.reset();
  results.unreported.clear();
  if (!has_three_intervals(results)) {
    results.unreported = "it needs IO, SYNTHETIC and FULL, each with an interval";
    return;
  }
  const ThreeRates rates(results);
  const auto report = [&](const char* what, std::string sentence) {
    results.finding = finding_of(rates, results.unit, what, std::move(sentence));
  };
  if (rates.high < kBound) {
    const bool some = rates.overlap_low() >= kSomeOverlap;
    const std::string how =
        some ? "overlap for " + percent(rates.overlap(), 1) + " of the shorter one"
        : rates.overlap_high() < kSomeOverlap
            ? "do not overlap"
            : "overlap for at most " + percent(std::min(rates.overlap_high(), 1.0), 1) + " of the shorter one";
    report(some ? "partial_overlap" : "no_overlap",
           detail::format("loading and computing {}: FULL {} {}/s, IO {}, SYNTHETIC {}; {}", how,
                          short_rate(rates.full.per_s), results.unit, short_rate(rates.io.per_s),
                          short_rate(rates.synthetic.per_s), slower_one(rates)));
  } else if (rates.low > 1 / kBound) {
    results.unreported =
        "FULL is faster than the slower of IO and SYNTHETIC, which is impossible: the speed of one has changed";
  } else if (rates.low < kBound && !is_one_alone(rates)) {
    results.unreported =
        detail::format("FULL is {:.2f} to {:.2f} of the slower of IO and SYNTHETIC, but the threshold is {}", rates.low,
                       rates.high, kBound);
  } else if (rates.io.interval->high < rates.synthetic.interval->low) {
    report("input_bound", detail::format("input-bound: FULL {} {}/s matches IO ({}); the model could process {}",
                                         reported_rate(rates.full.per_s), results.unit, reported_rate(rates.io.per_s),
                                         reported_rate(rates.synthetic.per_s)));
  } else if (rates.synthetic.interval->high < rates.io.interval->low) {
    report("compute_bound",
           detail::format("compute-bound: FULL {} {}/s matches the model ({}); the loader could deliver {}",
                          reported_rate(rates.full.per_s), results.unit, reported_rate(rates.synthetic.per_s),
                          reported_rate(rates.io.per_s)));
  } else {
    results.unreported = "the intervals of IO and SYNTHETIC overlap: it is unknown which is slower";
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
