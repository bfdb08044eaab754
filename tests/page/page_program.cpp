// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Writes pages of runs with made-up numbers, for tests in a browser: page_program <kind> <directory>. Also writes
// summary.json with the same figures, and times.json with each step's time and the spikes.
#include <takt/exporters/json.hpp>

#include "page/run_page.hpp"
#include "ranks/job_efficiency.hpp"
#include "ranks/rank_heat.hpp"
#include "ranks/verdict.hpp"
#include "support/synthetic_run.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using takt::detail::JobReport;
using takt::detail::RunPage;
using takt_test::SyntheticRun;
using takt_test::SyntheticShape;

constexpr const char* kHostile = "</script><img src=x onerror=alert(1)>\"'&{{body}}<!--\xE2\x80\xAE";

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) { std::exit(1); }
}

void write_times(const SyntheticRun& run, const std::string& directory) {
  std::string text = "{\"times\":[";
  for (const std::int64_t each : run.times()) { text += std::to_string(each) + ","; }
  if (text.back() == ',') { text.pop_back(); }
  text += "],\"spikes\":[";
  for (const std::uint64_t each : run.spikes()) { text += std::to_string(each) + ","; }
  if (text.back() == ',') { text.pop_back(); }
  write_file(directory + "/times.json", text + "]}");
}

takt::Finding finding_of(const char* what, const std::string& sentence, double ns, double share) {
  takt::Finding finding;
  finding.what = what;
  finding.sentence = sentence;
  finding.evidence = {{"share_of_step", share, ""}, {"mean", ns / 2000, "ns"}, {"steps", 2000, "steps"}};
  finding.cost = takt::Cost{ns, 0.9 * ns, 1.1 * ns, share};
  return finding;
}

void add_findings(takt::Snapshot& run) {
  run.findings.push_back(finding_of(
      "input_bound",
      "input-bound: IO is 12 % of a step, and nothing overlaps it; without it a step takes 76.0 ms instead of 87.0 ms",
      22e9, 0.12));
  run.findings.push_back(
      finding_of("spikes", "6 steps take 5.2 x the median, without a pattern: 1.4 % of the run", 2.6e9, 0.014));
  run.findings.back().evidence.clear();
  run.findings.push_back(finding_of("unused", "\"Augment\" was never ended: its time is not known", 0, 0));
  run.findings.back().cost.reset();
  run.losses.push_back({"end_without_start", "Optimizer", 1});
  for (int at = 0; at < 5; ++at) {
    takt::EpochStats& epoch = run.epochs.emplace_back();
    epoch.last_step = 400 * (at + 1) - 1;
    epoch.seconds = 35;
    epoch.steps = 400;
    epoch.samples_per_s = 731;
    epoch.metrics["loss"] = 2.0 / (at + 1);
    if (at > 0) { epoch.metrics["accuracy"] = 0.5; }
  }
}

void write_page(const SyntheticShape& shape, const std::string& directory,
                const std::function<void(takt::Snapshot&)>& change = {}) {
  SyntheticRun run(shape);
  if (change) { change(run.run()); }
  write_file(directory + "/run.html", takt::detail::page_of(run.run()));
  write_file(directory + "/summary.json", takt::format_json(run.run()));
  write_times(run, directory);
}

/// Adds a run's figures to those of runs whose regions are in the same order.
void add_up(takt::Snapshot& sum, const takt::Snapshot& one) {
  if (sum.paths.empty()) {
    sum = one;
    return;
  }
  for (std::size_t at = 0; at < one.paths.size(); ++at) {
    if (at == sum.paths.size()) {
      sum.paths.push_back(one.paths[at]);
      continue;
    }
    sum.paths[at].host.merge(one.paths[at].host);
    sum.paths[at].self_ns += one.paths[at].self_ns;
  }
}

/// Ranks of a job, the third of which is slow.
void write_job(std::size_t ranks, const std::string& directory, const SyntheticShape& shape = {}) {
  takt_test::SimulatedJob simulated;
  simulated.ranks = ranks;
  simulated.steps = 300;
  simulated.slow = {3};
  simulated.slower = 0.2;
  const takt::detail::StepTimes times = takt_test::simulate(simulated, 11);
  std::vector<std::int64_t> numbers;
  for (std::int64_t step = 0; step < static_cast<std::int64_t>(simulated.steps); ++step) {
    numbers.push_back(10 + 4 * step);
  }
  constexpr std::size_t kChoices = 8;
  std::vector<takt::Snapshot> choices;
  JobReport job;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank < kChoices) {
      SyntheticShape its = shape;
      if (rank == 5) { its.steps /= 2; }  // it died
      if (rank == 3) { ++its.regions; }
      its.seed += rank;
      choices.push_back(SyntheticRun(its).run());
    }
    takt::Snapshot one = choices[rank % kChoices];
    one.run.rank = static_cast<int>(rank);
    one.run.world_size = static_cast<int>(ranks);
    one.wall_ns += static_cast<std::int64_t>(rank) * 1'000'000;
    if (rank < kChoices) { choices[rank] = one; }
    takt::detail::merge_into(job.record, takt::detail::record_of(one));
    add_up(job.sum, one);
  }
  job.sum.run.rank = -1;
  job.sum.run.world_size = static_cast<int>(ranks);
  for (const takt::detail::RankVerdict& each : takt::detail::verdicts_of(times)) {
    job.comparison.findings.push_back(each.finding);
  }
  job.comparison.efficiency = takt::detail::efficiency_of(times);
  job.comparison.steps = times.steps();
  job.heat = takt::detail::heat_of(times, numbers);
  RunPage page;
  page.figures = &job.sum;
  page.steps = &choices.front();
  page.job = &job;
  for (const takt::Snapshot& each : choices) { page.ranks.push_back(&each); }
  page.endings = {
      "rank 5: died in Epoch > Batch > Comm, open 312 s (thread main); last heard of at 2026-03-01 10:25:12 UTC"};
  write_file(directory + "/run.html", takt::detail::run_page(page));
  write_file(directory + "/summary.json", takt::format_json(job.sum));
}

/// Names that a careless page would treat as markup or script.
void make_hostile(takt::Snapshot& run) {
  run.run.name = run.run.id = run.run.host = kHostile;
  for (takt::PathStats& each : run.paths) {
    if (each.name != "Batch" && each.name != "Epoch") { each.name = kHostile + each.name; }
  }
  run.threads.front().name = kHostile;
  run.params = {{kHostile, kHostile}};
  run.tags = {{"long", std::string(100'000, 'x')}, {"bytes", "\xFF\xFE\x01\x1B[31m"}};
  run.losses.push_back({kHostile, kHostile, 3});
  run.findings.push_back(finding_of(kHostile, kHostile, 1e9, 0.1));
  run.devices.push_back({kHostile, kHostile, kHostile});
}

/// Long template names: one word that is wider than the page.
void make_long_names(takt::Snapshot& run) {
  for (takt::PathStats& each : run.paths) { each.name += "<" + std::string(240, 'T') + ">"; }
  run.threads.front().name = std::string(240, 't');
  run.params = {{std::string(240, 'p'), std::string(240, 'v')}};
}

/// The maximum data of a page.
void write_largest(const std::string& directory) {
  SyntheticShape shape;
  shape.steps = 1'000'000;
  shape.steps_an_epoch = 1000;
  shape.regions = 60;
  shape.metrics = 12;
  shape.spikes = 40;
  write_page(shape, directory, [](takt::Snapshot& run) {
    add_findings(run);
    for (int at = 0; at < 3000; ++at) {
      const std::uint32_t path =
          takt_test::add_path(run, "a rather long name of a region, which is number " + std::to_string(at), 0);
      for (std::uint64_t call = 1; call < 200; ++call) { run.paths[path].host.add(call * call * 1000); }
    }
    for (int at = 0; at < 500; ++at) {
      run.params["parameter " + std::to_string(at)] = std::string(1000, 'v');
      run.losses.push_back({"loss " + std::to_string(at), "somewhere", 1});
    }
  });
}

using Kinds = std::map<std::string, std::function<void(const std::string&)>>;

Kinds kinds() {
  Kinds all;
  const auto shaped = [](auto change) {
    return [change](const std::string& directory) {
      SyntheticShape shape;
      change(shape);
      write_page(shape, directory, add_findings);
    };
  };
  all["usual"] = shaped([](SyntheticShape&) {});
  all["tiny"] = shaped([](SyntheticShape& shape) { shape.steps = 3, shape.warmup = 0; });
  all["one"] = shaped([](SyntheticShape& shape) { shape.steps = 1; });
  all["long"] = shaped([](SyntheticShape& shape) {
    shape.steps = 1'000'000;
    shape.steps_an_epoch = 100'000;
    shape.spikes = 20;
  });
  all["regions"] = shaped([](SyntheticShape& shape) { shape.regions = 60; });
  all["gpu"] = shaped([](SyntheticShape& shape) { shape.has_gpu = true, shape.metrics = 3; });
  all["hostile"] = [](const std::string& directory) { write_page({}, directory, make_hostile); };
  all["long_names"] = [](const std::string& directory) { write_page({}, directory, make_long_names); };
  all["empty"] = [](const std::string& directory) {
    write_file(directory + "/run.html", takt::detail::page_of(takt::Snapshot()));
  };
  all["ranks"] = [](const std::string& directory) { write_job(8, directory); };
  all["many_ranks"] = [](const std::string& directory) { write_job(1000, directory); };
  all["largest"] = write_largest;
  all["largest_job"] = [](const std::string& directory) {
    SyntheticShape shape;
    shape.steps = 4000;
    shape.regions = 190;
    shape.metrics = 12;
    write_job(8, directory, shape);
  };
  return all;
}

}  // namespace

int main(int count, char** arguments) {
  const Kinds all = kinds();
  const auto found = count == 3 ? all.find(arguments[1]) : all.end();
  if (found == all.end()) {
    std::fprintf(stderr, "page_program <kind> <directory>\n");
    return 2;
  }
  found->second(arguments[2]);
  return 0;
}
