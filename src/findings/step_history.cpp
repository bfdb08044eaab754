// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/step_history.hpp"

#include "base/encoding.hpp"
#include "base/statistics.hpp"

#include <takt/detail/memory.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

TAKT_BEGIN_NAMESPACE
namespace detail {

void SlowSteps::add(const SlowStep& step) {
  if (steps_ != 0) {
    const std::uint64_t gap = step.place - last_place_;
    const auto known = gaps_.find(gap);
    if (known != gaps_.end()) {
      ++known->second;
    } else if (gaps_.size() < kMaxGaps) {
      gaps_.emplace(gap, 1);
    }
  } else {
    first_step_ = step.step;
  }
  if (steps_ == 0 || step.excess_ns > worst_excess_ns_) {
    worst_step_ = step.step;
    worst_excess_ns_ = step.excess_ns;
  }
  ++steps_;
  after_breaks_ += step.after_break ? 1 : 0;
  excess_ns_ = bounded_sum(excess_ns_, step.excess_ns);
  excess_squares_ += static_cast<double>(step.excess_ns) * static_cast<double>(step.excess_ns);
  ratios_ += step.ratio;
  last_step_ = step.step;
  last_place_ = step.place;
}

namespace {

/// Time of a path within one step.
struct TimeInStep {
  std::uint32_t path = 0;
  std::uint64_t ns = 0;
  std::uint64_t inside_ns = 0;  // of its direct children
};

/// Returns the first entry not before the path. If no path is missing, it is at its offset from the first entry.
std::vector<TimeInStep>::iterator find_time(std::vector<TimeInStep>& times, std::uint32_t path) noexcept {
  if (times.empty() || times.back().path < path) { return times.end(); }
  if (path <= times.front().path) { return times.begin(); }
  const std::size_t far = path - times.front().path;
  if (far < times.size() && times[far].path == path) { return times.begin() + static_cast<std::ptrdiff_t>(far); }
  return std::lower_bound(times.begin(), times.end(), path,
                          [](const TimeInStep& each, std::uint32_t value) { return each.path < value; });
}

/// \param value function of a cell; below 0 means that it has none.
template <class Value>
std::vector<TimeInStep> times_by_path(const Row& row, Value value) {
  std::vector<TimeInStep> times;
  times.reserve(row.cells.size());
  for (const Cell& each : row.cells) {
    const std::int64_t ns = value(each);
    if (ns < 0) { continue; }
    auto at = find_time(times, each.path);
    if (at == times.end()) {
      times.push_back({each.path});
      at = times.end() - 1;
    } else if (at->path != each.path) {
      at = times.insert(at, {each.path});
    }
    at->ns = bounded_sum(at->ns, static_cast<std::uint64_t>(ns));
  }
  return times;
}

/// \param beside returns true if a path ran in parallel with its parent instead of inside it.
template <class Beside>
std::vector<OwnTime> without_inner(std::vector<TimeInStep> times, const Snapshot& snapshot, const Row& row,
                                   Beside beside) {
  for (const TimeInStep& each : times) {
    if (each.path >= snapshot.paths.size() || beside(snapshot.paths[each.path])) { continue; }
    const std::uint32_t parent = snapshot.paths[each.path].parent;
    const auto above = find_time(times, parent);
    if (parent == kNoIndex || above == times.end() || above->path != parent) { continue; }
    above->inside_ns = bounded_sum(above->inside_ns, each.ns);
  }
  const std::uint32_t batch = snapshot.series[row.series].path;
  std::vector<OwnTime> own;
  own.reserve(times.size());
  for (const TimeInStep& each : times) {
    if (each.path != batch) { own.push_back({each.path, each.ns - std::min(each.inside_ns, each.ns)}); }
  }
  return own;
}

}  // namespace

std::vector<OwnTime> own_times(const Snapshot& snapshot, const Row& row) {
  const auto host_ns = [](const Cell& cell) { return std::max<std::int64_t>(cell.host_ns, 0); };
  return without_inner(times_by_path(row, host_ns), snapshot, row, [](const PathStats&) { return false; });
}

std::vector<OwnTime> own_stream_times(const Snapshot& snapshot, const Row& row) {
  const auto device_ns = [](const Cell& cell) { return cell.device_ns; };
  return without_inner(times_by_path(row, device_ns), snapshot, row,
                       [](const PathStats& path) { return path.kind == Kind::comm; });
}

namespace {

void join(MetricBlock& block, const MetricBlock& behind) noexcept {
  block.points += behind.points;
  block.last_step = behind.last_step;
  block.sum += behind.sum;
  block.min = std::min(block.min, behind.min);
  block.max = std::max(block.max, behind.max);
}

}  // namespace

void MetricHistory::halve() {
  std::size_t kept = 0;
  for (std::size_t at = 0; at < blocks_.size(); at += 2) {
    blocks_[kept] = blocks_[at];
    if (at + 1 < blocks_.size()) { join(blocks_[kept], blocks_[at + 1]); }
    ++kept;
  }
  blocks_.resize(kept);
  stride_ *= 2;
}

void MetricHistory::add(const Metric& metric) {
  ++points_;
  if (!std::isfinite(metric.value)) {
    ++not_finite_;
    return;
  }
  last_ = metric.value;
  const MetricBlock point = {1, metric.step, metric.step, metric.value, metric.value, metric.value};
  if (!blocks_.empty() && blocks_.back().points < stride_) { return join(blocks_.back(), point); }
  if (blocks_.size() == kMaxBlocks) { halve(); }
  blocks_.push_back(point);
}

namespace {

/// Keeps every second ordered sample, which preserves the shape of the distribution.
void thin_samples(std::vector<std::uint64_t>& samples, bool odd) {
  std::size_t kept = 0;
  for (std::size_t at = odd ? 1 : 0; at < samples.size(); at += 2) { samples[kept++] = samples[at]; }
  samples.resize(kept);
}

}  // namespace

void add_sample(StepBlock& block, std::uint64_t ns) {
  std::vector<std::uint64_t>& samples = block.samples;
  samples.reserve(StepBlock::kMaxSamples);
  if (samples.size() == StepBlock::kMaxSamples) { thin_samples(samples, false); }
  samples.insert(std::upper_bound(samples.begin(), samples.end(), ns), ns);
}

void add_columns(StepBlock& block, const std::vector<std::uint64_t>& columns) {
  if (block.columns.size() < columns.size()) { block.columns.resize(columns.size()); }
  for (std::size_t at = 0; at < columns.size(); ++at) {
    block.columns[at] = bounded_sum(block.columns[at], columns[at]);
  }
}

void join(StepBlock& block, const StepBlock& behind, bool odd) {
  block.steps += behind.steps;
  block.warmup += behind.warmup;
  block.end_ns = behind.end_ns;
  block.sum_ns = bounded_sum(block.sum_ns, behind.sum_ns);
  block.min_ns = std::min(block.min_ns, behind.min_ns);
  block.max_ns = std::max(block.max_ns, behind.max_ns);
  block.usual_steps += behind.usual_steps;
  block.usual_ns = bounded_sum(block.usual_ns, behind.usual_ns);
  std::vector<std::uint64_t> samples;
  samples.reserve(block.samples.size() + behind.samples.size());
  std::merge(block.samples.begin(), block.samples.end(), behind.samples.begin(), behind.samples.end(),
             std::back_inserter(samples));
  if (samples.size() > StepBlock::kMaxSamples) { thin_samples(samples, odd); }
  block.samples = std::move(samples);
  add_columns(block, behind.columns);
}

namespace {

// Steps are capped at this many deviations above the chunk's median.
constexpr double kUsualDeviations = 3;
// Minimum number of steps for a usual range. If three of four steps at an end of a chunk are on one side of that range,
// and there are this many, they are on another level. Capping them would move the change to the end of the chunk.
constexpr std::size_t kMinToJudge = 8;

std::uint64_t not_negative(std::int64_t ns) noexcept { return ns < 0 ? 0 : static_cast<std::uint64_t>(ns); }

/// Returns the number of leading steps on another level; 0 if none. \param sides -1, 0 or 1: below, near or above the
/// usual range.
template <class Side>
std::size_t level_in_front(Side first, Side last) {
  if (static_cast<std::size_t>(last - first) < kMinToJudge) { return 0; }
  const auto behind = first + kMinToJudge;
  const int side = std::count(first, behind, 1) > std::count(first, behind, -1) ? 1 : -1;
  std::size_t level = 0;
  std::size_t outside = 0;
  for (Side each = first; each != last; ++each) {
    if (*each != side) { continue; }
    ++outside;
    const auto steps = static_cast<std::size_t>(each - first) + 1;
    if (4 * outside >= 3 * steps) { level = steps; }
  }
  return level >= kMinToJudge ? level : 0;
}

bool is_longer(const WorstStep& a, const WorstStep& b) noexcept { return a.ns > b.ns; }

}  // namespace

/// Checks the next column first, because steps usually have the same columns in the same order.
std::size_t SeriesHistory::column_of(HistoryColumn column) {
  const std::size_t next = last_column_ + 1;
  if (next < columns_.size() && columns_[next].path == column.path && columns_[next].on_stream == column.on_stream) {
    return last_column_ = next;
  }
  const auto [place, is_new] = places_.emplace(std::make_pair(column.path, column.on_stream), columns_.size());
  if (is_new) { columns_.push_back(column); }
  return last_column_ = place->second;
}

void SeriesHistory::put(Step& step, HistoryColumn column, std::uint64_t ns) {
  const std::size_t place = column_of(column);
  if (step.columns.size() <= place) { step.columns.resize(place + 1); }
  step.columns[place] = bounded_sum(step.columns[place], ns);
}

SeriesHistory::Step SeriesHistory::step_of(const Snapshot& snapshot, const Row& row) {
  Step step;
  step.columns.reserve(columns_.size());
  step.number = row.step;
  step.begin_ns = row.begin_ns;
  step.ns = std::min(not_negative(row.host_ns), kMaxSum / 2);
  step.warmup = row.warmup;
  step.has_period = row.period_ns.has_value();
  std::uint64_t rest_ns = step.ns;
  for (const OwnTime& each : own_times(snapshot, row)) {
    put(step, {each.path, false}, each.ns);
    rest_ns -= std::min(rest_ns, each.ns);
  }
  put(step, {batch_, false}, rest_ns);
  if (step.has_period) {
    const std::uint64_t period_ns = std::min(not_negative(*row.period_ns), kMaxSum / 2);
    step.between_ns = period_ns - std::min(period_ns, step.ns);
    put(step, {HistoryColumn::kBetween, false}, step.between_ns);
  }
  for (const Cell& each : row.cells) {
    if (each.device_ns >= 0) { put(step, {each.path, true}, static_cast<std::uint64_t>(each.device_ns)); }
  }
  return step;
}

void SeriesHistory::add(const Snapshot& snapshot, const Row& row) {
  batch_ = snapshot.series[row.series].path;
  const std::uint64_t place = steps_ + chunk_.size();
  if (!row.period_ns && place != 0) {
    ++all_breaks_;
    if (breaks_.size() < kMaxBreaks) { breaks_.push_back(place); }
  }
  chunk_.push_back(step_of(snapshot, row));
  if (chunk_.size() == kChunk) { finish(); }
}

SeriesHistory::Usual SeriesHistory::usual_of(Part steps) {
  std::vector<double> lengths;
  for (const Step& each : steps) {
    if (!each.warmup) { lengths.push_back(static_cast<double>(each.whole_ns())); }
  }
  Usual usual;
  usual.steps = steps;
  if (lengths.size() < kMinToJudge) { return usual; }
  usual.spread_ns = kMadToDeviation * median_deviation(lengths);
  usual.median_ns = median(std::move(lengths));
  return usual;
}

/// Splits the chunk into levels, in order. Warm-up steps are in the first one.
std::vector<SeriesHistory::Part> SeriesHistory::levels_of_chunk() const {
  const Step* const first = chunk_.data();
  const Step* const last = first + chunk_.size();
  const Usual usual = usual_of({first, last});
  const auto warmup =
      static_cast<std::size_t>(std::find_if(first, last, [](const Step& each) { return !each.warmup; }) - first);
  if (usual.median_ns <= 0) { return {{first, last}}; }
  const double about = kUsualDeviations * usual.spread_ns;
  std::vector<int> sides;
  sides.reserve(chunk_.size() - warmup);
  for (const Step* each = first + warmup; each != last; ++each) {
    const double longer = static_cast<double>(each->whole_ns()) - usual.median_ns;
    sides.push_back(longer > about ? 1 : (longer < -about ? -1 : 0));
  }
  const std::size_t front = level_in_front(sides.begin(), sides.end());
  const std::size_t back = level_in_front(sides.rbegin(), sides.rend() - static_cast<std::ptrdiff_t>(front));
  std::vector<Part> parts;
  const Step* const middle = front == 0 ? first : first + warmup + front;
  if (middle != first) { parts.push_back({first, middle}); }
  if (middle != last - back) { parts.push_back({middle, last - back}); }
  if (back != 0) { parts.push_back({last - back, last}); }
  return parts;
}

/// Returns the host column with the largest excess over the neighbours.
std::size_t SeriesHistory::longest_column(const Step& step, Usual& usual) const {
  if (usual.columns.empty()) {
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      std::vector<double> times;
      for (const Step& each : usual.steps) {
        if (!each.warmup) { times.push_back(static_cast<double>(each.column(column))); }
      }
      usual.columns.push_back(median(std::move(times)));
    }
  }
  std::size_t longest = columns_.size();
  double max = 0;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const double longer = static_cast<double>(step.column(column)) - usual.columns[column];
    if (columns_[column].on_stream || longer <= max) { continue; }
    longest = column;
    max = longer;
  }
  return longest;
}

void SeriesHistory::find_slow(Usual& usual) {
  if (usual.median_ns <= 0) { return; }
  std::uint64_t place = steps_;
  const double slow_ns = std::max(kSlow * usual.median_ns, usual.median_ns + kSlowDeviations * usual.spread_ns);
  for (const Step& each : usual.steps) {
    const auto whole = static_cast<double>(each.whole_ns());
    if (!each.warmup && whole >= slow_ns) {
      const std::size_t column = longest_column(each, usual);
      const std::uint32_t path = column < columns_.size() ? columns_[column].path : batch_;
      if (slow_.count(path) != 0 || slow_.size() < kMaxSlowPaths) {
        const auto excess = static_cast<std::uint64_t>(whole - usual.median_ns);
        slow_[path].add({place, each.number, excess, whole / usual.median_ns, !each.has_period});
      }
    }
    ++place;
  }
}

void SeriesHistory::add_worst(const Step& step, std::uint32_t path) {
  if (worst_.size() == kMaxWorst) {
    if (worst_.front().ns >= step.ns) { return; }
    std::pop_heap(worst_.begin(), worst_.end(), is_longer);
    worst_.pop_back();
  }
  worst_.push_back({step.number, step.begin_ns, step.ns, path});
  std::push_heap(worst_.begin(), worst_.end(), is_longer);
}

/// Adds the step to the last block, or to a new one.
void SeriesHistory::take(const Step& step, const Usual& usual) {
  if (blocks_.empty() || blocks_.back().steps >= stride_) {
    blocks_.emplace_back();
    blocks_.back().first_step = step.number;
    blocks_.back().begin_ns = step.begin_ns;
    blocks_.back().columns.reserve(columns_.size());
  }
  StepBlock& block = blocks_.back();
  ++block.steps;
  block.warmup += step.warmup ? 1 : 0;
  block.end_ns = wrapped_sum(step.begin_ns, static_cast<std::int64_t>(step.ns));
  block.sum_ns = bounded_sum(block.sum_ns, step.ns);
  block.min_ns = std::min(block.min_ns, step.ns);
  block.max_ns = std::max(block.max_ns, step.ns);
  if (!step.warmup && step.has_period && usual.median_ns > 0) {
    const double about = kUsualDeviations * usual.spread_ns;
    const double min = std::max(usual.median_ns - about, 0.0);
    ++block.usual_steps;
    const double cut = std::clamp(static_cast<double>(step.whole_ns()), min, usual.median_ns + about);
    block.usual_ns = bounded_sum(block.usual_ns, static_cast<std::uint64_t>(cut));
  }
  const std::uint64_t each = std::max<std::uint64_t>(stride_ / StepBlock::kMaxSamples, 1);
  if (steps_ % each == each / 2) { add_sample(block, step.ns); }
  add_columns(block, step.columns);
  if (beginning_.size() < kBeginning) { beginning_.push_back(step.whole_ns()); }
  ++steps_;
  warmup_ += step.warmup ? 1 : 0;
}

void SeriesHistory::finish() {
  if (chunk_.empty()) { return; }
  for (const Part& each : levels_of_chunk()) { finish(each); }
  chunk_.clear();
}

void SeriesHistory::finish(Part steps) {
  Usual usual = usual_of(steps);
  find_slow(usual);
  for (const Step& each : steps) {
    const bool counts = !each.warmup && (worst_.size() < kMaxWorst || each.ns > worst_.front().ns);
    if (counts) {
      const std::size_t column = longest_column(each, usual);
      add_worst(each, column < columns_.size() ? columns_[column].path : batch_);
    }
    take(each, usual);
  }
}

void SeriesHistory::halve() {
  std::vector<StepBlock> halved;
  halved.reserve(blocks_.size() / 2 + 1);
  for (std::size_t at = 0; at < blocks_.size(); at += 2) {
    halved.push_back(std::move(blocks_[at]));
    if (at + 1 < blocks_.size()) { join(halved.back(), blocks_[at + 1], joined_++ % 2 != 0); }
  }
  blocks_ = std::move(halved);
  stride_ *= 2;
}

std::vector<WorstStep> SeriesHistory::worst() const {
  std::vector<WorstStep> worst = worst_;
  std::sort_heap(worst.begin(), worst.end(), is_longer);
  return worst;
}

std::size_t SeriesHistory::bytes() const noexcept {
  const std::size_t columns = columns_.size() * sizeof(std::uint64_t);
  const std::size_t a_block = sizeof(StepBlock) + StepBlock::kMaxSamples * sizeof(std::uint64_t) + columns;
  return blocks_.size() * a_block + chunk_.size() * (sizeof(Step) + columns);
}

}  // namespace detail

void StepHistory::add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics) {
  std::uint64_t added = 0;
  for (const Row& row : rows) {
    if (row.series >= snapshot.series.size()) { continue; }
    if (row.series >= series_.size()) { series_.resize(row.series + std::size_t{1}); }
    detail::SeriesHistory& series = series_[row.series];
    if (series.is_empty() && kept_series_ == kMaxSeries) {
      ++rows_left_out_;
      continue;
    }
    if (series.is_empty()) { ++kept_series_; }
    series.add(snapshot, row);
    if (++added % detail::SeriesHistory::kChunk == 0) { make_space(); }
  }
  for (const Metric& metric : metrics) {
    const auto known = metrics_.find(metric.name);
    if (known == metrics_.end() && metrics_.size() == kMaxMetrics) {
      ++points_left_out_;
    } else {
      metrics_[metric.name].add(metric);
    }
  }
  make_space();
}

void StepHistory::make_space() {
  while (bytes() > max_bytes_) {
    const auto max = std::max_element(series_.begin(), series_.end(),
                                      [](const detail::SeriesHistory& a, const detail::SeriesHistory& b) {
                                        return a.blocks().size() < b.blocks().size();
                                      });
    if (max == series_.end() || max->blocks().size() < kMinBlocks) { return; }
    max->halve();
  }
}

StepHistory StepHistory::finished() const {
  StepHistory whole = *this;
  for (detail::SeriesHistory& each : whole.series_) { each.finish(); }
  return whole;
}

std::size_t StepHistory::main_series() const noexcept {
  std::size_t main = series_.size();
  std::uint64_t max_ns = 0;
  for (std::size_t at = 0; at < series_.size(); ++at) {
    std::uint64_t sum_ns = 0;
    for (const detail::StepBlock& each : series_[at].blocks()) { sum_ns = detail::bounded_sum(sum_ns, each.sum_ns); }
    if (series_[at].steps() == 0 || (main != series_.size() && sum_ns <= max_ns)) { continue; }
    main = at;
    max_ns = sum_ns;
  }
  return main;
}

std::size_t StepHistory::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const detail::SeriesHistory& each : series_) { bytes += each.bytes(); }
  return bytes;
}

TAKT_END_NAMESPACE
