// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/measure.hpp>

#include "measure/predictions.hpp"
#include "report/results_report.hpp"
#include "report/results_text.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/scoped_env.hpp"
#include "support/scratch.hpp"
#include "support/session_helpers.hpp"

#include <takt/backends/manual.hpp>
#include <takt/error.hpp>
#include <takt/exporters/console.hpp>
#include <takt/takt.hpp>
#include <takt/trials.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

namespace {

using takt::Measurement;
using takt::MeasureOptions;
using takt::Session;
using takt_test::by_hand;
using takt_test::contains;
using takt_test::line_mentions;
using takt_test::mentions;

MeasureOptions few(int runs = 10, int warmup = 2) {
  MeasureOptions options;
  options.runs = runs;
  options.warmup = warmup;
  return options;
}

takt::SessionOptions with_files(const takt_test::Scratch& scratch) {
  takt::SessionOptions options = by_hand();
  options.files = true;
  options.journal = false;
  options.directory = scratch.path("runs");
  return options;
}

std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

std::string refusal_of(Session& session, const std::function<void(MeasureOptions&)>& change) {
  MeasureOptions options;
  change(options);
  return refusal_of([&] {
    takt::measure(
        session, "net", [] {}, options);
  });
}

}  // namespace

TEST_CASE("Measure: defaults to 5 warm-up calls and 30 runs, in the result and in snapshots") {
  Session session("measured", by_hand());
  int calls = 0;
  const Measurement found = takt::measure(session, "net b16", [&] { return ++calls; });
  CHECK(calls == 35);
  CHECK(found.host.n == 30);
  CHECK(found.runs.size() == 30);
  CHECK(found.warmup == 5);
  CHECK(found.host.min_ns <= found.host.median_ns);
  CHECK(found.host.low_ns <= found.host.high_ns);
  const takt::Snapshot snapshot = session.snapshot();
  REQUIRE(snapshot.measurements.size() == 1);
  CHECK(snapshot.measurements[0]->name == "net b16");
  CHECK(snapshot.measurements[0]->host.mean_ns == found.host.mean_ns);
  CHECK(snapshot.measurements[0]->runs.size() == 30);
}

TEST_CASE("Measure: data recorded by the function is excluded from the run, and recording continues afterwards") {
  Session session("measured", by_hand());
  const auto region = takt::key("inside of measure");
  const auto before = session.snapshot();
  takt::measure(
      session, "net",
      [&] {
        const takt::Scope batch(takt::Batch);
        const takt::Scope inside(region);
        session.metric("loss of measure", 1);
      },
      few());
  CHECK(takt_test::calls_of(session.snapshot(), "Batch") == takt_test::calls_of(before, "Batch"));
  CHECK(takt_test::calls_of(session.snapshot(), "inside of measure") == 0);
  { const takt::Scope outside(region); }
  CHECK(takt_test::calls_of(session.snapshot(), "inside of measure") == 1);
}

TEST_CASE("Measure: a run waits for the streams of the function's regions, and for the given one") {
  Session session("measured", by_hand());
  takt::ManualClock device;
  takt::ManualClock other;
  const takt::ManualBackend stream(device);
  const Measurement found = takt::measure(
      session, "net", stream,
      [&] {
        const takt::Scope copy(takt::Forward, takt::ManualBackend(other));
        device.advance(std::chrono::microseconds(5));
      },
      few());
  CHECK(found.stream.n == 10);
  CHECK(found.stream.mean_ns == Approx(5000));
  CHECK(found.failed_waits == 0);
  CHECK(device.outstanding() == 0);
  CHECK(other.outstanding() == 0);
  other.refuse(true);
  CHECK(takt::measure(
            session, "net", [&] { const takt::Scope copy(takt::Forward, takt::ManualBackend(other)); }, few())
            .failed_waits == 12);
}

TEST_CASE("Measure: an exception propagates, nothing is kept, and the next measurement is complete") {
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  takt::ManualClock device;
  int calls = 0;
  const auto fails = [&] {
    if (++calls == 7) { throw std::runtime_error("out of memory"); }
  };
  REQUIRE_THROWS_WITH(takt::measure(session, "net", takt::ManualBackend(device), fails, few()), "out of memory");
  CHECK(session.snapshot().measurements.empty());
  CHECK_FALSE(takt_test::exists(session.run().directory + "/results.csv"));
  CHECK(device.outstanding() == 0);
  CHECK(takt::measure(session, "net", fails, few()).host.n == 10);
  CHECK(session.snapshot().measurements.size() == 1);
}

TEST_CASE("Measure: invalid options are an error that names the remedy") {
  Session session("measured", by_hand());
  const auto refused = [&session](auto change) { return refusal_of(session, change); };
  CHECK(mentions(refused([](auto& options) { options.runs = 0; }), {"runs", "0", "1 to 100000"}));
  CHECK(mentions(refused([](auto& options) { options.runs = 100'001; }), {"runs", "100001", "1 to 100000"}));
  CHECK(mentions(refused([](auto& options) { options.warmup = -1; }), {"warmup", "-1", "0 to 100000"}));
  CHECK(mentions(refused([](auto& options) { options.interval = 1; }), {"interval", "1"}));
  CHECK(mentions(refused([](auto& options) { options.interval = std::nan(""); }), {"interval", "nan"}));
  CHECK(mentions(refused([](auto& options) { options.time_limit = std::chrono::seconds(-1); }),
                 {"time_limit", "-1", "86400"}));
  CHECK(mentions(refused([](auto& options) { options.time_limit = std::chrono::hours(25); }),
                 {"time_limit", "90000", "86400"}));
  CHECK(mentions(refused([](auto& options) { options.items = 0; }), {"items", "0", "1"}));
  CHECK(mentions(refusal_of([&] { takt::measure(session, "", [] {}); }), {"name"}));
  const auto with = [&refused](const takt::MeasuredFeatures& features) {
    return refused([&](auto& options) { options.features = features; });
  };
  for (const std::string& name : {std::string(), std::string("image size"), std::string("a=b"), std::string("a,b"),
                                  std::string("\x1b[2J"), std::string(61, 'x')}) {
    CHECK(mentions(with({{"batch", 8}, {name, 1}}), {"MeasureOptions::features", "1 to 60", "letters"}));
    CHECK_FALSE(contains(with({{name, 1}}), "\x1b"));
  }
  CHECK(mentions(with({{"batch", 8}, {"size", 1}, {"batch", 8}}), {"features", "\"batch\"", "once"}));
  CHECK(mentions(with({{"batch", std::nan("")}}), {"features", "\"batch\"", "finite"}));
  CHECK(mentions(with(takt::MeasuredFeatures(33, {"batch", 8})), {"features", "33", "32"}));
  CHECK(session.snapshot().measurements.empty());
}

TEST_CASE("Measure: one at a time, not inside trials, and only in a running Session") {
  Session session("measured", by_hand());
  std::string inside;
  const auto measure = [&] {
    takt::measure(
        session, "inner", [] {}, few());
  };
  takt::measure(
      session, "outer", [&] { inside = refusal_of(measure); }, few());
  CHECK(contains(inside, "measurement"));
  CHECK(session.snapshot().measurements.size() == 1);
  takt::TrialOptions trials;
  trials.full = true;
  trials.steps = 2;
  const std::vector<int> batches(100);
  inside.clear();
  for (auto&& batch : takt::trials(session, batches, trials)) { inside = refusal_of(measure) + std::to_string(batch); }
  CHECK(mentions(inside, {"trials"}));
  session.close();
  CHECK(mentions(refusal_of(measure), {"Session"}));
}

TEST_CASE("Measure: the later of two measurements of one name counts, with one warning") {
  const support::CaughtErrors errors;
  Session session("measured", by_hand());
  takt::measure(
      session, "a", [] {}, few(10));
  takt::measure(
      session, "b", [] {}, few(11));
  takt::measure(
      session, "a", [] {}, few(12));
  takt::measure(
      session, "a", [] {}, few(13));
  const auto found = session.snapshot().measurements;
  REQUIRE(found.size() == 2);
  CHECK(found[0]->name == "a");
  CHECK(found[0]->host.n == 13);
  CHECK(found[1]->host.n == 11);
  const std::string text = errors.text();
  const std::size_t first = text.find("\"a\" was measured again");
  REQUIRE(first != std::string::npos);
  CHECK(text.find("was measured again", first + 10) == std::string::npos);
}

TEST_CASE("Measure: if disabled the function is called once without a result") {
  const support::CaughtErrors errors;
  const int status = takt_test::in_child([] {
    const support::ScopedEnvironment environment({{"TAKT_DISABLE", "1"}});
    Session session("measured", by_hand());
    int calls = 0;
    const Measurement found = takt::measure(session, "net", [&] { ++calls; });
    return calls == 1 && found.host.n == 0 && session.snapshot().measurements.empty() ? 0 : 1;
  });
  CHECK(status == 0);
}

TEST_CASE("Measure: results.csv has one line per measurement, which predict-check reads") {
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  const std::string path = session.run().directory + "/results.csv";
  MeasureOptions options = few();
  options.peak_bytes = [] { return std::uint64_t{1'500'000}; };
  const Measurement first = takt::measure(
      session, "net, batch 8", [] {}, options);
  const auto one = takt::detail::read_model_costs(takt_test::read_text(path), path);
  REQUIRE(one.size() == 1);
  takt::measure(
      session, "net, batch 16", [] {}, few());
  CHECK(takt_test::mode_of(path) == 0600);
  CHECK_FALSE(takt_test::exists(path + ".part"));
  const auto measured = takt::detail::read_model_costs(takt_test::read_text(path), path);
  REQUIRE(measured.size() == 2);
  CHECK(measured[0].name == "net, batch 8");
  CHECK(measured[0].amounts[0] == Approx(first.host.mean_ns / 1e6));
  CHECK(measured[0].amounts[1] == 1.5);
  CHECK_FALSE(measured[0].amounts[2].has_value());  // nothing was sampled
  CHECK_FALSE(measured[1].amounts[1].has_value());
  const auto predicted = takt::detail::read_model_costs("name,memory_mb\n\"net, batch 8\",3\n", "p.csv");
  const auto check = takt::detail::check_predictions(predicted, measured);
  REQUIRE(check.costs[1].models.size() == 1);
  CHECK(check.costs[1].error.mape == Approx(1.0));
}

TEST_CASE("Measure: features are in the result, and in columns at the end of results.csv") {
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  const auto measure = [&](const char* name, takt::MeasuredFeatures features) {
    MeasureOptions options = few(1, 0);
    options.features = std::move(features);
    return takt::measure(
        session, name, [] {}, options);
  };
  CHECK(measure("a", {{"batch", 8}, {"size", 0.1}}).features == takt::MeasuredFeatures{{"batch", 8}, {"size", 0.1}});
  measure("b", {});
  measure("c", {{"flops", 4.1e9}, {"batch", -1}, {std::string(60, 'x'), 0}});
  const std::string csv = takt_test::read_text(session.run().directory + "/results.csv");
  const takt::detail::CsvTable table(csv, "results.csv");
  const std::string head = csv.substr(0, csv.find('\n'));
  CHECK(head.substr(head.find(",feature.")) ==
        ",feature.batch,feature.size,feature.flops,feature." + std::string(60, 'x'));
  const auto cell = [&](std::size_t row, const char* name) { return table.text(row, table.column(name)); };
  CHECK(cell(0, "feature.batch") == "8");
  CHECK(cell(0, "feature.size") == "0.1");
  CHECK(cell(0, "feature.flops").empty());
  CHECK(cell(1, "feature.batch").empty());
  CHECK(cell(2, "feature.batch") == "-1");
  CHECK(std::stod(cell(2, "feature.flops")) == 4.1e9);
  const auto document = nlohmann::json::parse(takt_test::read_text(session.run().directory + "/results.json"));
  CHECK(document["measurements"][0]["features"][1] == nlohmann::json({{"name", "size"}, {"value", 0.1}}));
  CHECK(document["measurements"][1]["features"].empty());
  const std::string text =
      takt::detail::format_measurements(session.run(), "rank 0 of 1", session.snapshot().measurements, 160, false);
  CHECK(line_mentions(text, {"a", "batch 8", "size 0.1"}));
}

TEST_CASE("Measure: results.csv has 200 columns of features, results.json has all features, and one line says so") {
  const support::CaughtErrors errors;
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  for (int each = 0; each < 8; ++each) {
    MeasureOptions options = few(1, 0);
    for (int at = 0; at < 30; ++at) { options.features.emplace_back("f" + std::to_string(30 * each + at), at); }
    takt::measure(
        session, "net " + std::to_string(each), [] {}, options);
    CHECK(contains(errors.text(), "results.json") == (each > 5));
  }
  const std::string csv = takt_test::read_text(session.run().directory + "/results.csv");
  const takt::detail::CsvTable table(csv, "results.csv");
  CHECK(table.column("feature.f199") != takt::detail::CsvTable::kNoColumn);
  CHECK(table.column("feature.f200") == takt::detail::CsvTable::kNoColumn);
  CHECK(contains(takt_test::read_text(session.run().directory + "/results.json"), "\"f239\""));
  CHECK(takt::detail::read_model_costs(csv, "results.csv").size() == 8);
}

TEST_CASE("Measure: each name is listed once in results.csv, with blanks at its ends") {
  const support::CaughtErrors errors;
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  for (const char* const name : {"net", "net ", " net", "net\u200b", "net?"}) {
    takt::measure(
        session, name, [] {}, few());
  }
  CHECK(contains(errors.text(), "\"net?\" was measured again"));
  const auto measured =
      takt::detail::read_model_costs(takt_test::read_text(session.run().directory + "/results.csv"), "results.csv");
  std::vector<std::string> names;
  for (const auto& each : measured) { names.push_back(each.name); }
  CHECK(names == std::vector<std::string>{"net", "net ", " net", "net?"});
}

TEST_CASE("Measure: hostile names stay in one CSV line, give valid JSON, and cannot control a terminal") {
  const support::CaughtErrors errors;
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  const std::vector<std::string> names = {"a,b\"c\"",     "line\nbreak\r\n",      "\x1b[31mred",         "=1+1",
                                          "\xff\xfe bad", "rtl \xe2\x80\xae txt", std::string(5000, 'n')};
  for (const std::string& name : names) {
    takt::measure(
        session, name, [] {}, few());
  }
  const std::string csv = takt_test::read_text(session.run().directory + "/results.csv");
  CHECK(takt::detail::read_model_costs(csv, "results.csv").size() == names.size());
  const auto document = nlohmann::json::parse(takt_test::read_text(session.run().directory + "/results.json"));
  REQUIRE(document["measurements"].size() == names.size());
  CHECK(document["measurements"][0]["name"] == "a,b\"c\"");
  std::string text = csv + takt_test::read_text(session.run().directory + "/results.json") +
                     takt::format_table(session.snapshot(), {100, false});
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK_FALSE(contains(text, "\xe2\x80\xae"));
  CHECK_FALSE(contains(text, std::string(300, 'n')));
  CHECK(contains(errors.text(), "control characters"));
}

TEST_CASE("Measure: both files cover all measurements, even after one was replaced") {
  const support::CaughtErrors errors;
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  int runs = 10;
  for (const char* const name : {"net a", "net \"b\", 8", "net c", "net \"b\", 8", "net d", "net a", "net d"}) {
    takt::measure(
        session, name, [] {}, few(runs++));
    const auto all = session.snapshot().measurements;
    takt::detail::ResultsText at_once;
    at_once.update(all);
    const std::string csv = takt_test::read_text(session.run().directory + "/results.csv");
    REQUIRE(csv == at_once.csv());
    REQUIRE(takt_test::read_text(session.run().directory + "/results.json") ==
            takt::detail::measurements_json(session.run(), all));
    REQUIRE(takt::detail::read_model_costs(csv, "results.csv").size() == all.size());
  }
  REQUIRE(session.snapshot().measurements.size() == 4);
}

TEST_CASE("Measure: results.json has each run by column") {
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  takt::ManualClock device;
  const Measurement found = takt::measure(
      session, "net", takt::ManualBackend(device), [&] { device.advance(std::chrono::nanoseconds(70)); }, few());
  const auto document = nlohmann::json::parse(takt_test::read_text(session.run().directory + "/results.json"));
  CHECK(document["schema"] == "takt-results/1");
  CHECK(document["run_id"] == session.run().id);
  const auto& one = document["measurements"][0];
  REQUIRE(one["runs"]["host_ns"].size() == 10);
  for (std::size_t at = 0; at < 10; ++at) {
    CHECK(one["runs"]["host_ns"][at] == found.runs[at].host_ns);
    CHECK(one["runs"]["begin_ns"][at] == found.runs[at].begin_ns);
    CHECK(one["runs"]["stream_ns"][at] == 70);
  }
  CHECK(one["runs"]["clock_mhz"].is_null());  // nothing was sampled
  CHECK(one["host"]["median_ns"] == found.host.median_ns);
  CHECK(one["host"]["p90_ns"].is_number());
  CHECK(one["host"]["p99_ns"].is_null());
  CHECK(one["joules"].is_null());
  CHECK(contains(one["no_energy"], "TAKT_SAMPLE_MS"));
}

TEST_CASE("Measure: drops and reports runs of further measurements beyond 100 000 in total") {
  const support::CaughtErrors errors;
  Session session("measured", by_hand());
  takt::measure(
      session, "many", [] {}, few(99'990));
  takt::measure(
      session, "ten", [] {}, few(10));
  const Measurement beyond = takt::measure(
      session, "beyond", [] {}, few(10));
  CHECK(beyond.runs.size() == 10);  // its caller has them
  const auto found = session.snapshot().measurements;
  REQUIRE(found.size() == 3);
  CHECK(found[1]->runs.size() == 10);
  CHECK(found[2]->runs.empty());
  CHECK(found[2]->runs_left_out == 10);
  CHECK(found[2]->host.n == 10);
  CHECK(mentions(errors.text(), {"100000"}));
  takt::measure(
      session, "many", [] {}, few(10));  // frees space
  takt::measure(
      session, "beyond", [] {}, few(10));
  CHECK(session.snapshot().measurements[2]->runs.size() == 10);
}

TEST_CASE("Measure: refuses and reports names beyond 1 000") {
  const support::CaughtErrors errors;
  Session session("measured", by_hand());
  for (int each = 0; each < 1001; ++each) {
    takt::measure(
        session, "net " + std::to_string(each), [] {}, few(1, 0));
  }
  CHECK(session.snapshot().measurements.size() == 1000);
  CHECK(mentions(errors.text(), {"1000"}));
  takt::measure(
      session, "net 7", [] {}, few(3, 0));
  CHECK(session.snapshot().measurements[7]->host.n == 3);
}

TEST_CASE("Measure: the table has a line for each measurement and the basis of its figures") {
  const takt_test::Scratch scratch;
  Session session("measured", with_files(scratch));
  takt::measure(
      session, "net b16", [] {}, few());
  const takt::Snapshot snapshot = session.snapshot();
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  takt::ConsoleOptions options;
  options.stream = file;
  options.width = 200;
  takt::ConsoleExporter(options).print(snapshot);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  CHECK(std::fread(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  CHECK(contains(text, "95 % interval"));
  CHECK(line_mentions(text, {"net b16", "10"}));
  CHECK(line_mentions(text, {"measurements", "results.csv"}));
  CHECK(contains(text, snapshot.measurements.at(0)->no_energy));
}

TEST_CASE("Measure: the golden text of measurements has each kind of line") {
  takt::RunInfo run;
  run.name = "measured";
  run.id = "measured-1";
  Measurement whole;
  whole.name = "net b16";
  whole.items = 16;
  whole.features = {{"batch", 16}, {"flops", 4.1e9}};
  whole.first_ns = 90'000'000;
  whole.host.n = 100;
  whole.host.mean_ns = 10.4e6;
  whole.host.median_ns = 10.1e6;
  whole.host.low_ns = 10.0e6;
  whole.host.high_ns = 10.2e6;
  whole.host.stdev_ns = 0.5e6;
  whole.host.max_ns = 14e6;
  whole.host.percentiles_ns = {11e6, 12e6, 13e6};
  whole.host.has_interval = true;
  whole.stream = whole.host;
  whole.memory_bytes = 3'200'000'000;
  whole.memory_of = "allocator";
  whole.mig_device = "A100-40GB";
  whole.joules = 2;
  whole.error_joules = 0.1;
  whole.energy_of = "cuda 0";
  whole.host_peak_bytes = 5'000'000'000;
  whole.failed_waits = 1;
  whole.notes.slowed_runs = 12;
  whole.notes.slowdowns = 1;
  whole.notes.min_clock_mhz = 1200;
  whole.notes.max_clock_mhz = 1980;
  whole.notes.switched_runs = 7;
  whole.notes.others_busy = 0.43;
  whole.end = takt::MeasureEnd::seconds;
  Measurement other = whole;
  other.name = "net b32";
  other.memory_of = "cuda 0";
  other.features.clear();
  other.memory_bytes = 40'000'000'000;
  other.joules.reset();
  other.no_energy = "nothing was sampled";
  other.host.has_interval = false;
  other.end = takt::MeasureEnd::max_runs;
  takt_test::check_golden(
      "measurements.txt",
      takt::detail::format_measurements(
          run, "rank 0 of 1", {std::make_shared<const Measurement>(whole), std::make_shared<const Measurement>(other)},
          100, false));
}
