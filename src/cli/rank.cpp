// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank.hpp"

#include "base/format.hpp"
#include "base/other_process.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "cli/run_directory.hpp"
#include "journal/journal_format.hpp"
#include "report/notes.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

namespace fs = std::filesystem;

// A journal that has used up its budget is written once a minute.
constexpr std::int64_t kSilenceNs = 90 * detail::kSecondNs;
constexpr std::int64_t kGivenUpNs = 600 * detail::kSecondNs;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// Returns the status of the files that may be segments.
std::vector<struct stat> segments_of(const detail::ReadableDirectory& files) {
  std::vector<struct stat> found;
  for (const std::string& name : files.names()) {
    std::uint32_t number = 0;
    struct stat status = {};
    if (detail::parse_segment_name(name, number) && files.look(name, status) && S_ISREG(status.st_mode)) {
      found.push_back(status);
    }
  }
  return found;
}

/// Formats "Epoch > Batch > Comm".
std::string place(const Snapshot& snapshot, std::uint32_t path) {
  std::string text;
  for (std::uint32_t at = path; at < snapshot.paths.size(); at = snapshot.paths[at].parent) {
    text = detail::printable(snapshot.paths[at].name) + (text.empty() ? "" : " > ") + text;
  }
  return detail::fit_end(text.empty() ? "(lost)" : text, 120);
}

/// Describes each thread's position, if known: its innermost open region.
std::string open_places(const Snapshot& snapshot) {
  std::map<std::uint32_t, OpenRegion> innermost;
  for (const OpenRegion& each : snapshot.open) {
    const auto [at, is_new] = innermost.emplace(each.thread, each);
    if (!is_new && snapshot.paths[each.path].depth >= snapshot.paths[at->second.path].depth) { at->second = each; }
  }
  std::string text;
  for (const auto& [thread, open] : innermost) {
    const std::string name =
        thread < snapshot.threads.size() ? detail::fit(detail::printable(snapshot.threads[thread].name), 40) : "?";
    text += detail::format("{}{}, open {} ({})", text.empty() ? " in " : "; in ", place(snapshot, open.path),
                           detail::human_time(static_cast<double>(open.open_ns)), detail::on_thread(name));
  }
  return text.empty() ? " outside all regions" : text;
}

/// Describes the exception, and the position of the thread that died.
std::string death_of(const Snapshot& snapshot) {
  const Uncaught& death = snapshot.uncaught;
  std::string text = death.type.empty() ? "died of std::terminate() without an exception"
                                        : "died of an uncaught " + detail::fit(detail::printable(death.type), 120);
  if (!death.message.empty()) {
    text += detail::format(" (\"{}\")", detail::fit(detail::printable(death.message), 500));
  }
  text += death.open.empty() ? " outside all regions" : " in " + place(snapshot, death.open.back());
  const bool known = death.thread && *death.thread < snapshot.threads.size();
  const std::string thread =
      known ? detail::fit(detail::printable(snapshot.threads[*death.thread].name), 40) : "one that recorded nothing";
  return text + " (" + detail::on_thread(thread) + ")";
}

std::string heard(std::int64_t heartbeat_unix_ns) {
  const auto ago = static_cast<double>(std::max<std::int64_t>(now_ns() - heartbeat_unix_ns, 0));
  return detail::format("last heard of at {} UTC, {} ago", detail::utc_text(heartbeat_unix_ns),
                        detail::human_time(ago));
}

/// Returns the time, in ns since 1970, of the latest heartbeat in these files; 0: none.
std::int64_t last_heartbeat(const std::vector<struct stat>& segments) {
  std::int64_t latest = 0;
  for (const struct stat& each : segments) {
    latest = std::max<std::int64_t>(latest, each.st_mtim.tv_sec * detail::kSecondNs + each.st_mtim.tv_nsec);
  }
  return latest;
}

std::uint64_t bytes_of(const std::vector<struct stat>& segments) {
  std::uint64_t bytes = 0;
  for (const struct stat& each : segments) { bytes += static_cast<std::uint64_t>(each.st_size); }
  return bytes;
}

Ending reported_ending(const Snapshot& snapshot) {
  if (snapshot.killed) { return Ending::killed; }
  return snapshot.failed ? Ending::failed : Ending::finished;
}

}  // namespace

void read_state(const detail::ReadableDirectory& files, Rank& rank) {
  const std::vector<struct stat> segments = segments_of(files);
  rank.segments = segments.size();
  rank.bytes = bytes_of(segments);
  rank.heartbeat_unix_ns = last_heartbeat(segments);
}

std::uint64_t journal_bytes(const detail::ReadableDirectory& files) { return bytes_of(segments_of(files)); }

bool is_given_up(const detail::ReadableDirectory& files, std::optional<std::int64_t> now_unix_ns) {
  return now_unix_ns.value_or(now_ns()) - last_heartbeat(segments_of(files)) > kGivenUpNs;
}

bool can_be_rank(int number) noexcept { return number >= 0 && number < kMaxRanks; }

bool has_ended(Ending ending) noexcept {
  return ending == Ending::finished || ending == Ending::failed || ending == Ending::killed;
}

Ending ending_of(const detail::ReadableDirectory& files, const detail::JournalReader& reader,
                 const Snapshot& snapshot) {
  return reader.ended() ? reported_ending(snapshot) : ending_without_word(files, snapshot.run);
}

Ending ending_without_word(const detail::ReadableDirectory& files, const RunInfo& run) {
  const std::int64_t sign = last_heartbeat(segments_of(files));
  switch (detail::life_of(run.host, run.pid, sign, run.pid_namespace, run.process_mark)) {
    case detail::Life::alive:
      return Ending::running;
    case detail::Life::gone:
      return Ending::died;
    case detail::Life::unknown:
      break;
  }
  return now_ns() - sign < kSilenceNs ? Ending::running : Ending::silent;
}

void drop_figures(Rank& rank) {
  Snapshot& full = rank.snapshot;
  Snapshot slim;
  slim.run = std::move(full.run);
  slim.params = std::move(full.params);
  slim.wall_ns = full.wall_ns;
  slim.process = full.process;
  slim.findings = std::move(full.findings);
  slim.trials = std::move(full.trials);
  slim.measurements = std::move(full.measurements);
  full = std::move(slim);
}

bool report_lost(const RankDirectory& directory, const std::string& name) {
  const detail::LostRecords lost = detail::lost_before_journal(read_rank(directory).snapshot.losses);
  if (!lost.any()) { return false; }
  const std::string line =
      name + "the data is incomplete: " + lost.words() +
      " were dropped before they reached the journal; no file has them. Run takt check for the reason\n";
  std::fputs(line.c_str(), stderr);
  return true;
}

std::string describe(const Rank& rank) {
  const bool is_new = rank.states < 2;  // only the start was recorded, which does not show a later position
  const std::string where = open_places(rank.snapshot);
  switch (rank.ending) {
    case Ending::finished:
      return "finished";
    case Ending::failed:
      return rank.snapshot.uncaught.happened ? death_of(rank.snapshot) : "failed, as reported by the program";
    case Ending::killed:
      return "ended by SIGTERM" + where;
    case Ending::running:
      return "still running" + (is_new ? ", its journal does not say where yet" : where) + "; " +
             heard(rank.heartbeat_unix_ns);
    case Ending::died:
      return "died" + (is_new ? ", its journal does not say where" : where) + "; " + heard(rank.heartbeat_unix_ns);
    case Ending::silent:
      break;
  }
  return "died, or " + detail::printable(rank.snapshot.run.host) + " is unreachable, " +
         (is_new ? "and the journal does not say where" : "last seen" + where) + "; " + heard(rank.heartbeat_unix_ns);
}

std::string why_closed(const std::string& directory) {
  std::error_code error;
  const fs::directory_iterator at(directory, error);
  if (!error || error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) { return ""; }
  return detail::printable(directory) + " cannot be opened: " + error.message() +
         "; run takt as the user who ran the program";
}

std::string why_unreadable(const Rank& rank) {
  const std::string where = detail::printable(rank.directory.path());
  const bool is_merged = rank.directory.file() != nullptr;
  if (std::string closed = is_merged ? "" : why_closed(rank.directory.path()); !closed.empty()) { return closed; }
  if (!rank.error.empty()) { return detail::printable(rank.error); }
  if (rank.segments != 0) {
    return "no readable data in the journal in " + where +
           (rank.bytes == 0
                ? "; its files are empty"
                : "; its " + detail::human_bytes(static_cast<double>(rank.bytes)) + " contain no complete record");
  }
  return why_no_journal(rank.directory);
}

std::vector<std::string> damages(const Rank& rank) {
  std::vector<std::string> out;
  const auto say = [&](std::uint64_t count, const char* text) {
    if (count != 0) { out.push_back(detail::format("{} {}", detail::human_count(count), text)); }
  };
  say(rank.damage.damaged_bytes, "damaged bytes skipped");
  say(rank.damage.torn_tail_bytes, "bytes truncated at an end");
  say(rank.damage.lost_frames, "records missing");
  say(rank.damage.unreadable_frames, "records unreadable");
  say(rank.damage.unknown_frames, "records of kinds unknown to this version");
  if (!rank.error.empty()) { out.push_back(detail::printable(rank.error)); }
  return out;
}

namespace {

/// Returns, for each series, the steps in its totals without those of `earlier` Sessions, and the steps with rows.
std::vector<SeriesSteps> compare_steps(const Snapshot& snapshot, std::vector<std::uint64_t> earlier,
                                       std::vector<std::uint64_t> rows) {
  std::vector<SeriesSteps> all;
  earlier.resize(std::max(earlier.size(), snapshot.series.size()));
  rows.resize(std::max(rows.size(), snapshot.series.size()));
  for (std::size_t at = 0; at < snapshot.series.size(); ++at) {
    const Series& series = snapshot.series[at];
    const std::string where = detail::fit_end(detail::printable(snapshot.path_name(series.path)), 120);
    const std::uint64_t steps = series.steps - std::min(series.steps, earlier[at]);
    // The rows of a period may belong to later steps than its totals; steps between two Sessions are included.
    all.push_back({where, std::max(steps, rows[at]), rows[at], series.path});
  }
  return all;
}

void refuse_odd_number(Rank& rank) {
  const int number = rank.snapshot.run.rank;
  if (rank.frames == 0 || can_be_rank(number)) { return; }
  rank.frames = 0;
  rank.error =
      detail::format("the journal in {} claims to be of rank {}, which is invalid", rank.directory.path(), number);
}

}  // namespace

RankReader::RankReader(const RankDirectory& directory) : files_(directory.open()), reader_(files_) {
  rank_.directory = directory;
}

bool RankReader::read_part(const Consumer& take) {
  const bool any = reader_.read_part(rank_.snapshot);
  if (any) { show(take); }
  return any;
}

void RankReader::look(const Consumer& take) {
  rank_.ending = ending_of(*files_, reader_, rank_.snapshot);
  if (rank_.ending != Ending::running && rank_.ending != Ending::silent) { return close(take); }
  report();
}

void RankReader::close(const Consumer& take) {
  if (rank_.ending != Ending::running) {
    // The process may have written more after the last read and before its state was checked.
    if (reader_.finish(rank_.snapshot)) { show(take); }
    if (reader_.ended()) { rank_.ending = ending_of(*files_, reader_, rank_.snapshot); }
  }
  if (reader_.release_early(rank_.snapshot)) { show(take); }
  report();
}

void RankReader::show(const Consumer& take) {
  Snapshot& snapshot = rank_.snapshot;
  for (const Row& row : snapshot.rows) {
    if (row.series >= rows_.size()) { rows_.resize(row.series + std::size_t{1}); }
    ++rows_[row.series];
  }
  rank_.rows += snapshot.rows.size();
  rank_.metrics += snapshot.metrics.size();
  epochs_.add(snapshot.metrics);
  epochs_.fill(snapshot);
  if (take) { take(snapshot); }
  snapshot.rows.clear();
  snapshot.metrics.clear();
  snapshot.samples.clear();
}

void RankReader::report() {
  rank_.steps = compare_steps(rank_.snapshot, reader_.earlier_steps(), rows_);
  rank_.damage = reader_.damage();
  rank_.error = reader_.error();
  rank_.frames = reader_.frames();
  rank_.states = reader_.states();
  refuse_odd_number(rank_);
  read_state(*files_, rank_);
}

Rank read_rank(const RankDirectory& directory, const Consumer& take) {
  RankReader reader(directory);
  while (reader.read_part(take)) {}
  reader.look(take);
  reader.close(take);
  return reader.rank();
}

}  // namespace cli
TAKT_END_NAMESPACE
