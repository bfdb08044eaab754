// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures the processor time that samples take on Takt's threads: reading kernel statistics, and Takt's own work for
// GPUs with a driver that takes no time.
//  takt_sampling [samples, default 2000]

#include "sample/nvml_source.hpp"
#include "sample/system_source.hpp"
#include "session/run_samples.hpp"
#include "support/fake_nvml.hpp"

#include <takt/detail/hot.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <time.h>

namespace {

using takt::detail::Drained;
using takt::detail::RunSamples;
using Sources = std::vector<std::unique_ptr<takt::detail::SampleSource>>;

constexpr std::chrono::milliseconds kPeriod(100);

std::int64_t spent_ns() { return static_cast<std::int64_t>(takt::detail::posix_ns(CLOCK_THREAD_CPUTIME_ID)); }

/// Reads and processes samples, in microseconds per sample. Collects once per ten samples, as with the defaults.
void measure(const char* what, Sources sources, int samples) {
  RunSamples run;
  std::int64_t now_ns = 0;
  RunSamples::Plan plan;
  plan.period = kPeriod;
  plan.now = [&now_ns] { return now_ns; };
  plan.memory = 1U << 20U;
  run.start_by_hand(std::move(plan), std::move(sources));
  run.tick();  // opens the sources
  std::int64_t read_ns = 0;
  std::int64_t kept_ns = 0;
  for (int sample = 1; sample <= samples; ++sample) {
    now_ns += std::chrono::nanoseconds(kPeriod).count();
    const std::int64_t begin_ns = spent_ns();
    run.tick();
    const std::int64_t read = spent_ns();
    if (sample % 10 == 0) {
      Drained drained;
      run.keep(drained, false);
    }
    read_ns += read - begin_ns;
    kept_ns += spent_ns() - read;
  }
  const double read_us = static_cast<double>(read_ns) / 1e3 / samples;
  const double kept_us = static_cast<double>(kept_ns) / 1e3 / samples;
  std::printf("%-40s %8.1f us read, %6.1f us kept, %.3f %% of a core at ten a second\n", what, read_us, kept_us,
              (read_us + kept_us) * 10 / 1e6 * 100);
}

Sources gpus(takt::detail::NvmlLibrary& table) {
  Sources sources;
  sources.push_back(
      std::make_unique<takt::detail::NvmlSource>(table, takt::detail::VisibleDevices(), /*pci_order=*/true));
  return sources;
}

}  // namespace

int main(int count, char** arguments) {
  const int samples = count > 1 ? std::atoi(arguments[1]) : 2000;
  if (samples < 10) {
    std::fprintf(stderr, "takt_sampling: %s is no number of samples of 10 or more\n", arguments[1]);
    return 2;
  }
  Sources system;
  system.push_back(std::make_unique<takt::detail::SystemSource>("here"));
  measure("the process, the machine, the processors", std::move(system), samples);
  takt_test::FakeNvml nvml([] { return 0.0; });
  takt::detail::NvmlLibrary table;
  takt_test::FakeNvml::fill(table);
  nvml.add_gpu();
  measure("a GPU, without its driver", gpus(table), samples);
  for (int more = 1; more < 8; ++more) { nvml.add_gpu(); }
  measure("8 GPUs, without their driver", gpus(table), samples);
  return 0;
}
