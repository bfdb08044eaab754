// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "findings/step_history.hpp"
#include "support/random.hpp"
#include "support/simulated_ranks.hpp"
#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace takt_test {

/// Parameters of a SyntheticRun.
struct SyntheticShape {
  std::uint64_t steps = 2000;
  std::uint64_t steps_an_epoch = 400;  ///< 0: no Epochs
  std::size_t regions = 4;             ///< inside a step: IO, Forward, Backward, Optimizer, then others
  double noise = 0.03;                 ///< of the logarithm of each time
  double correlation = 0.5;            ///< of neighbouring steps
  std::uint64_t spikes = 6;            ///< number of single steps that take 3 to 8 times as long
  std::uint64_t warmup = 10;
  bool has_gpu = false;
  std::size_t metrics = 1;
  std::uint64_t seed = 7;
};

/// A training run on one thread with made-up numbers: totals as from a Session, and history.
class SyntheticRun {
 public:
  static constexpr double kMs = 1e6;

  explicit SyntheticRun(const SyntheticShape& shape) : shape_(shape), random_(shape.seed) {
    begin_run();
    if (shape_.steps_an_epoch > 0) { epoch_ = add_path(run_, "Epoch"); }
    batch_ = add_path(run_, "Batch", shape_.steps_an_epoch > 0 ? epoch_ : takt::kNoIndex);
    add_regions();
    if (shape_.has_gpu) { run_.devices.push_back({"cuda", "", ""}); }
    series_ = add_series(run_, batch_, add_thread(run_, "main"));
    choose_spikes();
    for (std::uint64_t step = 0; step < shape_.steps; ++step) {
      add_step(step);
      if (run_.rows.size() == 4096) { keep(); }
    }
    keep();
    end_run();
  }

  takt::Snapshot& run() { return run_; }
  /// Returns the time of each step, in ns.
  const std::vector<std::int64_t>& times() const { return times_; }
  const std::vector<std::uint64_t>& spikes() const { return spikes_; }

 private:
  struct Region {
    std::uint32_t path = 0;
    double ms = 0;
    double device_ms = 0;
  };

  void begin_run() {
    run_.run.name = "synthetic";
    run_.run.id = "synthetic-20260301T101530Z-4711";
    run_.run.host = "node7";
    run_.run.rank_source = "default";
    run_.run.pid = 4711;
    run_.run.start_unix_ns = 1'772'360'130'000'000'000;
    run_.clock.name = "tsc";
    run_.clock.error_ppm = 0.4;
    run_.clock.empty_region_ns = 17;
    run_.clock.region_cost_ns = 23;
    run_.params = {{"batch", "64"}, {"lr", "0.01"}, {"optimizer", "adam"}};
    run_.tags = {{"git", "4e593bb"}, {"model", "conv3x3-dense64"}};
  }

  void add_regions() {
    const Region first[] = {{add_path(run_, "IO", batch_, takt::Kind::io), 11, 0},
                            {add_path(run_, "Forward", batch_, takt::Kind::compute), 24, 23},
                            {add_path(run_, "Backward", batch_, takt::Kind::compute), 47, 46},
                            {add_path(run_, "Optimizer", batch_, takt::Kind::compute), 4, 3.6}};
    for (std::size_t at = 0; at < shape_.regions; ++at) {
      if (at < std::size(first)) {
        regions_.push_back(first[at]);
        continue;
      }
      // Some regions are nested.
      const std::uint32_t parent = at % 3 == 2 ? regions_.back().path : batch_;
      regions_.push_back({add_path(run_, "Layer" + std::to_string(at), parent, takt::Kind::compute),
                          40.0 / static_cast<double>(at), 0});
    }
  }

  void choose_spikes() {
    for (std::uint64_t at = 0; at < shape_.spikes && shape_.steps > 20; ++at) {
      spikes_.push_back(shape_.warmup + 1 + random_.below(shape_.steps - shape_.warmup - 1));
    }
    std::sort(spikes_.begin(), spikes_.end());
    spikes_.erase(std::unique(spikes_.begin(), spikes_.end()), spikes_.end());
  }

  /// Higher in warm-up, correlated with neighbours, and far off at a spike.
  double factor_of(std::uint64_t step) {
    state_ = shape_.correlation * state_ + std::sqrt(1 - shape_.correlation * shape_.correlation) * normal(random_);
    const double spike = std::binary_search(spikes_.begin(), spikes_.end(), step) ? 3 + 5 * random_.uniform() : 1;
    return std::exp(shape_.noise * state_) * spike * (step < shape_.warmup ? 1.6 : 1);
  }

  void add_step(std::uint64_t step) {
    const bool begins_epoch = shape_.steps_an_epoch > 0 && step % shape_.steps_an_epoch == 0;
    takt::Row& row = add_row(run_, series_, step);
    const double factor = factor_of(step);
    double sum_ns = 0.3 * kMs;
    for (const Region& region : regions_) {
      takt::Cell cell;
      cell.path = region.path;
      cell.calls = 1;
      cell.host_ns = static_cast<std::int64_t>(region.ms * kMs * factor * std::exp(shape_.noise * normal(random_)));
      if (shape_.has_gpu && region.device_ms > 0) {
        cell.device_ns = static_cast<std::int64_t>(region.device_ms * kMs * factor);
        add_call(run_.paths[region.path].device, step, cell.device_ns);
      }
      add_call(run_.paths[region.path].host, step, cell.host_ns);
      const bool is_inside = run_.paths[region.path].parent != batch_;
      sum_ns += is_inside ? 0 : static_cast<double>(cell.host_ns);
      own_ns(region.path) += cell.host_ns;
      if (is_inside) { own_ns(run_.paths[region.path].parent) -= cell.host_ns; }
      row.cells.push_back(cell);
    }
    row.host_ns = static_cast<std::int64_t>(sum_ns);
    const std::int64_t between = begins_epoch ? 400'000'000 : 120'000;
    row.begin_ns = now_ns_ + between;
    row.period_ns = begins_epoch || step == 0 ? std::nullopt : std::optional<std::int64_t>(row.host_ns + between);
    row.warmup = step < shape_.warmup;
    now_ns_ = row.begin_ns + row.host_ns;
    add_call(run_.paths[batch_].host, step, row.host_ns);
    own_ns(batch_) += static_cast<std::int64_t>(0.3 * kMs);
    times_.push_back(row.host_ns);
    add_metrics(step);
  }

  std::int64_t& own_ns(std::uint32_t path) {
    own_ns_.resize(run_.paths.size());
    return own_ns_[path];
  }

  void add_call(takt::Summary& summary, std::uint64_t step, std::int64_t ns) const {
    const auto length = static_cast<std::uint64_t>(ns);
    if (step < shape_.warmup) { return summary.add_warmup(length); }
    step == 0 ? summary.add_first(length) : summary.add(length);
  }

  void add_metrics(std::uint64_t step) {
    for (std::size_t at = 0; at < shape_.metrics; ++at) {
      takt::Metric metric;
      metric.name = at == 0 ? "loss" : "metric " + std::to_string(at);
      metric.step = static_cast<std::int64_t>(step);
      const double progress = static_cast<double>(step) / static_cast<double>(shape_.steps);
      metric.value = 0.1 + 2.2 * std::exp(-6 * progress) + 0.03 * normal(random_);
      run_.metrics.push_back(metric);
    }
  }

  void keep() {
    history_.add(run_);
    run_.rows.clear();
    run_.metrics.clear();
  }

  void end_run() {
    run_.history = std::make_shared<const takt::StepHistory>(history_.finished());
    run_.finished = true;
    run_.wall_ns = now_ns_ + 700'000'000;
    run_.uncovered_ns = 300'000'000;
    run_.overhead_ns = static_cast<std::int64_t>(shape_.steps) * 300;
    run_.process.cpu_ns = run_.wall_ns;
    for (std::uint32_t path = 0; path < run_.paths.size(); ++path) {
      run_.paths[path].self_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(own_ns(path), 0));
    }
    if (shape_.steps_an_epoch > 0) { end_epochs(); }
    run_.paths[batch_].items = 64 * shape_.steps;
    takt::Series& series = run_.series[series_];
    series.steps = shape_.steps;
    series.warmup_steps = std::min(shape_.warmup, shape_.steps);
    takt::Throughput& throughput = series.throughput;
    throughput.steps = series.steps - series.warmup_steps;
    if (throughput.steps == 0) { return; }
    throughput.items = 64 * throughput.steps;
    throughput.period_ns = run_.paths[batch_].host.measured_total_ns();
    throughput.steps_per_s = static_cast<double>(throughput.steps) * 1e9 / static_cast<double>(throughput.period_ns);
    throughput.items_per_s = 64 * throughput.steps_per_s;
    if (throughput.steps < 128) { return; }
    throughput.no_interval = takt::NoInterval::none;
    throughput.windows = 24;
    throughput.items_low = 0.99 * throughput.items_per_s;
    throughput.items_high = 1.01 * throughput.items_per_s;
  }

  void end_epochs() {
    const std::uint64_t epochs = (shape_.steps + shape_.steps_an_epoch - 1) / shape_.steps_an_epoch;
    for (std::uint64_t at = 0; at < epochs; ++at) {
      run_.paths[epoch_].host.add(static_cast<std::uint64_t>(now_ns_) / std::max<std::uint64_t>(epochs, 1));
    }
    run_.paths[epoch_].self_ns = 400'000'000 * epochs;
  }

  SyntheticShape shape_;
  Random random_;
  double state_ = 0;
  takt::Snapshot run_;
  takt::StepHistory history_;
  std::uint32_t epoch_ = 0;
  std::uint32_t batch_ = 0;
  std::uint32_t series_ = 0;
  std::vector<Region> regions_;
  std::vector<std::int64_t> own_ns_;
  std::vector<std::uint64_t> spikes_;
  std::vector<std::int64_t> times_;
  std::int64_t now_ns_ = 0;
};

}  // namespace takt_test
