// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Writes pages of comparisons with made-up numbers: diff_page_program <kind> <directory>. Also writes summary.json, the
// output of takt diff --json for the same data, and headline.txt, the first line of its text.
#include "cli/diff_document.hpp"
#include "cli/diff_page.hpp"
#include "support/synthetic_run.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

using takt::cli::DrawnRuns;
using takt::detail::ComparedRun;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>\"'&{{body}}<!--";

struct Shape {
  int runs = 3;  ///< per side
  int regions = 6;
  double slower = 0.05;  ///< of the new side
  bool is_hostile = false;
};

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) { std::exit(1); }
}

ComparedRun run_of(int number, const Shape& shape, double slower, takt_test::Random& random) {
  ComparedRun run;
  run.name = (shape.is_hostile ? kHostile : "run-") + std::to_string(number);
  run.start_unix_ns = number;
  run.ranks = run.world_size = 1;
  run.state = "finished";
  run.step_path = "Batch";
  const double pace = (1 + slower) * (1 + 0.004 * takt_test::normal(random));
  run.step.mean = {90e6 * pace};
  run.step.p25 = {88e6 * pace};
  run.items_per_s = 64e9 / run.step.mean.value;
  run.items_a_step = 64;
  for (int at = 0; at < shape.regions; ++at) {
    const std::string name =
        shape.is_hostile ? kHostile + std::to_string(at) : "Epoch/Batch/Layer " + std::to_string(at);
    takt::detail::RunRegion& region = run.regions[name];
    const double own = at == 1 ? 1 - slower : at % 2 == 0 ? 1 : 1 + slower;
    region.mean = {40e6 / (at + 1) * own * (1 + 0.004 * takt_test::normal(random))};
    region.p25 = {0.97 * region.mean.value};
    region.p50 = {0.99 * region.mean.value};
    region.p95 = {1.2 * region.mean.value};
    region.calls_a_step = 1;
  }
  run.facts["parameter lr"] = slower > 0 ? "0.1" : "0.01";
  return run;
}

void draw(DrawnRuns& drawn, const std::string& name, bool is_new, int number) {
  takt_test::SyntheticShape shape;
  shape.seed = static_cast<std::uint64_t>(number) + 1;
  shape.steps = 1500;
  shape.regions = is_new ? 5 : 4;
  takt_test::SyntheticRun run(shape);
  takt::Snapshot shown = run.run();
  for (std::size_t step = 0; step < run.times().size(); ++step) {
    takt_test::add_row(shown, 0, step).host_ns = run.times()[step];
    shown.rows.back().period_ns = run.times()[step];
  }
  drawn.add(name, is_new, [&](takt::StepHistory& history) { history.add(shown); });
}

void write_comparison(const Shape& shape, const std::string& directory) {
  takt_test::Random random(7);
  std::vector<ComparedRun> base;
  std::vector<ComparedRun> now;
  DrawnRuns drawn;
  for (int number = 0; number < shape.runs; ++number) {
    base.push_back(run_of(2 * number, shape, 0, random));
    now.push_back(run_of(2 * number + 1, shape, shape.slower, random));
    draw(drawn, base.back().name, false, 2 * number);
    draw(drawn, now.back().name, true, 2 * number + 1);
  }
  takt::detail::ComparisonOptions options;
  options.has_gate = true;
  options.threshold = 0.02;
  takt::detail::Comparison comparison = takt::detail::compare_runs(base, now, options);
  if (shape.is_hostile) { comparison.obstacles.push_back({kHostile, kHostile, {}, {}}); }
  write_file(directory + "/run.html", takt::cli::diff_page(comparison, kHostile, drawn));
  write_file(directory + "/summary.json", takt::cli::diff_json(comparison, kHostile));
  write_file(directory + "/headline.txt", takt::cli::diff_head(comparison, kHostile).front());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = count == 3 ? arguments[1] : "";
  Shape shape;
  if (kind == "few") {
    shape.runs = 1;
  } else if (kind == "hostile") {
    shape.is_hostile = true;
  } else if (kind == "many") {
    shape.runs = 120;
    shape.regions = 300;
  } else if (kind != "usual") {
    std::fprintf(stderr, "diff_page_program <kind> <directory>\n");
    return 2;
  }
  write_comparison(shape, arguments[2]);
  return 0;
}
