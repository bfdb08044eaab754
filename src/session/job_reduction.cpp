// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/detail/job_reduction.hpp>
#include <takt/detail/not_cancelled.hpp>

#include "base/fault.hpp"
#include "base/rank_list.hpp"
#include "base/words.hpp"
#include "process/process.hpp"
#include "ranks/gathered_rank.hpp"
#include "ranks/packed_record.hpp"
#include "report/job_figures.hpp"
#include "session/gathered_job.hpp"
#include "session/rank_gathering.hpp"
#include "session/session_impl.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
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

void report_missing(const RunInfo& run, const GatheredRanks& part, std::uint32_t size,
                    std::chrono::milliseconds patience) {
  report_fault("mpi.missing", Words("takt::mpi::reduce(): ", part.ranks.size(), " of ", size,
                                    " ranks answered, each within ", patience.count(),
                                    " ms; missing: ", rank_list(missing_from(part, size)), "; ", where_to_look(run)));
}

void report_not_taken(const RunInfo& run, std::chrono::milliseconds patience) {
  report_fault("mpi.not_taken",
               Words("takt::mpi::reduce(): neither the parent of rank ", run.rank, " nor rank 0 took its part within ",
                     patience.count(), " ms; the figures of the job lack it; ", where_to_look(run)));
}

std::int64_t unix_now_ns() {
  const Clock& clock = process_clock();
  return clock.start_unix_ns() + static_cast<std::int64_t>(clock.now_ns());
}

GatheredRanks gathered_part(const SessionImpl::Recorded& recorded, std::uint32_t rank) {
  return {{{rank, pack_rank(*recorded.snapshot, recorded.steps)}}, pack_record(*recorded.snapshot, rank)};
}

bool reduce(SessionImpl& session, RankMessages& messages, std::chrono::milliseconds patience) {
  session.set_job(nullptr);  // what an earlier call has brought is not made into figures any more
  SessionImpl::Recorded recorded = session.recorded();
  RankGathering gathering(messages, gathered_part(recorded, static_cast<std::uint32_t>(messages.rank())), patience,
                          unix_now_ns);
  const bool done = gathering.run();
  if (const auto reading = gathering.clock_reading()) { session.add_clock_reading(*reading); }
  if (messages.rank() != 0) {
    if (!done) { report_not_taken(session.run(), patience); }
    return done;
  }
  const auto size = static_cast<std::uint32_t>(messages.size());
  if (!done) { report_missing(session.run(), gathering.part(), size, patience); }
  session.set_job(std::make_shared<GatheredJob>(gathering.take_part(), std::move(recorded.snapshot), size));
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

void read_clocks(RankMessages& messages, SessionOptions& options) noexcept {
  constexpr std::chrono::seconds kPatience(10);  // all ranks are here
  constexpr ClockQuestions::Bounds kQuestions = {16, std::chrono::milliseconds(2)};
  const NotCancelled whole;
  options.clock_readings.clear();
  try {
    Snapshot nothing;
    const auto rank = static_cast<std::uint32_t>(messages.rank());
    RankGathering gathering(messages, {{{rank, ""}}, pack_record(nothing, rank)}, kPatience, unix_now_ns, kQuestions);
    gathering.run();
    if (const auto reading = gathering.clock_reading()) { options.clock_readings.push_back(*reading); }
  } catch (const std::exception& error) {
    report_fault("mpi.clocks", Words("takt::mpi::options(): the clocks of ranks are not compared: ", error.what()));
  }
}

void report_not_reduced(const char* why) noexcept {
  report_fault("mpi.reduce", Words("takt::mpi::reduce(): ", why,
                                   "; this rank adds nothing to the figures of the job; "
                                   "takt report reads the files of all ranks"));
}

}  // namespace detail
TAKT_END_NAMESPACE
