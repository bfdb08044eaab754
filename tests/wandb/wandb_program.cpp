// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Makes steps without training and writes them for W&B. Writes the data that the exporter received to a file, in bits,
// so that the test can compare without trusting the exporter.
//   wandb_program run <file for the data> <steps> <pause in us after each step> [failed]
//     ends early if <file for the data>.end exists
//   wandb_program silent               one step, nothing until its standard input ends, and then a parameter
//   wandb_program blocks <directory>      a log with records of many sizes at every position near the end of a block
//   wandb_program chunks <log>         meaningless records of every size at every position near the end of a block
//   wandb_program wide <metrics>       that many metrics in one step
#include <takt/exporters/memory.hpp>
#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "wandb/wandb_log.hpp"
#include "wandb/wandb_rows.hpp"

#include <atomic>
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
    case 5:
      return std::numeric_limits<double>::infinity();
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
      if (step == 9) { session.metric("gr\xC3\xB6\xC3\x9F\x65 \xF0\x9F\x9A\x80", 0.5); }
    }
    if (fails) { session.fail(); }
    written = session.close();
  }
  write_given(given, memory);
  std::printf("written %d\n", written ? 1 : 0);
  return 0;
}

int be_silent() {
  takt::Session session("wandb-test");
  session.add(takt::WandbExporter::from_env());
  { const takt::Scope batch(takt::Batch); }
  while (std::getchar() != EOF) {}
  session.param("late", 1);
  std::printf("written %d\n", session.close() ? 1 : 0);
  return 0;
}

/// Trains until a user presses "stop" in W&B.
int train_until_stopped() {
  std::atomic<bool> stopped{false};
  takt::Session session("wandb-test");
  takt::WandbOptions options = takt::WandbOptions::from_env();
  options.on_stop = [&stopped] { stopped = true; };
  session.add(takt::WandbExporter(options));
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!stopped && std::chrono::steady_clock::now() < until) {
    const takt::Scope batch(takt::Batch);
    session.metric("loss", 1);
    wait_us(1000);
  }
  std::printf("stopped %d\n", stopped ? 1 : 0);
  session.close();
  return 0;
}

/// Returns the next row, in a record of `size` bytes.
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

void write_log(const std::string& name, const std::string& log) {
  std::FILE* const file = std::fopen(name.c_str(), "wb");
  std::fwrite(log.data(), 1, log.size(), file);
  std::fclose(file);
}

int blocks(const std::string& directory) {
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
      // Fills up to that position, or up to the same one in the next block if no row is small enough.
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
  write_log(directory + "/run-blocks.wandb", log);
  std::printf("%lld\n", static_cast<long long>(step));
  return 0;
}

int chunks(const char* file) {
  constexpr std::size_t block = 32768;
  constexpr std::size_t head = 7;
  std::string log(takt::detail::wandb_log_header());
  std::size_t count = 0;
  const auto append = [&](std::size_t size) {
    takt::detail::append_wandb_record(log, log.size(), std::string(size, static_cast<char>(count++)));
  };
  for (std::size_t before_end = 0; before_end <= 24; ++before_end) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{7}, std::size_t{8},
                                   std::size_t{100}, block - 14, block - 7, block, 2 * block, std::size_t{100'000}}) {
      append(2 * block - log.size() % block - 2 * head - before_end);  // up to the same position in the next block
      append(size);
    }
  }
  write_log(file, log);
  std::printf("%zu\n", count);
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
  return exporter.shutdown(std::chrono::milliseconds(60'000)) ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "silent") { return be_silent(); }
  if (what == "halt") { return train_until_stopped(); }
  if (what == "run" && count > 4) {
    return run(arguments[2], std::atoi(arguments[3]), std::atoll(arguments[4]), count > 5);
  }
  if (what == "blocks" && count > 2) { return blocks(arguments[2]); }
  if (what == "chunks" && count > 2) { return chunks(arguments[2]); }
  return what == "wide" && count > 2 ? wide(std::atoi(arguments[2])) : 2;
}
