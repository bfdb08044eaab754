// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Parameters, tags and metrics are recorded with the timings, so a training program needs no second client for its
// tracker. An exporter receives them all; here it keeps everything in memory, for tests. Its copies share one store:
// one goes to the session, the other stays here for queries.
#include <takt/exporters/memory.hpp>
#include <takt/takt.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.files = false;
  options.table = false;
  const takt::MemoryExporter memory;
  double slope = 0;
  {
    // [snippet: metrics]
    takt::Session session("line", options);
    session.add(memory);
    session.param("lr", 0.5);
    session.param("optimizer", "sgd");
    session.tag("purpose", "example");
    for (int step = 0; step < 30; ++step) {
      takt::Scope batch(takt::Batch);
      double loss = 0;
      double gradient = 0;
      for (int i = 1; i <= 1000; ++i) {  // fits y = 3 x
        const double x = i / 1000.0;
        const double error = slope * x - 3 * x;
        loss += error * error / 1000;
        gradient += 2 * error * x / 1000;
      }
      slope -= 0.5 * gradient;
      session.metric("loss", loss);  // at the step of this Batch
    }
    session.metric("slope", slope, 30);  // at a step of your own
    // [end]
  }

  const std::vector<takt::Metric> metrics = memory.metrics();
  const takt::Snapshot last = memory.last();
  std::printf("slope %.4f, %zu metrics, lr=%s, purpose=%s\n", slope, metrics.size(), last.params.at("lr").c_str(),
              last.tags.at("purpose").c_str());
  const bool complete = metrics.size() == 31 && memory.rows().size() == 30 && last.params.size() == 2;
  return complete && metrics[7].step == 7 && last.finished && std::abs(slope - 3) < 0.01 ? 0 : 1;
}
