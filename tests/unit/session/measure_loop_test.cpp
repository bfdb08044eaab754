// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/session_measure.hpp"

#include "sample/nvml_source.hpp"
#include "support/catch.hpp"
#include "support/fake_nvml.hpp"
#include "support/mentions.hpp"
#include "support/scratch.hpp"

#include <takt/backends/manual.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using takt::ManualBackend;
using takt::ManualClock;
using takt::MeasureEnd;
using takt::Measurement;
using takt::MeasureOptions;
using takt::detail::MeasureLoop;
using takt::detail::NvmlLibrary;
using takt::detail::NvmlSource;
using takt::detail::RunSamples;
using takt::detail::SampleSource;
using takt::detail::VisibleDevices;
using takt_test::contains;
using takt_test::FakeNvml;

namespace {

/// A machine with NVIDIA GPUs whose time is moved by hand, and which is sampled every 100 ms.
struct Machine {
  double seconds = 10;
  double sampled = 10;
  FakeNvml nvml{[this] { return seconds; }};
  NvmlLibrary table;
  RunSamples samples;
  MeasureLoop::Surroundings surroundings;

  Machine() {
    FakeNvml::fill(table);
    surroundings.samples = &samples;
    surroundings.now = [this] { return std::llround(seconds * 1e9); };
    surroundings.pause = [this](std::chrono::milliseconds time) { pass(std::chrono::duration<double>(time).count()); };
  }
  void begin() {
    RunSamples::Plan plan;
    plan.period = std::chrono::milliseconds(100);
    plan.now = surroundings.now;
    plan.memory = 1U << 20U;
    std::vector<std::unique_ptr<SampleSource>> sources;
    sources.push_back(std::make_unique<NvmlSource>(table, VisibleDevices(), true));
    samples.start_by_hand(plan, std::move(sources));
    samples.tick();
  }
  void pass(double time) {
    for (const double end = seconds + time; seconds < end;) {
      seconds = std::min(end, sampled + 0.1);
      if (seconds < sampled + 0.1) { continue; }
      sampled = seconds;
      if (samples.period().count() != 0) { samples.tick(); }
    }
  }
  template <class Function>
  Measurement measure(Function function, const MeasureOptions& options = {}, takt::StreamRef stream = {}) {
    return MeasureLoop(options, stream, surroundings).measure("net b16", function);
  }
};

MeasureOptions runs_of(int runs, int warmup = 0) {
  MeasureOptions options;
  options.runs = runs;
  options.warmup = warmup;
  return options;
}

}  // namespace

TEST_CASE("Measure loop: 5 warm-up runs and 30 measured ones, with a separate first call") {
  Machine machine;
  int calls = 0;
  const Measurement found = machine.measure([&] { machine.pass(++calls == 1 ? 0.5 : calls <= 5 ? 0.1 : 0.002); });
  CHECK(calls == 35);
  CHECK(found.name == "net b16");
  CHECK(found.warmup == 5);
  CHECK(found.host.n == 30);
  CHECK(found.first_ns == 500'000'000);
  CHECK(found.host.median_ns == Approx(2e6));
  CHECK(found.host.max_ns == Approx(2e6));  // excludes warm-up
  CHECK(found.stream.n == 0);
  CHECK(found.end == MeasureEnd::runs);
  CHECK(found.took_ns == Approx(0.9e9 + 30 * 2e6));
  CHECK(found.items_per_s() == Approx(500));
  REQUIRE(found.runs.size() == 30);
  CHECK(found.runs[1].begin_ns == found.runs[0].begin_ns + found.runs[0].host_ns);
  CHECK(found.host_peak_bytes > 1'000'000);
  CHECK(contains(found.no_energy, "TAKT_SAMPLE_MS"));
}

TEST_CASE("Measure loop: without a warm-up the first call is a run") {
  Machine machine;
  int calls = 0;
  const Measurement found = machine.measure([&] { machine.pass(++calls == 1 ? 0.5 : 0.1); }, runs_of(3));
  CHECK(calls == 3);
  CHECK(found.first_ns == 500'000'000);
  CHECK(found.host.max_ns == Approx(5e8));
  CHECK(found.host.mean_ns == Approx(7e8 / 3));
}

TEST_CASE("Measure loop: energy of a known curve is within 1 % for each run and item") {
  Machine machine;
  nvmlDevice_st& counts = machine.nvml.add_gpu();
  nvmlDevice_st& does_not = machine.nvml.add_gpu();
  does_not.counts = false;
  for (nvmlDevice_st* each : {&counts, &does_not}) {
    each->watts = 400;
    each->swing = 150;
    each->period_s = 2.7;
  }
  machine.begin();
  MeasureOptions options = runs_of(60, 3);
  options.items = 16;
  double begin = 0;
  int calls = 0;
  const Measurement found = machine.measure(
      [&] {
        if (++calls == 4) { begin = machine.seconds; }
        machine.pass(0.17);
      },
      options);
  const double end = begin + 60 * 0.17;
  const double joules = counts.joules_at(end) - counts.joules_at(begin);
  REQUIRE(found.sensors.size() == 2);
  CHECK(found.sensors[0].joules.value() == Approx(joules).epsilon(0.01));
  CHECK(found.sensors[1].joules.value() == Approx(joules).epsilon(0.01));
  CHECK(found.energy_of == "cuda 0 + cuda 1");
  REQUIRE(found.joules);
  CHECK(*found.joules == Approx(2 * joules / 60).epsilon(0.01));
  CHECK(found.error_joules > 0);
  CHECK(found.error_joules < 0.05 * *found.joules);
  CHECK(found.no_energy.empty());
  CHECK(machine.seconds < end + 0.3);  // the wait for a sample after the end
}

TEST_CASE("Measure loop: memory is the device's maximum in the runs, or the allocator's value") {
  Machine machine;
  nvmlDevice_st& gpu = machine.nvml.add_gpu();
  nvmlDevice_st& busier = machine.nvml.add_gpu();
  machine.begin();
  int calls = 0;
  const auto function = [&] {
    ++calls;
    gpu.memory_used = calls == 10 ? 5'000'000'000 : 1'000'000'000;
    busier.memory_used = calls == 1 ? 9'000'000'000 : 2'000'000'000;  // the first call is warm-up
    machine.pass(0.25);
  };
  MeasureOptions options = runs_of(20, 2);
  const Measurement by_sensor = machine.measure(function, options);
  CHECK(by_sensor.memory_bytes == 5'000'000'000);
  CHECK(by_sensor.memory_of == "cuda 0");
  CHECK(by_sensor.sensors[1].memory_bytes == 2'000'000'000);
  int resets = 0;
  options.reset_peak = [&] { resets += calls == 22 ? 1 : 100; };
  options.peak_bytes = [] { return std::uint64_t{123'456'789}; };
  const Measurement by_hook = machine.measure(function, options);
  CHECK(resets == 1);
  CHECK(by_hook.memory_bytes == 123'456'789);
  CHECK(by_hook.memory_of == "allocator");
}

TEST_CASE("Measure loop: reports the device whose MIG slices the memory is compared with") {
  Machine machine;
  nvmlDevice_st& gpu = machine.nvml.add_gpu("NVIDIA H200");
  gpu.memory_total = 143'771ULL << 20U;
  gpu.memory_used = 20'000'000'000;
  machine.begin();
  const auto function = [&] { machine.pass(0.25); };
  CHECK(machine.measure(function, runs_of(20)).mig_device == "H200-141GB");
  MeasureOptions options = runs_of(20);
  options.peak_bytes = [] { return std::uint64_t{1'000'000'000}; };
  CHECK(machine.measure(function, options).mig_device == "H200-141GB");
}

TEST_CASE("Measure loop: two kinds of devices have no common MIG slices, but each one's memory has") {
  Machine machine;
  machine.nvml.add_gpu().memory_used = 1'000'000'000;
  machine.nvml.add_gpu("NVIDIA A100-SXM4-40GB").memory_total = 40ULL << 30U;
  machine.nvml.gpu(1).memory_used = 2'000'000'000;
  machine.begin();
  const auto function = [&] { machine.pass(0.25); };
  CHECK(machine.measure(function, runs_of(20)).mig_device == "A100-40GB");
  MeasureOptions options = runs_of(20);
  options.peak_bytes = [] { return std::uint64_t{1'000'000'000}; };
  CHECK(machine.measure(function, options).mig_device.empty());
}

TEST_CASE("Measure loop: without a device, and on a MIG slice, no MIG device is known") {
  Machine machine;
  machine.begin();
  CHECK(machine.measure([&] { machine.pass(0.25); }, runs_of(20)).mig_device.empty());
  Machine cut;
  cut.nvml.add_slice(cut.nvml.add_gpu());
  cut.begin();
  const Measurement found = cut.measure([&] { cut.pass(0.25); }, runs_of(20));
  CHECK(found.memory_bytes == 1LL << 30);
  CHECK(found.mig_device.empty());
}

TEST_CASE("Measure loop: runs too short for sampling give no energy, but the number of runs needed") {
  Machine machine;
  machine.nvml.add_gpu();
  machine.begin();
  machine.pass(1);
  const double before = machine.seconds;
  const Measurement found = machine.measure([&] { machine.pass(0.01); }, runs_of(30));
  CHECK_FALSE(found.joules);
  CHECK(takt_test::mentions(found.no_energy, {"5", "100 ms", "60 runs"}));
  CHECK(machine.measure([&] { machine.pass(0.01); }, runs_of(60)).joules);
  CHECK(machine.seconds < before + 2);
}

TEST_CASE("Measure loop: does not wait endlessly for a silent sensor") {
  Machine machine;
  nvmlDevice_st& gpu = machine.nvml.add_gpu();
  machine.begin();
  int calls = 0;
  const Measurement found = machine.measure(
      [&] {
        machine.pass(0.1);
        if (++calls == 15) { gpu.error = 15; }
      },
      runs_of(20));
  CHECK_FALSE(found.joules);
  CHECK(contains(found.no_energy, "span all runs"));
  CHECK(found.took_ns == Approx(2e9));
  CHECK(machine.seconds < 13);
}

TEST_CASE("Measure loop: notes clocks, slowdowns and lost CPU time on each run") {
  Machine machine;
  nvmlDevice_st& gpu = machine.nvml.add_gpu();
  machine.begin();
  int calls = 0;
  const Measurement found = machine.measure(
      [&] {
        ++calls;
        gpu.clock_mhz = calls == 10 ? 1200 : 1980;
        gpu.reasons = calls == 10 ? 4 : 0;  // a power cap
        machine.pass(0.3);
      },
      runs_of(20));
  CHECK(found.host.n == 20);  // all are included
  CHECK(found.runs[4].clock_mhz == 1980);
  CHECK(found.runs[4].slowdowns == 0);
  CHECK(found.runs[9].clock_mhz == 1200);
  CHECK(found.runs[9].slowdowns == 1);
  CHECK(found.notes.min_clock_mhz == 1200);
  CHECK(found.notes.max_clock_mhz == 1980);
  CHECK(found.notes.slowed_runs >= 1);
  CHECK(found.notes.slowed_runs <= 3);
}

TEST_CASE("Measure loop: with a target interval it continues until the median is known that well") {
  Machine machine;
  int calls = 0;
  MeasureOptions options = runs_of(10);
  options.interval = 0.02;
  const auto scattered = [&] { machine.pass(0.01 + 0.0001 * ((++calls * 37) % 29)); };
  const Measurement found = machine.measure(scattered, options);
  CHECK(found.end == MeasureEnd::interval);
  CHECK(found.host.n > 10);
  CHECK(found.host.high_ns - found.host.low_ns <= 0.02 * found.host.median_ns);
  options.interval = 0.5;
  calls = 0;
  CHECK(machine.measure(scattered, options).host.n == 10);
  CHECK(machine.measure([&] { machine.pass(0.01); }, runs_of(4)).host.n == 4);
  options.runs = 1;
  CHECK(machine.measure([&] { machine.pass(0.01); }, options).host.n == 6);  // the minimum with an interval
}

TEST_CASE("Measure loop: an interval that stays wide ends at the maximum number of runs") {
  Machine machine;
  int calls = 0;
  MeasureOptions options = runs_of(10);
  options.interval = 0.001;
  const Measurement found = machine.measure([&] { machine.pass(++calls % 2 == 0 ? 0.001 : 0.002); }, options);
  CHECK(found.end == MeasureEnd::max_runs);
  CHECK(found.runs.size() == takt::detail::kMaxMeasuredRuns);
  CHECK(calls == 100'000);
}

TEST_CASE("Measure loop: after the time limit no call starts, except the first one and one run") {
  Machine machine;
  int calls = 0;
  MeasureOptions options = runs_of(1000, 5);
  options.time_limit = std::chrono::seconds(2);
  const auto function = [&] {
    ++calls;
    machine.pass(0.15);
  };
  const Measurement some = machine.measure(function, options);
  CHECK(some.end == MeasureEnd::seconds);
  CHECK(calls == 14);  // the 14th starts at 1.95 s
  CHECK(some.warmup == 5);
  CHECK(some.host.n == 9);
  options.time_limit = std::chrono::milliseconds(10);
  calls = 0;
  const Measurement min = machine.measure(function, options);
  CHECK(calls == 2);
  CHECK(min.warmup == 1);
  CHECK(min.host.n == 1);
  CHECK(min.end == MeasureEnd::seconds);
}

TEST_CASE("Measure loop: with a stream each run has its span and ends when its work is done") {
  Machine machine;
  ManualClock device;
  const ManualBackend stream(device);
  int calls = 0;
  const Measurement found = machine.measure(
      [&] {
        ++calls;
        device.advance(std::chrono::microseconds(700 + calls));
        machine.pass(0.001);
      },
      runs_of(20, 5), stream.stream());
  CHECK(found.stream.n == 20);
  CHECK(found.stream.min_ns == 706'000);
  CHECK(found.stream.max_ns == 725'000);
  CHECK(found.runs[0].stream_ns == 706'000);
  CHECK(found.failed_waits == 0);
  CHECK(device.outstanding() == 0);
  CHECK(device.misuses() == 0);
}

TEST_CASE("Measure loop: reports a stream that takes no marks, and spans that fail") {
  Machine machine;
  ManualClock device;
  device.refuse(true);
  const Measurement refused =
      machine.measure([&] { machine.pass(0.001); }, runs_of(10), ManualBackend(device).stream());
  CHECK(refused.stream.n == 0);
  CHECK(refused.failed_waits == 10);
  CHECK(refused.host.n == 10);
  device.refuse(false);
  int calls = 0;
  const Measurement failed = machine.measure(
      [&] {
        machine.pass(0.001);
        if (++calls == 3) { device.fail(0); }
      },
      runs_of(10), ManualBackend(device).stream());
  CHECK(failed.stream.n == 9);
  CHECK_FALSE(failed.runs[2].stream_ns);
  CHECK(device.outstanding() == 0);
}
