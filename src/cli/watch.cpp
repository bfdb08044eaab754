// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/watch.hpp"

#include "base/format.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/ls.hpp"
#include "cli/results_file.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "findings/findings.hpp"
#include "report/text_table.hpp"

#include <takt/error.hpp>
#include <takt/session.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

using WatchClock = std::chrono::steady_clock;
using Pause = std::chrono::duration<double>;
// Reading and drawing take at most one part in kMinIdle of the time, whatever the period.
constexpr int kMinIdle = 10;

/// Returns the time until the next picture.
Pause pause_behind(WatchClock::time_point begin, double every_s) {
  const Pause busy = WatchClock::now() - begin;
  return std::max(Pause(every_s) - busy, busy * (kMinIdle - 1));
}

std::string picture_of(const RunReport& report, const ConsoleOptions& drawn) {
  return report_text(report, {detail::width_of(stdout, drawn.width), detail::wants_color(stdout, drawn.color)});
}

std::int64_t now_unix_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_same_directory(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error);
}

/// \throws takt::Error if the run is in a merged file.
RunDirectory run_to_watch(const std::string& given, std::vector<std::string>& warnings) {
  RunDirectory run = newest_run(given, warnings);
  if (const auto& file = run.ranks.front().file(); file != nullptr) {
    throw Error(detail::format("run {} is in the merged file {}, which never changes; use takt report to show it",
                               std::filesystem::path(run.directory).filename().string(), file->path()));
  }
  return run;
}

std::vector<std::string> paths_of_ranks(const std::vector<RankDirectory>& directories) {
  std::vector<std::string> paths;
  paths.reserve(directories.size());
  for (const RankDirectory& each : directories) { paths.push_back(each.path()); }
  return paths;
}

/// Waits for a run with data to report. In a directory of runs, one that has already ended does not count.
std::unique_ptr<WatchedRun> awaited_run(const std::string& given, double every_s) {
  std::string reported;
  std::vector<std::string> ended_before;  // directories of ranks
  for (bool is_first = true;; is_first = false) {
    std::string reason = reported;
    try {
      std::vector<std::string> warnings;
      const RunDirectory found = run_to_watch(given, warnings);
      std::vector<std::string> ranks = paths_of_ranks(found.ranks);
      if (ranks != ended_before) {
        auto run = std::make_unique<WatchedRun>(found);
        run->read_on();
        const bool is_old = is_first && run->readable() && run->ended() && !is_same_directory(found.directory, given);
        if (run->readable() && !is_old) { return run; }
        if (is_old) { ended_before = std::move(ranks); }
        reason =
            is_old ? "the latest run, " + detail::printable(found.directory) + ", has ended" : run->why_unreadable();
      }
    } catch (const Error& error) { reason = detail::printable(error.what()); }
    if (std::exchange(reported, reason) != reason) { report_warnings({"waiting: " + reason}); }
    std::this_thread::sleep_for(Pause(every_s));
  }
}

/// \throws takt::Error if there is no data to report.
RunReport report_on(const WatchedRun& run) {
  if (!run.readable()) { throw Error(run.why_unreadable() + "; use --wait to wait for data"); }
  return run.report();
}

void watch_on_screen(WatchedRun& run, const WatchOptions& options) {
  Screen screen;
  std::optional<RunReport> report;
  const auto draw = [&] {
    screen.draw(detail::printable(run.directory()) + ", " + detail::utc_text(now_unix_ns()) + " UTC\n" +
                picture_of(*report, options.drawn));
  };
  const auto stops = [&] { return screen.wait({}) == Screen::Event::stop; };
  screen.draw("\nreading " + detail::printable(run.directory()));
  while (screen.stop_signal() == 0) {
    const WatchClock::time_point begin = WatchClock::now();
    if (!run.read_on(stops)) { break; }
    report = report_on(run);
    draw();
    if (run.ended()) { break; }
    const WatchClock::time_point next =
        WatchClock::now() + std::chrono::duration_cast<WatchClock::duration>(pause_behind(begin, options.every_s));
    while (screen.wait(next - WatchClock::now()) == Screen::Event::resized) { draw(); }
  }
  screen.leave();
  if (report) { detail::print(stdout, "{}", picture_of(*report, options.drawn)); }
  std::fflush(stdout);
  if (screen.stop_signal() != 0) { ::raise(screen.stop_signal()); }  // ends the process after the screen is restored
}

void watch_in_lines(WatchedRun& run, const WatchOptions& options) {
  for (bool ends = false; !ends;) {
    const WatchClock::time_point begin = WatchClock::now();
    run.read_on();
    detail::print(stdout, "{}", watch_line(report_on(run), now_unix_ns()));
    ends = std::fflush(stdout) != 0 || options.once || run.ended();
    if (!ends) { std::this_thread::sleep_for(pause_behind(begin, options.every_s)); }
  }
}

void print_once(WatchedRun& run, const ConsoleOptions& drawn) {
  run.read_on();
  detail::print(stdout, "{}", picture_of(report_on(run), drawn));
}

}  // namespace

int watch(const std::string& given, const WatchOptions& options) {
  const std::string directory = given.empty() ? SessionOptions::from_env().directory : given;
  std::vector<std::string> warnings;
  const std::unique_ptr<WatchedRun> run = options.wait
                                              ? awaited_run(directory, options.every_s)
                                              : std::make_unique<WatchedRun>(run_to_watch(directory, warnings));
  report_warnings(warnings);
  if (!Screen::is_there()) {
    watch_in_lines(*run, options);
  } else if (options.once) {
    print_once(*run, options.drawn);
  } else {
    watch_on_screen(*run, options);
  }
  return 0;
}

namespace {

std::string quoted(const std::string& text) { return detail::JsonText(detail::printable(text)).text(); }

/// Returns the first finding; empty: none.
std::string finding_of(const detail::JobReport& job) {
  if (!job.comparison.findings.empty()) { return job.comparison.findings.front().sentence; }
  return job.sum.findings.empty() ? "" : job.sum.findings.front().sentence;
}

std::string rates_of(const Throughput& throughput) {
  std::string text;
  if (throughput.steps > 0 && throughput.steps_per_s > 0) {
    text += detail::format(" step_s={:.6g} steps_per_s={:.6g}", 1 / throughput.steps_per_s, throughput.steps_per_s);
  }
  if (throughput.items > 0) { text += detail::format(" items_per_s={:.6g}", throughput.items_per_s); }
  return text;
}

}  // namespace

std::string watch_line(const RunReport& run, std::int64_t now_unix_ns) {
  std::string time = detail::utc_text(now_unix_ns);
  time[time.find(' ')] = 'T';
  std::string text = detail::format("time={}Z run={} state={} ranks={} world_size={} steps={}", time,
                                    quoted(run.job.sum.run.id), state_word(state_of(run.ranks)), run.ranks.size(),
                                    run.ranks.size() + run.missing.size(), max_steps(run.ranks));
  text += rates_of(main_throughput(run.job.sum).throughput);
  const std::string finding = finding_of(run.job);
  return text + (finding.empty() ? "" : " finding=" + quoted(finding)) + "\n";
}

namespace {

// All current terminals know these; others ignore them. Alternate screen, no cursor, no wrapping.
constexpr const char* kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
constexpr const char* kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
// Between these two sequences a terminal shows no partial update.
constexpr const char* kBeginDrawing = "\x1b[?2026h\x1b[H";
constexpr const char* kEndDrawing = "\x1b[J\x1b[?2026l";
constexpr const char* kEndLine = "\x1b[K";

sigset_t taken_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) { ::sigaddset(&set, each); }
  return set;
}

std::size_t lines_of_terminal() {
  winsize size = {};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 ? size.ws_row : 24;
}

void write_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool Screen::is_there() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

Screen::Screen() {
  const sigset_t taken = taken_signals();
  ::sigprocmask(SIG_BLOCK, &taken, &mask_before_);
  enter();
}

Screen::~Screen() {
  leave();
  ::sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
}

void Screen::enter() {
  write_out(kEnter);
  entered_ = true;
}

void Screen::leave() {
  if (entered_) { write_out(kLeave); }
  entered_ = false;
}

void Screen::draw(const std::string& text) {
  const std::size_t space = lines_of_terminal();
  std::string out = kBeginDrawing;
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (line + 1 < space) { out.append(text, at, end - at).append(kEndLine).append("\r\n"); }
    at = end + 1;
  }
  if (line >= space) {
    out += detail::format("{} more lines: enlarge the window to see them{}", line - space + 1, kEndLine);
  }
  write_out(out + kEndDrawing);
}

Screen::Event Screen::wait(std::chrono::nanoseconds longest) {
  const sigset_t taken = taken_signals();
  const auto ns = std::max<std::int64_t>(longest.count(), 0);
  const timespec time = {ns / detail::kSecondNs, ns % detail::kSecondNs};
  const int signal = ::sigtimedwait(&taken, nullptr, &time);
  if (signal < 0) { return Event::none; }
  if (signal == SIGWINCH) { return Event::resized; }
  if (signal == SIGTSTP) {
    suspend();
    return Event::resized;
  }
  stop_signal_ = signal;
  return Event::stop;
}

/// Restores the terminal for the shell until this process is continued.
void Screen::suspend() {
  leave();
  ::kill(::getpid(), SIGSTOP);
  enter();
}

namespace {

bool is_over(const Rank& rank) {
  return has_ended(rank.ending) || rank.ending == Ending::died ||
         (rank.ending == Ending::silent && is_given_up(*rank.directory.open()));
}

}  // namespace

WatchedRun::LiveRank::LiveRank(const RankDirectory& directory, std::size_t max_values)
    : reader(directory), steps(std::make_shared<detail::RankSteps>(max_values)), history(std::in_place) {}

WatchedRun::WatchedRun(RunDirectory run) : run_(std::move(run)) {}

void WatchedRun::add_ranks() {
  refresh(run_);
  const std::size_t max = detail::values_of_a_rank(run_.ranks.size());
  for (const RankDirectory& each : run_.ranks) { ranks_.try_emplace(each.path(), each, max); }
  if (ranks_.size() <= kMaxHistories) { return; }
  for (auto& [directory, each] : ranks_) { each.history.reset(); }
}

bool WatchedRun::read_on(const Stop& stop) {
  add_ranks();
  return std::all_of(ranks_.begin(), ranks_.end(), [&](auto& each) { return read_rank_on(each.second, stop); });
}

bool WatchedRun::read_rank_on(LiveRank& rank, const Stop& stop) {
  const auto take = [&](const Snapshot& snapshot) {
    rank.steps->add(snapshot);
    if (rank.history) { rank.history->add(snapshot); }
  };
  while (rank.reader.read_part(take)) {
    if (stop && stop()) { return false; }
  }
  rank.reader.look(take);
  return true;
}

bool WatchedRun::readable() const noexcept {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& each) { return each.second.reader.rank().readable(); });
}

bool WatchedRun::ended() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const auto& each) { return is_over(each.second.reader.rank()); });
}

Rank WatchedRun::rank_of(const LiveRank& live) {
  Rank rank = live.reader.rank();
  rank.kept_steps = live.steps;
  std::string why;  // takt check prints it
  rank.snapshot.trials = read_trials(rank.directory, why);
  rank.snapshot.measurements = read_results(rank.directory, why);
  const auto history = live.history ? std::make_shared<const StepHistory>(live.history->finished()) : nullptr;
  detail::conclude(rank.snapshot, history);
  return rank;
}

RunReport WatchedRun::report() const {
  std::vector<const LiveRank*> live;
  std::vector<RunProcess> processes;
  for (const auto& [directory, each] : ranks_) {
    const Rank& rank = each.reader.rank();
    if (!rank.readable()) { continue; }
    processes.push_back({rank.directory, rank.snapshot.run, live.size()});
    live.push_back(&each);
  }
  RunReader reader(std::move(processes));
  const std::string warning = reader.keep_newest();
  ReportBuilder builder(true);
  ReadRun read = reader.read(
      reader.runs().front(), [&](const RunProcess& each) { return rank_of(*live[each.place]); },
      [&](Rank&& rank) { builder.add(std::move(rank)); });
  RunReport report = builder.finish(std::move(read));
  if (!warning.empty()) { report.job.warnings.push_back(warning); }
  if (ranks_.size() > kMaxHistories) {
    report.job.warnings.push_back(
        detail::format("with more than {} ranks, findings on the steps of one rank are not shown here; takt report "
                       "shows them when the run has ended",
                       kMaxHistories));
  }
  return report;
}

std::string WatchedRun::why_unreadable() const { return cli::why_unreadable(ranks_.begin()->second.reader.rank()); }

std::uint64_t WatchedRun::checked_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [directory, each] : ranks_) { sum += each.reader.checked_bytes(); }
  return sum;
}

}  // namespace cli
TAKT_END_NAMESPACE
