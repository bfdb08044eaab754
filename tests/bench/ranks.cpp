// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures `takt report` or `takt sync --to tensorboard` on jobs of many ranks, each with 100 paths and 200 steps.
// Prints wall-clock seconds, processor seconds (which hardly depend on other load) and the peak resident memory.
//  takt_bench_ranks <the command takt> [sync] [ranks..., default 10, 100 and 1000]
//  The journals are written to TMPDIR.

#include "journal/journal_writer.hpp"
#include "support/snapshot_builder.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to programs

namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kPaths = 100;
constexpr std::uint64_t kSteps = 200;

takt::Snapshot rank_of(int rank, int ranks) {
  takt::Snapshot snapshot;
  snapshot.run.name = "bench";
  snapshot.run.id = "bench-1";
  snapshot.run.rank = rank;
  snapshot.run.world_size = ranks;
  snapshot.run.host = "n" + std::to_string(rank / 8);
  snapshot.wall_ns = 1'000'000'000;
  takt_test::add_thread(snapshot, "main");
  const std::uint32_t batch = takt_test::add_path(snapshot, "Batch");
  for (std::uint32_t path = 1; path < kPaths; ++path) {
    const auto kind = path == 1 ? takt::Kind::comm : takt::Kind::compute;
    takt_test::add_path(snapshot, "Layer " + std::to_string(path), batch, kind);
  }
  takt_test::add_series(snapshot, batch, 0);
  snapshot.series[0].steps = kSteps;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    takt::Row& row = takt_test::add_row(snapshot, 0, step);
    row.host_ns = 0;
    for (std::uint32_t path = 1; path < kPaths; ++path) {
      // Deterministic values, spread over a fifth.
      const auto mixed = (step * 31 + path * 17 + static_cast<std::uint64_t>(rank) * 7) * 2654435761U % 10'000;
      const auto ns = static_cast<std::int64_t>(50'000 + mixed);
      row.cells.push_back({path, 1, ns});
      row.host_ns += ns;
      snapshot.paths[path].host.add(static_cast<std::uint64_t>(ns));
    }
    snapshot.paths[batch].host.add(static_cast<std::uint64_t>(row.host_ns));
  }
  snapshot.finished = true;
  return snapshot;
}

void write_ranks(const fs::path& run, int ranks) {
  takt::detail::JournalOptions options;
  options.threads = false;
  for (int rank = 0; rank < ranks; ++rank) {
    const fs::path directory = run / ("rank-" + std::to_string(rank) + "-0-1");
    fs::create_directories(directory);
    takt::detail::JournalExporter exporter(directory.string(), options);
    const takt::Snapshot snapshot = rank_of(rank, ranks);
    takt::Snapshot beginning;
    beginning.run = snapshot.run;
    exporter.begin(beginning);
    if (exporter.export_snapshot(snapshot) != takt::ExportResult::ok) {
      std::fprintf(stderr, "takt_bench_ranks: %s takes no journal; is the disk full?\n", directory.c_str());
      std::exit(1);
    }
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

/// Prints one line. Returns true if the command succeeded.
bool measure(const char* command, bool sync, const fs::path& run, int ranks) {
  std::vector<std::string> texts = {command, "report", run.string()};
  if (sync) { texts = {command, "sync", "--to", "tensorboard", run.string()}; }
  std::vector<char*> words;
  for (std::string& each : texts) { words.push_back(each.data()); }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const bool started = ::posix_spawn(&child, command, &actions, nullptr, words.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage used = {};
  if (!started || ::wait4(child, &status, 0, &used) != child || status != 0) {
    std::fprintf(stderr, "takt_bench_ranks: %s %s %s has failed\n", command, texts[1].c_str(), run.c_str());
    return false;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("| %d | %.2f | %.2f | %.0f |\n", ranks, took.count(), seconds(used.ru_utime) + seconds(used.ru_stime),
              static_cast<double>(used.ru_maxrss) / 1024);
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::fprintf(stderr, "usage: takt_bench_ranks <the command takt> [sync] [ranks...]\n");
    return 2;
  }
  std::vector<int> sizes;
  const bool sync = count > 2 && std::string(arguments[2]) == "sync";
  for (int at = sync ? 3 : 2; at < count; ++at) { sizes.push_back(std::atoi(arguments[at])); }
  if (sizes.empty()) { sizes = {10, 100, 1000}; }
  std::printf("| ranks | s | s of processors | MiB |\n|---|---|---|---|\n");
  bool good = true;
  for (const int ranks : sizes) {
    std::string name = (fs::temp_directory_path() / "takt-bench-XXXXXX").string();
    if (ranks < 2 || ::mkdtemp(name.data()) == nullptr) {
      std::fprintf(stderr, "takt_bench_ranks: it takes two ranks or more, and a TMPDIR that may be written\n");
      return 2;
    }
    write_ranks(name, ranks);
    good = measure(arguments[1], sync, name, ranks) && good;
    fs::remove_all(name);
  }
  return good ? 0 : 1;
}
