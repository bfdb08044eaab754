// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Trains nothing, in steps, and sends it to an MLflow server. What it sent is written to a file as the exporter was given it,
// in bits, so that the test can compare without trusting the exporter.
//   mlflow_program <file for what was sent> <steps> <pause in us after each step> [failed]
#include <takt/exporters/memory.hpp>
#include <takt/exporters/mlflow.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

namespace {

constexpr takt::Key kOdd{"ns::f<int>", takt::Kind::compute};

std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

void wait_us(long long us) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < until) {}
}

double special(int step) {
  switch (step) {
    case 0:
      return -0.0;
    case 1:
      return std::numeric_limits<double>::denorm_min();
    case 2:
      return 1e308;
    case 3:
      return -1.0 / 3.0;
    default:
      return std::sin(step);
  }
}

void write_sent(const char* path, const takt::MemoryExporter& memory) {
  std::FILE* const file = std::fopen(path, "w");
  const takt::Snapshot last = memory.last();
  const long long start_ns = last.run.start_unix_ns;
  std::fprintf(file, "start %lld %s\n", start_ns / 1'000'000, last.run.id.c_str());
  for (const takt::Row& row : memory.rows()) {
    const long long ms = (start_ns + row.begin_ns + row.host_ns) / 1'000'000;
    const auto line = [&](const char* kind, std::int64_t ns, std::uint32_t path_index) {
      std::fprintf(file, "%s %lld %lld %016llx %s\n", kind, static_cast<long long>(row.step), ms,
                   static_cast<unsigned long long>(bits_of(static_cast<double>(ns) / 1e9)),
                   last.path_name(path_index).c_str());
    };
    line("row", row.host_ns, last.series[row.series].path);
    for (const takt::Cell& cell : row.cells) { line("row", cell.host_ns, cell.path); }
  }
  for (const takt::Metric& metric : memory.metrics()) {
    if (std::isnan(metric.value)) { continue; }
    std::fprintf(file, "metric %lld %lld %016llx %s\n", static_cast<long long>(metric.step),
                 static_cast<long long>(metric.time_unix_ns / 1'000'000),
                 static_cast<unsigned long long>(bits_of(metric.value)), metric.name.c_str());
  }
  std::fclose(file);
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) { return 2; }
  const int steps = std::atoi(arguments[2]);
  const long long pause_us = std::atoll(arguments[3]);
  const takt::MemoryExporter memory;
  bool delivered = false;
  {
    takt::Session session("mlflow-test");
    session.add(memory);
    takt::MlflowOptions options = takt::MlflowOptions::from_env();
    options.every_step = true;
    session.add(takt::MlflowExporter(options));
    for (int number = 0; number < 101; ++number) { session.param("param " + std::to_string(number), number); }
    session.param("long", std::string(501, 'x'));
    session.tag("purpose", "caf\xC3\xA9");
    for (int step = 0; step < steps; ++step) {
      takt::Scope batch(takt::Batch);
      { takt::Scope io(takt::IO); }
      { takt::Scope odd(kOdd); }
      wait_us(pause_us);
      session.metric("loss", special(step));
      if (step == 5) { session.metric("limit", std::numeric_limits<double>::infinity()); }
      if (step == 6) { session.metric("limit", std::numeric_limits<double>::quiet_NaN()); }
    }
    if (count > 4) { session.fail(); }
    delivered = session.close();
  }
  write_sent(arguments[1], memory);
  std::printf("delivered %d\n", delivered ? 1 : 0);
  return 0;
}
