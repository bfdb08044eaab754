// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/job_json.hpp"

#include "findings/finding_json.hpp"

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// null where no rank has it.
JsonText over_ranks_json(const OverRanks& over) {
  if (over.ranks == 0) { return {}; }
  return {{"ranks", over.ranks},       {"mean_ns", over.mean_ns},    {"min_ns", over.min_ns},
          {"min_rank", over.min_rank}, {"max_ns", over.max_ns},      {"max_rank", over.max_rank},
          {"stdev_ns", over.stdev_ns}, {"imbalance", over.imbalance}};
}

JsonText job_path_json(const Job& job, std::uint32_t index) {
  const JobPath& path = job.paths[index];
  return {{"path", job.path_name(index)},
          {"kind", to_string(path.kind)},
          {"n", path.host.n()},
          {"total", over_ranks_json(path.host_total)},
          {"device_total", over_ranks_json(path.device_total)},
          {"share", path.share}};
}

/// null where ranks have no steps.
JsonText efficiency_json(const JobEfficiency& efficiency) {
  if (efficiency.parallel <= 0) { return {}; }
  return {{"load_balance", efficiency.load_balance},
          {"communication", efficiency.communication},
          {"parallel", efficiency.parallel}};
}

/// null where there are no stages.
JsonText pipeline_json(const Pipeline& pipeline) {
  if (pipeline.stages.empty()) { return {}; }
  JsonText stages = JsonText::array();
  for (const StageWait& each : pipeline.stages) {
    stages.push_back({{"stage", each.stage}, {"ranks", each.ranks}, {"waits", each.share}});
  }
  const bool known = pipeline.micro_batches != 0;
  return {{"stages", stages},
          {"micro_batches", known ? JsonText(pipeline.micro_batches) : JsonText()},
          {"ideal", known ? JsonText(pipeline.ideal) : JsonText()}};
}

}  // namespace

void add_comparison(JsonText& job, const RankComparison& comparison) {
  JsonText findings = JsonText::array();
  for (const Finding& each : comparison.findings) { findings.push_back(finding_json(each)); }
  job.add("findings", findings);
  job.add("steps", comparison.steps);
  job.add("one_step_in", comparison.one_step_in);
  job.add("ranks_left_out", comparison.left_out);
  job.add("steps_unexposed", comparison.unexposed);
  job.add("efficiency", efficiency_json(comparison.efficiency));
  job.add("pipeline", pipeline_json(comparison.pipeline));
}

JsonText throughput_json(const std::vector<JobThroughput>& all,
                         const std::function<std::string(std::uint32_t path)>& path_name) {
  JsonText list = JsonText::array();
  for (const JobThroughput& each : all) {
    const Throughput& throughput = each.throughput;
    const bool known = throughput.no_interval == NoInterval::none;
    list.push_back({{"path", path_name(each.path)},
                    {"items", throughput.items},
                    {"period_ns", throughput.period_ns},
                    {"items_per_s", throughput.items_per_s},
                    {"items_per_s_low", known ? JsonText(throughput.items_low) : JsonText()},
                    {"items_per_s_high", known ? JsonText(throughput.items_high) : JsonText()},
                    {"steps_per_s", throughput.steps_per_s},
                    {"slowest", each.slowest}});
  }
  return list;
}

JsonText job_json(const Snapshot& snapshot) {
  if (snapshot.job == nullptr) { return {}; }
  const Job& job = *snapshot.job;
  JsonText missing = JsonText::array();
  for (const std::uint32_t rank : job.missing) { missing.push_back(rank); }
  JsonText paths = JsonText::array();
  for (std::uint32_t index = 0; index < job.paths.size(); ++index) { paths.push_back(job_path_json(job, index)); }
  JsonText json = {{"ranks", job.wall.ranks},
                   {"world_size", job.world_size},
                   {"missing_ranks", missing},
                   {"wall", over_ranks_json(job.wall)}};
  add_comparison(json, job.comparison);
  json.add("throughput", throughput_json(job.throughput, [&](std::uint32_t path) { return job.path_name(path); }));
  json.add("paths", paths);
  return json;
}

}  // namespace detail
TAKT_END_NAMESPACE
