// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/run_view.hpp"

#include "base/statistics.hpp"
#include "base/text.hpp"
#include "findings/rules.hpp"
#include "findings/step_history.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLabelColumns = 60;

// The transient ends when the median of this many consecutive steps is at most kAsUsual times the usual time. The last
// step in these that is longer by kLonger still belongs to it.
constexpr std::size_t kStepsInARow = 8;
constexpr double kAsUsual = 1.1;

void add_block(RunWindow& window, const StepBlock& block) {
  window.steps += static_cast<double>(block.steps);
  window.usual_steps += static_cast<double>(block.usual_steps);
  window.usual_ns += static_cast<double>(block.usual_ns);
  if (window.columns.size() < block.columns.size()) { window.columns.resize(block.columns.size()); }
  for (std::size_t at = 0; at < block.columns.size(); ++at) {
    window.columns[at] += static_cast<double>(block.columns[at]);
  }
}

double host_sum(const RunWindow& window, const std::vector<HistoryColumn>& columns) {
  double sum = 0;
  for (std::size_t at = 0; at < columns.size(); ++at) { sum += columns[at].on_stream ? 0 : window.column(at); }
  return sum;
}

}  // namespace

RunView::RunView(const Snapshot& snapshot) : run(snapshot), on_streams(!snapshot.devices.empty()) {
  for (const PathStats& each : run.paths) {
    on_streams = on_streams || each.device.n() != 0 || each.device_pending != 0 || each.device_lost != 0;
  }
  if (run.history == nullptr) { return; }
  const std::size_t main = run.history->main_series();
  if (main >= run.history->series().size() || main >= run.series.size()) { return; }
  if (run.series[main].path >= run.paths.size()) { return; }
  series = &run.series[main];
  steps = &run.history->series()[main];
  find_transient();
  add_windows();
}

/// Extends warm-up while steps are longer than the usual time after it.
void RunView::find_transient() {
  transient = steps->warmup();
  for (const StepBlock& each : steps->blocks()) {
    usual_steps += static_cast<double>(each.usual_steps);
    usual_ns += static_cast<double>(each.usual_ns);
  }
  usual_ns = usual_steps > 0 ? usual_ns / usual_steps : 0;
  const std::vector<std::uint64_t>& first = steps->beginning();
  if (usual_steps < kMinSteps) { return; }
  for (std::size_t at = 0; at + kStepsInARow <= first.size(); ++at) {
    const auto begin = first.begin() + static_cast<std::ptrdiff_t>(at);
    if (median(std::vector<double>(begin, begin + kStepsInARow)) > kAsUsual * usual_ns) { continue; }
    for (std::size_t end = at + kStepsInARow; end > 0; --end) {
      if (static_cast<double>(first[end - 1]) <= kLonger * usual_ns) { continue; }
      transient = std::max<std::uint64_t>(transient, end);
      return;
    }
    return;
  }
  transient = std::max<std::uint64_t>(transient, first.size());
}

void RunView::add_windows() {
  const std::vector<StepBlock>& blocks = steps->blocks();
  std::size_t first = 0;
  for (std::uint64_t place = 0; first < blocks.size() && place < transient; ++first) { place += blocks[first].steps; }
  const std::size_t left = blocks.size() - first;
  const std::size_t each = std::max<std::size_t>((left + kMaxRunWindows - 1) / kMaxRunWindows, 1);
  usual_steps = 0;
  usual_ns = 0;
  for (std::size_t begin = first; begin < blocks.size(); begin += each) {
    RunWindow window;
    window.first_block = begin;
    const std::size_t end = std::min(begin + each, blocks.size());
    for (std::size_t at = begin; at < end; ++at) { add_block(window, blocks[at]); }
    window.period_ns = host_sum(window, steps->columns());
    usual_steps += window.usual_steps;
    usual_ns += window.usual_ns;
    period_ns += window.period_ns;
    const bool is_whole = end - begin == each && (end < blocks.size() || blocks.back().steps >= steps->stride());
    if (is_whole) { windows.push_back(std::move(window)); }
  }
  usual_ns = usual_steps > 0 ? usual_ns / usual_steps : 0;
}

double RunView::wall_ns() const noexcept {
  const std::int64_t last_ns = steps == nullptr || steps->blocks().empty() ? 0 : steps->blocks().back().end_ns;
  return static_cast<double>(std::max(run.wall_ns, last_ns));
}

bool RunView::is_short() const noexcept { return wall_ns() < kShortestRunNs; }

std::uint32_t RunView::above_batch() const noexcept {
  return series == nullptr ? kNoIndex : run.paths[series->path].parent;
}

bool RunView::steps_run_elsewhere() const noexcept {
  double batches_ns = 0;
  for (std::size_t at = 0; steps != nullptr && at < steps->blocks().size(); ++at) {
    batches_ns += static_cast<double>(steps->blocks()[at].sum_ns);
  }
  return wall_ns() - static_cast<double>(run.uncovered_ns) < batches_ns / 2;
}

bool RunView::is_in_batch(std::uint32_t path) const noexcept {
  while (series != nullptr && path < run.paths.size()) {
    if (path == series->path) { return true; }
    path = run.paths[path].parent;
  }
  return false;
}

bool RunView::runs_each_step(std::uint32_t path) const noexcept {
  std::uint64_t batches = 0;
  for (const Series& each : run.series) { batches += series != nullptr && each.path == series->path ? each.steps : 0; }
  const PathStats& stats = run.paths[path];
  return 2 * (stats.host.n() + stats.skipped) >= batches;
}

std::uint32_t RunView::region_between() const {
  double between_ns = 0;
  for (std::size_t at = 0; steps != nullptr && at < steps->columns().size(); ++at) {
    if (steps->columns()[at].path != HistoryColumn::kBetween) { continue; }
    for (const StepBlock& each : steps->blocks()) {
      between_ns += at < each.columns.size() ? static_cast<double>(each.columns[at]) : 0;
    }
  }
  std::uint32_t max = HistoryColumn::kBetween;
  double max_ns = between_ns / 2;
  for (const std::uint32_t path : beside_batch()) {
    const auto ns = static_cast<double>(run.paths[path].host.total_ns());
    if (run.threads.size() > 1 || !runs_each_step(path) || ns < max_ns) { continue; }
    max = path;
    max_ns = ns;
  }
  return max;
}

std::vector<std::uint32_t> RunView::beside_batch() const {
  std::vector<std::uint32_t> beside;
  for (std::uint32_t path = 0; series != nullptr && path < run.paths.size(); ++path) {
    const bool is_beside = path != series->path && run.paths[path].parent == above_batch();
    if (is_beside && run.paths[path].host.n() != 0) { beside.push_back(path); }
  }
  return beside;
}

std::string RunView::label(std::uint32_t path) const {
  if (path == HistoryColumn::kBetween) { return "time between two Batches"; }
  if (path == kNoIndex) { return "paths beyond the 64th"; }
  if (path >= run.paths.size()) { return "?"; }
  if (series != nullptr && path == series->path) { return "Batch time outside regions"; }
  const std::string& name = run.paths[path].name;
  const auto same = [&name](const PathStats& each) { return each.name == name && each.host.n() != 0; };
  const bool alone = std::count_if(run.paths.begin(), run.paths.end(), same) < 2;
  return fit_end(printable(alone ? name : run.path_name(path)), kLabelColumns);
}

std::string RunView::name(std::uint32_t path) const {
  return path < run.paths.size() ? run.path_name(path) : std::string();
}

namespace {

constexpr double kMaxCorrelation = 0.95;
// With fewer pairs their means are not meaningful.
constexpr std::size_t kMinPairs = 12;

double root_mean_square(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
                   static_cast<double>(values.size()));
}

/// Estimates with autocorrelation as the only noise.
LongRun as_first_order(const std::vector<double>& residuals, double fitted) {
  double squares = 0;
  double neighbours = 0;
  double before = 0;
  for (const double each : residuals) {
    squares += each * each;
    neighbours += each * before;
    before = each;
  }
  const auto n = static_cast<double>(residuals.size());
  LongRun run;
  const double found = squares > 0 ? neighbours / squares : 0;
  run.correlation = std::clamp(found + (fitted + (fitted + 2) * std::max(found, 0.0)) / n, 0.0, kMaxCorrelation);
  run.deviation = std::sqrt(squares / (n - fitted) * (1 + run.correlation) / (1 - run.correlation));
  return run;
}

std::vector<double> means_of_pairs(const std::vector<double>& values) {
  std::vector<double> means(values.size() / 2);
  for (std::size_t at = 0; at < means.size(); ++at) { means[at] = (values[2 * at] + values[2 * at + 1]) / 2; }
  return means;
}

}  // namespace

LongRun long_run_of(const std::vector<double>& residuals, double fitted) {
  LongRun run = as_first_order(residuals, fitted);
  const double alone = root_mean_square(residuals);
  if (residuals.size() >= 2 * kMinPairs) {
    run.deviation = std::max(run.deviation, std::sqrt(2) * as_first_order(means_of_pairs(residuals), fitted).deviation);
  }
  const double wider = alone > 0 ? run.deviation / alone : 1;
  run.independent = static_cast<double>(residuals.size()) / (wider * wider);
  return run;
}

RatioOfSums ratio_of_sums(const std::vector<double>& parts, const std::vector<double>& wholes) {
  const double part = std::accumulate(parts.begin(), parts.end(), 0.0);
  const double whole = std::accumulate(wholes.begin(), wholes.end(), 0.0);
  RatioOfSums result;
  if (parts.size() < kMinRunWindows || whole <= 0) { return result; }
  result.ratio = part / whole;
  std::vector<double> beside(parts.size());
  for (std::size_t at = 0; at < parts.size(); ++at) { beside[at] = parts[at] - result.ratio * wholes[at]; }
  const LongRun scatter = long_run_of(beside, 1);
  const auto n = static_cast<double>(parts.size());
  result.known = true;
  result.half = student_t_quantile(0.975, n - 1) * scatter.deviation * std::sqrt(n) / whole;
  return result;
}

}  // namespace detail
TAKT_END_NAMESPACE
