// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>

#include "cli/commands.hpp"
#include "cli/scaling.hpp"
#include "cli/scaling_page.hpp"
#include "journal/journal_writer.hpp"
#include "report/trials_report.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/journal_helpers.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using namespace takt_test;
using takt::Snapshot;
using takt::cli::JobRun;
using takt::cli::read_job_runs;
using takt::cli::scaling_report_of;
using takt::cli::ScalingReport;
using takt::cli::ScalingRuns;
using takt::detail::Scaling;
using takt::detail::trials_json;

namespace {

constexpr std::uint64_t kSteps = 100;

struct Job {
  int ranks = 1;
  std::uint64_t items = 0;  // of all ranks in all steps
  int left_out = 0;         // ranks without a journal, counted from the last
  int attempt = 0;
  std::uint64_t period_ns = 10'000'000'000;
  std::array<double, takt::kTrialKinds> trials = {};  // samples/s of all ranks; 0: no trial of this kind
};

/// Returns trials of one rank, of 300 steps of 64 samples each.
takt::TrialResults trials_of(const Job& job) {
  takt::TrialResults results;
  results.unit = "samples";
  for (unsigned kind = 0; kind < takt::kTrialKinds; ++kind) {
    const double rate = job.trials[kind] / job.ranks;
    if (rate <= 0) { continue; }
    takt::TrialRate& trial = results.kinds[kind];
    trial.trials = 3;
    trial.steps = 300;
    trial.items = 300 * 64;
    trial.ns = static_cast<std::uint64_t>(300 * 64 * 1e9 / rate);
    trial.per_s = rate;
    trial.interval = takt::TrialInterval{0.99 * rate, 1.01 * rate};
  }
  return results;
}

bool has_trials(const Job& job) {
  return std::any_of(job.trials.begin(), job.trials.end(), [](double each) { return each > 0; });
}

/// Returns one rank of a job of `ranks` whose 100 steps take it `period_ns`.
Snapshot scaling_rank_of(const std::string& id, const Job& job, int rank) {
  Snapshot snapshot;
  snapshot.run.id = id;
  snapshot.run.rank = rank;
  snapshot.run.world_size = job.ranks;
  snapshot.run.attempt = job.attempt;
  snapshot.run.start_unix_ns = 1 + job.attempt;
  snapshot.wall_ns = static_cast<std::int64_t>(job.period_ns);
  snapshot.finished = true;
  add_series(snapshot, add_path(snapshot, "Batch"), add_thread(snapshot, "main"));
  add_path(snapshot, "Comm", 0, takt::Kind::comm);
  takt::Throughput& rate = snapshot.series[0].throughput;
  rate.steps = kSteps;
  rate.items = job.items / static_cast<std::uint64_t>(job.ranks);
  rate.period_ns = job.period_ns - static_cast<std::uint64_t>(rank);  // the first one is slowest
  rate.items_per_s = static_cast<double>(rate.items) * 1e9 / static_cast<double>(rate.period_ns);
  rate.items_low = 0.99 * rate.items_per_s;
  rate.items_high = 1.01 * rate.items_per_s;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    takt::Row& row = add_row(snapshot, 0, step);
    row.cells = {{1, 1, 100, takt::Cell::kAbsent}};
  }
  return snapshot;
}

/// Writes journals to a separate directory and returns its path.
std::string write_job(const Scratch& scratch, const std::string& id, const Job& job) {
  std::string run = scratch.path(id);
  ::mkdir(run.c_str(), 0700);
  for (int rank = 0; rank < job.ranks - job.left_out; ++rank) {
    const std::string directory = run + "/rank-" + std::to_string(rank) + "-" + std::to_string(job.attempt);
    REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
    const Snapshot snapshot = scaling_rank_of(id, job, rank);
    takt::detail::JournalExporter exporter(directory, plain_journal());
    Snapshot beginning;
    beginning.run = snapshot.run;
    exporter.begin(beginning);
    REQUIRE(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
    if (has_trials(job)) { write_text(directory + "/trials.json", trials_json(snapshot.run, trials_of(job))); }
  }
  return run;
}

/// Returns a job of `ranks` that has trials only: SYNTHETIC, IO and FULL in samples/s.
Job only_trials(int ranks, double synthetic, double io, double full) {
  Job job;
  job.ranks = ranks;
  job.trials = {synthetic, io, full};
  return job;
}

std::vector<JobRun> scaling_read(const std::vector<std::string>& directories) {
  return read_job_runs(directories).runs;
}

std::string scaling_table_of(const ScalingReport& report) {
  return takt::cli::scaling_table(report, takt::detail::Page(1000, false));
}

nlohmann::json json_of(const ScalingReport& report) { return nlohmann::json::parse(takt::cli::scaling_json(report)); }

/// Returns the data of the page, as its script reads it.
nlohmann::json page_data_of(const std::string& page) {
  const std::string tag = "id=\"data\">";
  const std::size_t begin = page.find(tag) + tag.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

/// Returns the text of an element's cells, row by row.
std::vector<std::string> cells_of(const std::string& page) {
  std::vector<std::string> cells;
  for (std::size_t at = page.find("<tbody>"); (at = page.find("<td", at)) != std::string::npos;) {
    at = page.find('>', at) + 1;
    cells.push_back(page.substr(at, page.find('<', at) - at));
  }
  return cells;
}

std::string what_is_wrong(const ScalingRuns& runs) {
  try {
    scaling_report_of(runs);
  } catch (const takt::Error& error) { return error.what(); }
  return "";
}

}  // namespace

// The deep-learning tutorial of SC21: values read off its plots. Its ranks are nodes.

TEST_CASE("takt scaling: reproduces the weak efficiency of the SC21 tutorial from journals") {
  const Scratch scratch;
  const ScalingReport report =
      scaling_report_of({scaling_read({write_job(scratch, "all", {32, 32 * 20'656, 0, 0, 12'785'000'000}),
                                       write_job(scratch, "node", {1, 20'656})}),
                         {},
                         {},
                         Scaling::unclear});
  const nlohmann::json document = json_of(report);
  REQUIRE(document["runs"].size() == 2);
  CHECK(document["runs"][0]["ranks"] == 1);
  CHECK(document["runs"][1]["ranks"] == 32);
  CHECK(document["runs"][1]["items_per_s"].get<double>() == Approx(51'700).epsilon(1e-3));
  CHECK(document["runs"][1]["efficiency"].get<double>() == Approx(0.78).margin(0.005));
  CHECK(document["runs"][1]["speed_up"].get<double>() == Approx(32 * 0.78).margin(0.2));
  CHECK(document["runs"][1]["job_efficiency"]["communication"].get<double>() == Approx(800.0 / 900));
  CHECK(document["runs"][1]["items_per_s_interval"][0].get<double>() == Approx(0.99 * 51'700).epsilon(1e-3));
  const std::string table = scaling_table_of(report);
  CHECK(line_mentions(table, {"Batch", "weak", "207"}));
  CHECK(line_mentions(table, {"run", "ranks", "samples/s", "95 % interval"}));
  CHECK(line_mentions(table,
                      {"all", "32", "51 701", "51 184 to 52 218", "25.03", "78.2 %", "100.0 %", "88.9 %    88.9 %"}));
}

TEST_CASE("takt scaling: reproduces the higher weak efficiency of the SC21 tutorial with batch size 128") {
  const Scratch scratch;  // 62 900 samples/s on 32 nodes, 2 200 on one
  const ScalingReport report =
      scaling_report_of({scaling_read({write_job(scratch, "128-all", {32, 32 * 22'000, 0, 0, 11'192'369'000}),
                                       write_job(scratch, "128-node", {1, 22'000})}),
                         {},
                         {},
                         Scaling::unclear});
  const nlohmann::json run = json_of(report)["runs"][1];
  CHECK(run["items_per_s"].get<double>() == Approx(62'900).epsilon(1e-4));
  CHECK(run["efficiency"].get<double>() == Approx(0.89).margin(0.005));
}

TEST_CASE("takt scaling: reproduces the overheads of the SC21 tutorial, of one size, in both forms") {
  const Scratch scratch;
  const auto overhead_of = [&](const std::string& name, std::uint64_t rate, std::uint64_t without) {
    const ScalingReport report =
        scaling_report_of({scaling_read({write_job(scratch, name, {4, rate * 4})}),
                           {},
                           scaling_read({write_job(scratch, name + "-alone", {4, without * 4})}),
                           Scaling::unclear});
    return json_of(report)["runs"][0]["without_communication"];
  };
  const nlohmann::json small = overhead_of("64", 68'000, 91'000);
  CHECK(small["share"].get<double>() == Approx(0.25).margin(0.005));
  CHECK(small["lengthening"].get<double>() == Approx(0.34).margin(0.005));
  const nlohmann::json large = overhead_of("128", 86'500, 98'500);
  CHECK(large["share"].get<double>() == Approx(0.12).margin(0.005));
  CHECK(large["lengthening"].get<double>() == Approx(0.14).margin(0.005));
  const ScalingReport stall = scaling_report_of({scaling_read({write_job(scratch, "full", {4, 51'700 * 4})}),
                                                 scaling_read({write_job(scratch, "synthetic", {4, 68'000 * 4})}),
                                                 {},
                                                 Scaling::unclear});
  CHECK(json_of(stall)["runs"][0]["without_loader"]["data_stall"].get<double>() == Approx(0.24).margin(0.005));
  CHECK(line_mentions(scaling_table_of(stall), {"4 ranks", "24.0 %"}));
  CHECK(
      contains(takt::cli::scaling_csv(stall), "\nfull,4,0,Batch,100,206800,10000000000,20680,20473.2,20886.8,1,1,1,"));
  CHECK(contains(takt::cli::scaling_csv(stall), ",0.2397058823529412,,\n"));
}

TEST_CASE("takt scaling: samples per step distinguish weak and strong, and a contrary option causes a warning") {
  const Scratch scratch;
  const std::vector<JobRun> weak =
      scaling_read({write_job(scratch, "1", {1, 6400}), write_job(scratch, "4", {4, 25'600})});
  CHECK(scaling_report_of({weak, {}, {}, Scaling::unclear}).steps.scaling == Scaling::weak);
  CHECK(scaling_report_of({weak, {}, {}, Scaling::unclear}).warnings.empty());
  const ScalingReport wished = scaling_report_of({weak, {}, {}, Scaling::strong});
  CHECK(wished.steps.scaling == Scaling::strong);
  REQUIRE(wished.warnings.size() == 1);
  CHECK(mentions(wished.warnings[0], {"weak", "strong"}));
  const std::vector<JobRun> neither =
      scaling_read({write_job(scratch, "a", {1, 6400}), write_job(scratch, "b", {4, 12'800})});
  CHECK(contains(scaling_report_of({neither, {}, {}, Scaling::unclear}).warnings.at(0), "--weak or --strong"));
  CHECK(scaling_report_of({neither, {}, {}, Scaling::weak}).warnings.empty());
}

TEST_CASE("takt scaling: a single size, and a run without samples, are refused with the remedy") {
  const Scratch scratch;
  const std::vector<JobRun> one =
      scaling_read({write_job(scratch, "1", {2, 6400}), write_job(scratch, "2", {2, 6400})});
  CHECK(mentions(what_is_wrong({one, {}, {}, Scaling::unclear}), {"2 ranks"}));
  const std::string without_items = write_job(scratch, "none", {2, 0});
  CHECK_THROWS_WITH(scaling_read({without_items}),
                    Catch::Matchers::Contains("run none") && Catch::Matchers::Contains("items(n)"));
}

TEST_CASE("takt scaling: of two runs of the smallest size the first named is the baseline") {
  const Scratch scratch;
  const ScalingReport report =
      scaling_report_of({scaling_read({write_job(scratch, "large", {4, 20'000}), write_job(scratch, "b", {2, 10'000}),
                                       write_job(scratch, "a", {2, 5000})}),
                         {},
                         {},
                         Scaling::unclear});
  REQUIRE(report.steps.lines.size() == 3);
  CHECK(report.steps.lines[0].run.id == "b");
  CHECK(report.steps.lines[1].run.id == "a");
  CHECK(report.steps.lines[2].row.efficiency == Approx(1));
  CHECK(mentions(report.warnings.at(1), {"2 ranks", "b"}));
}

TEST_CASE("takt scaling: runs without a loader are compared within their size, and missing ones are reported") {
  const Scratch scratch;
  const std::vector<JobRun> runs =
      scaling_read({write_job(scratch, "1", {1, 6400}), write_job(scratch, "4", {4, 25'600})});
  const ScalingReport report =
      scaling_report_of({runs,
                         scaling_read({write_job(scratch, "4s", {4, 51'200}), write_job(scratch, "8s", {8, 51'200}),
                                       write_job(scratch, "4t", {4, 51'200})}),
                         {},
                         Scaling::unclear});
  CHECK_FALSE(report.steps.lines[0].without_loader.has_value());
  REQUIRE(report.steps.lines[1].without_loader.has_value());
  CHECK(report.steps.lines[1].without_loader->id == "4s");
  REQUIRE(report.warnings.size() == 2);
  CHECK(mentions(report.warnings[0], {"8s", "8 ranks"}));
  CHECK(mentions(report.warnings[1], {"4t"}));
}

TEST_CASE("takt scaling: the golden text has the table and each kind of line") {
  const Scratch scratch;
  const ScalingReport report =
      scaling_report_of({scaling_read({write_job(scratch, "large", {4, 20'000, 1}),
                                       write_job(scratch, "b", {2, 10'000}), write_job(scratch, "a", {2, 5000})}),
                         scaling_read({write_job(scratch, "4s", {4, 51'200}), write_job(scratch, "8s", {8, 51'200}),
                                       write_job(scratch, "4t", {4, 51'200})}),
                         scaling_read({write_job(scratch, "alone", {4, 40'000})}), Scaling::strong});
  std::string text = takt::cli::scaling_table(report, takt::detail::Page(100, false));
  for (const std::string& warning : report.warnings) { text += warning + "\n"; }
  takt_test::check_golden("scaling.txt", text);
}

TEST_CASE("takt scaling: a job counts with all its ranks, even without a journal, and with its newest attempt") {
  const Scratch scratch;
  const std::vector<JobRun> cut = scaling_read({write_job(scratch, "cut", {4, 25'600, 1})});
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].ranks == 4);
  CHECK(cut[0].missing == 1);
  CHECK(cut[0].throughput.items == 19'200);
  write_job(scratch, "again", {4, 25'600});
  const std::vector<JobRun> again = scaling_read({write_job(scratch, "again", {2, 6400, 0, 1})});
  REQUIRE(again.size() == 1);
  CHECK(again[0].ranks == 2);
  CHECK(again[0].missing == 0);
  CHECK(again[0].throughput.items == 6400);
}

// Trials. The rates of the tutorial's first plot, batch size 64: its orange, blue and green curves.

TEST_CASE("takt scaling: puts IO, SYNTHETIC and FULL of trials into one table, as in the SC21 tutorial") {
  const Scratch scratch;
  const ScalingReport report =
      scaling_report_of({scaling_read({write_job(scratch, "all", only_trials(32, 68'000, 82'300, 51'700)),
                                       write_job(scratch, "node", only_trials(1, 2707, 2659, 2066))}),
                         {},
                         {},
                         Scaling::unclear});
  CHECK(report.warnings.empty());
  CHECK(report.steps.lines.empty());
  const nlohmann::json document = json_of(report);
  CHECK(document["runs"].empty());
  REQUIRE(document["trials"].size() == 3);
  const double efficiencies[] = {68'000 / (32 * 2707.0), 82'300 / (32 * 2659.0), 51'700 / (32 * 2066.0)};
  const char* const paths[] = {"trial SYNTHETIC", "trial IO", "trial FULL"};
  for (std::size_t kind = 0; kind < 3; ++kind) {
    const nlohmann::json& trials = document["trials"][kind];
    CHECK(trials["scaling"] == "weak");
    REQUIRE(trials["runs"].size() == 2);
    CHECK(trials["runs"][0]["run_id"] == "node");
    CHECK(trials["runs"][0]["path"] == paths[kind]);
    CHECK(trials["runs"][1]["ranks"] == 32);
    CHECK(trials["runs"][1]["efficiency"].get<double>() == Approx(efficiencies[kind]).epsilon(1e-6));
    CHECK(trials["runs"][1]["job_efficiency"].is_null());
  }
  CHECK(document["trials"][2]["runs"][1]["efficiency"].get<double>() == Approx(0.78).margin(0.005));
  CHECK(document["trials"][2]["runs"][1]["items_per_s_interval"][1].get<double>() == Approx(1.01 * 51'700));
  CHECK(document["trials"][2]["runs"][1]["without_loader"]["data_stall"].get<double>() == Approx(0.24).margin(0.005));
  const std::string table = scaling_table_of(report);
  INFO(table);
  CHECK(line_mentions(table, {"trials", "weak", "64.0 samples"}));
  CHECK(line_mentions(table, {"trial ", "ranks", "samples/s", "efficiency"}));
  CHECK(line_mentions(table, {"  all", "32", "68 000", "67 320 to 68 680", "25.12", "78.5 %"}));
  CHECK(line_mentions(table, {"  all", "32", "82 300", "81 477 to 83 123", "30.95", "96.7 %"}));
  CHECK(line_mentions(table, {"  all", "32", "51 700", "51 183 to 52 217", "25.02", "78.2 %"}));
  CHECK(line_mentions(table, {"FULL of 32 ranks", "24.0 %", "68 000"}));
  CHECK_FALSE(contains(table, "parallel"));
  CHECK(contains(takt::cli::scaling_csv(report), "\nnode,1,0,trial IO,300,19200,"));
}

TEST_CASE("takt scaling: trials without communication show its cost, by kind") {
  const Scratch scratch;
  const ScalingReport report =
      scaling_report_of({scaling_read({write_job(scratch, "64", only_trials(4, 68'000, 0, 0))}),
                         {},
                         scaling_read({write_job(scratch, "64-alone", only_trials(4, 91'000, 90'000, 0))}),
                         Scaling::unclear});
  REQUIRE(report.trials.size() == 1);
  CHECK(report.warnings.empty());
  const nlohmann::json cost = json_of(report)["trials"][0]["runs"][0]["without_communication"];
  CHECK(cost["share"].get<double>() == Approx(0.25).margin(0.005));
  CHECK(cost["lengthening"].get<double>() == Approx(0.34).margin(0.005));
  CHECK(line_mentions(scaling_table_of(report), {"SYNTHETIC of 4 ranks", "25.3 %", "33.8 %", "91 000", "64-alone"}));
}

TEST_CASE("takt scaling: compares the figures that runs of two sizes have, and names the others") {
  const Scratch scratch;
  Job both = only_trials(4, 0, 0, 8000);
  both.items = 25'600;
  const std::vector<JobRun> runs = scaling_read({write_job(scratch, "1", {1, 6400}), write_job(scratch, "4", both)});
  const ScalingReport report = scaling_report_of({runs, {}, {}, Scaling::unclear});
  CHECK(report.steps.lines.size() == 2);
  CHECK(report.trials.empty());
  REQUIRE(report.warnings.size() == 1);
  CHECK(mentions(report.warnings[0], {"trial FULL", "4 ranks", ": 4"}));
  const ScalingReport three = scaling_report_of(
      {scaling_read({scratch.path("1"), scratch.path("4"), write_job(scratch, "8", only_trials(8, 0, 0, 16'000))}),
       {},
       {},
       Scaling::unclear});
  CHECK(three.steps.lines.size() == 2);
  REQUIRE(three.trials.size() == 1);
  CHECK(three.trials[0].lines.size() == 2);
  CHECK(three.trials[0].lines[1].row.efficiency == Approx(1));
  CHECK(three.warnings.empty());
  const std::string table = scaling_table_of(three);
  CHECK(table.find("Batch") < table.find("trials"));
}

TEST_CASE("takt scaling: runs without a common figure are refused with the remedy") {
  const Scratch scratch;
  const ScalingRuns runs = {
      scaling_read({write_job(scratch, "steps", {1, 6400}), write_job(scratch, "full", only_trials(4, 0, 0, 8000))}),
      {},
      {},
      Scaling::unclear};
  CHECK(mentions(what_is_wrong(runs), {"TAKT_TRIALS", "trial FULL", ": full", ": steps"}));
  const ScalingRuns one = {scaling_read({scratch.path("full")}), {}, {}, Scaling::unclear};
  CHECK(mentions(what_is_wrong(one), {"this run", "4 ranks"}));
}

TEST_CASE("takt scaling: trials that count batches are left out, and ranks without trials are missing") {
  const Scratch scratch;
  const std::string batches = write_job(scratch, "batches", only_trials(1, 0, 0, 100));
  takt::TrialResults results = trials_of(only_trials(1, 0, 0, 100));
  results.unit = "batches";
  write_text(batches + "/rank-0-0/trials.json", trials_json(takt::RunInfo(), results));
  CHECK_THROWS_WITH(scaling_read({batches}), Catch::Matchers::Contains("run batches"));
  const std::string lacks = write_job(scratch, "lacks", only_trials(4, 0, 0, 100));
  REQUIRE(::unlink((lacks + "/rank-3-0/trials.json").c_str()) == 0);
  const std::vector<JobRun> runs = scaling_read({lacks});
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].without_trials == 1);
  CHECK(runs[0].trials[2].items_per_s == Approx(75));
  write_text(lacks + "/rank-3-0/trials.json", "{");
  CHECK_FALSE(read_job_runs({lacks}).all);
}

// The page.

TEST_CASE("takt scaling: the page has the rows of the JSON as data, and the cells of the table") {
  const Scratch scratch;
  Job one = only_trials(1, 2707, 2659, 2066);
  one.items = 20'656;
  Job all = only_trials(32, 68'000, 82'300, 51'700);
  all.items = 32 * 20'656;
  all.period_ns = 12'785'000'000;
  const ScalingReport report = scaling_report_of(
      {scaling_read({write_job(scratch, "all", all), write_job(scratch, "node", one)}), {}, {}, Scaling::unclear});
  const std::string page = takt::cli::scaling_page(report);
  const nlohmann::json drawn = page_data_of(page)["lines"];
  const nlohmann::json document = json_of(report);
  std::vector<nlohmann::json> expected = {document["runs"]};
  for (const nlohmann::json& each : document["trials"]) { expected.push_back(each["runs"]); }
  const char* const names[] = {"Batch", "SYNTHETIC", "IO", "FULL"};
  REQUIRE(drawn.size() == 4);
  for (std::size_t line = 0; line < 4; ++line) {
    CHECK(drawn[line]["name"] == names[line]);
    REQUIRE(drawn[line]["runs"].size() == 2);
    for (std::size_t at = 0; at < 2; ++at) {
      const nlohmann::json& run = drawn[line]["runs"][at];
      const nlohmann::json& row = expected[line][at];
      CHECK(run["run"] == row["run_id"]);
      CHECK(run["ranks"] == row["ranks"]);
      CHECK(run["rate"] == row["items_per_s"]);
      CHECK(run["low"] == row["items_per_s_interval"][0]);
      CHECK(run["high"] == row["items_per_s_interval"][1]);
      CHECK(run["speed_up"] == row["speed_up"]);
      CHECK(run["efficiency"] == row["efficiency"]);
    }
  }
  const std::string table = scaling_table_of(report);
  const std::vector<std::string> cells = cells_of(page);
  CHECK(cells.size() == 2 * 8 + 3 * 5 + 6 * 5);  // steps; kinds; trials of two runs
  for (const std::string& each : cells) { CHECK(contains(table, each)); }
  CHECK(contains(page, "FULL of 32 ranks: data stall 24.0 %"));
  CHECK(contains(page, "<h1>Batch from 1 to 32 ranks: 25.03 times the rate, 78.2 % efficiency</h1>"));
}

TEST_CASE("takt scaling: the page shows warnings, runs without an interval, and hostile names as text") {
  const Scratch scratch;
  const std::string hostile = "<img src=x>";
  ScalingRuns runs = {scaling_read({write_job(scratch, "1", {1, 6400}), write_job(scratch, "4", {4, 12'800})}),
                      {},
                      {},
                      Scaling::unclear};
  for (JobRun& each : runs.runs) { each.path = hostile; }
  runs.runs[1].id = hostile;
  runs.runs[1].throughput.items_low = runs.runs[1].throughput.items_high = 0;
  const std::string page = takt::cli::scaling_page(scaling_report_of(runs));
  CHECK_FALSE(contains(page, hostile));
  CHECK(contains(page, "--weak or --strong"));
  const nlohmann::json line = page_data_of(page)["lines"].at(0);
  CHECK(line["name"] == hostile);
  CHECK(line["runs"][1]["run"] == hostile);
  CHECK(line["runs"][1]["low"].is_null());
  CHECK(line["runs"][0]["low"].is_number());
}

TEST_CASE("takt scaling: --html writes the page, and the table goes to stdout") {
  const Scratch scratch;
  takt::cli::ScalingOptions options;
  options.runs = {write_job(scratch, "1", {1, 6400}), write_job(scratch, "4", {4, 25'600})};
  options.html = scratch.path("scaling.html");
  CHECK(takt::cli::scaling(options) == 0);
  CHECK(read_text(options.html) ==
        takt::cli::scaling_page(scaling_report_of({scaling_read(options.runs), {}, {}, Scaling::unclear})));
  options.html = scratch.path("none/scaling.html");
  CHECK_THROWS_WITH(takt::cli::scaling(options), Catch::Matchers::Contains("--html"));
}
