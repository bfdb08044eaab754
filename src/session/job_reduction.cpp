// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/detail/job_reduction.hpp>

#include "base/fault.hpp"
#include "base/not_cancelled.hpp"
#include "base/rank_list.hpp"
#include "base/words.hpp"
#include "report/job_figures.hpp"
#include "session/rank_gathering.hpp"
#include "session/session_impl.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// The run's own folder, in which each rank has one.
Words where_to_look(const RunInfo& run) {
  const std::string_view folder = run.directory;
  if (folder.empty()) { return Words("no files were written that could tell more"); }
  return Words("takt report ", folder.substr(0, folder.find_last_of('/')), " reads the files of all ranks");
}

void report_missing(const RunInfo& run, const Job& job, std::chrono::milliseconds patience) {
  report_fault("mpi.missing",
               Words("takt::mpi::reduce(): ", job.wall.ranks, " of ", job.world_size, " ranks answered, each within ",
                     patience.count(), " ms; missing: ", rank_list(job.missing), "; ", where_to_look(run)));
}

void report_not_taken(const RunInfo& run, std::chrono::milliseconds patience) {
  report_fault("mpi.not_taken",
               Words("takt::mpi::reduce(): neither the parent of rank ", run.rank, " nor rank 0 took its part within ",
                     patience.count(), " ms; the figures of the job lack it; ", where_to_look(run)));
}

bool reduce(SessionImpl& session, RankMessages& messages, std::chrono::milliseconds patience) {
  Snapshot snapshot = session.snapshot(false);
  snapshot.run.rank = messages.rank();
  RankGathering gathering(messages, {{static_cast<std::uint32_t>(messages.rank())}, record_of(snapshot)}, patience);
  const bool done = gathering.run();
  if (messages.rank() != 0) {
    if (!done) { report_not_taken(session.run(), patience); }
    return done;
  }
  const auto size = static_cast<std::uint32_t>(messages.size());
  const GatheredRanks& part = gathering.part();
  const std::shared_ptr<const Job> job = job_of(part.record, snapshot, size, missing_from(part, size));
  session.set_job(job);
  if (!done) { report_missing(session.run(), *job, patience); }
  return done;
}

}  // namespace

bool reduce_job(RankMessages& messages, std::chrono::milliseconds patience) noexcept {
  const NotCancelled whole;
  patience = std::clamp(patience, std::chrono::milliseconds(0), std::chrono::milliseconds(std::chrono::hours(24)));
  SessionImpl* const session = running_session();
  if (session == nullptr) {
    report_not_reduced("there is no Session, or it is closed; reduce before Session::close()");
    return false;
  }
  if (session->is_silent()) { return true; }
  try {
    return reduce(*session, messages, patience);
  } catch (const std::exception& error) {
    report_not_reduced(error.what());
    return false;
  }
}

void report_not_reduced(const char* why) noexcept {
  report_fault("mpi.reduce", Words("takt::mpi::reduce(): ", why,
                                   "; this rank adds nothing to the figures of the job; "
                                   "takt report reads the files of all ranks"));
}

}  // namespace detail
TAKT_END_NAMESPACE
