// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/job.hpp"

#include "base/encoding.hpp"
#include "base/environment.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "measure/job_trials.hpp"
#include "process/process.hpp"
#include "ranks/gathered_ranks.hpp"
#include "ranks/packed_record.hpp"
#include "ranks/rank_steps.hpp"
#include "report/rank_trials.hpp"
#include "report/text_table.hpp"
#include "report/trials_report.hpp"
#include "session/gathered_job.hpp"
#include "session/run_identity.hpp"
#include "session/session_impl.hpp"

#include <takt/detail/not_cancelled.hpp>
#include <takt/detail/rank_messages.hpp>
#include <takt/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

void ClockQueries::answered(std::int64_t other_ns) {
  if (!sent_ns_) { return; }
  const PingPong answer = {*sent_ns_, other_ns, now_ns()};
  sent_ns_.reset();
  // Later answers are heartbeats. The first one may have waited for the other rank to arrive.
  if (answers_.size() < bounds_.max) { answers_.push_back(answer); }
}

bool ClockQueries::wants_more() const {
  if (answers_.empty() || answers_.size() >= bounds_.max) { return false; }
  return wrapped_difference(now_ns(), answers_.front().received_ns) < bounds_.time.count();
}

std::optional<ClockReading> ClockQueries::reading(std::uint32_t rank) const {
  const std::optional<ClockAlignment::Point> point = shortest_answer(answers_);
  if (!point) { return std::nullopt; }
  return ClockReading{rank, point->own_ns, point->ahead_ns, point->error_ns};
}

SessionImpl::Recorded SessionImpl::recorded() {
  constexpr int kMaxParts = 16;  // as in collect_all()
  Recorded recorded;
  for (int part = 0; part < kMaxParts && collect(false, &recorded.snapshot); ++part) {}
  if (recorded.snapshot == nullptr) { recorded.snapshot = std::make_shared<const Snapshot>(snapshot(false)); }
  const std::lock_guard<std::mutex> lock(polling_);
  recorded.steps = pack(steps_ != nullptr ? *steps_ : RankSteps());
  return recorded;
}

namespace {

/// Returns a hint on the run's directory, which holds one directory per rank.
Words where_to_look(const RunInfo& run) {
  const std::string_view directory = run.directory;
  if (directory.empty()) { return Words("no files with more details were written"); }
  return Words("takt report ", directory.substr(0, directory.find_last_of('/')), " reads the files of all ranks");
}

void report_missing(const RunInfo& run, const GatheredRanks& part, std::uint32_t size,
                    std::chrono::milliseconds timeout) {
  report_error("mpi.missing",
               Words("takt::mpi::reduce(): ", part.ranks.size(), " of ", size, " ranks answered, each within ",
                     timeout.count(), " ms; missing: ", rank_list(missing_from(part, size)), "; ", where_to_look(run)));
}

void report_not_taken(const RunInfo& run, std::chrono::milliseconds timeout) {
  report_error("mpi.not_taken",
               Words("takt::mpi::reduce(): neither the parent of rank ", run.rank, " nor rank 0 took its part within ",
                     timeout.count(), " ms; the figures of the job do not include it; ", where_to_look(run)));
}

std::int64_t unix_now_ns() {
  const Clock& clock = process_clock();
  return clock.start_unix_ns() + static_cast<std::int64_t>(clock.now_ns());
}

GatheredRanks gathered_part(const SessionImpl::Recorded& recorded, std::uint32_t rank) {
  return {{{rank, pack_rank(*recorded.snapshot, recorded.steps)}}, pack_record(*recorded.snapshot, rank)};
}

// Trials that were printed. Only on the thread that may call MPI.
const TrialResults* g_printed_trials = nullptr;

void print_trials(const SessionImpl& session, const GatheredRanks& part) {
  std::vector<RankTrials> ranks;
  std::vector<TrialResults> results;
  for (const GatheredRanks::Rank& each : part.ranks) {
    GatheredRank rank = unpack_rank(each.bytes);
    if (!rank.trials) { continue; }
    results.push_back(*rank.trials);
    ranks.push_back({static_cast<int>(rank.who.number), rank.who.host, *std::move(rank.trials)});
  }
  if (ranks.size() < 2) { return; }
  const int width = width_of(stdout, 0);
  const bool color = wants_color(stdout, ConsoleOptions::Color::automatic);
  const std::string text = format_job_trials(session.run(), job_trials(results), width, color) + "\n" +
                           format_rank_trials(ranks, width, color);
  const QuietSignals quiet;  // this is a thread of the program
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

/// Prints the trials of all ranks, once, if this rank has run some. Errors are reported: the figures of the job do not
/// depend on it.
void print_new_trials(const SessionImpl& session, const Snapshot& own, const GatheredRanks& part) noexcept {
  if (own.trials == nullptr || own.trials.get() == g_printed_trials || !session.prints()) { return; }
  g_printed_trials = own.trials.get();
  try {
    print_trials(session, part);
  } catch (const std::exception& error) {
    report_error("mpi.trials", Words("takt::mpi::reduce(): cannot print the trials of all ranks: ", error.what(), "; ",
                                     where_to_look(session.run())));
  }
}

bool reduce(SessionImpl& session, RankMessages& messages, std::chrono::milliseconds timeout) {
  session.set_job(nullptr);  // data of an earlier call is discarded
  SessionImpl::Recorded recorded = session.recorded();
  RankGathering gathering(messages, gathered_part(recorded, static_cast<std::uint32_t>(messages.rank())), timeout,
                          unix_now_ns);
  const bool done = gathering.run();
  if (const auto reading = gathering.clock_reading()) { session.add_clock_reading(*reading); }
  if (messages.rank() != 0) {
    if (!done) { report_not_taken(session.run(), timeout); }
    return done;
  }
  const auto size = static_cast<std::uint32_t>(messages.size());
  if (!done) { report_missing(session.run(), gathering.part(), size, timeout); }
  print_new_trials(session, *recorded.snapshot, gathering.part());
  session.set_job(std::make_shared<GatheredJob>(gathering.take_part(), std::move(recorded.snapshot), size));
  return done;
}

}  // namespace

bool reduce_job(RankMessages& messages, std::chrono::milliseconds timeout) noexcept {
  const NotCancelled whole;
  timeout = std::clamp(timeout, std::chrono::milliseconds(0), std::chrono::milliseconds(std::chrono::hours(24)));
  SessionImpl* const session = running_session();
  if (session == nullptr) {
    report_not_reduced("there is no Session, or it is closed; reduce before Session::close()");
    return false;
  }
  if (session->is_silent()) { return true; }
  try {
    return reduce(*session, messages, timeout);
  } catch (const std::exception& error) {
    report_not_reduced(error.what());
    return false;
  }
}

void read_clocks(RankMessages& messages) noexcept {
  constexpr std::chrono::seconds kTimeout(10);  // all ranks are present
  constexpr ClockQueries::Bounds kQueries = {16, std::chrono::milliseconds(2)};
  const NotCancelled whole;
  try {
    Snapshot nothing;
    const auto rank = static_cast<std::uint32_t>(messages.rank());
    RankGathering gathering(messages, {{{rank, ""}}, pack_record(nothing, rank)}, kTimeout, unix_now_ns, kQueries);
    gathering.run();
    latest_rank_in_job.clock_reading = gathering.clock_reading();
  } catch (const std::exception& error) {
    report_error("mpi.clocks", Words("takt::mpi::options(): cannot compare the clocks of the ranks: ", error.what()));
  }
}

void report_not_reduced(const char* why) noexcept {
  report_error("mpi.reduce", Words("takt::mpi::reduce(): ", why,
                                   "; this rank adds nothing to the figures of the job; "
                                   "takt report reads the files of all ranks"));
}

namespace {

void report_other(const char* option, const std::string& said, const std::string& found) {
  report_error_once(option, std::string(option) + " is " + said + ", but MPI reports " + found + "; using MPI's value");
}

void set(const char* option, std::optional<int>& value, int found) {
  if (value && *value != found) { report_other(option, std::to_string(*value), std::to_string(found)); }
  value = found;
}

}  // namespace

std::string proposed_run_id(const SessionOptions& options, int world_rank) {
  const std::string part = world_rank < 0 ? "" : ".w" + std::to_string(world_rank);
  const std::string id = options.run_id.empty() ? new_run_id() : options.run_id;
  return id.substr(0, kLongestProposedRunId - part.size()) + part;
}

void apply(const MpiIdentity& identity, SessionOptions& options) {
  set("TAKT_RANK or SessionOptions::rank", options.rank, identity.rank);
  set("TAKT_WORLD_SIZE or SessionOptions::world_size", options.world_size, identity.world_size);
  options.local_rank = identity.local_rank;
  const auto size = static_cast<std::size_t>(std::max(identity.world_size, 1));
  latest_rank_in_job = {identity.rank, identity.world_size, size == 1 ? 0 : values_of_a_rank(size), std::nullopt};
  const std::string& agreed = identity.run_id;
  // Rank 0 appends the part of the job.
  if (!options.run_id.empty() && agreed.compare(0, options.run_id.size(), options.run_id) != 0) {
    report_other("TAKT_RUN_ID or SessionOptions::run_id", options.run_id, agreed + " (of rank 0)");
  }
  options.run_id = agreed;
}

void report_without_mpi(bool finalized) noexcept {
  report_error_once("mpi.state",
                    finalized ? "takt::mpi: MPI is finalized; ranks are taken from the launcher's variables"
                              : "takt::mpi: MPI is not initialized; ranks are taken from the launcher's variables; "
                                "call MPI_Init first");
}

namespace {

// Polling interval. It is zero at first, for ranks that are already here: the rank only yields the processor. The
// longest pause frees the processor while ranks are missing.
constexpr std::chrono::microseconds kWithoutPause(2000);
constexpr std::chrono::microseconds kFirstPause(50);
constexpr std::chrono::microseconds kLongestPause(1000);
// Number of heartbeats within one timeout.
constexpr int kHeartbeats = 8;

std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

}  // namespace

RankGathering::RankGathering(RankMessages& messages, GatheredRanks own, std::chrono::milliseconds timeout,
                             UnixClock clock, ClockQueries::Bounds queries, std::size_t max_bytes)
    : messages_(messages),
      part_(std::move(own)),
      timeout_(timeout),
      max_bytes_(max_bytes),
      size_(static_cast<std::uint32_t>(messages.size())),
      upper_(static_cast<int>(parent_of(static_cast<std::uint32_t>(messages.rank())))),
      queries_(std::move(clock), queries),
      heard_(now()),
      signed_(heard_) {}

/// Polls with back-off: short delays after a message, longer ones when idle.
template <class Done>
void RankGathering::wait(Done done) {
  auto pause = kFirstPause;
  Time last = now();
  for (;;) {
    bool moved = false;
    if (done(moved)) { return; }
    if (moved) {
      pause = kFirstPause;
      last = now();
    }
    if (now() - last < kWithoutPause) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 3 / 2, kLongestPause);
  }
}

/// Returns true if done() became true in time.
template <class Done>
bool RankGathering::wait_patiently(Done done) {
  const Time end = now() + timeout_;
  bool is_done = false;
  wait([&](bool&) {
    is_done = done();
    return is_done || now() >= end;
  });
  return is_done;
}

bool RankGathering::run() {
  take_children();
  const bool done = messages_.rank() == 0 ? (take_orphans(), part_.ranks.size() == size_) : hand_over();
  wait_patiently([this] { return messages_.all_sent(); });
  return done;
}

void RankGathering::take_children() {
  const auto rank = static_cast<std::uint32_t>(messages_.rank());
  for (const std::uint32_t child : children_of(rank, size_)) { awaited_[static_cast<int>(child)] = now(); }
  if (rank != 0) { give_sign(); }
  wait([this, rank](bool& moved) {
    moved = take();
    if (rank != 0) { moved = look_up() || moved; }
    return awaited_.empty();
  });
}

/// Takes the parts of ranks whose parent is missing or dead. They turn to rank 0 after their timeout.
void RankGathering::take_orphans() {
  heard_ = now();
  wait([this](bool& moved) {
    moved = take();
    return awaited_.empty() && (!may_have_orphans() || now() - heard_ > timeout_);
  });
}

/// Returns true if a rank and its parent are both missing.
bool RankGathering::may_have_orphans() {
  if (counted_ == part_.ranks.size()) { return orphans_; }
  counted_ = part_.ranks.size();
  const std::vector<std::uint32_t> missing = missing_from(part_, size_);
  orphans_ = std::any_of(missing.begin(), missing.end(), [&](std::uint32_t rank) {
    return std::binary_search(missing.begin(), missing.end(), parent_of(rank));
  });
  return orphans_;
}

bool RankGathering::take() {
  const bool signs = take_signs();
  return take_parts() || signs;
}

bool RankGathering::take_signs() {
  bool moved = false;
  std::string nothing;
  for (int from = RankMessages::kAnyRank; messages_.receive(from, RankMessage::sign, nothing);
       from = RankMessages::kAnyRank) {
    hear(from);
    moved = true;
  }
  return moved;
}

void RankGathering::hear(int from) {
  heard_ = now();
  if (has_rank(part_, static_cast<std::uint32_t>(from))) { return; }  // a late heartbeat
  awaited_[from] = heard_;
  std::string time(sizeof(std::int64_t), '\0');
  store(time.data(), queries_.now_ns());
  messages_.send(from, RankMessage::answer, std::move(time));
}

bool RankGathering::take_parts() {
  bool moved = false;
  std::string bytes;
  for (auto at = awaited_.begin(); at != awaited_.end();) {
    int from = at->first;
    const bool here = messages_.receive(from, RankMessage::part, bytes);
    if (here) { add(from, bytes); }
    moved = moved || here;
    at = here || now() - at->second > timeout_ ? awaited_.erase(at) : std::next(at);
  }
  return moved;
}

void RankGathering::add(int from, const std::string& bytes) {
  try {
    merge_into(part_, unpack_gathered(bytes));
  } catch (const std::exception& error) {
    report_error("mpi.part",
                 Words("takt::mpi::reduce(): the data of rank ", from, " is invalid and excluded: ", error.what()));
  }
}

void RankGathering::give_sign() {
  signed_ = now();
  queries_.asked();
  messages_.send(upper_, RankMessage::sign, "");
}

/// Receives an answer from the parent and sends the next heartbeat: at once if the clock is to be read again, else in
/// time to prevent a timeout of the parent.
bool RankGathering::look_up() {
  std::string time;
  const bool here = messages_.receive(upper_, RankMessage::answer, time);
  if (here && time.size() == sizeof(std::int64_t)) { queries_.answered(load<std::int64_t>(time.data())); }
  if (queries_.is_under_way()) { return here; }
  if (queries_.wants_more() || now() - signed_ > timeout_ / kHeartbeats) { give_sign(); }
  return here;
}

bool RankGathering::hand_over() {
  const std::string bytes = pack(part_);
  if (bytes.size() > max_bytes_) {
    throw Error("this rank and those below it have recorded " + std::to_string(bytes.size()) +
                " bytes; the maximum is " + std::to_string(max_bytes_) + "; use fewer regions");
  }
  if (!is_answered()) {
    if (upper_ == 0) { return false; }
    upper_ = 0;
    queries_.begin_again();
    give_sign();
    if (!is_answered()) { return false; }
  }
  messages_.send(upper_, RankMessage::part, bytes);
  return wait_patiently([this] { return messages_.all_sent(); });
}

/// Returns true if the parent has answered. No heartbeat is in flight then.
bool RankGathering::is_answered() {
  return wait_patiently([this] {
    look_up();
    return queries_.has_answer() && !queries_.is_under_way();
  });
}

}  // namespace detail
TAKT_END_NAMESPACE
