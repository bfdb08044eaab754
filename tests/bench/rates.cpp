// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Measures how many rows and metrics per second reach the journal without dropped data.
//   takt_rates [seconds]                                     highest rates, some seconds each, for docs/benchmarks.md
//   takt_rates rows <per second> <threads> <seconds>         steps of 8 columns at that total rate over all threads
//   takt_rates metrics <burst> <threads> <seconds>           a burst of metrics once per second on each thread
//   takt_rates steps <us> <regions> <metrics> <steps>        a training loop with steps of that duration
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

constexpr int kColumns = 8;

double seconds_since(steady_clock::time_point begin) { return duration<double>(steady_clock::now() - begin).count(); }

double cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Result {
  std::uint64_t recorded = 0;
  std::uint64_t lost = 0;  // dropped rows or metrics, and dropped data that belongs to them
  bool closed = false;     // close() returned true
  double seconds = 0;      // duration of the loop
  double journal_bytes = 0;
  double cpu_seconds = 0;
};

const std::vector<const takt::Key*>& columns() {
  static const std::vector<const takt::Key*> keys = [] {
    std::vector<const takt::Key*> made;
    for (int column = 0; column < 64; ++column) {
      made.push_back(&takt::key(("column " + std::to_string(column)).c_str()));
    }
    return made;
  }();
  return keys;
}

void wait_until(steady_clock::time_point time) {
  // Sleeps if time is left, so that the training threads do not starve each other.
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(time - steady_clock::now()).count();
  if (left > 1) { ::poll(nullptr, 0, static_cast<int>(left - 1)); }
  while (steady_clock::now() < time) {}
}

double journal_bytes(const std::string& directory) {
  double bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().extension() == ".tjl") { bytes += static_cast<double>(file.file_size()); }
  }
  return bytes;
}

/// Runs `work` on `threads` threads; each returns how much it recorded.
Result measure(int threads, const std::function<std::uint64_t(takt::Session&)>& work) {
  const auto scratch = std::filesystem::temp_directory_path() / ("takt-rates-" + std::to_string(::getpid()));
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.directory = scratch.string();
  options.table = false;
  Result result;
  {
    takt::Session session("rates", options);
    std::atomic<std::uint64_t> recorded{0};
    const auto begin = steady_clock::now();
    const double cpu = cpu_seconds();
    std::vector<std::thread> all;
    all.reserve(static_cast<std::size_t>(threads));
    for (int thread = 0; thread < threads; ++thread) {
      all.emplace_back([&] { recorded += work(session); });
    }
    for (std::thread& each : all) { each.join(); }
    result.seconds = seconds_since(begin);
    result.cpu_seconds = cpu_seconds() - cpu;
    result.recorded = recorded;
    result.closed = session.close();
    for (const takt::Loss& loss : session.snapshot().losses) {
      if (loss.what != "not_in_csv") { result.lost += loss.count; }
      std::fprintf(stderr, "  %s %s: %llu\n", loss.what.c_str(), loss.where.c_str(),
                   static_cast<unsigned long long>(loss.count));
    }
    result.journal_bytes = journal_bytes(session.run().directory);
  }
  std::filesystem::remove_all(scratch);
  return result;
}

Result rows(double a_second, int threads, double seconds) {
  return measure(threads, [=](takt::Session&) {
    const auto begin = steady_clock::now();
    const duration<double> step(threads / a_second);
    std::uint64_t done = 0;
    for (; seconds_since(begin) < seconds; ++done) {
      {
        const takt::Scope batch(takt::Batch);
        for (int column = 0; column < kColumns; ++column) {
          const takt::Scope s(*columns()[static_cast<std::size_t>(column)]);
        }
      }
      wait_until(begin + std::chrono::duration_cast<steady_clock::duration>(step * static_cast<double>(done + 1)));
    }
    return done;
  });
}

Result bursts(std::uint64_t metrics, int threads, double seconds) {
  return measure(threads, [=](takt::Session& session) {
    const auto begin = steady_clock::now();
    std::uint64_t done = 0;
    for (int second = 0; second < seconds; ++second) {
      wait_until(begin + std::chrono::seconds(second));
      for (std::uint64_t metric = 0; metric < metrics; ++metric) {
        session.metric(metric % 2 == 0 ? "loss" : "accuracy", static_cast<double>(metric));
      }
      done += metrics;
    }
    return done;
  });
}

Result steps(double microseconds, int regions, int metrics, std::uint64_t count) {
  std::vector<std::string> names;
  for (int metric = 0; metric < metrics; ++metric) { names.push_back("metric " + std::to_string(metric)); }
  return measure(1, [=](takt::Session& session) {
    const auto begin = steady_clock::now();
    for (std::uint64_t step = 0; step < count; ++step) {
      {
        const takt::Scope batch(takt::Batch);
        for (int column = 0; column < regions; ++column) {
          const takt::Scope s(*columns()[static_cast<std::size_t>(column)]);
        }
        for (const std::string& name : names) { session.metric(name, static_cast<double>(step)); }
      }
      wait_until(begin + std::chrono::duration_cast<steady_clock::duration>(
                             duration<double>(1e-6 * microseconds * static_cast<double>(step + 1))));
    }
    return count * static_cast<std::uint64_t>(1 + metrics);
  });
}

bool print(const char* what, const Result& result) {
  const double recorded = static_cast<double>(result.recorded);
  std::printf("%-34s %12.0f a second  %9llu lost  %8.2f MB/s of journal, %5.1f B each  %4.2f cores%s\n", what,
              recorded / result.seconds, static_cast<unsigned long long>(result.lost),
              result.journal_bytes / result.seconds / 1e6, result.journal_bytes / recorded,
              result.cpu_seconds / result.seconds, result.closed ? "" : "  close() false");
  std::fflush(stdout);
  return result.lost == 0;
}

/// Doubles the rate until data is dropped.
void print_highest(int threads, double seconds) {
  const std::string name = "8 columns, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  for (double rate = 1e5; rate < 1e8; rate *= 2) {
    const Result result = rows(rate, threads, seconds);
    const bool kept = print(name.c_str(), result);
    if (!kept || static_cast<double>(result.recorded) / result.seconds < 0.9 * rate) { return; }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int at) { return at < argc ? std::atof(argv[at]) : 0; };
  if (what == "rows" && argc == 5) {
    return print("rows", rows(number(2), static_cast<int>(number(3)), number(4))) ? 0 : 1;
  }
  if (what == "metrics" && argc == 5) {
    return print("metrics", bursts(static_cast<std::uint64_t>(number(2)), static_cast<int>(number(3)), number(4))) ? 0
                                                                                                                   : 1;
  }
  if (what == "steps" && argc == 6) {
    return print("steps and metrics", steps(number(2), static_cast<int>(number(3)), static_cast<int>(number(4)),
                                            static_cast<std::uint64_t>(number(5))))
               ? 0
               : 1;
  }
  const double seconds = argc > 1 ? number(1) : 5;
  print_highest(1, seconds);
  print_highest(8, seconds);
  print("bursts of 20 000 metrics, 8 threads", bursts(20'000, 8, seconds));
}
