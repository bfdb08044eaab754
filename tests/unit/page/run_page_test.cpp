// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "page/run_page.hpp"

#include "findings/step_history.hpp"
#include "page/html.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/scratch.hpp"
#include "support/synthetic_run.hpp"

#include <takt/exporters/html.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

using takt::Snapshot;
using takt::detail::page_of;
using takt::detail::RunPage;
using takt_test::SyntheticRun;
using takt_test::SyntheticShape;

namespace {

bool has(const std::string& page, const std::string& part) { return page.find(part) != std::string::npos; }

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) { ++count; }
  return count;
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace

TEST_CASE("page: is readable without its script, which reads the embedded data") {
  SyntheticRun run({});
  run.run().findings.push_back({"input_bound", "IO <takes> most", {}, takt::Cost{1e9, 0.9e9, 1.1e9, 0.12}});
  const std::string page = page_of(run.run());
  CHECK(has(page, "IO &lt;takes&gt; most"));
  CHECK(has(page, "<strong>1.00 s</strong> <span>12.0 % "));
  CHECK(has(page, "<svg class=\"still\""));
  CHECK(has(page, "<td class=\"n\">2 000</td>"));
  CHECK(has(page, "<td>compute</td></tr>"));
  CHECK(has(page, "synthetic-20260301T101530Z-4711"));
  CHECK(has(page, "2026-03-01 10:15:30 UTC"));
  CHECK(count_of(page, "<script") == 3);
  const nlohmann::json data = data_of(page);
  CHECK(data["schema"] == "takt-page/1");
  CHECK(data["series"].size() == 1);
  CHECK(data["series"][0]["steps"] == 2000);
  CHECK(data["series"][0]["has_epochs"] == true);
  CHECK(data["metrics"][0]["name"] == "loss");
  CHECK(data["heat"].is_null());
}

TEST_CASE("page: its policy allows exactly its style and its script") {
  const std::string page = page_of(SyntheticRun({}).run());
  const std::string policy = "default-src 'none'; style-src '" + std::string(takt::detail::kPageStyle.hash) +
                             "'; script-src '" + std::string(takt::detail::kPageCommonScript.hash) + "' '" +
                             std::string(takt::detail::kPageRunScript.hash) + "'";
  CHECK(has(page, policy));
  CHECK(takt::detail::kPageStyle.hash.size() == 7 + 44);
  CHECK(has(page, "<style>" + std::string(takt::detail::kPageStyle.text) + "</style>"));
  for (const char* forbidden : {" style=\"", " onclick", "http:", "https:", "url(\""}) {
    std::string rest = page;
    INFO(forbidden);
    const std::string names = "http://www.w3.org/2000/svg";  // a namespace of elements; nothing is fetched from there
    for (std::size_t at = rest.find(names); at != std::string::npos; at = rest.find(names)) {
      rest.erase(at, names.size());
    }
    CHECK(!has(rest, forbidden));
  }
}

TEST_CASE("page: shows names that contain markup as text") {
  const std::string evil = "</script><img src=x onerror=alert(1)>{{data}}";
  SyntheticRun run({});
  Snapshot& snapshot = run.run();
  snapshot.run.name = snapshot.run.id = snapshot.run.host = evil;
  for (takt::PathStats& each : snapshot.paths) { each.name = evil; }
  snapshot.threads[0].name = evil;
  snapshot.params[evil] = evil;
  snapshot.losses.push_back({evil, evil, 1});
  snapshot.devices.push_back({evil, evil, evil});
  snapshot.findings.push_back({evil, evil, {{evil, 1, evil}}, {}});
  const std::string page = page_of(snapshot);
  CHECK(!has(page, "<img"));
  CHECK(count_of(page, "</script>") == 3);
  CHECK(data_of(page)["paths"][0]["name"].get<std::string>().rfind("</script>", 0) == 0);
}

TEST_CASE("page: works for a run without steps and for an empty one") {
  const std::string nothing = page_of(Snapshot());
  CHECK(has(nothing, "No findings."));
  CHECK(has(nothing, "No steps were kept."));
  CHECK(data_of(nothing)["series"].empty());
  Snapshot idle;
  idle.history = std::make_shared<const takt::StepHistory>();
  CHECK(has(page_of(idle), "No step"));
}

TEST_CASE("page: reports omitted data") {
  SyntheticShape shape;
  shape.steps = 40'000;
  shape.metrics = 12;
  SyntheticRun run(shape);
  for (int at = 0; at < 1000; ++at) {
    const std::uint32_t path = takt_test::add_path(run.run(), "region " + std::to_string(at));
    run.run().paths[path].host.add(500 + static_cast<std::uint64_t>(at));
    run.run().params["parameter " + std::to_string(at)] = "1";
  }
  const std::string page = page_of(run.run());
  CHECK(has(page, "this page: 806 paths"));
  CHECK(has(page, "this page: 152 regions"));
  CHECK(data_of(page)["metrics"].size() == 12);
  CHECK(has(page, "each 16 steps"));
  CHECK(has(page, ">903 more</span></th>"));
  CHECK(page.size() < 400'000);
}

TEST_CASE("page: a million steps take at most 400 kB") {
  SyntheticShape shape;
  shape.steps = 1'000'000;
  shape.regions = 12;
  shape.metrics = 2;
  const std::string page = page_of(SyntheticRun(shape).run());
  CHECK(page.size() < 400'000);
  CHECK(data_of(page)["series"][0]["steps"] == 1'000'000);
}

TEST_CASE("page: accepts arbitrary step numbers and nonsensical times") {
  Snapshot snapshot;
  const std::uint32_t batch = takt_test::add_path(snapshot, "Batch");
  const std::uint32_t series = takt_test::add_series(snapshot, batch, takt_test::add_thread(snapshot, "main"));
  const std::int64_t numbers[] = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 0,
                                  -1};
  for (std::uint64_t at = 0; at < 200; ++at) {
    takt::Row& row = takt_test::add_row(snapshot, series, at);
    row.step = numbers[at % 4];
    row.host_ns = at % 3 == 0 ? std::numeric_limits<std::int64_t>::max() : -5;
    row.period_ns = numbers[at % 4];
    row.begin_ns = numbers[(at + 1) % 4];
    takt::Cell cell;
    cell.path = static_cast<std::uint32_t>(at * 1'000'003);
    cell.host_ns = numbers[at % 4];
    row.cells.push_back(cell);
  }
  takt::StepHistory history;
  history.add(snapshot);
  snapshot.history = std::make_shared<const takt::StepHistory>(history.finished());
  snapshot.wall_ns = -1;
  snapshot.run.start_unix_ns = std::numeric_limits<std::int64_t>::min();
  snapshot.findings.push_back({"x", "x", {{"x", 1e300, "ns"}}, takt::Cost{-1e300, 0, 0, 1e300}});
  const std::string page = page_of(snapshot);
  CHECK(data_of(page)["series"][0]["steps"] == 200);
}

TEST_CASE("page: shows the number of metric values that are not finite") {
  Snapshot snapshot = SyntheticRun({}).run();
  for (const char* name : {"lost", "lost", "fine"}) {
    takt::Metric& metric = snapshot.metrics.emplace_back();
    metric.name = name;
    metric.value = metric.name == "lost" ? std::numeric_limits<double>::quiet_NaN() : 1;
  }
  takt::StepHistory history;
  history.add(snapshot);
  snapshot.history = std::make_shared<const takt::StepHistory>(history.finished());
  const std::string page = page_of(snapshot);
  CHECK(has(page, "this page: 2 "));
  CHECK_FALSE(has(page, "of fine are"));
}

TEST_CASE("page: Epochs are a table with their metrics") {
  Snapshot snapshot = SyntheticRun({}).run();
  CHECK_FALSE(has(page_of(snapshot), "epochs-table\">"));
  for (int at = 0; at < 150; ++at) {
    takt::EpochStats& epoch = snapshot.epochs.emplace_back();
    epoch.seconds = 2.5;
    epoch.metrics["<loss>"] = 0.25;
    if (at != 0) { epoch.steps = 1200; }
    if (at != 0) { epoch.samples_per_s = 500; }
  }
  snapshot.epochs_left_out = 3;
  const std::string page = page_of(snapshot);
  CHECK(has(page, "samples/s</th><th scope=\"col\" class=\"n\">&lt;loss&gt;</th>"));
  CHECK(has(page,
            "<span class=\"name\">0</span></th><td class=\"n\">2.50 s</td><td class=\"n\">-</td>"
            "<td class=\"n\">-</td><td class=\"n\">0.25</td></tr>"));
  CHECK(has(page, "<span class=\"name\">149</span></th><td class=\"n\">2.50 s</td><td class=\"n\">1 200</td>"));
  CHECK_FALSE(has(page, "<span class=\"name\">75</span>"));
  CHECK(has(page, "53 further Epochs"));
}

TEST_CASE("page: a run of one rank speaks of no others") {
  Snapshot snapshot = SyntheticRun({}).run();
  const std::string page = page_of(snapshot);
  const std::string body = page.substr(0, page.find("<script"));
  CHECK_FALSE(has(body.substr(body.find("</style>")), "rank"));
  CHECK(data_of(page)["ranks"].empty());
  snapshot.run.world_size = 4;
  CHECK(has(page_of(snapshot), "rank 0 of 4"));
}

TEST_CASE("page: a job shows the mean of a rank, and ranks to choose from") {
  SyntheticShape shape;
  shape.steps = 400;
  shape.regions = 5;
  const Snapshot first = SyntheticRun(shape).run();
  shape.steps = 200;
  shape.regions = 4;
  Snapshot second = SyntheticRun(shape).run();
  second.run.rank = 1;
  takt::detail::JobReport job;
  job.sum = first;
  job.sum.run.rank = -1;
  job.sum.run.world_size = 2;
  for (takt::PathStats& each : job.sum.paths) { each.self_ns = 6'000'000'000; }
  RunPage page;
  page.figures = &job.sum;
  page.steps = &first;
  page.job = &job;
  page.ranks = {&first, &second};
  for (const Snapshot* each : page.ranks) { takt::detail::merge_into(job.record, takt::detail::record_of(*each)); }
  const std::string html = takt::detail::run_page(page);
  CHECK(has(html, "<td class=\"n\">3.00 s</td><td class=\"n\">200</td>"));
  CHECK(has(html, "mean of 2 ranks"));
  const nlohmann::json data = data_of(html);
  REQUIRE(data["ranks"].size() == 2);
  CHECK(data["run"]["ranks"] == 2);
  CHECK(data["ranks"][1]["rank"] == 1);
  CHECK(data["ranks"][1]["series"]["steps"] == 200);
  CHECK(data["ranks"][1]["series"]["path"] == data["series"][0]["path"]);
  REQUIRE(data["ranks"][1]["paths"].size() == data["paths"].size());
  CHECK(data["ranks"][1]["paths"].back().is_null());
  CHECK(data["ranks"][0]["paths"][1][0] == 400);
}

TEST_CASE("page: the exporter writes the complete page at the end") {
  const takt_test::Scratch scratch;
  const std::string path = scratch.path("run.html");
  takt::HtmlExporter exporter(path);
  Snapshot snapshot = SyntheticRun({}).run();
  snapshot.finished = false;
  CHECK(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
  CHECK(takt_test::read_text(path).empty());
  snapshot.finished = true;
  CHECK(exporter.export_snapshot(snapshot) == takt::ExportResult::ok);
  CHECK(takt_test::read_text(path) == takt::format_html(snapshot));
  const support::CaughtErrors caught;
  takt::HtmlExporter nowhere(scratch.path("no/such/directory/run.html"));
  CHECK(nowhere.export_snapshot(snapshot) == takt::ExportResult::retry);
  CHECK(has(caught.text(), "no/such/directory"));
}
