// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/folder_turn.hpp"

#include <takt/error.hpp>

#include "cli/rank.hpp"
#include "cli/results_file.hpp"
#include "cli/trials_file.hpp"
#include "findings/findings.hpp"
#include "history/step_history.hpp"
#include "journal/journal_reader.hpp"
#include "trials/trial_finding.hpp"

#include <memory>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
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
  detail::StepHistory history;
  const auto give = [&](Part part) {
    snapshot.run.directory = folder_;  // it may have been moved
    history.add(snapshot);
    if (snapshot.finished) {
      std::string why;  // takt report tells what is wrong with them
      snapshot.trials = read_trials(RankFolder(folder_), why);
      snapshot.measurements = read_results(RankFolder(folder_), why);
      detail::conclude(snapshot, std::make_shared<const detail::StepHistory>(history.finished()));
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

}  // namespace cli
TAKT_END_NAMESPACE
