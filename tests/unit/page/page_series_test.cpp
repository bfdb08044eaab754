// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/page_data.hpp"

#include "support/catch.hpp"
#include "support/synthetic_run.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

using takt::detail::PageSeries;
using takt::detail::SeriesHistory;
using takt::detail::StepPhase;
using takt_test::SyntheticRun;
using takt_test::SyntheticShape;

namespace {

const SeriesHistory& history_of(SyntheticRun& run) { return run.run().history->series().front(); }

std::uint64_t sum_of(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("page: blocks of a series are bounded and keep every extreme and step") {
  SyntheticShape shape;
  shape.steps = 30'000;
  SyntheticRun run(shape);
  const PageSeries series(history_of(run), 100);
  CHECK(series.blocks.size() <= 100);
  CHECK(series.blocks.size() > 50);
  CHECK(series.steps == shape.steps);
  CHECK(series.min_ns() == static_cast<std::uint64_t>(*std::min_element(run.times().begin(), run.times().end())));
  CHECK(series.max_ns() == static_cast<std::uint64_t>(*std::max_element(run.times().begin(), run.times().end())));
  std::uint64_t place = 0;
  for (const auto& block : series.blocks) {
    const auto begin = run.times().begin() + static_cast<std::ptrdiff_t>(place);
    const auto end = begin + static_cast<std::ptrdiff_t>(block.steps);
    CHECK(block.min_ns == static_cast<std::uint64_t>(*std::min_element(begin, end)));
    CHECK(block.max_ns == static_cast<std::uint64_t>(*std::max_element(begin, end)));
    place += block.steps;
  }
  CHECK(place == shape.steps);
}

TEST_CASE("page: places bands at their steps") {
  SyntheticShape shape;
  shape.steps = 20'000;
  shape.spikes = 0;
  shape.warmup = 0;
  shape.correlation = 0;
  SyntheticRun run(shape);
  std::vector<std::int64_t> sorted = run.times();
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double share) {
    return static_cast<double>(sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size()))]);
  };
  const PageSeries series(history_of(run), 4096);
  REQUIRE(!series.bands.empty());
  CHECK(series.bands.size() <= PageSeries::kMaxBands);
  CHECK((series.blocks.size() + series.blocks_a_band - 1) / series.blocks_a_band >= series.bands.size());
  double low = 0;
  double median = 0;
  double high = 0;
  for (const auto& band : series.bands) {
    CHECK(band.low_ns <= band.median_ns);
    CHECK(band.median_ns <= band.high_ns);
    low += static_cast<double>(band.low_ns);
    median += static_cast<double>(band.median_ns);
    high += static_cast<double>(band.high_ns);
  }
  const auto bands = static_cast<double>(series.bands.size());
  CHECK(low / bands == Approx(quantile(0.1)).epsilon(0.01));
  CHECK(median / bands == Approx(quantile(0.5)).epsilon(0.01));
  CHECK(high / bands == Approx(quantile(0.9)).epsilon(0.01));
}

TEST_CASE("page: phases are the largest ones and add up to the whole steps") {
  SyntheticShape shape;
  shape.regions = 30;
  SyntheticRun run(shape);
  const PageSeries series(history_of(run), 300);
  CHECK(series.phases.size() == PageSeries::kMaxPhases);
  CHECK(series.phases.back().path == StepPhase::kRest);
  std::uint64_t all = 0;
  for (const StepPhase& each : series.phases) {
    CHECK(sum_of(each.ns) == each.total_ns);
    CHECK(each.ns.size() <= PageSeries::kMaxGroups);
    all += each.total_ns;
  }
  std::uint64_t columns = 0;
  for (const auto& block : history_of(run).blocks()) { columns += sum_of(block.columns); }
  CHECK(all == columns);
  CHECK(std::is_sorted(series.phases.begin(), series.phases.end() - 1,
                       [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; }));
}

TEST_CASE("page: stores runs of equal blocks once and single steps as one time") {
  SyntheticShape shape;
  shape.steps = 40;
  SyntheticRun run(shape);
  const PageSeries series(history_of(run), 4096);
  const auto json = nlohmann::json::parse(takt::detail::series_json(series, {0, 1, 2, 3, 4, 5}).text());
  CHECK(json["runs"] == nlohmann::json::parse("[[0, 1, 40]]"));
  CHECK(json["mean"].size() == 40);
  CHECK(!json.contains("least"));
  CHECK(json["mean"][20].get<double>() == Approx(static_cast<double>(run.times()[20])).epsilon(0.0005));
  CHECK(json["warmup"] == 10);
  const PageSeries coarse(history_of(run), 16);
  const auto joined = nlohmann::json::parse(takt::detail::series_json(coarse, {0, 1, 2, 3, 4, 5}).text());
  CHECK(joined["runs"] == nlohmann::json::parse("[[0, 4, 10]]"));
  CHECK(joined["least"].size() == 10);
}

TEST_CASE("page: counts metric values that are not numbers, and averages very large ones") {
  takt::detail::MetricHistory history;
  const auto add = [&history](double value) {
    takt::Metric metric;
    metric.value = value;
    history.add(metric);
  };
  for (int at = 0; at < 2000; ++at) { add(at % 2 == 0 ? 1.7e308 : 1.6e308); }
  add(std::nan(""));
  const auto json = nlohmann::json::parse(takt::detail::metric_json("<loss>", history, 1000).text());
  CHECK(json["points"] == 2001);
  const auto joined = nlohmann::json::parse(takt::detail::metric_json("<loss>", history, 16).text());
  CHECK(joined["mean"].size() <= 16);
  CHECK(joined["most"][0].get<double>() == 1.7e308);
  CHECK(json["not_finite"] == 1);
  for (const auto& mean : json["mean"]) { CHECK(mean.get<double>() == Approx(1.65e308).epsilon(0.01)); }
}
