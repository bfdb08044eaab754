// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sync.hpp"

#include "base/directory_files.hpp"
#include "base/environment.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/destinations.hpp"
#include "cli/rank.hpp"
#include "cli/results_file.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "journal/journal_reader.hpp"
#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"
#include "report/job_figures.hpp"

#include <takt/error.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

const Destination& destination_of(const SyncOptions& options) {
  for (const Destination& each : destinations()) {
    if (options.to == each.name) { return each; }
  }
  if (!options.to.empty()) { throw Error("unknown destination " + options.to); }
  return destinations().front();
}

Synced sync_with_bar(const std::string& directory, const SyncDirectory& deliver) {
  Progress progress(detail::printable(directory.substr(directory.rfind('/') + 1)));
  return deliver(directory, [&](std::uint64_t done, std::uint64_t whole) { progress.show(done, whole); });
}

/// Delivers one directory. Returns the exit status.
int sync_one(const std::string& directory, const SyncDirectory& deliver) {
  const std::string name = detail::printable(directory) + ": ";
  const auto print = [&](std::FILE* where, const std::string& words) {
    std::fputs((name + detail::printable(words) + "\n").c_str(), where);
  };
  try {
    const Synced synced = sync_with_bar(directory, deliver);
    print(synced.status == 0 ? stdout : stderr, synced.words);
    if (!synced.warning.empty()) { print(stderr, synced.warning); }
    return synced.status == 0 && report_lost(directory, name) ? kLossy : synced.status;
  } catch (const std::exception& error) {
    print(stderr, failure_text(error));
    return kBroken;
  }
}

/// Rejects a merged file: progress is saved next to the journal, and a merged file is never changed.
void refuse_merged(const std::string& file) {
  const std::string name = detail::printable(file);
  std::fprintf(stderr,
               "takt: %s is a merged file and cannot be delivered; unpack it (tar xf %s -C DIR), "
               "and run takt sync DIR/<run id>\n",
               name.c_str(), name.c_str());
}

}  // namespace

int sync(const std::vector<std::string>& runs, const SyncOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader of the output may exit; TLS connections may break
  const SyncDirectory deliver = destination_of(options).open(options);
  std::set<std::string> refused;
  int worst = 0;
  for (const RankDirectory& directory : rank_directories(runs)) {
    int status = kBroken;
    if (directory.file() == nullptr) {
      status = sync_one(directory.path(), deliver);
    } else if (refused.insert(directory.file()->path()).second) {
      refuse_merged(directory.file()->path());
    }
    if (worst != kBroken && status != 0) { worst = status; }
  }
  return worst;
}

namespace {

/// Returns ranks other than rank 0 that have not ended.
std::vector<std::uint32_t> late_ranks(const std::vector<Rank>& ranks) {
  std::vector<std::uint32_t> late;
  for (const Rank& each : ranks) {
    const bool goes_on =
        each.ending == Ending::running || (each.ending == Ending::silent && !is_given_up(*each.directory.open()));
    const int number = each.snapshot.run.rank;
    if (goes_on && number != 0) { late.push_back(static_cast<std::uint32_t>(number)); }
  }
  return late;
}

std::shared_ptr<const Job> job_of_ranks(const std::vector<Rank>& last, std::uint64_t world,
                                        const std::vector<std::uint32_t>& missing) {
  const std::size_t max_values = detail::values_of_a_rank(last.size());
  RankRecord record;
  std::vector<detail::GatheredRank> ranks;
  Snapshot first;
  for (const Rank& each : last) {
    detail::RankSteps steps(max_values);
    Snapshot snapshot = read_rank(each.directory, [&](const Snapshot& part) { steps.add(part); }).snapshot;
    detail::merge_into(record, detail::record_of(snapshot));
    ranks.push_back({detail::job_rank_of(snapshot), detail::series_of(snapshot), std::move(steps)});
    if (first.paths.empty()) { first = std::move(snapshot); }
  }
  return detail::job_of(std::move(record), ranks, first, static_cast<std::uint32_t>(world), missing);
}

}  // namespace

JobOfDirectories job_of_directories(const std::string& directory, const RunInfo& run, std::uint64_t reported) {
  const std::vector<RankDirectory> directories = ranks_in(detail::directory_part(directory));
  if (directories.size() <= reported || (directories.size() < 2 && run.world_size < 2)) { return {}; }
  RunReader reader(directories);
  const auto own = std::find_if(reader.runs().begin(), reader.runs().end(),
                                [&](const RunProcesses& each) { return each.front().run.id == run.id; });
  if (own == reader.runs().end()) { return {}; }
  std::vector<Rank> last;
  const auto read_bare = [](const RunProcess& each) {
    Rank rank = read_rank(each.directory);
    drop_figures(rank);
    return rank;
  };
  const ReadRun read = reader.read(*own, read_bare, [&](Rank&& rank) { last.push_back(std::move(rank)); });
  const bool counts = std::any_of(last.begin(), last.end(), [&](const Rank& each) {
    return each.directory.name() == detail::name_part(directory);
  });
  if (!counts || last.size() <= reported || read.world < 2) { return {}; }
  JobOfDirectories figures;
  const std::vector<std::uint32_t> late = late_ranks(last);
  const std::vector<std::uint32_t> missing = missing_ranks(last, read.world);
  figures.waits = !late.empty();
  if (figures.waits) {
    figures.warning = "figures over ranks wait for running ranks: " + detail::rank_list(late);
  } else if (!missing.empty()) {
    figures.warning = detail::format("figures over ranks: {} of {} ranks have no journal next to this one: {}",
                                     missing.size(), read.world, detail::rank_list(missing));
  }
  if (!figures.waits && last.size() > 1) { figures.job = job_of_ranks(last, read.world, missing); }
  return figures;
}

namespace {

bool leave_to_rank_0(Outcome& outcome, std::string& why) {
  outcome = Outcome::not_sent;
  why = "rank 0 reports for the run (--all-ranks changes that)";
  return false;
}

}  // namespace

DirectoryTurn::DirectoryTurn(std::string directory, const detail::Tracker& tracker)
    : directory_(std::move(directory)),
      tracker_(tracker),
      files_(std::make_shared<detail::DirectoryFiles>(directory_)) {}

bool DirectoryTurn::begin(bool all_ranks, Outcome& outcome, std::string& why) {
  Snapshot first;
  if (!detail::JournalReader(files_).read_part(first)) {
    outcome = Outcome::unreadable;
    why = why_unreadable(read_rank(directory_));
    return false;
  }
  run_ = first.run;
  run_.directory = directory_;  // the directory may have been moved
  const bool may_send = run_.rank == 0 || all_ranks;
  if (!may_send && tracker_.cursor == nullptr) { return leave_to_rank_0(outcome, why); }
  if (!lease_.take(files_, tracker_.lease)) {
    if (lease_.is_broken()) { throw Error(lease_.problem()); }
    outcome = Outcome::busy;
    why = lease_.problem();
    return false;
  }
  is_started_ = tracker_.cursor != nullptr && files_->may_exist(tracker_.cursor);
  return may_send || is_started_ || leave_to_rank_0(outcome, why);
}

bool DirectoryTurn::read_cursor(std::size_t max, std::string& text) const {
  return files_->read_whole(tracker_.cursor, max, text);
}

const JobOfDirectories& DirectoryTurn::job() {
  if (!job_) { job_ = run_.rank == 0 ? job_of_directories(directory_, run_, reported_ranks_) : JobOfDirectories(); }
  return *job_;
}

DirectoryTurn::Reading DirectoryTurn::read(const Show& show) {
  Snapshot snapshot;
  Reading reading = read_journal(show, snapshot);
  if (!reading.whole || !reading.ended) { return reading; }
  reading.ended = !job().waits;
  snapshot.job = job().job;
  if (snapshot.job != nullptr) { reading.whole = show(snapshot, Part::job); }
  return reading;
}

/// \param snapshot receives the last one.
DirectoryTurn::Reading DirectoryTurn::read_journal(const Show& show, Snapshot& snapshot) const {
  detail::JournalReader reader(files_);
  StepHistory history;
  const auto give = [&](Part part) {
    snapshot.run.directory = directory_;  // the directory may have been moved
    history.add(snapshot);
    if (snapshot.finished) {
      std::string why;  // takt report prints their problems
      snapshot.trials = read_trials(RankDirectory(directory_), why);
      snapshot.measurements = read_results(RankDirectory(directory_), why);
      detail::conclude(snapshot, std::make_shared<const StepHistory>(history.finished()));
    }
    const bool taken = show(snapshot, part);
    snapshot.rows.clear();
    snapshot.metrics.clear();
    snapshot.samples.clear();
    return taken;
  };
  bool taken = true;
  while (taken && reader.read_part(snapshot)) { taken = give(Part::rows); }
  const Ending ending = ending_of(*files_, reader, snapshot);
  const bool given_up = ending == Ending::silent && is_given_up(*files_, lease_.directory_now_ns());
  const bool gone = taken && (ending == Ending::died || given_up);
  if (!gone) { return {taken, has_ended(ending)}; }
  if (reader.finish(snapshot)) { taken = give(Part::rows); }
  // The process could have ended with these rows; if it is alive, they are delivered again in another order.
  reader.release_early(snapshot);
  snapshot.finished = true;
  // The end may have been recorded between the last read and the check of the process.
  return {taken && give(reader.ended() ? Part::end : Part::death), true};
}

namespace {

constexpr std::uint64_t kCells = 30;

/// Returns true for a terminal that can erase a line.
bool has_bar() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && (term == nullptr || std::string_view(term) != "dumb");
}

std::size_t terminal_columns() {
  winsize size = {};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col != 0 ? size.ws_col : 80;
}

}  // namespace

std::string progress_bar(std::uint64_t done, std::uint64_t whole) {
  const std::uint64_t part = std::min(done, whole);
  const double share = whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kCells));
  return detail::format("[{}{}] {:3.0f} %  {} of {} points", std::string(full, '#'), std::string(kCells - full, '.'),
                        100 * share, detail::human_count(part), detail::human_count(whole));
}

Progress::Progress(std::string label) : label_(std::move(label)), visible_(has_bar()) {}

Progress::~Progress() {
  if (drawn_) { std::fputs("\r\x1b[K", stderr); }
}

void Progress::show(std::uint64_t done, std::uint64_t whole) {
  if (!visible_) { return; }
  drawn_ = true;
  // A wrapped line could not be erased; some terminals wrap a line that is exactly full.
  const std::size_t columns = std::max<std::size_t>(terminal_columns(), 2) - 1;
  std::fprintf(stderr, "\r\x1b[K%s", detail::fit(label_ + " " + progress_bar(done, whole), columns).c_str());
}

}  // namespace cli
TAKT_END_NAMESPACE
