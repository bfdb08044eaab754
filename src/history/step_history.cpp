// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "history/step_history.hpp"

#include <takt/detail/counter.hpp>

#include <algorithm>

TAKT_BEGIN_NAMESPACE
namespace detail {

void StepHistory::add(const Snapshot& snapshot, const std::vector<Row>& rows, const std::vector<Metric>& metrics) {
  std::uint64_t added = 0;
  for (const Row& row : rows) {
    if (row.series >= snapshot.series.size()) { continue; }
    if (row.series >= series_.size()) { series_.resize(row.series + std::size_t{1}); }
    SeriesHistory& series = series_[row.series];
    if (series.is_empty() && kept_series_ == kMostSeries) {
      ++rows_left_out_;
      continue;
    }
    if (series.is_empty()) { ++kept_series_; }
    series.add(snapshot, row);
    if (++added % SeriesHistory::kChunk == 0) { make_room(); }
  }
  for (const Metric& metric : metrics) {
    const auto known = metrics_.find(metric.name);
    if (known == metrics_.end() && metrics_.size() == kMostMetrics) {
      ++points_left_out_;
    } else {
      metrics_[metric.name].add(metric);
    }
  }
  make_room();
}

void StepHistory::make_room() {
  while (bytes() > most_bytes_) {
    const auto most = std::max_element(
        series_.begin(), series_.end(),
        [](const SeriesHistory& a, const SeriesHistory& b) { return a.blocks().size() < b.blocks().size(); });
    if (most == series_.end() || most->blocks().size() < kFewestBlocks) { return; }
    most->halve();
  }
}

StepHistory StepHistory::finished() const {
  StepHistory whole = *this;
  for (SeriesHistory& each : whole.series_) { each.finish(); }
  return whole;
}

std::size_t StepHistory::main_series() const noexcept {
  std::size_t main = series_.size();
  std::uint64_t most_ns = 0;
  for (std::size_t at = 0; at < series_.size(); ++at) {
    std::uint64_t sum_ns = 0;
    for (const StepBlock& each : series_[at].blocks()) { sum_ns = bounded_sum(sum_ns, each.sum_ns); }
    if (series_[at].steps() == 0 || (main != series_.size() && sum_ns <= most_ns)) { continue; }
    main = at;
    most_ns = sum_ns;
  }
  return main;
}

std::size_t StepHistory::bytes() const noexcept {
  std::size_t bytes = 0;
  for (const SeriesHistory& each : series_) { bytes += each.bytes(); }
  return bytes;
}

}  // namespace detail
TAKT_END_NAMESPACE
