// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sync.hpp"

#include "base/environment.hpp"
#include "base/folder_files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/destinations.hpp"
#include "cli/rank.hpp"
#include "cli/results_file.hpp"
#include "cli/run_folder.hpp"
#include "cli/run_reader.hpp"
#include "findings/findings.hpp"
#include "findings/step_history.hpp"
#include "journal/journal_reader.hpp"
#include "measure/trial_rate.hpp"
#include "ranks/gathered_ranks.hpp"
#include "ranks/rank_record.hpp"
#include "ranks/rank_steps.hpp"
#include "report/job_report.hpp"

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

const Destination& destination_of(const SyncWishes& wishes) {
  for (const Destination& each : destinations()) {
    if (wishes.to == each.name) { return each; }
  }
  if (!wishes.to.empty()) { throw Error("there is no destination " + wishes.to); }
  return destinations().front();
}

Synced sync_with_bar(const std::string& folder, const SyncFolder& deliver) {
  Progress progress(detail::printable(folder.substr(folder.rfind('/') + 1)));
  return deliver(folder, [&](std::uint64_t done, std::uint64_t whole) { progress.show(done, whole); });
}

/// Returns the status.
int sync_one(const std::string& folder, const SyncFolder& deliver) {
  const std::string name = detail::printable(folder) + ": ";
  const auto print = [&](std::FILE* where, const std::string& words) {
    std::fputs((name + detail::printable(words) + "\n").c_str(), where);
  };
  try {
    const Synced synced = sync_with_bar(folder, deliver);
    print(synced.status == 0 ? stdout : stderr, synced.words);
    if (!synced.remark.empty()) { print(stderr, synced.remark); }
    return synced.status == 0 && tell_lost(folder, name) ? kLossy : synced.status;
  } catch (const std::exception& error) {
    print(stderr, failure_text(error));
    return kBroken;
  }
}

/// What was delivered is noted beside the journal, and a merged file stays as it is.
void refuse_merged(const std::string& file) {
  const std::string name = detail::printable(file);
  std::fprintf(stderr,
               "takt: %s is a merged file, from which nothing is delivered; unpack it (tar xf %s -C FOLDER), "
               "and call takt sync FOLDER/<run id>\n",
               name.c_str(), name.c_str());
}

}  // namespace

int sync(const std::vector<std::string>& runs, const SyncWishes& wishes) {
  std::signal(SIGPIPE, SIG_IGN);  // whoever reads along may leave; TLS connections may break
  const SyncFolder deliver = destination_of(wishes).open(wishes);
  std::set<std::string> refused;
  int worst = 0;
  for (const RankFolder& folder : rank_folders(runs)) {
    int status = kBroken;
    if (folder.file() == nullptr) {
      status = sync_one(folder.path(), deliver);
    } else if (refused.insert(folder.file()->path()).second) {
      refuse_merged(folder.file()->path());
    }
    if (worst != kBroken && status != 0) { worst = status; }
  }
  return worst;
}

namespace {

/// Others than rank 0 that have not ended.
std::vector<std::uint32_t> late_ranks(const std::vector<Rank>& ranks) {
  std::vector<std::uint32_t> late;
  for (const Rank& each : ranks) {
    const bool goes_on =
        each.ending == Ending::running || (each.ending == Ending::silent && !is_given_up(*each.folder.open()));
    const int number = each.snapshot.run.rank;
    if (goes_on && number != 0) { late.push_back(static_cast<std::uint32_t>(number)); }
  }
  return late;
}

std::shared_ptr<const Job> job_of_ranks(const std::vector<Rank>& last, std::uint64_t world,
                                        const std::vector<std::uint32_t>& missing) {
  const std::size_t most_values = detail::values_of_a_rank(last.size());
  RankRecord record;
  std::vector<detail::GatheredRank> ranks;
  Snapshot first;
  for (const Rank& each : last) {
    detail::RankSteps steps(most_values);
    Snapshot snapshot = read_rank(each.folder, [&](const Snapshot& part) { steps.add(part); }).snapshot;
    detail::merge_into(record, detail::record_of(snapshot));
    ranks.push_back({detail::job_rank_of(snapshot), detail::series_of(snapshot), std::move(steps)});
    if (first.paths.empty()) { first = std::move(snapshot); }
  }
  return detail::job_of(std::move(record), ranks, first, static_cast<std::uint32_t>(world), missing);
}

}  // namespace

JobOfFolders job_of_folders(const std::string& folder, const RunInfo& run, std::uint64_t told) {
  const std::vector<RankFolder> folders = ranks_in(detail::folder_part(folder));
  if (folders.size() <= told || (folders.size() < 2 && run.world_size < 2)) { return {}; }
  RunReader reader(folders);
  const auto own = std::find_if(reader.runs().begin(), reader.runs().end(),
                                [&](const RunProcesses& each) { return each.front().run.id == run.id; });
  if (own == reader.runs().end()) { return {}; }
  std::vector<Rank> last;
  const auto read_bare = [](const RunProcess& each) {
    Rank rank = read_rank(each.folder);
    drop_figures(rank);
    return rank;
  };
  const ReadRun read = reader.read(*own, read_bare, [&](Rank&& rank) { last.push_back(std::move(rank)); });
  const bool counts = std::any_of(last.begin(), last.end(),
                                  [&](const Rank& each) { return each.folder.name() == detail::name_part(folder); });
  if (!counts || last.size() <= told || read.world < 2) { return {}; }
  JobOfFolders figures;
  const std::vector<std::uint32_t> late = late_ranks(last);
  const std::vector<std::uint32_t> missing = missing_ranks(last, read.world);
  figures.waits = !late.empty();
  if (figures.waits) {
    figures.remark = "figures over ranks wait for what has not ended: ranks " + detail::rank_list(late);
  } else if (!missing.empty()) {
    figures.remark = detail::format("figures over ranks: {} of {} ranks left no journal beside this one: {}",
                                    missing.size(), read.world, detail::rank_list(missing));
  }
  if (!figures.waits && last.size() > 1) { figures.job = job_of_ranks(last, read.world, missing); }
  return figures;
}

namespace {

bool leave_to_rank_0(Outcome& outcome, std::string& why) {
  outcome = Outcome::not_sent;
  why = "rank 0 speaks for the run (--all-ranks changes that)";
  return false;
}

}  // namespace

FolderTurn::FolderTurn(std::string folder, const detail::Tracker& tracker)
    : folder_(std::move(folder)), tracker_(tracker), files_(std::make_shared<detail::FolderFiles>(folder_)) {}

bool FolderTurn::begin(bool all_ranks, Outcome& outcome, std::string& why) {
  Snapshot first;
  if (!detail::JournalReader(files_).read_part(first)) {
    outcome = Outcome::unreadable;
    why = why_unreadable(read_rank(folder_));
    return false;
  }
  run_ = first.run;
  run_.directory = folder_;  // it may have been moved
  const bool may_send = run_.rank == 0 || all_ranks;
  if (!may_send && tracker_.cursor == nullptr) { return leave_to_rank_0(outcome, why); }
  if (!lease_.take(files_, tracker_.lease)) {
    if (lease_.is_broken()) { throw Error(lease_.problem()); }
    outcome = Outcome::busy;
    why = lease_.problem();
    return false;
  }
  is_begun_ = tracker_.cursor != nullptr && files_->may_exist(tracker_.cursor);
  return may_send || is_begun_ || leave_to_rank_0(outcome, why);
}

bool FolderTurn::read_cursor(std::size_t most, std::string& text) const {
  return files_->read_whole(tracker_.cursor, most, text);
}

const JobOfFolders& FolderTurn::job() {
  if (!job_) { job_ = run_.rank == 0 ? job_of_folders(folder_, run_, told_ranks_) : JobOfFolders(); }
  return *job_;
}

FolderTurn::Reading FolderTurn::read(const Show& show) {
  Snapshot snapshot;
  Reading reading = read_journal(show, snapshot);
  if (!reading.whole || !reading.ended) { return reading; }
  reading.ended = !job().waits;
  snapshot.job = job().job;
  if (snapshot.job != nullptr) { reading.whole = show(snapshot, Part::job); }
  return reading;
}

/// \param snapshot the last one.
FolderTurn::Reading FolderTurn::read_journal(const Show& show, Snapshot& snapshot) const {
  detail::JournalReader reader(files_);
  StepHistory history;
  const auto give = [&](Part part) {
    snapshot.run.directory = folder_;  // it may have been moved
    history.add(snapshot);
    if (snapshot.finished) {
      std::string why;  // takt report tells what is wrong with them
      snapshot.trials = read_trials(RankFolder(folder_), why);
      snapshot.measurements = read_results(RankFolder(folder_), why);
      detail::conclude(snapshot, std::make_shared<const StepHistory>(history.finished()));
      detail::add_finding_of_trials(snapshot);
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
  const bool given_up = ending == Ending::silent && is_given_up(*files_, lease_.folder_now_ns());
  const bool gone = taken && (ending == Ending::died || given_up);
  if (!gone) { return {taken, has_ended(ending)}; }
  if (reader.finish(snapshot)) { taken = give(Part::rows); }
  // These it could have ended with, had it lived; if it does, they come again, and in another order.
  reader.release_early(snapshot);
  snapshot.finished = true;
  // It may have said that it ended between the reading and the question whether it is there.
  return {taken && give(reader.ended() ? Part::end : Part::death), true};
}

namespace {

constexpr std::uint64_t kCells = 30;

/// Of a terminal that can take a line away again.
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
  // What is broken into two lines could not be taken away; some terminals break a line that is just full.
  const std::size_t columns = std::max<std::size_t>(terminal_columns(), 2) - 1;
  std::fprintf(stderr, "\r\x1b[K%s", detail::fit(label_ + " " + progress_bar(done, whole), columns).c_str());
}

}  // namespace cli
TAKT_END_NAMESPACE
