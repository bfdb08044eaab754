// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Writes pages of takt scaling with made-up numbers: scaling_page_program <kind> <directory>. Also writes summary.json,
// the output of takt scaling --json for the same data.
#include "cli/scaling.hpp"
#include "cli/scaling_page.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace {

using takt::cli::JobRun;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>\"'&{{body}}<!--";

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) { std::exit(1); }
}

takt::Throughput throughput_of(std::uint64_t ranks, double a_rank, double lost) {
  takt::Throughput rate;
  rate.steps = 500;
  rate.items = 500 * 64 * ranks;
  rate.items_per_s = a_rank * static_cast<double>(ranks) * (1 - lost * static_cast<double>(ranks - 1) / 64);
  rate.period_ns = static_cast<std::uint64_t>(static_cast<double>(rate.items) * 1e9 / rate.items_per_s);
  rate.items_low = 0.94 * rate.items_per_s;
  rate.items_high = 1.05 * rate.items_per_s;
  return rate;
}

JobRun run_of(const std::string& name, std::uint64_t ranks, bool has_trials) {
  JobRun run;
  run.id = name + std::to_string(ranks);
  run.ranks = ranks;
  run.path = "Epoch/Batch";
  run.throughput = throughput_of(ranks, 1880, 0.5);
  run.efficiency = takt::JobEfficiency();
  if (has_trials) {
    run.trials = {throughput_of(ranks, 2707, 0.3), throughput_of(ranks, 2659, 0.7), throughput_of(ranks, 2066, 0.45)};
  }
  return run;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = count == 3 ? arguments[1] : "";
  takt::cli::ScalingRuns runs;
  if (kind == "usual") {
    for (const std::uint64_t ranks : {1, 2, 4, 8, 16, 32}) { runs.runs.push_back(run_of("run-", ranks, true)); }
  } else if (kind == "few") {  // steps of two sizes, of which one has two runs
    for (const std::uint64_t ranks : {1, 4}) { runs.runs.push_back(run_of("run-", ranks, false)); }
    runs.runs.push_back(run_of("again-", 4, false));
    runs.runs.back().throughput = throughput_of(4, 1500, 0.5);
  } else if (kind == "one") {  // one size, with a run without communication
    runs.runs.push_back(run_of("run-", 4, false));
    runs.without_communication.push_back(run_of("alone-", 4, false));
  } else if (kind == "hostile") {
    for (const std::uint64_t ranks : {1, 4}) {
      runs.runs.push_back(run_of(kHostile, ranks, true));
      runs.runs.back().path = kHostile;
    }
  } else if (kind == "many") {
    for (std::uint64_t ranks = 1; ranks <= 60; ++ranks) { runs.runs.push_back(run_of("run-", ranks, true)); }
  } else {
    std::fprintf(stderr, "scaling_page_program <kind> <directory>\n");
    return 2;
  }
  const std::string directory = arguments[2];
  const takt::cli::ScalingReport report = takt::cli::scaling_report_of(runs);
  write_file(directory + "/run.html", takt::cli::scaling_page(report));
  write_file(directory + "/summary.json", takt::cli::scaling_json(report));
  return 0;
}
