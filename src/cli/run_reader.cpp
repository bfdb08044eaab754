// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run_reader.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"

#include <takt/detail/memory.hpp>

#include <algorithm>
#include <deque>
#include <future>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

constexpr std::uint64_t kFarApartNs = 3600ULL * detail::kSecondNs;  // longer than any launcher takes

/// Returns true if the second process started later, by attempt and clock.
bool began_before(const RunProcess& a, const RunProcess& b) {
  return std::tie(a.run.attempt, a.run.start_unix_ns) < std::tie(b.run.attempt, b.run.start_unix_ns);
}

bool is_before(const RunProcess& a, const RunProcess& b) {
  return a.run.rank != b.run.rank ? a.run.rank < b.run.rank : began_before(a, b);
}

/// Returns the end of the process according to its journal, on its host's wall clock.
std::int64_t end_of(const Snapshot& snapshot) noexcept {
  const std::int64_t start = snapshot.run.start_unix_ns;
  const std::int64_t wall = std::max<std::int64_t>(snapshot.wall_ns, 0);
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  return start > kMax - wall ? kMax : start + wall;  // journals may contain any number
}

/// Returns the time from `begin` to `end`. Unsigned, as the difference may exceed a signed number.
std::uint64_t ns_from(std::int64_t begin, std::int64_t end) noexcept {
  return end <= begin ? 0 : static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
}

/// Returns why the first of two processes of one rank and attempt does not count.
std::string why_superseded(const Rank& earlier, const Rank& later) {
  const RunInfo& run = later.snapshot.run;
  const std::string& host = earlier.snapshot.run.host;
  // It follows if it is on the same host, after the other's end. Otherwise both ran at once, or the order is unknown.
  const bool follows =
      earlier.ending != Ending::running && run.host == host && run.start_unix_ns >= end_of(earlier.snapshot);
  if (follows) { return "has a later attempt"; }
  return detail::format("appears twice in attempt {}, on host {} and on host {}; the one that started last counts",
                        run.attempt, detail::printable(host), detail::printable(run.host));
}

std::string left_out(const Rank& rank, const std::string& why) {
  return detail::format("rank {} {}; it is excluded: {}", rank.snapshot.run.rank, why,
                        detail::printable(rank.directory.path()));
}

/// Selects the ranks that count from the processes of one run as they arrive. Holds back processes that are undecided,
/// usually one.
class LastRanks {
 public:
  /// \param newest process of the latest attempt that started last.
  LastRanks(const RunProcess& newest, const RunReader::Use& use)
      : newest_(newest.run),
        is_possible_(newest_.world_size <= kMaxRanks),
        world_(std::max(newest_.world_size, newest_.rank + 1)),
        use_(use) {
    if (is_possible_) { return; }
    run_.warnings.push_back(
        detail::format("{} claims a world size of {}, which is invalid; only ranks with a journal are counted",
                       detail::printable(newest.directory.path()), newest_.world_size));
  }

  /// Adds the next process, in order of rank, attempt and start.
  void add(Rank rank);
  /// Call it after the last process.
  ReadRun finish();

 private:
  int attempt_of(const Snapshot& process) const noexcept;
  bool is_of_last(const Snapshot& process) const noexcept {
    return attempt_of(process) == newest_.attempt && (!is_possible_ || process.run.rank < world_);
  }
  void add_to_attempt(const Snapshot& process);
  void take(Rank&& rank);
  void use(Rank&& rank);

  const RunInfo& newest_;
  bool is_possible_;
  int world_;  // as far as known
  const RunReader::Use& use_;
  ReadRun run_;
  std::map<int, AttemptSpan> attempts_;
  std::deque<Rank> waiting_;                    // undecided processes
  std::optional<Rank> last_;                    // may be followed by a later process of its rank
  std::pair<std::int64_t, int> earliest_ = {};  // first used rank to start: its start and number
  std::pair<std::int64_t, int> latest_ = {};
};

/// Returns the launcher's attempt. Agents of an elastic launcher may count differently: a process that ran mostly
/// alongside the latest one, in a world of the same size, belongs to that one's attempt.
int LastRanks::attempt_of(const Snapshot& process) const noexcept {
  const RunInfo& run = process.run;
  if (run.attempt >= newest_.attempt || run.world_size != newest_.world_size) { return run.attempt; }
  const std::int64_t end = end_of(process);
  const std::uint64_t beside = ns_from(std::max(run.start_unix_ns, newest_.start_unix_ns), end);
  return beside != 0 && beside >= ns_from(run.start_unix_ns, end) / 2 ? newest_.attempt : run.attempt;
}

void LastRanks::add_to_attempt(const Snapshot& process) {
  const auto [place, is_new] = attempts_.try_emplace(attempt_of(process));
  AttemptSpan& span = place->second;
  const std::int64_t start = process.run.start_unix_ns;
  span.attempt = place->first;
  ++span.ranks;
  span.start_unix_ns = is_new ? start : std::min(span.start_unix_ns, start);
  span.end_unix_ns = is_new ? end_of(process) : std::max(span.end_unix_ns, end_of(process));
}

/// Some launchers set a rank but no world size: a rank that has a journal counts as existing. Ranks from before a
/// restart with fewer ranks do not.
void LastRanks::add(Rank rank) {
  add_to_attempt(rank.snapshot);
  if (attempt_of(rank.snapshot) == newest_.attempt && end_of(rank.snapshot) > newest_.start_unix_ns) {
    world_ = std::max(world_, rank.snapshot.run.rank + 1);
  }
  waiting_.push_back(std::move(rank));
  const auto is_known = [&](const Snapshot& each) { return attempt_of(each) < newest_.attempt || is_of_last(each); };
  while (!waiting_.empty() && is_known(waiting_.front().snapshot)) {
    take(std::move(waiting_.front()));
    waiting_.pop_front();
  }
}

void LastRanks::take(Rank&& rank) {
  if (!is_of_last(rank.snapshot)) {
    run_.warnings.push_back(left_out(rank, "is of an earlier attempt"));
    return;
  }
  if (last_ && last_->snapshot.run.rank == rank.snapshot.run.rank) {
    run_.warnings.push_back(left_out(*last_, why_superseded(*last_, rank)));
  } else if (last_) {
    use(std::move(*last_));
  }
  last_ = std::move(rank);
}

void LastRanks::use(Rank&& rank) {
  const std::pair<std::int64_t, int> begin = {rank.snapshot.run.start_unix_ns, rank.snapshot.run.rank};
  if (run_.ranks++ == 0) { earliest_ = latest_ = begin; }
  if (begin.first < earliest_.first) { earliest_ = begin; }
  if (begin.first > latest_.first) { latest_ = begin; }
  use_(std::move(rank));
}

ReadRun LastRanks::finish() {
  for (Rank& each : waiting_) { take(std::move(each)); }
  waiting_.clear();
  if (!last_) { return {}; }
  use(std::move(*last_));
  const std::uint64_t apart_ns = ns_from(earliest_.first, latest_.first);
  if (apart_ns >= kFarApartNs) {
    run_.warnings.push_back(
        detail::format("rank {} started {} after rank {}, by the clocks of their hosts; check whether a clock is wrong",
                       latest_.second, detail::human_time(static_cast<double>(apart_ns)), earliest_.second));
  }
  // An invalid world size is replaced by the number of ranks found.
  run_.world = is_possible_ ? static_cast<std::uint64_t>(world_) : run_.ranks;
  for (const auto& [number, span] : attempts_) { run_.attempts.push_back(span); }
  return std::move(run_);
}

}  // namespace

detail::JournalPeek peek_journal(const RankDirectory& directory, std::string& why) {
  detail::JournalPeek peek = detail::peek_journal(*directory.open());
  if (peek.has_run && can_be_rank(peek.run.rank)) { return peek; }
  Rank rank = read_rank(directory);
  if (rank.readable()) {
    peek.has_run = !rank.snapshot.run.id.empty();  // else its owner is lost
    peek.run = std::move(rank.snapshot.run);
  } else {
    why = why_unreadable(rank);
  }
  return peek;
}

std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept {
  std::uint64_t between = 0;
  for (std::size_t at = 1; at < attempts.size(); ++at) {
    between = detail::bounded_sum(between, ns_from(attempts[at - 1].end_unix_ns, attempts[at].start_unix_ns));
  }
  return between;
}

unsigned RunReader::usual_threads() noexcept { return std::min(std::thread::hardware_concurrency(), 4U); }

RunReader::RunReader(const std::vector<RankDirectory>& directories, unsigned threads)
    : threads_(threads), is_whole_(are_whole(directories)) {
  std::vector<RunProcess> processes;
  for (std::size_t place = 0; place < directories.size(); ++place) {
    std::string why;
    detail::JournalPeek peek = peek_journal(directories[place], why);
    if (why.empty()) {
      processes.push_back({directories[place], std::move(peek.run), place});
    } else {
      not_read_.emplace_back(place, std::move(why));
    }
  }
  sort_out(std::move(processes));
}

RunReader::RunReader(std::vector<RunProcess> processes, unsigned threads) : threads_(threads) {
  sort_out(std::move(processes));
}

void RunReader::sort_out(std::vector<RunProcess> processes) {
  std::map<std::string, std::size_t> places;  // by run id
  for (RunProcess& each : processes) {
    const auto [place, is_new] = places.emplace(each.run.id, runs_.size());
    if (is_new) { runs_.emplace_back(); }
    runs_[place->second].push_back(std::move(each));
  }
  for (RunProcesses& each : runs_) { std::stable_sort(each.begin(), each.end(), is_before); }
}

void RunReader::keep_rank(int rank) {
  for (RunProcesses& run : runs_) {
    const auto is_other = [rank](const RunProcess& each) { return each.run.rank != rank; };
    run.erase(std::remove_if(run.begin(), run.end(), is_other), run.end());
  }
}

std::string RunReader::keep_newest() {
  if (runs_.size() < 2) { return ""; }
  const auto start_of = [](const RunProcesses& run) {
    std::int64_t latest = run.front().run.start_unix_ns;
    for (const RunProcess& each : run) { latest = std::max(latest, each.run.start_unix_ns); }
    return latest;
  };
  const auto newest = std::max_element(runs_.begin(), runs_.end(), [&](const RunProcesses& a, const RunProcesses& b) {
    return start_of(a) < start_of(b);
  });
  std::string warning = detail::format("these are ranks of {} runs; using the latest: {}", runs_.size(),
                                       detail::printable(newest->front().run.id));
  runs_ = {std::move(*newest)};
  return warning;
}

ReadRun RunReader::read(const RunProcesses& run, const Read& read, const Use& use) {
  if (run.empty()) { return {}; }
  LastRanks last(*std::max_element(run.begin(), run.end(), began_before), use);
  const std::size_t max = std::max<std::size_t>(std::min<std::size_t>(threads_, run.size()), 1);
  // If no thread can be started, the waiting thread reads the rank.
  const std::launch how = max == 1 ? std::launch::deferred : std::launch::async | std::launch::deferred;
  std::deque<std::future<Rank>> ahead;
  auto next = run.begin();
  for (const RunProcess& each : run) {
    for (; ahead.size() < max && next != run.end(); ++next) {
      ahead.push_back(std::async(how, std::cref(read), std::cref(*next)));
    }
    Rank rank = ahead.front().get();
    ahead.pop_front();
    if (take_in(rank, each)) { last.add(std::move(rank)); }
  }
  return last.finish();
}

/// Returns true if it is the process that was peeked at.
bool RunReader::take_in(Rank& rank, const RunProcess& process) {
  const auto key = [](const RunInfo& run) { return std::tie(run.id, run.rank, run.attempt, run.start_unix_ns); };
  for (std::string& why : rank.not_read) { not_read_.emplace_back(process.place, std::move(why)); }
  rank.place = process.place;
  if (!rank.readable()) {
    not_read_.emplace_back(process.place, why_unreadable(rank));
  } else if (key(rank.snapshot.run) != key(process.run)) {
    not_read_.emplace_back(process.place, "the journal in " + detail::printable(rank.directory.path()) +
                                              " has just started, or is of two processes; run takt again");
  } else {
    return true;
  }
  return false;
}

std::vector<std::string> RunReader::not_read() const {
  auto sorted = not_read_;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> lines;
  lines.reserve(sorted.size());
  for (auto& each : sorted) { lines.push_back(std::move(each.second)); }
  return lines;
}

bool RunReader::report_not_read() const {
  report_warnings(not_read());
  return all();
}

Error no_such_rank(int rank) { return Error(detail::format("there is no rank {} in this run", rank)); }

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

}  // namespace cli
TAKT_END_NAMESPACE
