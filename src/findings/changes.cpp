// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/changes.hpp"

#include "base/format.hpp"
#include "base/statistics.hpp"
#include "base/text.hpp"
#include "findings/findings.hpp"
#include "findings/rules.hpp"
#include "findings/run_view.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

double mean_of(const std::vector<double>& values, std::size_t first, std::size_t last) {
  const auto begin = values.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last), 0.0) /
         static_cast<double>(last - first);
}

double squares_of(const std::vector<double>& residuals) {
  return std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
}

}  // namespace

LevelShift find_shift(const std::vector<double>& values) {
  LevelShift shift;
  shift.critical = kNever;
  const std::size_t n = values.size();
  if (n < 2 * kMinWindowsASide + 3) { return shift; }
  const double mean = mean_of(values, 0, n);
  double sum = 0;
  double farthest = 0;
  for (std::size_t at = 1; at + kMinWindowsASide <= n; ++at) {
    sum += values[at - 1] - mean;
    if (at < kMinWindowsASide || std::fabs(sum) <= farthest) { continue; }
    farthest = std::fabs(sum);
    shift.at = at;
  }
  if (shift.at == 0) { return shift; }
  shift.before = mean_of(values, 0, shift.at);
  shift.after = mean_of(values, shift.at, n);
  std::vector<double> residuals(n);
  for (std::size_t at = 0; at < n; ++at) { residuals[at] = values[at] - (at < shift.at ? shift.before : shift.after); }
  shift.squares = squares_of(residuals);
  const LongRun scatter = long_run_of(residuals, 3);
  const auto count = static_cast<double>(n);
  shift.statistic = scatter.deviation > 0 ? farthest / (scatter.deviation * std::sqrt(count)) : kNever;
  if (scatter.independent < kMinIndependentOverTime) { return shift; }
  shift.critical = kShiftCritical * (1 + kShiftFew / scatter.independent);
  const auto left = static_cast<double>(shift.at);
  const double error = scatter.deviation * std::sqrt(1 / left + 1 / (count - left));
  shift.half = student_t_quantile(0.975, std::max(scatter.independent - 2, 1.0)) * error;
  // 97.5 % quantile of the argmax of a two-sided random walk with downward drift (Yao 1987, Bai 1997).
  constexpr double kPlace = 11;
  const double signal = scatter.deviation > 0 ? (shift.after - shift.before) / scatter.deviation : kNever;
  shift.near = kPlace / (signal * signal) + 1;
  return shift;
}

LevelSlope find_slope(const std::vector<double>& values) {
  LevelSlope line;
  line.critical = kNever;
  const std::size_t n = values.size();
  if (n < 2 * kMinWindowsASide + 3) { return line; }
  const auto count = static_cast<double>(n);
  const double middle = (count - 1) / 2;
  const double mean = mean_of(values, 0, n);
  double products = 0;
  for (std::size_t at = 0; at < n; ++at) { products += (static_cast<double>(at) - middle) * (values[at] - mean); }
  const double spread = count * (count * count - 1) / 12;
  line.slope = products / spread;
  line.begin = mean - middle * line.slope;
  std::vector<double> residuals(n);
  for (std::size_t at = 0; at < n; ++at) {
    residuals[at] = values[at] - line.begin - line.slope * static_cast<double>(at);
  }
  line.squares = squares_of(residuals);
  const LongRun scatter = long_run_of(residuals, 2);
  const double error = scatter.deviation / std::sqrt(spread);
  line.statistic = error > 0 ? std::fabs(line.slope) / error : kNever;
  if (scatter.independent < kMinIndependentOverTime) { return line; }
  const double degrees = std::max(scatter.independent - 2, 1.0);
  line.critical = student_t_quantile(kSlopeSure, degrees);
  line.half = student_t_quantile(0.975, degrees) * error;
  return line;
}

namespace {

/// Consecutive windows.
struct WindowRange {
  std::size_t first = 0;
  std::size_t last = 0;  ///< one past the last
};

/// Levels of a run, per window.
struct Levels {
  std::vector<double> values;        // ns per step
  std::vector<const RunWindow*> of;  // the windows
  double steps = 0;                  // mean number per window

  std::vector<double> in(const WindowRange& range) const {
    return {values.begin() + static_cast<std::ptrdiff_t>(range.first),
            values.begin() + static_cast<std::ptrdiff_t>(range.last)};
  }
  double mean(const WindowRange& range) const {
    double sum = 0;
    for (std::size_t at = range.first; at < range.last; ++at) { sum += values[at]; }
    return sum / static_cast<double>(range.last - range.first);
  }
  /// Returns the sum of squares around a constant level.
  double squares(const WindowRange& range) const {
    const double level = mean(range);
    double sum = 0;
    for (std::size_t at = range.first; at < range.last; ++at) { sum += (values[at] - level) * (values[at] - level); }
    return sum;
  }
};

/// Adds two independent errors. std::hypot() would require glibc 2.35.
double root_of_squares(double one, double other) { return std::sqrt(one * one + other * other); }

Levels levels_of(const RunView& view) {
  Levels levels;
  for (const RunWindow& each : view.windows) {
    if (2 * each.usual_steps < each.steps) { continue; }  // most of its steps have no period
    levels.values.push_back(each.level());
    levels.of.push_back(&each);
    levels.steps += each.usual_steps;
  }
  levels.steps /= std::max(static_cast<double>(levels.of.size()), 1.0);
  return levels;
}

/// Returns the median over windows of the column's time per step; single steps do not move it.
double middle_of(const Levels& levels, const WindowRange& range, std::size_t column) {
  std::vector<double> times;
  for (std::size_t at = range.first; at < range.last; ++at) {
    times.push_back(levels.of[at]->column(column) / levels.of[at]->steps);
  }
  return median(std::move(times));
}

/// Returns the region, or HistoryColumn::kBetween, that changes most in the same direction as the step.
std::uint32_t changed_region(const RunView& view, const Levels& levels, const WindowRange& before,
                             const WindowRange& after, bool longer) {
  std::uint32_t max = view.series->path;
  double max_ns = 0;
  for (std::size_t at = 0; at < view.steps->columns().size(); ++at) {
    const HistoryColumn& column = view.steps->columns()[at];
    const double change = middle_of(levels, after, at) - middle_of(levels, before, at);
    const double ns = longer ? change : -change;
    if (column.on_stream || ns <= max_ns) { continue; }
    max = column.path;
    max_ns = ns;
  }
  return max == HistoryColumn::kBetween ? view.region_between() : max;
}

/// A change of level with the windows on both sides.
struct FoundChange {
  LevelShift shift;
  WindowRange before;
  WindowRange after;

  bool is_longer() const noexcept { return shift.after > shift.before; }
  double share() const noexcept { return shift.after / shift.before - 1; }
};

/// Returns 0, candidate positions of changes in ascending order, and the number of windows. Significance is checked
/// later: a level that returns hides both of its changes from a search for one.
std::vector<std::size_t> candidate_ends(const Levels& levels) {
  std::vector<std::size_t> ends = {0, levels.values.size()};
  while (ends.size() < kMaxChanges + 2) {
    double max = 0;
    std::size_t behind = 0;
    std::size_t place = 0;
    for (std::size_t at = 0; at + 1 < ends.size(); ++at) {
      const WindowRange part = {ends[at], ends[at + 1]};
      const LevelShift found = find_shift(levels.in(part));
      const double reported = found.at == 0 ? 0 : levels.squares(part) - found.squares;
      if (reported <= max) { continue; }
      max = reported;
      place = ends[at] + found.at;
      behind = at + 1;
    }
    if (behind == 0) { break; }
    ends.insert(ends.begin() + static_cast<std::ptrdiff_t>(behind), place);
  }
  return ends;
}

/// Returns how significant the change between two ends is: > 1 is significant.
double sureness(const Levels& levels, const WindowRange& range) {
  const LevelShift found = find_shift(levels.in(range));
  const bool counts = found.at != 0 && std::fabs(found.after / found.before - 1) >= kMinChange;
  return counts ? found.statistic / found.critical : 0;
}

/// Drops candidates, least significant first, until all are significant between their neighbours.
std::vector<std::size_t> ends_of_parts(const Levels& levels) {
  std::vector<std::size_t> ends = candidate_ends(levels);
  while (ends.size() > 2) {
    std::size_t min = 0;
    double min_sure = 1;
    for (std::size_t at = 1; at + 1 < ends.size(); ++at) {
      const double sure = sureness(levels, {ends[at - 1], ends[at + 1]});
      if (sure > min_sure) { continue; }
      min = at;
      min_sure = sure;
    }
    if (min == 0) { break; }
    ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(min));
  }
  return ends;
}

/// Returns the final changes, each with the levels between its neighbouring changes.
std::vector<FoundChange> changes_of(const Levels& levels) {
  const std::vector<std::size_t> ends = ends_of_parts(levels);
  std::vector<FoundChange> changes;
  for (std::size_t at = 1; at + 1 < ends.size(); ++at) {
    FoundChange change;
    change.before = {ends[at - 1], ends[at]};
    change.after = {ends[at], ends[at + 1]};
    change.shift = find_shift(levels.in({change.before.first, change.after.last}));
    change.shift.before = levels.mean(change.before);
    change.shift.after = levels.mean(change.after);
    if (std::fabs(change.share()) >= kMinChange) { changes.push_back(change); }
  }
  return changes;
}

double typical_period(const RunView& view, const StepBlock& block) {
  double sum = 0;
  for (std::size_t at = 0; at < block.columns.size(); ++at) {
    sum += view.steps->columns()[at].on_stream ? 0 : static_cast<double>(block.columns[at]);
  }
  return sum / static_cast<double>(block.steps);
}

/// Returns the block with the first step of the new level; blocks are finer than windows. Deviations are capped at the
/// difference of the levels.
std::size_t block_of(const RunView& view, const Levels& levels, const FoundChange& change) {
  const auto reach = static_cast<std::size_t>(std::min(change.shift.near + 1, static_cast<double>(levels.of.size())));
  const std::size_t middle = change.after.first;
  const std::size_t from = std::max(middle - std::min(reach, middle), change.before.first);
  const std::size_t to = std::min(middle + reach, change.after.last - 1);
  const double low = std::min(change.shift.before, change.shift.after);
  const double high = std::max(change.shift.before, change.shift.after);
  const double level = (low + high) / 2;
  const std::vector<StepBlock>& blocks = view.steps->blocks();
  std::size_t best = levels.of[middle]->first_block;
  double sum = 0;
  double max = -1;
  for (std::size_t at = levels.of[from]->first_block; at < levels.of[to]->first_block; ++at) {
    const double ns = std::clamp(typical_period(view, blocks[at]), 2 * low - high, 2 * high - low);
    sum += static_cast<double>(blocks[at].steps) * (change.is_longer() ? level - ns : ns - level);
    if (sum <= max) { continue; }
    max = sum;
    best = at + 1;
  }
  return best;
}

/// Returns the end of the new level: the first later change that reverts at least half of it.
std::size_t end_of_group(const std::vector<FoundChange>& changes, std::size_t at) {
  const double half_way = (changes[at].shift.before + changes[at].shift.after) / 2;
  for (std::size_t later = at + 1; later < changes.size(); ++later) {
    const double level = changes[later].shift.after;
    if (changes[at].is_longer() ? level < half_way : level > half_way) { return later; }
  }
  return changes.size();
}

double steps_between(const RunView& view, std::size_t first, std::size_t last) {
  double steps = 0;
  for (std::size_t at = first; at < last; ++at) { steps += static_cast<double>(view.steps->blocks()[at].steps); }
  return steps;
}

Cost cost_of_change(const RunView& view, double ns, double half) {
  return {ns, std::max(ns - half, 0.0), ns + half, view.share_of_run(ns)};
}

/// Rounds to the known precision: "41 200".
std::string place_text(std::int64_t step, double within) {
  const double unit = std::pow(10, std::floor(std::log10(std::max(within, 1.0))));
  return step_text(static_cast<std::int64_t>(std::llround(static_cast<double>(step) / unit) * std::llround(unit)));
}

std::string in_run(const RunView& view, const Finding& finding) {
  return finding.cost ? ": " + share_text(view.share_of_run(finding.cost->ns)) + " of the run" : "";
}

void add_change_points(const RunView& view, const Levels& levels, const std::vector<FoundChange>& changes,
                       Conclusions& said) {
  std::size_t undone = 0;  // a change that reverts an earlier one belongs to it
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const FoundChange& change = changes[at];
    if (at != 0 && at == undone) { continue; }
    const std::size_t end = end_of_group(changes, at);
    undone = end;
    Finding finding;
    finding.what = "change_point";
    const std::vector<StepBlock>& blocks = view.steps->blocks();
    const std::size_t block = block_of(view, levels, change);
    const double within = change.shift.near * levels.steps;
    const std::int64_t step = blocks[block].first_step;
    const std::uint32_t region = changed_region(view, levels, change.before, change.after, change.is_longer());
    finding.where = view.name(region);
    finding.evidence = {
        {"step", static_cast<double>(step), ""}, {"step_within", within, "steps"},
        {"change", change.share(), ""},          {"change_within", change.shift.half / change.shift.before, ""},
        {"before", change.shift.before, "ns"},   {"after", change.shift.after, "ns"},
        {"steps", view.usual_steps, "steps"},    {"windows", static_cast<double>(levels.values.size()), "windows"}};
    std::string until;
    std::size_t last_block = blocks.size();
    double places = within;  // uncertainty of the number of steps
    if (end < changes.size()) {
      last_block = block_of(view, levels, changes[end]);
      const double end_within = changes[end].shift.near * levels.steps;
      places = root_of_squares(places, end_within);
      until = detail::format(" until step {}", place_text(blocks[last_block].first_step, end_within));
      finding.evidence.push_back({"until_step", static_cast<double>(blocks[last_block].first_step), ""});
    }
    if (change.is_longer()) {
      const double steps = steps_between(view, block, last_block);
      const double longer = change.shift.after - change.shift.before;
      finding.cost = cost_of_change(view, longer * steps, root_of_squares(change.shift.half * steps, longer * places));
    }
    finding.sentence = detail::format("change at step {}: {}{}, in {}{}", place_text(step, within),
                                      change_text(change.share()), until, view.label(region), in_run(view, finding));
    said.findings.push_back(std::move(finding));
  }
}

/// Returns "an epoch" or "in N steps", and its length in windows.
std::pair<std::string, double> unit_of(const RunView& view, const Levels& levels, double share_of_window) {
  constexpr std::uint64_t kMinEpochs = 3;
  const std::uint32_t above = view.above_batch();
  if (above < view.run.paths.size() && view.run.paths[above].name == Epoch.name()) {
    const std::uint64_t epochs = view.run.paths[above].host.n();
    if (epochs >= kMinEpochs) {
      return {"an epoch", static_cast<double>(view.series->steps) / static_cast<double>(epochs) / levels.steps};
    }
  }
  constexpr double kMinShown = 0.001;
  std::uint64_t steps = 1000;
  const auto share = [&] { return std::fabs(share_of_window) * static_cast<double>(steps) / levels.steps; };
  while (share() < kMinShown && 10 * steps <= view.series->steps) { steps *= 10; }
  return {detail::format("in {} steps", human_count(steps)), static_cast<double>(steps) / levels.steps};
}

void add_drift(const RunView& view, const Levels& levels, const LevelSlope& line, Conclusions& said) {
  const auto n = static_cast<double>(levels.values.size());
  const double share = line.slope / (line.begin - line.slope / 2);
  const auto [unit, windows] = unit_of(view, levels, share);
  const std::size_t third = levels.values.size() / 3;
  const std::uint32_t region =
      changed_region(view, levels, {0, third}, {levels.values.size() - third, levels.values.size()}, line.slope > 0);
  const double begin = line.begin - line.slope / 2;  // a window represents its middle
  const double in_all = line.slope * n / begin;
  Finding finding;
  finding.what = "drift";
  finding.where = view.name(region);
  finding.evidence = {{"in_all", in_all, ""},
                      {"in_all_within", line.half * n / begin, ""},
                      {"begin", begin, "ns"},
                      {"steps", view.usual_steps, "steps"},
                      {"windows", n, "windows"},
                      {"change", share * windows, ""},
                      {"in_steps", std::round(windows * levels.steps), "steps"}};
  const double steps = n * n / 2 * levels.steps;
  if (line.slope > 0) { finding.cost = cost_of_change(view, line.slope * steps, line.half * steps); }
  finding.sentence = detail::format("drift: {} {}, {} in all, in {}{}", change_text(share * windows), unit,
                                    change_text(in_all), view.label(region), in_run(view, finding));
  said.findings.push_back(std::move(finding));
}

}  // namespace

void add_changes(const RunView& view, Conclusions& said) {
  if (view.usual_steps < kMinSteps) { return; }
  const auto abstain = [&](const std::string& why) {
    for (const char* const what : {"change_point", "drift"}) { said.skipped_rules.push_back({what, why}); }
  };
  const Levels levels = levels_of(view);
  if (view.usual_steps < kMinStepsOverTime || levels.values.size() < kMinRunWindows) {
    return abstain(detail::format("{} steps have a period, {} are needed",
                                  human_count(static_cast<std::uint64_t>(view.usual_steps)), kMinStepsOverTime));
  }
  const LevelShift shift = find_shift(levels.values);
  const LevelSlope line = find_slope(levels.values);
  const double in_all = line.slope / line.begin * static_cast<double>(levels.values.size() - 1);
  // Report once: as a slope if that explains more.
  const bool is_drift =
      line.is_sure() && std::fabs(in_all) >= kMinChange && (!shift.is_sure() || line.squares < shift.squares);
  if (is_drift) { return add_drift(view, levels, line, said); }
  const std::vector<FoundChange> changes = changes_of(levels);
  if (changes.empty() && std::isinf(shift.critical) && std::isinf(line.critical)) {
    return abstain("steps are strongly autocorrelated and the run is too short to distinguish a change from chance");
  }
  add_change_points(view, levels, changes, said);
}

}  // namespace detail
TAKT_END_NAMESPACE
