// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include <cstdint>
#include <string>

namespace takt_test {

/// Appends a path below `parent` and returns its index.
inline std::uint32_t add_path(takt::Snapshot& snapshot, const std::string& name, std::uint32_t parent = takt::kNoIndex,
                              takt::Kind kind = takt::Kind::other) {
  takt::PathStats path;
  path.name = name;
  path.kind = kind;
  path.parent = parent;
  path.depth = parent == takt::kNoIndex ? 0 : snapshot.paths[parent].depth + 1;
  snapshot.paths.push_back(path);
  return static_cast<std::uint32_t>(snapshot.paths.size() - 1);
}

inline std::uint32_t add_thread(takt::Snapshot& snapshot, const std::string& name) {
  takt::ThreadInfo thread;
  thread.id = static_cast<std::uint32_t>(snapshot.threads.size());
  thread.name = name;
  snapshot.threads.push_back(thread);
  return thread.id;
}

inline std::uint32_t add_series(takt::Snapshot& snapshot, std::uint32_t path, std::uint32_t thread) {
  takt::Series series;
  series.path = path;
  series.thread = thread;
  snapshot.series.push_back(series);
  return static_cast<std::uint32_t>(snapshot.series.size() - 1);
}

/// Adds a row to `series`, with its number as sequence and step.
inline takt::Row& add_row(takt::Snapshot& snapshot, std::uint32_t series, std::uint64_t sequence) {
  takt::Row row;
  row.sequence = sequence;
  row.series = series;
  row.step = static_cast<std::int64_t>(sequence);
  row.begin_ns = static_cast<std::int64_t>(sequence) * 1000;
  row.host_ns = 900;
  row.period_ns = 1000;
  row.items = 64;
  snapshot.rows.push_back(row);
  return snapshot.rows.back();
}

/// Adds a first call of 3 `ns`, `warmup` calls of 2 `ns`, and calls within a quarter of `ns`. The values are always the
/// same.
inline void add_calls(takt::Summary& summary, std::uint64_t warmup, std::uint64_t n, std::uint64_t ns) {
  for (std::uint64_t call = 0; call < warmup; ++call) { summary.add_warmup(call == 0 ? 3 * ns : 2 * ns); }
  std::uint64_t state = 1;
  for (std::uint64_t call = 0; call < n; ++call) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t spread = (state >> 33U) % (ns / 2 + 1);
    const std::uint64_t duration = ns - ns / 4 + spread;
    if (call == 0 && warmup == 0) {
      summary.add_first(3 * ns);
    } else {
      summary.add(duration);
    }
  }
}

/// Returns a run of one process on one GPU that has some of everything a report can contain. Not a measurement.
inline takt::Snapshot sample_snapshot() {
  using takt::Kind;
  constexpr std::uint64_t ms = 1'000'000;
  takt::Snapshot snapshot;
  snapshot.run.name = "digits";
  snapshot.run.id = "digits-20260301-101530-5f3a";
  snapshot.run.host = "node7";
  snapshot.run.rank_source = "default";
  snapshot.run.pid = 4711;
  snapshot.run.start_unix_ns = 1'772'360'130'000'000'000;
  snapshot.run.directory = "takt-runs/digits-20260301-101530-5f3a/rank-0-0-4711";
  snapshot.clock.name = "tsc";
  snapshot.clock.reason = "invariant TSC";
  snapshot.clock.frequency_hz = 2.5e9;
  snapshot.clock.error_ppm = 0.4;
  snapshot.clock.worst_error_ppm = 21;
  snapshot.clock.error_since_ns = 10'000 * static_cast<std::int64_t>(ms);
  snapshot.clock.empty_region_ns = 17;
  snapshot.clock.region_cost_ns = 23;
  snapshot.process.cpu_ns = 70'200 * static_cast<std::int64_t>(ms);
  snapshot.wall_ns = 62'400 * static_cast<std::int64_t>(ms);
  snapshot.uncovered_ns = 1'800 * static_cast<std::int64_t>(ms);
  snapshot.overhead_ns = 412'000;
  snapshot.finished = true;
  snapshot.params["lr"] = "0.01";
  snapshot.tags["git"] = "4e593bb";

  const std::uint32_t main_thread = add_thread(snapshot, "main");
  const std::uint32_t loader = add_thread(snapshot, "loader");
  const std::uint32_t epoch = add_path(snapshot, "Epoch");
  const std::uint32_t batch = add_path(snapshot, "Batch", epoch);
  const std::uint32_t io = add_path(snapshot, "IO", batch, Kind::io);
  const std::uint32_t forward = add_path(snapshot, "Forward", batch, Kind::compute);
  const std::uint32_t backward = add_path(snapshot, "Backward", batch, Kind::compute);
  const std::uint32_t all_reduce = add_path(snapshot, "Comm", backward, Kind::comm);
  const std::uint32_t optimizer = add_path(snapshot, "Optimizer", batch, Kind::compute);
  const std::uint32_t validation = add_path(snapshot, "Validation", epoch);
  const std::uint32_t validation_batch = add_path(snapshot, "Batch", validation);
  const std::uint32_t decode = add_path(snapshot, "Decode", takt::kNoIndex, Kind::io);

  auto& paths = snapshot.paths;
  paths[epoch].host.add_first(21'000 * ms);
  paths[epoch].host.add(20'000 * ms);
  paths[epoch].host.add(19'600 * ms);
  add_calls(paths[batch].host, 10, 590, 90 * ms);
  add_calls(paths[io].host, 10, 590, 11 * ms);
  add_calls(paths[forward].host, 10, 590, 24 * ms);
  add_calls(paths[backward].host, 10, 590, 48 * ms);
  add_calls(paths[all_reduce].host, 40, 2360, 7 * ms);
  add_calls(paths[optimizer].host, 10, 590, 4 * ms);
  paths[validation].host.add_first(1'000 * ms);
  paths[validation].host.add(720 * ms);
  paths[validation].host.add(710 * ms);
  add_calls(paths[validation_batch].host, 10, 50, 29 * ms);
  add_calls(paths[decode].host, 0, 200, 95 * ms);
  add_calls(paths[forward].device, 10, 590, 22 * ms);
  add_calls(paths[backward].device, 10, 588, 46 * ms);
  for (takt::PathStats& path : paths) { path.self_ns = path.host.total_ns(); }
  for (const takt::PathStats& path : paths) {
    if (path.parent != takt::kNoIndex) {
      std::uint64_t& above = paths[path.parent].self_ns;
      above -= path.host.total_ns() < above ? path.host.total_ns() : above;
    }
  }
  paths[io].bytes = 18'874'368'000;
  paths[decode].items = 38'400;
  paths[decode].skipped = 400;
  paths[batch].items = 38'400;
  paths[backward].device_pending = 2;

  takt::Series& training = snapshot.series[add_series(snapshot, batch, main_thread)];
  training.steps = 600;
  training.warmup_steps = 10;
  training.throughput.steps = 588;
  training.throughput.items = 37'632;
  training.throughput.period_ns = 53'508 * ms;
  training.throughput.excluded_steps = 2;
  training.throughput.excluded_ns = 1'710 * ms;
  training.throughput.windows = 24;
  training.throughput.items_per_s = 703.3;
  training.throughput.items_low = 698.9;
  training.throughput.items_high = 707.6;
  training.throughput.steps_per_s = 10.99;
  training.throughput.no_interval = takt::NoInterval::none;
  takt::Series& held_out = snapshot.series[add_series(snapshot, validation_batch, main_thread)];
  held_out.steps = 60;
  held_out.warmup_steps = 10;
  held_out.throughput.steps = 48;
  held_out.throughput.period_ns = 1'404 * ms;
  held_out.throughput.steps_per_s = 34.19;
  held_out.throughput.windows = 6;
  held_out.throughput.items = 12'288;
  held_out.throughput.items_per_s = 8752.1;

  takt::OpenRegion open;
  open.path = decode;
  open.thread = loader;
  open.open_ns = 3'120 * static_cast<std::int64_t>(ms);
  snapshot.open.push_back(open);
  snapshot.losses.push_back({"end_without_start", "Optimizer", 1});
  return snapshot;
}

}  // namespace takt_test
