// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/results_file.hpp"

#include "measure/measured_times.hpp"
#include "report/results_report.hpp"
#include "report/results_text.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "support/scratch.hpp"

#include <takt/snapshot.hpp>

#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

using takt::Measurement;
using takt::cli::Measurements;
using takt::cli::parse_results;
using takt::cli::read_results;
using takt_test::contains;

namespace {

Measurement measured() {
  Measurement measurement;
  measurement.name = "net, batch 8";
  measurement.features = {{"batch", 8}, {"size", -0.5}};
  measurement.host = takt::detail::measured_times({10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  measurement.stream = takt::detail::measured_times({7, 8, 9});
  measurement.first_ns = 99;
  measurement.items = 8;
  measurement.warmup = 5;
  measurement.end = takt::MeasureEnd::seconds;
  measurement.took_ns = 1000;
  measurement.failed_waits = 2;
  measurement.memory_bytes = 5'000'000;
  measurement.memory_of = "cuda 0";
  measurement.mig_device = "H100-80GB";
  measurement.host_peak_bytes = 7'000'000;
  measurement.joules = 1.5;
  measurement.error_joules = 0.25;
  measurement.energy_of = "cuda 0";
  measurement.notes = {3, 5, 1200, 1980, 1, 0.5};
  takt::MeasuredSensor sensor;
  sensor.name = "cuda 0";
  sensor.samples = 12;
  sensor.memory_bytes = 5'000'000;
  sensor.joules = 15;
  sensor.error_joules = 2.5;
  measurement.sensors.push_back(sensor);
  measurement.runs_left_out = 10;
  return measurement;
}

std::string results_file_json_of(const Measurements& measurements) {
  takt::RunInfo run;
  run.id = "net-1";
  run.world_size = 2;
  return takt::detail::measurements_json(run, measurements);
}
std::string results_file_json_of(const Measurement& measurement) {
  return results_file_json_of({std::make_shared<const Measurement>(measurement)});
}

Measurements parsed(const std::string& text) {
  std::string error;
  return parse_results(text, error);
}

std::string reported(const Measurements& measurements) {
  return takt::detail::format_measurements(takt::RunInfo(), "rank 0 of 1", measurements, 160, false);
}

}  // namespace

TEST_CASE("Results file: reading restores what was written") {
  const std::string text = results_file_json_of(measured());
  const Measurements again = parsed(text);
  REQUIRE(again.size() == 1);
  CHECK(results_file_json_of(again) == text);
}

TEST_CASE("Results file: reading skips single runs") {
  Measurement with_runs = measured();
  with_runs.runs.resize(10);
  with_runs.runs_left_out = 0;
  const Measurements again = parsed(results_file_json_of(with_runs));
  REQUIRE(again.size() == 1);
  CHECK(again[0]->runs.empty());
  CHECK(again[0]->runs_left_out == 10);
  CHECK(again[0]->host.median_ns == with_runs.host.median_ns);
  CHECK(again[0]->stream.n == 3);
}

TEST_CASE("Results file: impossible values count as missing") {
  const std::string head = R"({"schema": "takt-results/1", "measurements": )";
  CHECK(parsed(head + R"([{"name": "a", "host": {"n": 3, "mean_ns": 5}}]})").size() == 1);
  CHECK(parsed(head + R"([{"name": "", "host": {"n": 3}}, {"name": "a"}, 7, null, [], {"name": 3, "host": {"n": 3}}]})")
            .empty());
  const auto odd = parsed(head + R"([{"name": "a\u001b[31m", "host": {"n": 3, "mean_ns": -1, "median_ns": 1e999,
      "low_ns": 9, "high_ns": 3, "p90_ns": "x"}, "joules": -5, "memory_bytes": -3, "items": -2, "first_ns": -9,
      "notes": {"least_clock_mhz": 1.5, "others_busy": 7, "slowdowns": 18446744073709551615}, "meters": {"a": 1},
      "end": "never"}]})");
  if (!odd.empty()) {  // a number beyond a double makes the JSON invalid
    CHECK_FALSE(contains(reported(odd), "\x1b"));
  }
  const auto other =
      parsed(head + R"([{"name": "a\u001b[31m", "host": {"n": 3, "mean_ns": -1, "low_ns": 9, "high_ns": 3,
      "p90_ns": "x"}, "joules": -5, "memory_bytes": -3, "items": -2, "first_ns": -9, "notes": {"least_clock_mhz": 1.5,
      "others_busy": 7, "slowdowns": 18446744073709551615}, "meters": {"a": 1}, "end": "never",
      "features": [{"name": "a b", "value": 1}, {"name": "x", "value": "1"}, {"value": 1}, 3]}]})");
  REQUIRE(other.size() == 1);
  CHECK(other[0]->host.mean_ns == 0);
  CHECK_FALSE(other[0]->host.has_interval);
  CHECK_FALSE(other[0]->host.percentiles_ns[0]);
  CHECK_FALSE(other[0]->joules);
  CHECK_FALSE(other[0]->memory_bytes);
  CHECK(other[0]->items == 1);
  CHECK(other[0]->first_ns == 0);
  CHECK(other[0]->notes.others_busy == 1);
  CHECK_FALSE(other[0]->notes.min_clock_mhz);
  CHECK(other[0]->sensors.empty());
  CHECK(other[0]->features.empty());
  CHECK_FALSE(contains(reported(other), "\x1b"));
}

TEST_CASE("Results file: another document is an error that says what it is") {
  for (const char* text : {"", "[]", "7", "{", R"({"schema": "takt-results/2", "measurements": []})",
                           R"({"schema": "takt-results/1", "measurements": 3})"}) {
    std::string error;
    CHECK(parse_results(text, error).empty());
    CHECK(contains(error, "takt-results/1"));
  }
}

TEST_CASE("Results file: a file with changed bytes never crashes the command") {
  const std::string text = results_file_json_of(measured());
  takt_test::Random random(takt_test::test_seed());
  for (int each = 0; each < takt_test::scaled(2000); ++each) {
    std::string damaged = text.substr(0, each % 3 == 0 ? random.below(text.size()) : text.size());
    for (int byte = 0; byte < 3 && !damaged.empty(); ++byte) {
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    }
    const Measurements found = parsed(damaged);
    if (!found.empty()) { CHECK_FALSE(reported(found).empty()); }
  }
}

TEST_CASE("Results file: reads at most 1 000 measurements") {
  const Measurements many(1001, std::make_shared<const Measurement>(measured()));
  CHECK(parsed(results_file_json_of(many)).size() == 1000);
}

TEST_CASE("Results file: follows no link and reads no file that is too large") {
  const takt_test::Scratch scratch;
  std::string error;
  CHECK(read_results(scratch.path(""), error).empty());
  CHECK(error.empty());
  takt_test::write_text(scratch.path("elsewhere"), results_file_json_of(measured()));
  REQUIRE(::symlink(scratch.path("elsewhere").c_str(), scratch.path("results.json").c_str()) == 0);
  CHECK(read_results(scratch.path(""), error).empty());
  CHECK(contains(error, "cannot be read"));
  ::unlink(scratch.path("results.json").c_str());
  takt_test::write_text(scratch.path("results.json"), std::string(33U << 20U, ' '));
  error.clear();
  CHECK(read_results(scratch.path(""), error).empty());
  CHECK(contains(error, "cannot be read"));
  takt_test::write_text(scratch.path("results.json"), results_file_json_of(measured()));
  error.clear();
  CHECK(read_results(scratch.path(""), error).size() == 1);
  CHECK(error.empty());
}
