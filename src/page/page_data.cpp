// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_data.hpp"

#include "base/text.hpp"
#include "report/console.hpp"

#include <takt/detail/memory.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::size_t rounded_up(std::size_t whole, std::size_t parts) noexcept { return (whole + parts - 1) / parts; }

/// Returns the nearest sample in sorted order.
std::uint64_t sample_at(const std::vector<std::uint64_t>& samples, double share) {
  return samples[static_cast<std::size_t>(std::lround(share * static_cast<double>(samples.size() - 1)))];
}

StepBand band_of(std::vector<std::uint64_t> samples) {
  std::sort(samples.begin(), samples.end());
  return {sample_at(samples, 0.1), sample_at(samples, 0.5), sample_at(samples, 0.9)};
}

bool takes_more(const StepPhase& a, const StepPhase& b) noexcept { return a.total_ns > b.total_ns; }

/// Keeps the largest phases. The others are combined into a last one if phases add up to a whole.
std::vector<StepPhase> largest(std::vector<StepPhase> phases, bool add_up) {
  std::stable_sort(phases.begin(), phases.end(), takes_more);
  if (phases.size() <= PageSeries::kMaxPhases) { return phases; }
  StepPhase rest;
  rest.path = StepPhase::kRest;
  rest.ns.resize(phases.front().ns.size());
  for (std::size_t at = PageSeries::kMaxPhases - 1; at < phases.size(); ++at) {
    rest.total_ns = bounded_sum(rest.total_ns, phases[at].total_ns);
    for (std::size_t group = 0; group < rest.ns.size(); ++group) {
      rest.ns[group] = bounded_sum(rest.ns[group], phases[at].ns[group]);
    }
  }
  phases.resize(PageSeries::kMaxPhases - 1);
  if (add_up) { phases.push_back(std::move(rest)); }
  return phases;
}

}  // namespace

PageSeries::PageSeries(const SeriesHistory& history, std::size_t max_blocks)
    : steps(history.steps()),
      warmup(history.warmup()),
      worst(history.worst()),
      breaks(history.breaks()),
      all_breaks(history.all_breaks()) {
  SeriesHistory joined = history;
  while (joined.blocks().size() > max_blocks) { joined.halve(); }
  blocks = joined.blocks();
  stride = joined.stride();
  add_bands();
  add_phases(joined.columns());
}

void PageSeries::add_bands() {
  std::size_t samples = 0;
  for (const StepBlock& each : blocks) { samples += each.samples.size(); }
  if (samples < kMinSamples) { return; }
  blocks_a_band = std::max(rounded_up(blocks.size(), kMaxBands), rounded_up(kMinSamples * blocks.size(), samples));
  std::vector<std::uint64_t> waiting;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    waiting.insert(waiting.end(), blocks[at].samples.begin(), blocks[at].samples.end());
    const bool is_last = (at + 1) % blocks_a_band == 0 || at + 1 == blocks.size();
    if (is_last && !waiting.empty()) { bands.push_back(band_of(std::exchange(waiting, {}))); }
  }
}

void PageSeries::add_phases(const std::vector<HistoryColumn>& columns) {
  blocks_a_group = std::max<std::size_t>(rounded_up(blocks.size(), kMaxGroups), 1);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    StepPhase phase;
    phase.path = columns[column].path;
    phase.ns.resize(rounded_up(blocks.size(), blocks_a_group));
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      const std::uint64_t ns = column < blocks[at].columns.size() ? blocks[at].columns[column] : 0;
      phase.total_ns = bounded_sum(phase.total_ns, ns);
      phase.ns[at / blocks_a_group] = bounded_sum(phase.ns[at / blocks_a_group], ns);
    }
    if (phase.total_ns != 0) { (columns[column].on_stream ? streams : phases).push_back(std::move(phase)); }
  }
  phases = largest(std::move(phases), true);
  streams = largest(std::move(streams), false);
}

std::uint64_t PageSeries::min_ns() const noexcept {
  std::uint64_t min = ~std::uint64_t{0};
  for (const StepBlock& each : blocks) { min = std::min(min, each.min_ns); }
  return min;
}

std::uint64_t PageSeries::max_ns() const noexcept {
  std::uint64_t max = 0;
  for (const StepBlock& each : blocks) { max = std::max(max, each.max_ns); }
  return max;
}

double PageSeries::mean_ns() const noexcept {
  std::uint64_t sum = 0;
  for (const StepBlock& each : blocks) { sum = bounded_sum(sum, each.sum_ns); }
  return steps == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(steps);
}

std::int64_t last_step_of(const StepBlock& block) noexcept {
  const std::uint64_t further = block.steps == 0 ? 0 : block.steps - 1;
  const std::uint64_t space = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) -
                              static_cast<std::uint64_t>(block.first_step);  // modulo 2^64, for negatives, too
  return further > space ? std::numeric_limits<std::int64_t>::max()
                         : static_cast<std::int64_t>(static_cast<std::uint64_t>(block.first_step) + further);
}

namespace {

constexpr double kClassesAnOctave = 8;

int class_of(std::uint64_t ns) {
  return static_cast<int>(kClassesAnOctave * std::log2(static_cast<double>(std::max<std::uint64_t>(ns, 1))));
}

/// Returns the first non-empty class, followed by the counts from that class on.
JsonText histogram_json(const Histogram& histogram) {
  std::map<int, std::uint64_t> classes;
  histogram.each(
      [&](unsigned bucket, std::uint64_t count) { classes[class_of(Histogram::middle_ns(bucket))] += count; });
  JsonText counts = JsonText::array();
  if (classes.empty()) { return counts; }
  const int first = classes.begin()->first;
  counts.push_back(first);
  for (int at = first; at <= classes.rbegin()->first; ++at) {
    const auto found = classes.find(at);
    counts.push_back(found == classes.end() ? 0 : found->second);
  }
  return counts;
}

JsonText percentile_json(const Summary& summary, double q) {
  return has_percentile(summary, q) ? JsonText(summary.percentile_ns(q)) : JsonText();
}

/// Adds the same fields as summary.json.
void add_summary(JsonText& json, const Summary& summary) {
  const bool measured = summary.measured_n() != 0;
  json.add("n", summary.n());
  json.add("total_ns", summary.total_ns());
  json.add("mean_ns", measured ? JsonText(summary.mean_ns()) : JsonText());
  json.add("p50_ns", percentile_json(summary, 0.5));
  json.add("p90_ns", percentile_json(summary, 0.9));
  json.add("p99_ns", percentile_json(summary, 0.99));
  json.add("max_ns", measured ? JsonText(summary.max_ns()) : JsonText());
}

}  // namespace

PagePaths::PagePaths(const Snapshot& snapshot)
    : snapshot_(snapshot), numbers_(snapshot.paths.size(), kNone), has_histogram_(snapshot.paths.size()) {
  choose();
  choose_histograms();
}

void PagePaths::choose() {
  const std::vector<std::uint32_t> order = tree_order(snapshot_);
  std::vector<std::uint32_t> by_total = order;
  std::stable_sort(by_total.begin(), by_total.end(), [this](std::uint32_t a, std::uint32_t b) {
    return snapshot_.time_so_far_ns(a) > snapshot_.time_so_far_ns(b);
  });
  std::vector<bool> chosen(snapshot_.paths.size());
  std::size_t count = 0;
  for (const std::uint32_t path : by_total) {
    std::vector<std::uint32_t> missing;  // this path and its ancestors
    for (std::uint32_t at = path; at < chosen.size() && !chosen[at]; at = snapshot_.paths[at].parent) {
      missing.push_back(at);
    }
    if (count + missing.size() > kMax) { continue; }
    count += missing.size();
    for (const std::uint32_t each : missing) { chosen[each] = true; }
  }
  for (const std::uint32_t path : order) {
    if (!chosen[path]) { continue; }
    numbers_[path] = static_cast<int>(shown_.size());
    shown_.push_back(path);
  }
}

void PagePaths::choose_histograms() {
  std::vector<std::uint32_t> by_total = shown_;
  std::stable_sort(by_total.begin(), by_total.end(), [this](std::uint32_t a, std::uint32_t b) {
    return snapshot_.paths[a].host.total_ns() > snapshot_.paths[b].host.total_ns();
  });
  std::size_t count = 0;
  for (const std::uint32_t path : by_total) {
    if (count == kMaxHistograms) { break; }
    if (snapshot_.paths[path].host.measured_n() == 0) { continue; }
    has_histogram_[path] = true;
    ++count;
  }
}

std::size_t PagePaths::without_histogram() const noexcept {
  return static_cast<std::size_t>(std::count_if(shown_.begin(), shown_.end(), [this](std::uint32_t path) {
    return !has_histogram_[path] && snapshot_.paths[path].host.measured_n() != 0;
  }));
}

std::vector<int> PagePaths::numbers_in(const Snapshot& other) const {
  std::map<std::tuple<int, std::string, Kind>, int> places;
  for (const std::uint32_t path : shown_) {
    const PathStats& here = snapshot_.paths[path];
    places.emplace(std::make_tuple(number(here.parent), here.name, here.kind), number(path));
  }
  std::vector<int> numbers;
  for (const PathStats& each : other.paths) {
    const bool is_below = each.parent < numbers.size();
    const int parent = is_below ? numbers[each.parent] : kNone;
    const auto found = places.find(std::make_tuple(parent, each.name, each.kind));
    const bool is_lost = is_below && parent == kNone;  // below a path that is not shown
    numbers.push_back(found == places.end() || is_lost ? kNone : found->second);
  }
  return numbers;
}

JsonText PagePaths::figures_in(const Snapshot& rank) const {
  const std::vector<int> numbers = numbers_in(rank);
  std::vector<JsonText> figures(shown_.size());
  for (std::uint32_t at = 0; at < numbers.size(); ++at) {
    if (numbers[at] == kNone) { continue; }
    const Summary& host = rank.paths[at].host;
    const bool measured = host.measured_n() != 0;
    const auto time = [](bool is_known, double ns) { return is_known ? JsonText::rounded(ns, 4) : JsonText(); };
    const auto percentile = [&](double q) {
      return time(has_percentile(host, q), static_cast<double>(host.percentile_ns(q)));
    };
    JsonText& path = figures[static_cast<std::size_t>(numbers[at])];
    path = {host.n(),
            time(true, static_cast<double>(rank.time_so_far_ns(at))),
            time(true, static_cast<double>(rank.paths[at].self_ns)),
            time(measured, host.mean_ns()),
            percentile(0.5),
            percentile(0.99),
            time(measured, static_cast<double>(host.max_ns()))};
  }
  return figures;
}

JsonText PagePaths::json() const {
  JsonText all = JsonText::array();
  for (const std::uint32_t index : shown_) {
    const PathStats& path = snapshot_.paths[index];
    JsonText json = JsonText::object();
    json.add("name", fit(printable(path.name), kLongestName));
    json.add("parent", number(path.parent));
    json.add("kind", to_string(path.kind));
    json.add("self_ns", path.self_ns);
    json.add("so_far_ns", snapshot_.time_so_far_ns(index));
    json.add("share", snapshot_.share_of_parent(index));
    add_summary(json, path.host);
    if (path.device.n() != 0) {
      JsonText device = JsonText::object();
      add_summary(device, path.device);
      json.add("device", device);
    }
    if (has_histogram_[index]) { json.add("histogram", histogram_json(path.host.histogram())); }
    all.push_back(json);
  }
  return all;
}

namespace {

constexpr std::size_t kLongestMetricName = 60;

/// Contiguous blocks with equal numbers of steps.
struct BlockRun {
  std::int64_t first_step = 0;
  std::uint64_t steps = 0;  // per block
  std::uint64_t blocks = 0;
};

JsonText step_runs_json(const std::vector<StepBlock>& blocks) {
  std::vector<BlockRun> runs;
  for (const StepBlock& each : blocks) {
    const bool goes_on =
        !runs.empty() && runs.back().steps == each.steps &&
        static_cast<std::uint64_t>(each.first_step) ==
            static_cast<std::uint64_t>(runs.back().first_step) + runs.back().steps * runs.back().blocks;
    if (!goes_on) { runs.push_back({each.first_step, each.steps, 0}); }
    ++runs.back().blocks;
  }
  JsonText json = JsonText::array();
  for (const BlockRun& each : runs) { json.push_back({each.first_step, each.steps, each.blocks}); }
  return json;
}

/// Returns a path's number on the page, or a word.
JsonText path_json(std::uint32_t path, const std::vector<int>& paths) {
  if (path == HistoryColumn::kBetween) { return "between"; }
  if (path >= paths.size() || paths[path] == PagePaths::kNone) { return "rest"; }
  return paths[path];
}

/// Returns the mean per step in each group of blocks.
JsonText phases_json(const PageSeries& series, const std::vector<StepPhase>& phases, const std::vector<int>& paths) {
  std::vector<std::uint64_t> steps((series.blocks.size() + series.blocks_a_group - 1) / series.blocks_a_group);
  for (std::size_t at = 0; at < series.blocks.size(); ++at) {
    steps[at / series.blocks_a_group] += series.blocks[at].steps;
  }
  JsonText json = JsonText::array();
  for (const StepPhase& each : phases) {
    std::vector<double> means;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      means.push_back(static_cast<double>(each.ns[at]) / static_cast<double>(std::max<std::uint64_t>(steps[at], 1)));
    }
    JsonText phase = JsonText::object();
    phase.add("path", path_json(each.path, paths));
    phase.add("total_ns", each.total_ns);
    phase.add("ns", times_json(means));
    json.push_back(phase);
  }
  return json;
}

JsonText bands_json(const PageSeries& series) {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> median;
  std::vector<std::uint64_t> high;
  for (const StepBand& each : series.bands) {
    low.push_back(each.low_ns);
    median.push_back(each.median_ns);
    high.push_back(each.high_ns);
  }
  return {{"blocks", series.blocks_a_band},
          {"low", times_json(low)},
          {"median", times_json(median)},
          {"high", times_json(high)}};
}

JsonText worst_json(const PageSeries& series, const std::vector<int>& paths) {
  JsonText json = JsonText::array();
  for (const WorstStep& each : series.worst) {
    json.push_back({{"step", each.step}, {"ns", each.ns}, {"path", path_json(each.path, paths)}});
  }
  return json;
}

/// Combines neighbouring blocks so that at most `max_blocks` are left.
std::vector<MetricBlock> joined_blocks(const std::vector<MetricBlock>& blocks, std::size_t max_blocks) {
  const std::size_t each = std::max<std::size_t>(rounded_up(blocks.size(), max_blocks), 1);
  std::vector<MetricBlock> joined;
  for (std::size_t at = 0; at < blocks.size(); ++at) {
    if (at % each == 0) {
      joined.push_back(blocks[at]);
      continue;
    }
    MetricBlock& block = joined.back();
    block.points += blocks[at].points;
    block.last_step = blocks[at].last_step;
    block.sum += blocks[at].sum;
    block.min = std::min(block.min, blocks[at].min);
    block.max = std::max(block.max, blocks[at].max);
  }
  return joined;
}

/// Handles sums that overflow.
double mean_of_block(const MetricBlock& block) noexcept {
  const double mean = block.sum / static_cast<double>(block.points);
  return std::isfinite(mean) ? mean : block.min / 2 + block.max / 2;
}

}  // namespace

void add_blocks(JsonText& json, const std::vector<StepBlock>& blocks) {
  std::vector<std::uint64_t> min;
  std::vector<std::uint64_t> max;
  std::vector<double> mean;
  for (const StepBlock& each : blocks) {
    min.push_back(each.min_ns);
    max.push_back(each.max_ns);
    mean.push_back(static_cast<double>(each.sum_ns) / static_cast<double>(std::max<std::uint64_t>(each.steps, 1)));
  }
  json.add("runs", step_runs_json(blocks));
  json.add("mean", times_json(mean));
  const bool single = std::all_of(blocks.begin(), blocks.end(), [](const StepBlock& each) { return each.steps == 1; });
  if (single) { return; }
  json.add("least", times_json(min));
  json.add("most", times_json(max));
}

JsonText series_json(const PageSeries& series, const std::vector<int>& paths) {
  JsonText json = JsonText::object();
  json.add("steps", series.steps);
  json.add("warmup", series.warmup);
  json.add("stride", series.stride);
  add_blocks(json, series.blocks);
  json.add("bands", bands_json(series));
  json.add("group", series.blocks_a_group);
  json.add("phases", phases_json(series, series.phases, paths));
  json.add("streams", phases_json(series, series.streams, paths));
  JsonText breaks = JsonText::array();
  for (const std::uint64_t each : series.breaks) { breaks.push_back(each); }
  json.add("breaks", breaks);
  json.add("all_breaks", series.all_breaks);
  json.add("worst", worst_json(series, paths));
  return json;
}

JsonText metric_json(const std::string& name, const MetricHistory& history, std::size_t max_blocks) {
  constexpr int kDigits = 6;
  JsonText first = JsonText::array();
  JsonText mean = JsonText::array();
  JsonText min = JsonText::array();
  JsonText max = JsonText::array();
  bool single = true;
  for (const MetricBlock& each : joined_blocks(history.blocks(), max_blocks)) {
    first.push_back(each.first_step);
    mean.push_back(JsonText::rounded(mean_of_block(each), kDigits));
    min.push_back(JsonText::rounded(each.min, kDigits));
    max.push_back(JsonText::rounded(each.max, kDigits));
    single = single && each.points == 1;
  }
  JsonText json = {{"name", fit(printable(name), kLongestMetricName)},
                   {"points", history.points()},
                   {"not_finite", history.not_finite()},
                   {"last", history.last()},
                   {"first", first},
                   {"mean", mean}};
  if (!single) {
    json.add("least", min);
    json.add("most", max);
  }
  return json;
}

}  // namespace detail
TAKT_END_NAMESPACE
