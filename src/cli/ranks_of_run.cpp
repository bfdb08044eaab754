// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/ranks_of_run.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/rank.hpp"
#include "cli/journal_peek.hpp"

#include <takt/detail/memory.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// A damaged journal is read for what a look at it does not tell.
PlannedRank look_at_rank(const RankFolder& folder, std::size_t place) {
  detail::JournalPeek peek = detail::peek_journal(*folder.open());
  if (peek.has_run && can_be_rank(peek.run.rank)) { return {folder, place, true, std::move(peek.run)}; }
  Rank rank = read_rank(folder);
  if (!rank.readable()) { return {folder, place, false, {}}; }  // who reads it again tells why
  return {folder, place, true, std::move(rank.snapshot.run)};
}

bool is_before(const PlannedRank& a, const PlannedRank& b) {
  if (a.run.rank != b.run.rank) { return a.run.rank < b.run.rank; }
  return began_before(a.run, b.run);
}

}  // namespace

bool began_before(const RunInfo& a, const RunInfo& b) noexcept {
  return std::tie(a.attempt, a.start_unix_ns) < std::tie(b.attempt, b.start_unix_ns);
}

std::vector<RunPlan> plan_runs(const std::vector<RankFolder>& folders) {
  std::vector<RunPlan> runs;
  std::map<std::string, std::size_t> places;  // by run id
  for (const RankFolder& folder : folders) {
    PlannedRank rank = look_at_rank(folder, static_cast<std::size_t>(&folder - folders.data()));
    const auto [place, is_new] = places.emplace(rank.run.id, runs.size());
    if (is_new) { runs.emplace_back(); }
    runs[place->second].push_back(std::move(rank));
  }
  for (RunPlan& each : runs) { std::stable_sort(each.begin(), each.end(), is_before); }
  return runs;
}

const PlannedRank& newest_of(const RunPlan& plan) noexcept {
  return *std::max_element(plan.begin(), plan.end(), [](const PlannedRank& a, const PlannedRank& b) {
    return a.has_run == b.has_run ? began_before(a.run, b.run) : b.has_run;
  });
}

}  // namespace cli
namespace cli {

unsigned RanksAhead::usual_threads() noexcept { return std::min(std::thread::hardware_concurrency(), kMostThreads); }

RanksAhead::RanksAhead(const RunPlan& plan, Read read, unsigned threads) : plan_(plan), read_(std::move(read)) {
  const std::size_t wanted = std::min<std::size_t>(threads, plan.size());
  if (wanted < 2) { return; }
  slots_.resize(2 * wanted);  // so that nobody waits for a rank that takes long
  threads_.reserve(wanted);
  try {
    while (threads_.size() < wanted) {
      threads_.emplace_back([this] { work(); });
    }
  } catch (const std::exception&) {}  // no more threads, or no memory for one: those that are there do it
}

RanksAhead::~RanksAhead() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  took_one_.notify_all();
  for (std::thread& each : threads_) { each.join(); }
}

Rank RanksAhead::next() {
  if (threads_.empty()) { return read_(plan_[taken_++]); }
  std::unique_lock<std::mutex> lock(mutex_);
  Slot& slot = slots_[taken_ % slots_.size()];
  read_one_.wait(lock, [&] { return slot.is_read; });
  Slot read = std::exchange(slot, Slot());
  ++taken_;
  lock.unlock();
  took_one_.notify_one();
  if (read.error != nullptr) { std::rethrow_exception(read.error); }
  return std::move(read.rank);
}

void RanksAhead::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    took_one_.wait(lock, [&] { return stops_ || begun_ == plan_.size() || may_begin(); });
    if (stops_ || begun_ == plan_.size()) { return; }
    const std::size_t at = begun_++;
    lock.unlock();
    Slot read;
    read.is_read = true;
    try {
      read.rank = read_(plan_[at]);
    } catch (...) { read.error = std::current_exception(); }
    lock.lock();
    slots_[at % slots_.size()] = std::move(read);
    read_one_.notify_one();
  }
}

}  // namespace cli
namespace cli {

std::int64_t end_of(const Snapshot& snapshot) noexcept {
  const std::int64_t start = snapshot.run.start_unix_ns;
  const std::int64_t wall = std::max<std::int64_t>(snapshot.wall_ns, 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return start > kMost - wall ? kMost : start + wall;  // journals may say anything
}

void Attempts::add(const Snapshot& process, int attempt) {
  const RunInfo& run = process.run;
  const auto [place, is_new] = spans_.try_emplace(attempt);
  AttemptSpan& span = place->second;
  span.attempt = attempt;
  ++span.ranks;
  span.start_unix_ns = is_new ? run.start_unix_ns : std::min(span.start_unix_ns, run.start_unix_ns);
  span.end_unix_ns = is_new ? end_of(process) : std::max(span.end_unix_ns, end_of(process));
}

std::vector<AttemptSpan> Attempts::all() const {
  std::vector<AttemptSpan> all;
  all.reserve(spans_.size());
  for (const auto& each : spans_) { all.push_back(each.second); }
  return all;
}

std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept {
  std::uint64_t between = 0;
  for (std::size_t at = 1; at < attempts.size(); ++at) {
    const std::int64_t end = attempts[at - 1].end_unix_ns;
    const std::int64_t start = attempts[at].start_unix_ns;
    if (start <= end) { continue; }
    // Unsigned, as they may lie further apart than a signed number reaches.
    between = detail::bounded_sum(between, static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end));
  }
  return between;
}

bool follows(const Rank& later, const Rank& earlier) noexcept {
  const RunInfo& run = later.snapshot.run;
  return earlier.ending != Ending::running && run.host == earlier.snapshot.run.host &&
         run.start_unix_ns >= end_of(earlier.snapshot);
}

}  // namespace cli
namespace cli {
namespace {

constexpr std::uint64_t kFarApartNs = 3600ULL * detail::kSecondNs;  // no launcher takes so long

/// Of two processes that say the same rank and attempt: why the one that began first does not count.
std::string why_superseded(const Rank& earlier, const Rank& later) {
  if (follows(later, earlier)) { return "has a later attempt"; }
  return detail::format("stands twice in attempt {}, on host {} and on host {}, and the one that began last counts",
                        later.snapshot.run.attempt, detail::printable(earlier.snapshot.run.host),
                        detail::printable(later.snapshot.run.host));
}

std::string left_out(const Rank& rank, const std::string& why) {
  return detail::format("rank {} {}; it is left out: {}", rank.snapshot.run.rank, why,
                        detail::printable(rank.folder.path()));
}

}  // namespace

LastRanks::LastRanks(const RunInfo& newest, const RankFolder& where, Use use)
    : attempt_(newest.attempt),
      start_unix_ns_(newest.start_unix_ns),
      newest_world_(newest.world_size),
      is_possible_(newest.world_size <= kMostRanks),
      world_(std::max(newest.world_size, newest.rank + 1)),
      use_(std::move(use)) {
  if (is_possible_) { return; }
  remarks_.push_back(detail::format("{} says that there are {} ranks, which cannot be; those that left a journal count",
                                    detail::printable(where.path()), newest.world_size));
}

int LastRanks::attempt_of(const Snapshot& process) const noexcept {
  const RunInfo& run = process.run;
  if (run.attempt >= attempt_ || run.world_size != newest_world_) { return run.attempt; }
  // Unsigned, as journals may say anything.
  const auto ns = [](std::int64_t from, std::int64_t to) {
    return to <= from ? 0 : static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  };
  const std::int64_t end = end_of(process);
  const std::uint64_t beside = ns(std::max(run.start_unix_ns, start_unix_ns_), end);
  return beside != 0 && beside >= ns(run.start_unix_ns, end) / 2 ? attempt_ : run.attempt;
}

bool LastRanks::is_of_last(const Snapshot& process) const noexcept {
  return attempt_of(process) == attempt_ && (!is_possible_ || process.run.rank < world_);
}

/// Some launchers tell a rank its number, and not how many there are: one that speaks of itself is there, whatever
/// others say. But of a restart with fewer ranks those before it are gone.
void LastRanks::add(Rank rank) {
  const RunInfo& run = rank.snapshot.run;
  if (attempt_of(rank.snapshot) == attempt_ && end_of(rank.snapshot) > start_unix_ns_) {
    world_ = std::max(world_, run.rank + 1);
  }
  waiting_.push_back(std::move(rank));
  const auto is_known = [&](const Snapshot& each) { return attempt_of(each) < attempt_ || is_of_last(each); };
  while (!waiting_.empty() && is_known(waiting_.front().snapshot)) {
    take(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void LastRanks::take(Rank&& rank) {
  if (!is_of_last(rank.snapshot)) {
    remarks_.push_back(left_out(rank, "is of an earlier attempt"));
    return;
  }
  if (last_ && last_->snapshot.run.rank == rank.snapshot.run.rank) {
    remarks_.push_back(left_out(*last_, why_superseded(*last_, rank)));
  } else if (last_) {
    use(std::move(*last_));
  }
  last_ = std::move(rank);
}

void LastRanks::use(Rank&& rank) {
  const Begin begin = {rank.snapshot.run.start_unix_ns, rank.snapshot.run.rank};
  if (used_++ == 0) { earliest_ = latest_ = begin; }
  if (begin.unix_ns < earliest_.unix_ns) { earliest_ = begin; }
  if (begin.unix_ns > latest_.unix_ns) { latest_ = begin; }
  use_(std::move(rank));
}

void LastRanks::finish() {
  for (Rank& each : waiting_) { take(std::move(each)); }
  waiting_.clear();
  if (!last_) { return; }
  use(std::move(*last_));
  last_.reset();
  // Journals may say anything: without a sign the difference is right, however large.
  const std::uint64_t apart_ns =
      static_cast<std::uint64_t>(latest_.unix_ns) - static_cast<std::uint64_t>(earliest_.unix_ns);
  if (apart_ns < kFarApartNs) { return; }
  remarks_.push_back(
      detail::format("rank {} began {} after rank {}, by the clocks of their hosts: is one of these wrong?",
                     latest_.rank, detail::human_time(static_cast<double>(apart_ns)), earliest_.rank));
}

std::uint64_t LastRanks::world() const noexcept { return is_possible_ ? static_cast<std::uint64_t>(world_) : used_; }

PickedRanks pick_last(std::vector<Rank> of_run) {
  const auto begins = [](const Rank& a, const Rank& b) { return began_before(a.snapshot.run, b.snapshot.run); };
  std::stable_sort(of_run.begin(), of_run.end(), [&](const Rank& a, const Rank& b) {
    const int difference = a.snapshot.run.rank - b.snapshot.run.rank;
    return difference != 0 ? difference < 0 : begins(a, b);
  });
  const auto newest = std::max_element(of_run.begin(), of_run.end(), begins);
  PickedRanks picked;
  LastRanks last(newest->snapshot.run, newest->folder, [&](Rank&& rank) { picked.ranks.push_back(std::move(rank)); });
  Attempts attempts;
  for (Rank& each : of_run) {
    attempts.add(each.snapshot, last.attempt_of(each.snapshot));
    last.add(std::move(each));
  }
  last.finish();
  picked.world = last.world();
  picked.remarks = last.remarks();
  picked.attempts = attempts.all();
  return picked;
}

std::vector<std::uint32_t> missing_ranks(const std::vector<Rank>& ranks, std::uint64_t world) {
  std::vector<std::uint32_t> missing;
  const std::uint64_t count = world - ranks.size();
  std::uint32_t next = 0;
  for (const Rank& each : ranks) {
    const auto own = static_cast<std::uint32_t>(each.snapshot.run.rank);
    for (; next < own && count != 0; ++next) { missing.push_back(next); }
    next = own + 1;
  }
  for (; count > missing.size(); ++next) { missing.push_back(next); }
  return missing;
}

void tell_left_out(const std::vector<std::string>& remarks) {
  for (const std::string& each : remarks) { detail::print(stderr, "takt: {}\n", each); }
}

}  // namespace cli
namespace cli {
namespace {

/// Whether it is the process that was planned with.
bool is_as_planned(const RunInfo& planned, const RunInfo& run) {
  return planned.id == run.id && planned.rank == run.rank && planned.attempt == run.attempt &&
         planned.start_unix_ns == run.start_unix_ns;
}

std::string why_not(const Rank& rank, const RunInfo& planned) {
  if (!rank.readable()) { return why_unreadable(rank); }
  if (is_as_planned(planned, rank.snapshot.run)) { return ""; }
  return "the journal in " + detail::printable(rank.folder.path()) +
         " has just begun, or is of two processes; call takt again";
}

}  // namespace

void tell_not_read(NotRead not_read) {
  std::sort(not_read.begin(), not_read.end());
  for (const auto& each : not_read) { detail::print(stderr, "takt: {}\n", each.second); }
}

WalkedRun walk_ranks(const RunPlan& plan, const RanksAhead::Read& read, const LastRanks::Use& use) {
  WalkedRun run;
  if (plan.empty()) { return run; }
  const PlannedRank& newest = newest_of(plan);
  LastRanks last(newest.run, newest.folder, use);
  Attempts attempts;
  RanksAhead ahead(plan, read);
  bool any = false;
  for (const PlannedRank& each : plan) {
    Rank rank = ahead.next();
    if (std::string why = why_not(rank, each.run); !why.empty()) {
      run.not_read.emplace_back(each.place, std::move(why));
      continue;
    }
    run.first = any ? std::min(run.first, each.place) : each.place;
    any = true;
    attempts.add(rank.snapshot, last.attempt_of(rank.snapshot));
    last.add(std::move(rank));
  }
  last.finish();
  run.attempts = attempts.all();
  if (!any) { return run; }
  run.world = last.world();
  run.remarks = last.remarks();
  return run;
}

}  // namespace cli
TAKT_END_NAMESPACE
