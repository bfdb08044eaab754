// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Makes steps without training and sends them to an MLflow server. Writes the data that the exporter received to a
// file, in bits, so that the test can compare without trusting the exporter.
//   mlflow_program <file for the data> <steps> <pause in us in each step> [failed | windows | clash | child]
#include <takt/exporters/memory.hpp>
#include <takt/exporters/mlflow.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>

#include <poll.h>
#include <sys/resource.h>

namespace {

constexpr takt::Key kOdd{"ns::f<int>", takt::Kind::compute};
/// In many scripts, with every character that MLflow rejects, and longer than its limit. Two differ only in such a
/// character.
const char* const kNames[] = {
    "損失", "потери", "خسارة", "a:b|c*d?\"e<f>\\g", "a;b|c*d?\"e<f>\\g", "../up//and/./down", "📉 %20&#"};

std::uint64_t bits_of(double value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

/// Returns how often the thread has blocked since its start.
long waits() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
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
    std::fprintf(file, "metric %lld %lld %016llx %s\n", static_cast<long long>(metric.step),
                 static_cast<long long>(metric.time_unix_ns / 1'000'000),
                 static_cast<unsigned long long>(bits_of(metric.value)), metric.name.c_str());
  }
  std::fclose(file);
}

/// Prints the number of steps in which the thread blocked, and the longest of these; in other steps it may still have
/// been preempted.
void train(takt::Session& session, int steps, long long pause_us, bool clash) {
  int waited = 0;
  long long longest_us = 0;
  for (int step = 0; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    const long before = waits();
    {
      takt::Scope batch(takt::Batch);
      { takt::Scope io(takt::IO); }
      { takt::Scope odd(kOdd); }
      wait_us(pause_us);
      session.metric("loss", special(step));
      if (clash) {
        session.metric("step", step);
        session.metric("step/forward", step);
      }
      if (step == 5) { session.metric("limit", std::numeric_limits<double>::infinity()); }
      if (step == 6) { session.metric("limit", std::numeric_limits<double>::quiet_NaN()); }
    }
    if (waits() == before) { continue; }
    ++waited;
    const auto took = std::chrono::steady_clock::now() - begin;
    longest_us = std::max<long long>(longest_us, std::chrono::duration_cast<std::chrono::microseconds>(took).count());
  }
  std::printf("waited in %d steps, at most %lld us\n", waited, longest_us);
}

/// Steps that wait without using the processor, because windows are long. One step is longer than the others, a region
/// is entered twice in each, and a parameter changes.
void train_in_windows(takt::Session& session, int steps, long long pause_us) {
  const auto pass = [](long long us) {
    const timespec time = {static_cast<std::time_t>(us / 1'000'000), static_cast<long>(us % 1'000'000 * 1000)};
    ::ppoll(nullptr, 0, &time, nullptr);
  };
  takt::Scope epoch(takt::Epoch);
  for (int step = 0; step < steps; ++step) {
    takt::Scope batch(takt::Batch);
    batch.items(3 + step % 2);
    for (int call = 0; call < 2; ++call) {
      takt::Scope io(takt::IO);
      pass(pause_us / 8 * (1 + step % 3));
    }
    pass(pause_us / 2);
    session.metric("loss", special(step));
    session.metric("time/own", step);
    session.param("rate", step < steps / 2 ? "first" : "second");
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) { return 2; }
  const int steps = std::atoi(arguments[2]);
  const long long pause_us = std::atoll(arguments[3]);
  const std::string mode = count > 4 ? arguments[4] : "";
  const bool windows = mode == "windows";
  const takt::MemoryExporter memory;
  bool delivered = false;
  {
    takt::Session session("mlflow-test");
    session.add(memory);
    if (mode == "child") {
      session.tag("mlflow.parentRunId", std::getenv("PARENT"));
      session.tag("mlflow.note.content", "# what it is");
    }
    takt::MlflowOptions options = takt::MlflowOptions::from_env();
    options.every_step = !windows;
    if (const char* const file = std::getenv("TOKEN_FILE"); file != nullptr) { options.mantik.token_file = file; }
    session.add(takt::MlflowExporter(options));
    if (mode == "child") { session.tag("mlflow.runName", "renamed"); }
    for (int number = 0; number < 101; ++number) { session.param("param " + std::to_string(number), number); }
    std::string accents;
    for (int number = 0; number < 7000; ++number) { accents += "\xC3\xA9"; }
    session.param("long", accents);
    session.param("less long", std::string(501, 'x'));
    session.tag("long", std::string(9000, 'x'));
    session.tag("purpose", "caf\xC3\xA9");
    if (windows) {
      train_in_windows(session, steps, pause_us);
    } else {
      train(session, steps, pause_us, mode == "clash");
    }
    for (const char* const name : kNames) { session.metric(name, 0.5, 0); }
    session.metric(std::string(300, 'x'), 0.5, 0);
    if (mode == "failed") { session.fail(); }
    delivered = session.close();
  }
  write_sent(arguments[1], memory);
  std::printf("delivered %d\n", delivered ? 1 : 0);
  return 0;
}
