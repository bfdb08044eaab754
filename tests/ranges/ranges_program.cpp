// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions in order, out of order and across threads, as profiler ranges: NVTX or, with ROCTX defined, ROCTX. Prints if
// a profiler is listening.
#ifdef ROCTX
#include <takt/exporters/roctx.hpp>
using Ranges = takt::RoctxRanges;
#else
#include <takt/exporters/nvtx.hpp>
using Ranges = takt::NvtxRanges;
#endif
#include <takt/session.hpp>
#include <takt/takt.hpp>
#include <takt/trials.hpp>

#include <cstdio>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace {

inline constexpr takt::Key Optimizer{"Optimizer", takt::Kind::compute};

void in_order() {
  for (int step = 0; step < 2; ++step) {
    const takt::Scope batch(takt::Batch);
    takt::Scope forward(takt::Forward);
    forward.lap(takt::Comm);
    const takt::Scope optimizer(Optimizer);
  }
}

void out_of_order() {
  auto first = std::make_unique<std::optional<takt::Scope>>();
  auto second = std::make_unique<std::optional<takt::Scope>>();
  first->emplace(takt::IO);
  second->emplace(takt::Comm);
  first->reset();
  second->reset();
}

void elsewhere() {
  auto held = std::make_unique<std::optional<takt::Scope>>();
  held->emplace(takt::IO);
  const takt::Scope around(takt::Epoch);
  std::thread([&held] { held->reset(); }).join();
  const takt::Scope next(takt::Other);
}

void deep(int levels) {
  if (levels == 0) { return; }
  const takt::Scope scope(takt::Forward);
  deep(levels - 1);
}

/// The range of each kind of trial has its own name.
int run_trials() {
  const takt::Session session("ranges");
  const Ranges ranges;
  takt::TrialOptions options;
  options.io = options.synthetic = options.full = true;
  options.steps = 1;
  const std::vector<int> batches(100);
  int sum = 0;
  for (const int batch : takt::trials(session, batches, options)) { sum += batch; }
  return sum;
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) { return run_trials(); }
  auto open = std::make_unique<std::optional<takt::Scope>>();
  {
    const Ranges ranges;
    std::puts(ranges.active() ? "active" : "not active");
    in_order();
    out_of_order();
    elsewhere();
    deep(70);
    std::thread([] { const takt::Scope there(takt::key("on a thread", takt::Kind::io)); }).join();
    open->emplace(takt::Backward);
  }
  const takt::Scope unseen(takt::Forward);
  open->reset();
  return 0;
}
