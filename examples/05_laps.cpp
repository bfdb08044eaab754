// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Consecutive phases need no block each: lap() ends one region and starts the next with a single clock read. So no time
// between them is untimed, and it costs less than two scopes. The phases of a step then add up to the step.
#include <takt/takt.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

int main() {
  std::vector<double> inputs(2000);
  double weight = 0;
  for (int step = 0; step < 100; ++step) {
    takt::Scope batch(takt::Batch);
    // [snippet: laps]
    takt::Scope s(takt::IO);
    for (double& input : inputs) { input = 1.0 + (step % 3); }
    s.lap(takt::Forward);
    double error = 0;
    for (const double input : inputs) { error += input * (weight - 2.0); }
    s.lap(takt::Backward);
    double gradient = 0;
    for (const double input : inputs) { gradient += input * error / 4e6; }
    s.lap(takt::Optimizer);
    weight -= 0.1 * gradient;
    // [end]
  }

  std::uint64_t whole = 0;
  std::uint64_t phases = 0;
  const takt::Snapshot snapshot = takt::snapshot();
  for (const takt::PathStats& path : snapshot.paths) {
    std::printf("%-10s %4llu calls %8.1f us\n", path.name.c_str(), static_cast<unsigned long long>(path.host.n()),
                static_cast<double>(path.host.total_ns()) / 1e3);
    (path.name == "Batch" ? whole : phases) += path.host.total_ns();
  }
  std::printf("weight %.3f\n", weight);
  return snapshot.paths.size() == 5 && phases <= whole && weight > 1.9 && weight < 2.1 ? 0 : 1;
}
