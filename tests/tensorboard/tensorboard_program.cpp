// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Makes steps without training and writes them for TensorBoard. Writes the data that the exporter received to a file,
// in bits, so that the test can compare without trusting the exporter.
//   tensorboard_program <file for the data> <steps> <pause in us after each step> <every_step | windows | without>
//     ends early if <file for the data>.end exists
#include <takt/exporters/memory.hpp>
#include <takt/exporters/tensorboard.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>

namespace {

constexpr takt::Key kOdd{"ns::f<int>", takt::Kind::compute};

void wait_us(long long us) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
  while (std::chrono::steady_clock::now() < until) {}
}

double special(int step) {
  constexpr double values[] = {-0.0,
                               std::numeric_limits<double>::denorm_min(),
                               1e308,
                               std::numeric_limits<double>::quiet_NaN(),
                               -std::numeric_limits<double>::infinity(),
                               0.1};
  return step < 6 ? values[step] : std::sin(step);
}

void write_line(std::FILE* file, std::int64_t step, std::int64_t time_unix_ns, double value, const std::string& name) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  std::fprintf(file, "%lld %lld %016llx %s\n", static_cast<long long>(step),
               static_cast<long long>(time_unix_ns / 1'000'000), static_cast<unsigned long long>(bits), name.c_str());
}

void write_given(const char* path, const takt::MemoryExporter& memory) {
  std::FILE* const file = std::fopen(path, "w");
  const takt::Snapshot last = memory.last();
  for (const takt::Row& row : memory.rows()) {
    const std::int64_t end_ns = last.run.start_unix_ns + row.begin_ns + row.host_ns;
    const auto line = [&](std::int64_t ns, std::uint32_t of) {
      write_line(file, row.step, end_ns, static_cast<double>(ns) / 1e9, "time/" + last.path_name(of) + "/step_s");
    };
    line(row.host_ns, last.series[row.series].path);
    for (const takt::Cell& cell : row.cells) { line(cell.host_ns, cell.path); }
  }
  for (const takt::Metric& metric : memory.metrics()) {
    write_line(file, metric.step, metric.time_unix_ns, metric.value, metric.name);
  }
  std::fclose(file);
}

bool train(const char* given, int steps, long long pause_us, const std::string& how,
           const takt::MemoryExporter& memory) {
  const std::string end = std::string(given) + ".end";
  takt::Session session("tensorboard-test");
  session.add(memory);
  takt::TensorboardOptions options = takt::TensorboardOptions::from_env();
  options.every_step = how == "every_step";
  if (how != "without") { session.add(takt::TensorboardExporter(options)); }
  takt::Scope epoch(takt::Epoch);
  for (int step = 0; step < steps && !std::filesystem::exists(end); ++step) {
    takt::Scope batch(takt::Batch);
    { takt::Scope io(takt::IO); }
    { takt::Scope odd(kOdd); }
    wait_us(pause_us);
    batch.items(32);
    session.metric("loss", special(step));
    if (step % 10 == 0) { session.metric("val/mAP@0.5", 1.0 / (step + 1)); }
    if (step == 0) { session.metric("gr\xC3\xB6\xC3\x9F\x65 \xF0\x9F\x9A\x80", 0.5); }
  }
  return session.close();
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) { return 2; }
  const takt::MemoryExporter memory;
  const bool written = train(arguments[1], std::atoi(arguments[2]), std::atoll(arguments[3]), arguments[4], memory);
  write_given(arguments[1], memory);
  std::printf("written %d\n", written ? 1 : 0);
  return 0;
}
