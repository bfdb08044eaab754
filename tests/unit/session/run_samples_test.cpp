// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/run_samples.hpp"

#include "sample/nvml_source.hpp"
#include "support/catch.hpp"
#include "support/caught_errors.hpp"
#include "support/fake_nvml.hpp"
#include "support/mentions.hpp"
#include "support/patience.hpp"
#include "support/session_helpers.hpp"
#include "support/snapshot_builder.hpp"

#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using takt::Quantity;
using takt::Row;
using takt::Sample;
using takt::Sensor;
using takt::Snapshot;
using takt::detail::Drained;
using takt::detail::NvmlLibrary;
using takt::detail::NvmlSource;
using takt::detail::RunSamples;
using takt::detail::SampleSource;
using takt::detail::VisibleDevices;
using takt_test::FakeNvml;

namespace {

using Sources = std::vector<std::unique_ptr<SampleSource>>;
using takt_test::mentions;

/// A run on a machine with NVIDIA GPUs, whose time is moved by hand.
struct SampledRun {
  double seconds = 0;
  FakeNvml nvml{[this] { return seconds; }};
  NvmlLibrary table;
  RunSamples samples;
  std::vector<Sample> all;
  Drained drained;

  SampledRun() { FakeNvml::fill(table); }
  RunSamples::Plan plan(int ms = 100) {
    RunSamples::Plan plan;
    plan.period = std::chrono::milliseconds(ms);
    plan.now = [this] { return static_cast<std::int64_t>(std::llround(seconds * 1e9)); };
    plan.memory = 1U << 20U;
    return plan;
  }
  Sources sources() {
    Sources sources;
    sources.push_back(std::make_unique<NvmlSource>(table, VisibleDevices(), true));
    return sources;
  }
  void begin(int ms = 100) { samples.start_by_hand(plan(ms), sources()); }
  /// Takes `count` samples, at intervals from `uneven`.
  template <class Uneven>
  void sample(int count, Uneven uneven) {
    for (int tick = 0; tick < count; ++tick) {
      samples.tick();
      seconds += uneven(tick);
    }
  }
  /// Collects the data once.
  void collect(bool last = false) {
    samples.keep(drained, last);
    all.insert(all.end(), drained.samples.begin(), drained.samples.end());
    drained = Drained();
  }
  /// Adds steps without gaps from `begin` to `end`.
  void add_steps(double begin, double end, double length) {
    for (double at = begin; at + length <= end + 1e-9; at += length) {
      Row row;
      row.begin_ns = std::llround(at * 1e9);
      row.period_ns = row.host_ns = std::llround(length * 1e9);
      row.items = 32;
      drained.rows.push_back(row);
    }
  }
  Snapshot reported() {
    Snapshot snapshot;
    const std::uint32_t batch = takt_test::add_path(snapshot, "Batch");
    takt_test::add_series(snapshot, batch, takt_test::add_thread(snapshot, "main"));
    samples.report(snapshot);
    return snapshot;
  }
};

double uneven(int tick) { return tick % 9 == 0 ? 0.31 : 0.06 + (tick * 29 % 70) / 1000.0; }

}  // namespace

TEST_CASE("Run samples: energy of a known curve is within 1 %, by counter and by power", "[sample]") {
  SampledRun run;
  nvmlDevice_st& counts = run.nvml.add_gpu();
  nvmlDevice_st& does_not = run.nvml.add_gpu();
  for (nvmlDevice_st* each : {&counts, &does_not}) {
    each->watts = 420;
    each->swing = 260;
    each->period_s = 2.7;
  }
  does_not.counts = false;
  run.begin();
  run.sample(400, uneven);
  const double end = run.seconds - uneven(399);  // of the last sample
  run.collect(true);
  const Snapshot reported = run.reported();
  REQUIRE(reported.sensors.size() == 2);
  CHECK(reported.sensors[0].energy.source == takt::SensorEnergy::Source::counter);
  CHECK(reported.sensors[0].energy.joules == Approx(counts.joules_at(end)).epsilon(0.001));
  CHECK(reported.sensors[1].energy.source == takt::SensorEnergy::Source::power);
  CHECK(reported.sensors[1].energy.joules == Approx(does_not.joules_at(end)).epsilon(0.01));
  CHECK(reported.sensors[0].figures_of(Quantity::power)->mean / 1e3 ==
        Approx(counts.joules_at(end) / end).epsilon(0.01));
  CHECK(run.all.size() == 800);
  CHECK(run.all.back().sequence == 799);
}

TEST_CASE("Run samples: energy per step and item, collected every second", "[sample]") {
  SampledRun run;
  nvmlDevice_st& gpu = run.nvml.add_gpu();
  gpu.watts = 300;
  gpu.swing = 200;
  gpu.period_s = 0.93;
  gpu.counter_period_s = 0.1;  // as on most GPUs
  run.begin(20);
  constexpr double kStep = 0.007;
  double stepped = 0.5;
  for (int second = 0; second < 30; ++second) {
    run.sample(50, [](int) { return 0.02; });
    const double until = std::floor((run.seconds - 0.5) / kStep) * kStep + 0.5;
    run.add_steps(stepped, until, kStep);
    stepped = until;
    run.collect(second == 29);
  }
  const Snapshot reported = run.reported();
  REQUIRE(reported.step_energies.size() == 1);
  const takt::StepEnergy& steps = reported.step_energies[0];
  CHECK(steps.steps > 4100);
  const double truth = gpu.joules_at(0.5 + static_cast<double>(steps.steps) * kStep) - gpu.joules_at(0.5);
  CHECK(steps.joules == Approx(truth).epsilon(0.01));
  CHECK(std::abs(steps.joules - truth) <= steps.error_joules);
  CHECK(steps.items == 32 * steps.steps);
  CHECK(steps.error_joules < 0.02 * steps.joules);
}

TEST_CASE("Run samples: each long Batch has its energy, and with spans each long region", "[sample]") {
  for (const bool traced : {false, true}) {
    SampledRun run;
    run.nvml.add_gpu().watts = 100;
    RunSamples::Plan plan = run.plan();
    plan.traced = traced;
    run.samples.start_by_hand(plan, run.sources());
    run.sample(100, [](int) { return 0.1; });
    run.add_steps(1, 9, 2);
    takt::Span span;
    span.name = "Validation";
    span.begin_ns = 2'000'000'000;
    span.duration_ns = 3'000'000'000;
    run.drained.spans.push_back(span);
    span.stream = 0;  // on a device: its time is not the host's
    run.drained.spans.push_back(span);
    run.collect(true);
    const Snapshot reported = run.reported();
    REQUIRE(reported.region_energies.size() == (traced ? 1 : 2));
    const takt::RegionEnergy& validation = reported.region_energies.back();
    CHECK(validation.name == "Validation");
    CHECK(validation.joules == Approx(300));
    CHECK(validation.calls == 1);
    if (traced) { continue; }
    CHECK(reported.region_energies[0].name == "Batch");
    CHECK(reported.region_energies[0].calls == 4);
    CHECK(reported.region_energies[0].joules == Approx(800));
  }
}

TEST_CASE("Run samples: a lost GPU is reported once, others continue, and nothing waits for it", "[sample]") {
  SampledRun run;
  run.nvml.add_gpu();
  run.nvml.add_gpu();
  run.begin();
  run.sample(10, [](int) { return 0.1; });
  run.nvml.gpu(0).error = takt::detail::kNvmlGpuIsLost;
  const support::CaughtErrors errors;
  run.sample(100, [](int) { return 0.1; });
  run.add_steps(0, 10, 1);
  run.collect();
  run.sample(10, [](int) { return 0.1; });
  run.collect(true);
  REQUIRE(errors.lines().size() == 1);
  CHECK(mentions(errors.lines()[0], {"cuda 0", "GPU is lost"}));
  const Snapshot reported = run.reported();
  CHECK(reported.sensors[0].lost == "GPU is lost");
  CHECK(reported.sensors[0].samples == 10);
  CHECK(reported.sensors[1].samples == 120);
  REQUIRE(reported.step_energies.size() == 1);
  CHECK(reported.step_energies[0].sensor == 1);
  CHECK(reported.step_energies[0].steps == 10);
}

TEST_CASE("Run samples: drops and counts samples that are not collected", "[sample]") {
  SampledRun run;
  run.nvml.add_gpu();
  run.begin();
  run.sample(9000, [](int) { return 0.1; });  // 8,192 fit into one MiB
  run.collect();
  const Snapshot reported = run.reported();
  CHECK(takt_test::losses_of(reported, "samples_dropped") == 9000 - 8192);
  CHECK(run.all.size() == 8192);
}

TEST_CASE("Run samples: gives a window between two times before any collection", "[sample]") {
  SampledRun run;
  run.nvml.add_gpu().watts = 200;
  run.begin();
  run.sample(50, [](int) { return 0.1; });
  const auto windows = run.samples.between(1'050'000'000, 3'050'000'000);
  REQUIRE(windows.size() == 1);
  CHECK(windows[0].has_energy);
  CHECK(windows[0].energy.joules == Approx(400));
  CHECK(windows[0].figures.samples == 20);
  CHECK(windows[0].figures.figures_of(Quantity::clock)->min == 1980);
  CHECK_FALSE(run.samples.between(4'000'000'000, 5'500'000'000).at(0).has_energy);
  // Exporters still get each sample.
  run.collect();
  CHECK(run.all.size() == 50);
  run.collect();
  CHECK(run.all.size() == 50);
}

TEST_CASE("Run samples: limits the period, and samples nothing before the start", "[sample]") {
  SampledRun run;
  run.nvml.add_gpu();
  Drained drained;
  run.samples.keep(drained, true);
  run.samples.stop(std::chrono::steady_clock::now());
  CHECK(run.samples.between(0, 1).empty());
  CHECK(run.reported().sensors.empty());
  run.begin(1);
  run.samples.tick();
  CHECK(run.reported().sensors.empty());  // not collected yet
  run.collect();
  CHECK(run.reported().sensors.at(0).interval_ns == 10'000'000);
}

TEST_CASE("Run samples: a hanging driver delays neither a collection nor the end", "[sample][timed]") {
  std::mutex mutex;
  std::condition_variable changed;
  bool hangs = false;
  // Not destroyed: its thread is left running, as in a Session.
  auto& run = *new SampledRun;
  run.nvml.add_gpu();
  run.nvml.in_question = [&] {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return !hangs; });
  };
  const support::CaughtErrors errors;
  run.samples.start(run.plan(10), run.sources());
  REQUIRE(takt_test::until([&] { return run.collect(), run.all.size() >= 3; }, [] { std::this_thread::yield(); }));
  {
    const std::lock_guard<std::mutex> lock(mutex);
    hangs = true;
  }
  run.collect();
  run.samples.stop(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  CHECK(mentions(errors.text(), {"NVIDIA GPUs"}));
  run.collect(true);
  CHECK(run.reported().sensors.size() == 1);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    hangs = false;
    changed.notify_all();
  }
  // The thread waits on a local variable of this function.
  run.samples.stop(std::chrono::steady_clock::now() + takt_test::kTimeout);
}

TEST_CASE("Session: samples the process, including a last sample at its end", "[sample][timed]") {
  takt::SessionOptions options;
  options.files = options.table = false;
  options.sample_period = std::chrono::milliseconds(10);
  options.period = std::chrono::milliseconds(20);
  const takt::MemoryExporter memory;
  takt::Session session("sampled", options);
  session.add(memory);
  REQUIRE(takt_test::until([&] { return memory.samples().size() >= 20; }, [] { std::this_thread::yield(); }));
  const std::int64_t before_end = session.snapshot().wall_ns;
  CHECK(session.close());
  const Snapshot last = memory.last();
  const Sensor* process = nullptr;
  for (const Sensor& each : last.sensors) { process = each.kind == Sensor::Kind::process ? &each : process; }
  REQUIRE(process != nullptr);
  CHECK(process->interval_ns == 10'000'000);
  CHECK(process->last_ns >= before_end);
  CHECK(process->figures_of(Quantity::cpu_time)->change > 0);
  CHECK(process->figures_of(Quantity::memory)->max > 1'000'000);
  // Sensors that this machine lacks are reported.
  CHECK(last.sensors.size() + last.unsampled.size() >= 4);
  const std::vector<Sample> samples = memory.samples();
  // An exporter misses samples from before it was added, and gets all later ones.
  for (std::size_t at = 0; at < samples.size(); ++at) { CHECK(samples[at].sequence == samples[0].sequence + at); }
}

TEST_CASE("Session: without threads it samples nothing and reports that", "[sample]") {
  const support::CaughtErrors errors;
  takt::SessionOptions options = takt_test::by_hand();
  options.sample_period = std::chrono::milliseconds(100);
  takt::Session session("by hand", options);
  session.poll();
  CHECK(session.snapshot().sensors.empty());
  CHECK(errors.text().find("needs background threads") != std::string::npos);
}
