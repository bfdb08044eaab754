// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/last_ranks.hpp"

#include "base/format.hpp"
#include "base/nanoseconds.hpp"
#include "base/text.hpp"
#include "cli/attempts.hpp"
#include "cli/run_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

TAKT_BEGIN_NAMESPACE
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
TAKT_END_NAMESPACE
