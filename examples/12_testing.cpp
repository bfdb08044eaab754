// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Tests your own instrumented code: a Session without threads, files and table, an exporter that keeps its data in
// memory, and instead of a GPU a device with a clock that moves only on request. No call sleeps, and the device spans
// are the same in every run.
#include <takt/backends/manual.hpp>
#include <takt/exporters/memory.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cstdio>
#include <vector>

/// The code under test: steps that put work on a device.
static void train(int steps, takt::ManualClock& device) {
  const takt::ManualBackend stream(device);
  for (int step = 0; step < steps; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward, stream);
    device.advance(std::chrono::milliseconds(2 + step));  // duration of the work on the device
  }
}

int main() {
  // [snippet: testing]
  takt::SessionOptions options;  // not from_env(): a test should not depend on TAKT_ variables
  options.files = false;
  options.table = false;
  options.background = false;  // no threads: poll() does their work
  options.warmup = 0;
  takt::Session session("test", options);
  const takt::MemoryExporter memory;
  session.add(memory);  // a copy; both share one store

  takt::ManualClock device;
  device.hold(true);  // results stay pending, as on a busy GPU
  train(3, device);
  session.poll();
  const bool none_yet = memory.rows().empty();  // rows wait for their stream spans

  device.resolve_all();
  const bool complete = takt::complete(std::chrono::seconds(1));
  session.poll();
  const std::vector<takt::Row> rows = memory.rows();
  // [end]

  for (const takt::Row& row : rows) {
    std::printf("step %lld: %lld ns on the device\n", static_cast<long long>(row.step),
                static_cast<long long>(row.cells.at(0).device_ns));
  }
  const bool exact =
      rows.size() == 3 && rows[0].cells[0].device_ns == 2'000'000 && rows[2].cells[0].device_ns == 4'000'000;
  session.close();
  return none_yet && complete && exact && memory.last().finished && device.outstanding() == 0 ? 0 : 1;
}
