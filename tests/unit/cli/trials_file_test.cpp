// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/results_file.hpp"

#include "cli/report_document.hpp"
#include "cli/run_report.hpp"
#include "measure/trial_rate.hpp"
#include "report/trials_report.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

using takt::TrialKind;
using takt::TrialRate;
using takt::TrialResults;
using takt::cli::parse_trials;
using takt::cli::read_trials;
using takt_test::contains;
using takt_test::line_mentions;

namespace {

TrialResults sample() {
  TrialResults results;
  results.unit = "samples";
  results.steps_a_trial = 100;
  results.seconds_a_trial = 10;
  results.took_ns = 5'000'000'000;
  results.batches_taken = 801;
  results.steps_done = 800;
  results.batch_place = "device";
  results.waits_by = "streams";
  results.streams = 2;
  results.failed_waits = 1;
  results.cut = "in trial 3 of FULL: the program left the loop";
  results.went_on = true;
  double per_s = 100;
  for (TrialRate& rate : results.kinds) {
    rate.trials = 3;
    rate.steps = 290;
    rate.items = 290 * 64;
    rate.ns = 2'900'000'000;
    rate.per_s = per_s *= 2;
    rate.interval = takt::TrialInterval{0.99 * per_s, 1.01 * per_s};
    rate.n = 37;
    rate.wait_ns = 7;
    rate.copy_ns = 300'000'000;
    rate.copies_count = true;
    rate.begun_again = 10;
    rate.left_out_steps = 10;
    rate.left_out_ns = 100;
    rate.begin_unix_ns = 1'700'000'000'000'000'000;
    rate.end_unix_ns = 1'700'000'003'000'000'000;
    rate.each.assign(3, {97, 97 * 64, 970'000'000, per_s + 1});
  }
  takt::detail::conclude_trials(results);
  return results;
}

std::string trials_file_json_of(const TrialResults& results) {
  takt::RunInfo run;
  run.id = "digits-1";
  run.world_size = 4;
  return takt::detail::trials_json(run, results);
}

std::shared_ptr<const TrialResults> trials_file_parsed(const std::string& text) {
  std::string error;
  return parse_trials(text, error);
}

}  // namespace

TEST_CASE("Trials file: reading restores what was written") {
  const TrialResults results = sample();
  const std::string text = trials_file_json_of(results);
  const auto again = trials_file_parsed(text);
  REQUIRE(again != nullptr);
  REQUIRE(trials_file_json_of(*again) == text);
  REQUIRE(again->unreported == results.unreported);
  TrialResults nothing;
  takt::detail::conclude_trials(nothing);
  REQUIRE(trials_file_json_of(*trials_file_parsed(trials_file_json_of(nothing))) == trials_file_json_of(nothing));
}

TEST_CASE("Trials file: any other document is reported") {
  for (const char* text :
       {"", "{", "[]", "1", "null", "{\"schema\":\"takt-trials/2\"}", "{\"schema\":1}", "\xff\xfe"}) {
    std::string error;
    INFO(text);
    REQUIRE(parse_trials(text, error) == nullptr);
    REQUIRE(line_mentions(error, {"takt-trials/1"}));
  }
  std::string error;
  REQUIRE(parse_trials(std::string(200'000, '['), error) == nullptr);
  REQUIRE(parse_trials("{\"schema\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}", error) == nullptr);
}

TEST_CASE("Trials file: members of other types and impossible figures count as missing") {
  const auto results = trials_file_parsed(
      "{\"schema\":\"takt-trials/1\",\"unit\":[1],\"took_ns\":-5,\"streams\":\"many\",\"went_on\":1,\"cut\":{},"
      "\"kinds\":[7,{\"kind\":\"FULL\",\"trials\":-1,\"per_s\":1e999,\"low\":5,\"high\":\"x\",\"ns\":1.5},"
      "{\"kind\":\"IO\",\"trials\":3,\"per_s\":10,\"low\":11,\"high\":12,\"begin_unix_ns\":18446744073709551615},"
      "{\"kind\":\"OTHER\"}],\"finding\":{\"sentence\":\"trust me\"}}");
  REQUIRE(results == nullptr);  // 1e999 does not fit into any JSON number
  const auto without = trials_file_parsed(
      "{\"schema\":\"takt-trials/1\",\"unit\":[1],\"took_ns\":-5,\"streams\":\"many\",\"went_on\":1,\"cut\":{},"
      "\"kinds\":[7,{\"kind\":\"FULL\",\"trials\":-1,\"per_s\":-3,\"low\":5,\"high\":\"x\",\"ns\":1.5},"
      "{\"kind\":\"IO\",\"trials\":3,\"per_s\":10,\"low\":11,\"high\":12,\"begin_unix_ns\":18446744073709551615,"
      "\"each\":[{\"ns\":-1,\"steps\":5},\"x\"]},"
      "{\"kind\":\"OTHER\",\"each\":{}}],\"finding\":{\"sentence\":\"trust me\"}}");
  REQUIRE(without != nullptr);
  REQUIRE(without->of(TrialKind::io).each.size() == 2);
  REQUIRE(without->of(TrialKind::io).each[0].steps == 5);
  REQUIRE(without->of(TrialKind::io).each[0].ns == 0);
  REQUIRE(without->unit == "batches");
  REQUIRE(without->took_ns == 0);
  REQUIRE(without->streams == 0);
  REQUIRE_FALSE(without->went_on);
  REQUIRE(without->cut.empty());
  REQUIRE(without->of(TrialKind::full).trials == 0);
  REQUIRE(without->of(TrialKind::full).per_s == 0.0);
  REQUIRE(without->of(TrialKind::io).trials == 3);
  REQUIRE_FALSE(without->of(TrialKind::io).interval);
  REQUIRE(without->of(TrialKind::io).begin_unix_ns > 0);
  REQUIRE_FALSE(without->finding.has_value());  // because the figures support none
}

TEST_CASE("Trials file: a missing one is empty, and links are not followed") {
  const takt_test::Scratch scratch;
  std::string error;
  REQUIRE(read_trials(scratch.path(""), error) == nullptr);
  REQUIRE(error.empty());
  takt_test::write_text(scratch.path("elsewhere"), trials_file_json_of(sample()));
  REQUIRE(::symlink(scratch.path("elsewhere").c_str(), scratch.path("trials.json").c_str()) == 0);
  REQUIRE(read_trials(scratch.path(""), error) == nullptr);
  REQUIRE(contains(error, "symbolic link"));
  ::unlink(scratch.path("trials.json").c_str());
  takt_test::write_text(scratch.path("trials.json"), std::string(2U << 20U, ' '));
  error.clear();
  REQUIRE(read_trials(scratch.path(""), error) == nullptr);
  REQUIRE_FALSE(error.empty());
  takt_test::write_text(scratch.path("trials.json"), trials_file_json_of(sample()));
  REQUIRE(read_trials(scratch.path(""), error) != nullptr);
}

TEST_CASE("Trials report: the table shows the basis of its figures") {
  takt::RunInfo run;
  run.name = "digits\x1b[2J";
  run.id = "digits-1";
  run.world_size = 4;
  TrialResults results = sample();
  const std::string text = takt::detail::format_trials(run, results, 200, false);
  INFO(text);
  REQUIRE(line_mentions(text, {"digits?[2J", "digits-1", "0", "4", "5.00 s"}));
  REQUIRE(line_mentions(text, {"SYNTHETIC", "200", "198 to 202", "37", "290", "2.90 s"}));
  REQUIRE(line_mentions(text, {"FULL", "10", "100 ns"}));  // excluded
  REQUIRE(line_mentions(text, {"SYNTHETIC", "300 ms"}));   // copies
  REQUIRE(line_mentions(text, {"SYNTHETIC", "device"}));   // where its batch is stored
  REQUIRE(line_mentions(text, {"2 streams"}));
  REQUIRE(line_mentions(text, {"1", "failed"}));
  REQUIRE(line_mentions(text, {results.cut}));
  REQUIRE(line_mentions(text, {"TrialOptions::restore", "800", "801"}));
  REQUIRE(contains(text, results.unreported));
  results.of(TrialKind::full).per_s = 195;
  results.of(TrialKind::full).interval = takt::TrialInterval{194, 196};
  results.of(TrialKind::io).interval.reset();
  results.of(TrialKind::io).trials = 2;
  results.batch_place.clear();
  takt::detail::conclude_trials(results);
  const std::string other = takt::detail::format_trials(run, results, 200, false);
  INFO(other);
  REQUIRE(line_mentions(other, {"IO", "2", "3"}));  // trials done, and trials needed
  REQUIRE_FALSE(line_mentions(other, {"SYNTHETIC", "device"}));
  REQUIRE(line_mentions(takt::detail::format_trials(run, results, 40, false), {"FULL", "195"}));
}

TEST_CASE("Trials report: reports ranks that did not run concurrently") {
  std::vector<TrialResults> ranks(2, sample());
  const auto text_of = [&ranks] {
    takt::RunInfo run;
    run.id = "digits-1";
    return takt::detail::format_job_trials(run, takt::detail::job_trials(ranks), 200, false);
  };
  const std::string before = text_of();
  REQUIRE(line_mentions(before, {"digits-1", "2 ranks"}));
  ranks[1].of(TrialKind::io).begin_unix_ns += 2'000'000'000;
  ranks[1].of(TrialKind::io).end_unix_ns += 2'000'000'000;
  const std::string more = takt_test::new_lines(before, text_of());
  INFO(more);
  REQUIRE(line_mentions(more, {"IO", "20.0 %", "TrialOptions::barrier"}));
  REQUIRE_FALSE(line_mentions(more, {"FULL", "TrialOptions::barrier"}));
}

TEST_CASE("Trials report: the golden text has each kind of line") {
  takt::RunInfo run;
  run.name = "digits";
  run.id = "digits-1";
  run.world_size = 4;
  const TrialResults results = sample();
  std::string text = takt::detail::format_trials(run, results, 100, false);
  TrialResults other = results;
  other.of(TrialKind::full).per_s = 195;
  other.of(TrialKind::full).interval = takt::TrialInterval{194, 196};
  for (TrialRate& rate : other.kinds) {
    rate.left_out_steps = 0;
    rate.copies_count = false;
  }
  other.batch_place.clear();
  other.waits_by = "function";
  takt::detail::conclude_trials(other);
  text += "\n" + takt::detail::format_trials(run, other, 100, false);
  other.of(TrialKind::io).interval.reset();
  other.of(TrialKind::io).trials = 2;
  takt::detail::conclude_trials(other);
  text += "\n" + takt::detail::format_trials(run, other, 100, false);
  std::vector<TrialResults> ranks(2, results);
  ranks[1].of(TrialKind::io).begin_unix_ns += 2'000'000'000;
  ranks[1].of(TrialKind::io).end_unix_ns += 2'000'000'000;
  text += "\n" + takt::detail::format_job_trials(run, takt::detail::job_trials(ranks), 100, false);
  takt_test::check_golden("trials.txt", text);
}

TEST_CASE("Trials report: prints the rates of each rank, or of the slowest if there are many") {
  const int world = GENERATE(2, 40);
  takt::cli::ReportBuilder builder(true);
  for (int number = 0; number < world; ++number) {
    takt::cli::Rank rank;
    rank.snapshot.run.id = "digits-1";
    rank.snapshot.run.rank = number;
    rank.snapshot.run.world_size = world;
    rank.snapshot.run.host = "node" + std::to_string(number);
    rank.snapshot.finished = true;
    rank.ending = takt::cli::Ending::finished;
    TrialResults results = sample();
    results.of(TrialKind::io) = TrialRate();
    results.of(TrialKind::full).per_s = 700 - number;
    rank.snapshot.trials = std::make_shared<const TrialResults>(results);
    builder.add(std::move(rank));
  }
  takt::cli::ReadRun read;
  read.ranks = read.world = static_cast<std::uint64_t>(world);
  const takt::cli::RunReport report = builder.finish(read);
  const std::string text = takt::cli::report_text(report, {200, false});
  INFO(text);
  REQUIRE(line_mentions(text, {"rank", "SYNTHETIC", "FULL", "unit", "host"}));
  if (world == 2) {
    REQUIRE(line_mentions(text, {"0 ", "200", "700", "samples/s", "node0"}));
    REQUIRE(line_mentions(text, {"1 ", "200", "699", "samples/s", "node1"}));
    REQUIRE_FALSE(contains(text, "slowest of"));
  } else {
    REQUIRE(line_mentions(text, {"39 ", "200", "661", "samples/s", "node39"}));
    REQUIRE(line_mentions(text, {"8 ", "200", "692", "samples/s", "node8"}));
    REQUIRE_FALSE(contains(text, "node7\n"));
    REQUIRE(line_mentions(text, {"slowest of 40"}));
  }
  const nlohmann::json trials = nlohmann::json::parse(takt::cli::report_json({report}))["runs"][0]["trials"];
  REQUIRE(trials["by_rank"].size() == static_cast<std::size_t>(world));
  REQUIRE(trials["by_rank"][1]["rank"] == 1);
  REQUIRE(trials["by_rank"][1]["kinds"][2]["per_s"] == 699);
  REQUIRE(trials["by_rank"][1]["kinds"][2]["each"].size() == 3);
}
