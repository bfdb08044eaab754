// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Records one run and outputs it in every way: the files in its directory and, on stdout, one line each, the last
// snapshot of an exporter and the snapshot read from the trees afterwards. Every key appears at only one path.
#include <takt/exporters/json.hpp>
#include <takt/exporters/memory.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr takt::Key kLoad{"Load", takt::Kind::io};
constexpr takt::Key kDecode{"Decode", takt::Kind::io};
constexpr takt::Key kOptimizer{"Optimizer", takt::Kind::compute};
constexpr takt::Key kSave{"Save", takt::Kind::io};

double spin(int turns) {
  double value = 0;
  for (int turn = 0; turn < turns; ++turn) { value = 0.5 * value + 1.0 / (1 + turn); }
  return value;
}

double train(int step) {
  takt::Scope batch(takt::Batch);
  double value = 0;
  {
    takt::Scope io(takt::IO);
    io.bytes(1000);
  }
  {
    takt::Scope part(takt::Forward);
    value += spin(50 + step % 7);
    part.lap(takt::Backward);
    const takt::Scope comm(takt::Comm);
    value += spin(20);
  }
  if (step % 10 == 0) { const takt::Scope optimizer(kOptimizer); }
  batch.items(32);
  return value;
}

void load(int samples) {
  takt::name_thread("loader");
  const takt::Scope all(kLoad);
  for (int sample = 0; sample < samples; ++sample) { const takt::Scope decode(kDecode); }
}

void print_line(const takt::Snapshot& snapshot) {
  std::printf("%s\n", nlohmann::json::parse(takt::format_json(snapshot)).dump().c_str());
}

}  // namespace

int main() {
  const takt::MemoryExporter memory;
  double value = 0;
  {
    takt::SessionOptions options = takt::SessionOptions::from_env();
    options.table = false;
    takt::Session session("consistency", options);
    session.add(memory);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const takt::Scope scope(takt::Epoch);
      std::thread loader(load, 300);
      for (int step = 0; step < 200; ++step) { value += train(step); }
      loader.join();
      const takt::Scope save(kSave);
      session.metric("value", value);
    }
  }
  print_line(memory.last());
  print_line(takt::snapshot());
  return value > 0 ? 0 : 1;
}
