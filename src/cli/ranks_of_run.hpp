// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/rank.hpp"
#include "cli/run_folder.hpp"

#include <takt/config.hpp>
#include <takt/snapshot.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// A process whose journal is to be read, as a look at that tells of it.
struct PlannedRank {
  RankFolder folder;
  std::size_t place = 0;  ///< among those that were named
  bool has_run = false;   ///< else `run` is empty
  RunInfo run;            ///< without its groups
};

/// Whose journals are to be read, by rank, and the processes of a rank as they began. So ranks are added up in order,
/// whatever the order of their folders, and which of them count is known before they are read.
using RunPlan = std::vector<PlannedRank>;

/// Of the processes in these folders, by run id: the run of the folder that was named first comes first.
std::vector<RunPlan> plan_runs(const std::vector<RankFolder>& folders);

/// Whether the second one began later, by attempt and clock.
bool began_before(const RunInfo& a, const RunInfo& b) noexcept;

/// Of those of the newest attempt the one that began last, among those that tell. REQUIRES: !plan.empty().
const PlannedRank& newest_of(const RunPlan& plan) noexcept;

}  // namespace cli
namespace cli {

/// The journals of a run in order, read ahead on a few threads of its own: most of the time goes into that. One thread
/// at a time.
class RanksAhead {
 public:
  /// Called for several ranks at the same time, on any thread.
  using Read = std::function<Rank(const PlannedRank&)>;

  /// What comes of them is added up on one thread, for which more would wait; and each of them holds two ranks.
  static constexpr unsigned kMostThreads = 4;
  /// As many threads as the process has processors, kMostThreads at most.
  static unsigned usual_threads() noexcept;

  /// \param plan outlives this.
  /// \param threads at most; where none can be had, and of one, next() reads itself.
  RanksAhead(const RunPlan& plan, Read read, unsigned threads = usual_threads());
  /// Waits for the reading that is under way.
  ~RanksAhead();
  RanksAhead(const RanksAhead&) = delete;
  RanksAhead& operator=(const RanksAhead&) = delete;

  /// The next one. REQUIRES: there is one. \throws what reading it has thrown.
  Rank next();

 private:
  struct Slot {
    bool is_read = false;
    Rank rank;
    std::exception_ptr error;
  };

  void work();
  bool may_begin() const noexcept { return begun_ < taken_ + slots_.size(); }

  const RunPlan& plan_;
  const Read read_;
  std::mutex mutex_;  // of what follows
  std::condition_variable read_one_;
  std::condition_variable took_one_;
  std::vector<Slot> slots_;  // a rank's is that of its place by their number
  std::size_t begun_ = 0;
  std::size_t taken_ = 0;
  bool stops_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace cli
namespace cli {

/// What the processes of one attempt of a run say together, by the wall clocks of their hosts.
struct AttemptSpan {
  int attempt = 0;
  std::size_t ranks = 0;
  std::int64_t start_unix_ns = 0;  ///< of the rank that began first
  std::int64_t end_unix_ns = 0;    ///< as far as the journal of the rank that ended last goes
};

/// When the process ended, as far as its journal goes, by the wall clock of its host.
std::int64_t end_of(const Snapshot& snapshot) noexcept;

/// The attempts of a run, from its processes. One thread at a time.
class Attempts {
 public:
  /// \param attempt that it is of (LastRanks::attempt_of).
  void add(const Snapshot& process, int attempt);
  /// Those that left a journal, the earliest first.
  std::vector<AttemptSpan> all() const;

 private:
  std::map<int, AttemptSpan> spans_;  // by number
};

/// How long no rank ran from one attempt to the next, over all of them. Where clocks say that one began before the last
/// had ended, nothing.
std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept;

/// Whether the second one, of the same rank and attempt, follows the first: on the same host, after its end. Else both
/// ran beside each other, or nobody knows.
bool follows(const Rank& later, const Rank& earlier) noexcept;

}  // namespace cli
namespace cli {

/// Picks the ranks of one run as they were at last, from its processes as these come by: those of the newest attempt,
/// with as many ranks as that one had; of several of one rank the one that began last. It holds those back of which it
/// does not know yet: one as a rule. One thread at a time.
class LastRanks {
 public:
  using Use = std::function<void(Rank&&)>;

  /// \param newest of the newest attempt the process that began last.
  /// \param use is shown those that count, in order, each rank once.
  LastRanks(const RunInfo& newest, const RankFolder& where, Use use);

  /// The attempt that a process is of: as its launcher counts. But agents of an elastic launcher may count differently:
  /// one that spent most of its time beside the newest one, in a world of the same size, is of that one's attempt.
  int attempt_of(const Snapshot& process) const noexcept;
  /// The next process. REQUIRES: readable, and in order of rank, attempt and begin.
  void add(Rank rank);
  /// There are no more.
  void finish();

  /// How many ranks there were, those without a journal included. A world that cannot be counts as the ranks that are
  /// there. REQUIRES: finish().
  std::uint64_t world() const noexcept;
  /// Who is left out and why, that a world cannot be, and that ranks began more than an hour apart.
  const std::vector<std::string>& remarks() const noexcept { return remarks_; }

 private:
  bool is_of_last(const Snapshot& process) const noexcept;
  void take(Rank&& rank);
  void use(Rank&& rank);

  struct Begin {
    std::int64_t unix_ns = 0;
    int rank = 0;
  };

  int attempt_;
  std::int64_t start_unix_ns_;  // of the newest one
  int newest_world_;            // as it says
  bool is_possible_;
  int world_;  // as far as it is known
  Use use_;
  std::deque<Rank> waiting_;  // of which that is not known yet
  std::optional<Rank> last_;  // which a later process of its rank may follow
  std::uint64_t used_ = 0;
  Begin earliest_;  // of those that are used
  Begin latest_;
  std::vector<std::string> remarks_;
};

/// The same of processes that are at hand, in any order.
struct PickedRanks {
  std::vector<Rank> ranks;  ///< in order, each once
  std::uint64_t world = 0;
  std::vector<std::string> remarks;
  std::vector<AttemptSpan> attempts;

  std::uint64_t missing() const noexcept { return world - ranks.size(); }
};

/// REQUIRES: one or more, all readable.
PickedRanks pick_last(std::vector<Rank> of_run);

/// Of a world of ranks those that are not among these, which are in order. Ascending.
std::vector<std::uint32_t> missing_ranks(const std::vector<Rank>& ranks, std::uint64_t world);

/// Says the remarks on stderr.
void tell_left_out(const std::vector<std::string>& remarks);

}  // namespace cli
namespace cli {

/// What of some processes could not be read and why, and at which places these stand among those that were named.
using NotRead = std::vector<std::pair<std::size_t, std::string>>;

/// Says so on stderr, in the order in which they were named.
void tell_not_read(NotRead not_read);

/// What became of the processes of a run.
struct WalkedRun {
  std::uint64_t world = 0;            ///< how many there were, those without a journal included
  std::vector<std::string> remarks;   ///< who is left out and why
  std::vector<AttemptSpan> attempts;  ///< in order; the last one counts
  std::size_t first = 0;              ///< of those that were readable, the place of the one that was named first
  NotRead not_read;
};

/// Reads the journals of a run, a few at the same time.
/// \param read reads one of them, with whatever it wants to see of its rows; on any thread, several at the same time.
/// \param use is handed the ranks that count, in order; nothing keeps them but what it does with them.
WalkedRun walk_ranks(const RunPlan& plan, const RanksAhead::Read& read, const LastRanks::Use& use);

}  // namespace cli
TAKT_END_NAMESPACE
