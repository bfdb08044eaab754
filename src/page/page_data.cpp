// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_data.hpp"

#include "base/text.hpp"
#include "page/page_paths.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kLongestMetricName = 60;

/// Blocks of which each begins where the one before ends, and has as many steps.
struct BlockRun {
  std::int64_t first_step = 0;
  std::uint64_t steps = 0;  // a block
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

/// What stands for a path: its number on the page, or a word.
JsonText path_json(std::uint32_t path, const std::vector<int>& paths) {
  if (path == HistoryColumn::kBetween) { return "between"; }
  if (path >= paths.size() || paths[path] == PagePaths::kNone) { return "rest"; }
  return paths[path];
}

/// The mean of a step in each group of blocks.
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

/// Of the largest numbers the sum has no place.
double mean_of_block(const MetricBlock& block) noexcept {
  const double mean = block.sum / static_cast<double>(block.points);
  return std::isfinite(mean) ? mean : block.least / 2 + block.most / 2;
}

}  // namespace

void add_blocks(JsonText& json, const std::vector<StepBlock>& blocks) {
  std::vector<std::uint64_t> least;
  std::vector<std::uint64_t> most;
  std::vector<double> mean;
  for (const StepBlock& each : blocks) {
    least.push_back(each.least_ns);
    most.push_back(each.most_ns);
    mean.push_back(static_cast<double>(each.sum_ns) / static_cast<double>(std::max<std::uint64_t>(each.steps, 1)));
  }
  json.add("runs", step_runs_json(blocks));
  json.add("mean", times_json(mean));
  const bool single = std::all_of(blocks.begin(), blocks.end(), [](const StepBlock& each) { return each.steps == 1; });
  if (single) { return; }
  json.add("least", times_json(least));
  json.add("most", times_json(most));
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

JsonText metric_json(const std::string& name, const MetricHistory& history) {
  constexpr int kDigits = 6;
  JsonText first = JsonText::array();
  JsonText mean = JsonText::array();
  JsonText least = JsonText::array();
  JsonText most = JsonText::array();
  bool single = true;
  for (const MetricBlock& each : history.blocks()) {
    first.push_back(each.first_step);
    mean.push_back(JsonText::rounded(mean_of_block(each), kDigits));
    least.push_back(JsonText::rounded(each.least, kDigits));
    most.push_back(JsonText::rounded(each.most, kDigits));
    single = single && each.points == 1;
  }
  JsonText json = {{"name", fit(printable(name), kLongestMetricName)},
                   {"points", history.points()},
                   {"not_finite", history.not_finite()},
                   {"last", history.last()},
                   {"first", first},
                   {"mean", mean}};
  if (!single) {
    json.add("least", least);
    json.add("most", most);
  }
  return json;
}

}  // namespace detail
TAKT_END_NAMESPACE
