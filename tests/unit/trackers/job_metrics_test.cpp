// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/system_metrics.hpp"

#include "support/catch.hpp"
#include "support/mentions.hpp"
#include "support/sample_job.hpp"
#include "support/scratch.hpp"
#include "support/snapshot_builder.hpp"
#include "trackers/metric_points.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace takt_test;
using takt::Job;
using takt::detail::job_metrics;
using takt::detail::job_text;
using takt::detail::JobMetrics;
using takt::detail::MetricPoint;
using takt::detail::MetricPoints;

namespace {

std::map<std::string, double> by_name(const std::vector<JobMetrics>& metrics) {
  std::map<std::string, double> values;
  for (const JobMetrics& each : metrics) {
    for (const auto& [leaf, value] : each.values) { CHECK(values.emplace(each.stem + leaf, value).second); }
  }
  return values;
}

/// Returns a job with the paths "0" to "39", the last of which took longest.
Job large_job(std::uint32_t ranks) {
  std::vector<std::pair<std::string, double>> inner;
  for (int path = 0; path < 40; ++path) { inner.emplace_back(std::to_string(path), 1 + path); }
  return sample_job(ranks, inner);
}

std::map<std::string, std::vector<MetricPoint>> points_of(const takt::Snapshot& snapshot, MetricPoints& points) {
  std::vector<MetricPoint> made;
  points.take(snapshot, made);
  made.clear();
  points.take_job(snapshot, made);
  std::map<std::string, std::vector<MetricPoint>> found;
  for (const MetricPoint& each : made) { found[points.key(each.key)].push_back(each); }
  return found;
}

}  // namespace

TEST_CASE("Job metrics: have the distribution over ranks of each path, and the number of ranks") {
  Job job = sample_job(3, {{"Forward", 8}});
  job.world_size = 4;
  job.missing = {2};
  job.paths[1].device_total = over_ranks(2, 3, 4);
  const std::map<std::string, double> expected = {
      {"total/job/world_size", 4},
      {"total/job/missing_ranks", 1},
      {"total/ranks/time/Batch/mean_s", 900},
      {"total/ranks/time/Batch/min_s", 900},
      {"total/ranks/time/Batch/max_s", 900},
      {"total/ranks/time/Batch/imbalance", 0},
      {"total/ranks/time/Batch/slowest_rank", 2},
      {"total/ranks/time/Batch/ranks", 3},
      {"total/ranks/time/Batch/Forward/mean_s", 9},
      {"total/ranks/time/Batch/Forward/min_s", 8},
      {"total/ranks/time/Batch/Forward/max_s", 10},
      {"total/ranks/time/Batch/Forward/imbalance", 10 / 9.0 - 1},
      {"total/ranks/time/Batch/Forward/slowest_rank", 2},
      {"total/ranks/time/Batch/Forward/ranks", 3},
      {"total/ranks/gpu/Batch/Forward/mean_s", 3.5},
      {"total/ranks/gpu/Batch/Forward/min_s", 3},
      {"total/ranks/gpu/Batch/Forward/max_s", 4},
      {"total/ranks/gpu/Batch/Forward/imbalance", 4 / 3.5 - 1},
      {"total/ranks/gpu/Batch/Forward/slowest_rank", 1},
      {"total/ranks/gpu/Batch/Forward/ranks", 2},
  };
  CHECK(by_name(job_metrics(job)) == expected);
}

TEST_CASE("Job metrics: their number does not depend on the ranks, and the longest paths are used") {
  std::set<std::string> of_one_size;
  for (const std::uint32_t ranks : {2U, 64U, 65U, 1000U, 100'000U}) {
    std::set<std::string> names;
    for (const auto& [name, value] : by_name(job_metrics(large_job(ranks)))) { names.insert(name); }
    INFO(ranks << " ranks");
    CHECK(names.size() == 2 + 6 * takt::detail::kMaxJobPaths);
    CHECK(names.count("total/ranks/time/Batch/39/mean_s") == 1);
    CHECK(names.count("total/ranks/time/Batch/25/mean_s") == 1);
    CHECK(names.count("total/ranks/time/Batch/24/mean_s") == 0);
    if (!of_one_size.empty()) { CHECK(names == of_one_size); }
    of_one_size = names;
  }
}

TEST_CASE("Job metrics: include paths that are long only on streams, but none that no rank has") {
  Job job = large_job(4);
  job.paths[1].device_total = over_ranks(4, 500, 500);
  job.paths[40].host_total = {};
  const std::map<std::string, double> values = by_name(job_metrics(job));
  CHECK(values.count("total/ranks/gpu/Batch/0/mean_s") == 1);
  CHECK(values.count("total/ranks/time/Batch/39/mean_s") == 0);
  CHECK(by_name(job_metrics(Job())).size() == 2);
}

TEST_CASE("Job metrics: the metric of a key with a slash differs from that of nested regions") {
  Job job = sample_job(2, {{"a/b", 5}, {"a", 4}});
  takt::JobPath path = job.paths[2];
  path.name = "b";
  path.parent = 2;
  job.paths.push_back(path);
  const std::map<std::string, double> values = by_name(job_metrics(job));
  CHECK(values.count("total/ranks/time/Batch/a/b/mean_s") == 1);
  CHECK(values.count("total/ranks/time/Batch/a\\/b/mean_s") == 1);
}

TEST_CASE("Job metrics: points have valid names, the time of the totals, and numbers from 0 on") {
  takt::Snapshot snapshot;
  snapshot.run.start_unix_ns = 1'700'000'000'123'456'789;
  snapshot.wall_ns = 2'000'000'000;
  snapshot.finished = true;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  add_row(snapshot, 0, 0).step = 77;
  snapshot.job = std::make_shared<const Job>(
      sample_job(2, {{"ns::f<int>", 3}, {"\x1b[2J\n\xff", 2}, {std::string(400, 'x') + "end", 1}}));
  MetricPoints points(false);
  const auto found = points_of(snapshot, points);
  REQUIRE(found.size() == 2 + 4 * 6);
  std::set<std::uint64_t> numbers;
  for (const auto& [name, each] : found) {
    INFO(name);
    CHECK(name.size() <= 250);
    CHECK(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-. /") ==
          std::string::npos);
    REQUIRE(each.size() == 1);
    CHECK(each[0].timestamp_ms == 1'700'000'002'123);
    CHECK(each[0].step == 77);
    CHECK(each[0].source == MetricPoint::Source::job);
    numbers.insert(each[0].index);
  }
  CHECK(numbers.size() == found.size());
  CHECK(*numbers.rbegin() == found.size() - 1);
  CHECK(points.take_renamed().size() >= 3);
  MetricPoints of_utf8(false);
  of_utf8.keep_names();
  CHECK(points_of(snapshot, of_utf8).count("total/ranks/time/Batch/ns::f<int>/slowest_rank") == 1);
}

TEST_CASE("Job metrics: a text says which ranks and paths they cover") {
  Job job = sample_job(4, {});
  CHECK(job_text(job) == "4 of 4");
  job.world_size = 6;
  job.missing = {3, 5};
  const std::string missing = job_text(job);
  CHECK(mentions(missing, {"4 of 6", "3, 5"}));
  CHECK(mentions(job_text(large_job(65)), {"65 of 65", "16 of 41"}));
  job.comparison.findings = {{"slow_ranks", "rank 2 is slow", {}, {}}};
  CHECK(job_text(job) == missing + "\nrank 2 is slow");
  job.comparison.findings.resize(9);
  CHECK(line_mentions(job_text(job), {"1", "takt report --json"}));
}
