// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/session.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/live_run.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_reading.hpp"
#include "cli/screen.hpp"
#include "cli/watch_line.hpp"
#include "report/page.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using WatchClock = std::chrono::steady_clock;
using Pause = std::chrono::duration<double>;
// Of the time, reading and drawing take no more than a part in so many, whatever period is wished for.
constexpr int kLeastIdle = 10;

void print_to_stderr(const std::vector<std::string>& lines) {
  for (const std::string& each : lines) { detail::print(stderr, "takt: {}\n", each); }
}

/// Until the next picture.
Pause pause_behind(WatchClock::time_point begin, double every_s) {
  const Pause busy = WatchClock::now() - begin;
  return std::max(Pause(every_s) - busy, busy * (kLeastIdle - 1));
}

std::string picture_of(const RunReport& report, const ConsoleOptions& drawn) {
  return report_text(report, detail::width_of(stdout, drawn.width), detail::wants_color(stdout, drawn.color));
}

std::int64_t now_unix_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_same_folder(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

/// \throws takt::Error where it does not lie in a folder.
RunFolder run_to_watch(const std::string& given, std::vector<std::string>& remarks) {
  RunFolder run = newest_run(given, remarks);
  if (const auto& file = run.ranks.front().file(); file != nullptr) {
    throw Error(detail::format("run {} lies in the merged file {}, into which no program writes; takt report shows it",
                               std::filesystem::path(run.folder).filename().string(), file->path()));
  }
  return run;
}

std::vector<std::string> paths_of_ranks(const std::vector<RankFolder>& folders) {
  std::vector<std::string> paths;
  paths.reserve(folders.size());
  for (const RankFolder& each : folders) { paths.push_back(each.path()); }
  return paths;
}

/// Waits until there is a run, and something to report of it. In a folder of runs one that has ended before does not
/// count.
std::unique_ptr<LiveRun> awaited_run(const std::string& given, double every_s) {
  std::string told;
  std::vector<std::string> ended_before;  // folders of ranks
  for (bool is_first = true;; is_first = false) {
    std::string reason = told;
    try {
      std::vector<std::string> remarks;
      const RunFolder found = run_to_watch(given, remarks);
      std::vector<std::string> ranks = paths_of_ranks(found.ranks);
      if (ranks != ended_before) {
        auto run = std::make_unique<LiveRun>(found);
        run->read_on();
        const bool is_old = is_first && run->readable() && run->ended() && !is_same_folder(found.folder, given);
        if (run->readable() && !is_old) { return run; }
        if (is_old) { ended_before = std::move(ranks); }
        reason = is_old ? "the newest run, " + detail::printable(found.folder) + ", has ended" : run->why_unreadable();
      }
    } catch (const Error& error) { reason = detail::printable(error.what()); }
    if (std::exchange(told, reason) != reason) { print_to_stderr({"waiting: " + reason}); }
    std::this_thread::sleep_for(Pause(every_s));
  }
}

/// \throws takt::Error where there is nothing to report.
RunReport report_on(const LiveRun& run) {
  if (!run.readable()) { throw Error(run.why_unreadable() + "; --wait waits for it"); }
  return run.report();
}

void watch_on_screen(LiveRun& run, const WatchWishes& wishes) {
  Screen screen;
  std::optional<RunReport> report;
  const auto draw = [&] {
    screen.draw(detail::printable(run.folder()) + ", " + detail::utc_text(now_unix_ns()) + " UTC\n" +
                picture_of(*report, wishes.drawn));
  };
  const auto stops = [&] { return screen.wait({}) == Screen::Event::stop; };
  screen.draw("\nreading " + detail::printable(run.folder()));
  while (screen.stop_signal() == 0) {
    const WatchClock::time_point begin = WatchClock::now();
    if (!run.read_on(stops)) { break; }
    report = report_on(run);
    draw();
    if (run.ended()) { break; }
    const WatchClock::time_point next =
        WatchClock::now() + std::chrono::duration_cast<WatchClock::duration>(pause_behind(begin, wishes.every_s));
    while (screen.wait(next - WatchClock::now()) == Screen::Event::resized) { draw(); }
  }
  screen.leave();
  if (report) { detail::print(stdout, "{}", picture_of(*report, wishes.drawn)); }
  std::fflush(stdout);
  if (screen.stop_signal() != 0) { ::raise(screen.stop_signal()); }  // it ends the process as the screen is gone
}

void watch_in_lines(LiveRun& run, const WatchWishes& wishes) {
  for (bool ends = false; !ends;) {
    const WatchClock::time_point begin = WatchClock::now();
    run.read_on();
    detail::print(stdout, "{}", watch_line(report_on(run), now_unix_ns()));
    ends = std::fflush(stdout) != 0 || wishes.once || run.ended();
    if (!ends) { std::this_thread::sleep_for(pause_behind(begin, wishes.every_s)); }
  }
}

void print_once(LiveRun& run, const ConsoleOptions& drawn) {
  run.read_on();
  detail::print(stdout, "{}", picture_of(report_on(run), drawn));
}

}  // namespace

int watch(const std::string& given, const WatchWishes& wishes) {
  const std::string folder = given.empty() ? SessionOptions::from_env().directory : given;
  std::vector<std::string> remarks;
  const std::unique_ptr<LiveRun> run =
      wishes.wait ? awaited_run(folder, wishes.every_s) : std::make_unique<LiveRun>(run_to_watch(folder, remarks));
  print_to_stderr(remarks);
  if (!Screen::is_there()) {
    watch_in_lines(*run, wishes);
  } else if (wishes.once) {
    print_once(*run, wishes.drawn);
  } else {
    watch_on_screen(*run, wishes);
  }
  return 0;
}

}  // namespace cli
TAKT_END_NAMESPACE
