// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Ablations behind the design: the same work implemented in other ways.
#include "driver.hpp"

#include "process/process.hpp"
#include "tls_models.hpp"

#include <takt/detail/tree.hpp>
#include <takt/summary.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace takt_bench {
namespace {

using takt::detail::ticks;
using takt::detail::Tree;

/// Without a buffer: updates the tree at every start and end.
double in_place(std::uint64_t n) {
  static Tree tree(takt::detail::kEpochKey, takt::detail::kBatchKey);
  const takt::detail::Clock& clock = takt::detail::process_clock();
  const takt::detail::ClockSource source = clock.source();
  const takt::detail::Clock::Segment rate = clock.segment(source, clock.ticks(source));
  static std::uint64_t position = 0;
  return timed(n, [&] {
    for (std::uint64_t i = 0; i < n; ++i) {
      tree.begin(3, 1, rate.to_ns(ticks()));
      barrier();
      tree.end(1, rate.to_ns(ticks()), ++position);
    }
  });
}

/// Durations like those of a real region, spread over two octaves.
std::uint64_t duration(std::uint64_t i) { return 20'000 + (i * 7919) % 60'000; }

template <class Add>
double summarise(std::uint64_t n, Add add) {
  return timed(n, [&] {
    for (std::uint64_t i = 0; i < n; ++i) {
      add(duration(i));
      barrier();
    }
  });
}

double paged(std::uint64_t n) {
  static takt::Histogram histogram;
  return summarise(n, [](std::uint64_t ns) {
    if (!histogram.try_add(ns)) { histogram.add(ns); }
  });
}

double dense(std::uint64_t n) {
  static std::vector<std::uint32_t> counts(takt::Histogram::buckets());
  return summarise(n, [](std::uint64_t ns) { ++counts[takt::Histogram::bucket_of(ns)]; });
}

double whole_summary(std::uint64_t n) {
  static takt::Summary summary;
  return summarise(n, [](std::uint64_t ns) {
    if (!summary.try_add(ns)) { summary.add(ns); }
  });
}

}  // namespace

void add_ablations(Rounds& rounds) {
  rounds.add({"ablation: folded in place, hot", 200'000, in_place});
  rounds.add({"ablation: summary alone", 200'000, whole_summary});
  rounds.add({"ablation: histogram alone, paged", 200'000, paged});
  rounds.add({"ablation: histogram alone, dense", 200'000, dense});
  rounds.add({"ablation: no work, only durations", 200'000, [](std::uint64_t n) {
                return summarise(n, [](std::uint64_t ns) { asm volatile("" : : "r"(ns)); });
              }});
  rounds.add({"ablation: thread-local, initial-exec", 600'000, [](std::uint64_t n) {
                return timed(n, [n] {
                  for (std::uint64_t i = 0; i < n; ++i) { touch_initial_exec(); }
                });
              }});
  rounds.add({"ablation: thread-local, global-dynamic", 600'000, [](std::uint64_t n) {
                return timed(n, [n] {
                  for (std::uint64_t i = 0; i < n; ++i) { touch_global_dynamic(); }
                });
              }});
}

}  // namespace takt_bench
