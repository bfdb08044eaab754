// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Trains nothing, in steps, and writes it for W&B. What it was given is written to a file in bits, so that the test can compare
// without trusting the exporter.
//   wandb_program run <file for what was given> <steps> <pause in us after each step> [failed]
//     ends earlier where there is a file <file for what was given>.end
//   wandb_program blocks <folder>      a log with records of many sizes at every place near the end of a block
//   wandb_program wide <metrics>       so many metrics in one step
#include <takt/exporters/memory.hpp>
#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "wandb_log.hpp"
#include "wandb_records.hpp"

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <string>

namespace {

using takt::detail::WandbRecords;

constexpr takt::Key kOdd{"ns::f<int>", takt::Kind::compute};

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
      return std::numeric_limits<double>::quiet_NaN();
    case 4:
      return -std::numeric_limits<double>::infinity();
    default:
      return std::sin(step);
  }
}

void write_line(std::FILE* file, const char* kind, std::int64_t step, double value, const std::string& name) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  std::fprintf(file, "%s %lld %016llx %s\n", kind, static_cast<long long>(step), static_cast<unsigned long long>(bits),
               name.c_str());
}

void write_given(const char* path, const takt::MemoryExporter& memory) {
  std::FILE* const file = std::fopen(path, "w");
  const takt::Snapshot last = memory.last();
  for (const takt::Row& row : memory.rows()) {
    const auto line = [&](std::int64_t ns, std::uint32_t of) {
      write_line(file, "row", row.step, static_cast<double>(ns) / 1e9, last.path_name(of));
    };
    line(row.host_ns, last.series[row.series].path);
    for (const takt::Cell& cell : row.cells) { line(cell.host_ns, cell.path); }
  }
  for (const takt::Metric& metric : memory.metrics()) {
    write_line(file, "metric", metric.step, metric.value, metric.name);
  }
  std::fclose(file);
}

int run(const char* given, int steps, long long pause_us, bool fails) {
  const std::string end = std::string(given) + ".end";
  const takt::MemoryExporter memory;
  bool written = false;
  {
    takt::Session session("wandb-test");
    session.add(memory);
    takt::WandbOptions options = takt::WandbOptions::from_env();
    options.every_step = true;
    session.add(takt::WandbExporter(options));
    session.param("lr", 0.25);
    session.param("layers", 12);
    session.param("nesterov", true);
    session.param("optimizer", "sgd");
    session.param("a.b/c", "caf\xC3\xA9 \"x\"");
    session.tag("purpose", "caf\xC3\xA9");
    takt::Scope epoch(takt::Epoch);
    for (int step = 0; step < steps && !std::filesystem::exists(end); ++step) {
      takt::Scope batch(takt::Batch);
      { takt::Scope io(takt::IO); }
      { takt::Scope odd(kOdd); }
      wait_us(pause_us);
      session.metric("loss", special(step));
      if (step % 10 == 0) { session.metric("a.b", step); }
      if (step % 10 == 0) { session.metric("x/y", 1.0 / (step + 1)); }
      if (step == 7) { session.metric("_step", 42); }
    }
    if (fails) { session.fail(); }
    written = session.close();
  }
  write_given(given, memory);
  std::printf("written %d\n", written ? 1 : 0);
  return 0;
}

/// The next row, in a record of `size` bytes.
std::string row_of(WandbRecords& records, std::int64_t step, std::size_t size) {
  std::size_t length = size / 2;
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::string text(length, 'x');
    for (std::size_t at = 0; at < length; ++at) {
      text[at] = static_cast<char>('a' + (at + static_cast<std::size_t>(step)) % 26);
    }
    WandbRecords tried = records;
    std::string record =
        tried.history({{"text", takt::detail::wandb_json(text)}, {"_step", std::to_string(step)}}, step);
    if (record.size() == size) {
      records = tried;
      return record;
    }
    length = length + size - record.size();
  }
  std::fprintf(stderr, "no row has a record of %zu bytes\n", size);
  std::exit(3);
}

int blocks(const std::string& folder) {
  constexpr std::size_t block = 32768;
  WandbRecords records;
  takt::detail::WandbIdentity identity;
  identity.id = "blocks";
  identity.start_unix_ns = 1'700'000'000'000'000'000;
  std::string log(takt::detail::wandb_log_header());
  const auto append = [&](const std::string& record) { takt::detail::append_wandb_record(log, log.size(), record); };
  append(records.header("takt-test"));
  append(records.run(identity, {}));
  std::int64_t step = 0;
  for (std::size_t before_end = 0; before_end <= 16; ++before_end) {
    for (const std::size_t size : {std::size_t{100}, block - 14, 2 * block - 14, std::size_t{100'000}}) {
      // Up to there, or to there in the next block where no row is as small.
      std::size_t gap = block - log.size() % block;
      if (gap < before_end + 200) {
        append(row_of(records, step++, 200 + gap));
        gap = block - log.size() % block;
      }
      append(row_of(records, step++, gap - before_end - 7));
      append(row_of(records, step++, size));
    }
  }
  append(records.exit(0, 1));
  std::FILE* const file = std::fopen((folder + "/run-blocks.wandb").c_str(), "wb");
  std::fwrite(log.data(), 1, log.size(), file);
  std::fclose(file);
  std::printf("%lld\n", static_cast<long long>(step));
  return 0;
}

int wide(int metrics) {
  takt::Snapshot snapshot;
  snapshot.run.name = "wide";
  snapshot.run.start_unix_ns = 1'700'000'000'000'000'000;
  snapshot.finished = true;
  for (int number = 0; number < metrics; ++number) {
    takt::Metric metric;
    metric.sequence = static_cast<std::uint64_t>(number);
    metric.name = std::string(230, 'x') + std::to_string(number);
    metric.value = number;
    metric.time_unix_ns = snapshot.run.start_unix_ns;
    snapshot.metrics.push_back(metric);
  }
  takt::WandbOptions options = takt::WandbOptions::from_env();
  options.files = false;
  takt::WandbExporter exporter(options);
  exporter.export_snapshot(snapshot);
  return exporter.shutdown(std::chrono::milliseconds(1000)) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 2 ? arguments[1] : "";
  if (what == "run" && count > 4) {
    return run(arguments[2], std::atoi(arguments[3]), std::atoll(arguments[4]), count > 5);
  }
  if (what == "blocks") { return blocks(arguments[2]); }
  return what == "wide" ? wide(std::atoi(arguments[2])) : 2;
}
