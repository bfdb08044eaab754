// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Recorded data are available at any time: session.print() prints the table of the run so far, and takt::snapshot()
// returns the same figures to the program. Neither stops or resets recording, so the table at the end is complete. Here
// a run prints once halfway and then reports its longest phase itself.
#include <takt/takt.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

int main() {
  takt::Session session("table");
  std::vector<double> values(5000, 1.0);
  for (int step = 0; step < 100; ++step) {
    // [snippet: print]
    if (step == 50) { session.print(); }
    // [end]
    takt::Scope batch(takt::Batch);
    {
      takt::Scope s(takt::Forward);
      for (double& value : values) { value = 0.5 * value + 0.5; }
    }
    {
      takt::Scope s(takt::Backward);
      for (int pass = 0; pass < 8; ++pass) {
        for (double& value : values) { value = 0.25 * value + 0.75 / value; }
      }
    }
    batch.items(5000);
  }

  // [snippet: snapshot]
  std::string longest;
  std::uint64_t max = 0;
  const takt::Snapshot snapshot = takt::snapshot();
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    const std::uint64_t self = snapshot.paths[path].self_ns;  // without the regions inside it
    if (self > max) {
      max = self;
      longest = snapshot.path_name(path);
    }
  }
  // [end]
  std::printf("most time goes to %s: %.2f ms\n", longest.c_str(), static_cast<double>(max) / 1e6);
  return snapshot.paths.size() == 3 && !longest.empty() && values[0] == 1.0 ? 0 : 1;
}
