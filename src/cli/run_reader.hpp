// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/journal_peek.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"

#include <takt/config.hpp>
#include <takt/error.hpp>
#include <takt/snapshot.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Whose journal lies in the folder: by a look at it or, where it is damaged, by reading it. Any thread.
/// \param why it cannot be read; empty: it can be.
detail::JournalPeek look_at_journal(const RankFolder& folder, std::string& why);

/// A process whose journal is to be read.
struct RunProcess {
  RankFolder folder;
  RunInfo run;            ///< as a look at the journal tells it
  std::size_t place = 0;  ///< among those that were named
};

/// The processes of one run, by rank, and those of a rank as they began.
using RunProcesses = std::vector<RunProcess>;

/// What the processes of one attempt of a run say together, by the wall clocks of their hosts.
struct AttemptSpan {
  int attempt = 0;
  std::size_t ranks = 0;
  std::int64_t start_unix_ns = 0;  ///< of the rank that began first
  std::int64_t end_unix_ns = 0;    ///< as far as the journal of the rank that ended last goes
};

/// How long no rank ran from one attempt to the next, over all of them. Where clocks say that one began before the last
/// had ended, nothing.
std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept;

/// What became of the processes of a run.
struct ReadRun {
  std::uint64_t ranks = 0;            ///< that count; 0: nothing could be read
  std::uint64_t world = 0;            ///< how many there were, those without a journal included
  std::vector<std::string> remarks;   ///< who is left out and why
  std::vector<AttemptSpan> attempts;  ///< those that left a journal, in order; the last one counts

  std::uint64_t missing() const noexcept { return world - ranks; }
};

/// The one reader of runs, whatever a command makes of them. It sorts the processes in some folders out by run, reads
/// their journals a few at the same time, and hands out the ranks that count: those of the newest attempt, with as many
/// ranks as that one had; of several processes of one rank the one that began last. One thread at a time.
class RunReader {
 public:
  /// Reads one journal, with whatever it wants to see of its rows. Any thread, several at the same time.
  using Read = std::function<Rank(const RunProcess&)>;
  /// Is handed the ranks that count, in order, each once; nothing keeps them but what it does with them.
  using Use = std::function<void(Rank&&)>;

  /// As many as the process has processors, four at most: what comes of them is added up on one thread, for which more
  /// would wait.
  static unsigned usual_threads() noexcept;

  /// \param threads that read, at most.
  explicit RunReader(const std::vector<RankFolder>& folders, unsigned threads = usual_threads());
  /// Of journals that somebody has at hand, and all of which are readable.
  explicit RunReader(std::vector<RunProcess> processes, unsigned threads = usual_threads());

  /// By run id, that of the folder that was named first at the beginning. Those of which nothing is readable are not
  /// among them.
  const std::vector<RunProcesses>& runs() const noexcept { return runs_; }
  /// Leaves this rank of each run alone. Runs that do not have it stay, without processes.
  void keep_rank(int rank);
  /// Leaves the run that began last alone. Returns a remark where there were others; else nothing.
  std::string keep_newest();

  /// \param run one of runs().
  /// \throws what `read` and `use` throw.
  ReadRun read(const RunProcesses& run, const Read& read, const Use& use);

  /// What could not be read and why, in the order in which it was named.
  std::vector<std::string> not_read() const;
  /// Says so on stderr. Returns all().
  bool tell_not_read() const;
  /// Whether all was read, and no merged file in which it lies is damaged.
  bool all() const noexcept { return is_whole_ && not_read_.empty(); }

 private:
  void sort_out(std::vector<RunProcess> processes);
  bool take_in(Rank& rank, const RunProcess& process);

  unsigned threads_;
  bool is_whole_ = true;
  std::vector<RunProcesses> runs_;
  std::vector<std::pair<std::size_t, std::string>> not_read_;  // by place
};

/// What is thrown where a run does not have the rank that is wanted.
Error no_such_rank(int rank);

/// Of a world of ranks those that are not among these, which are in order. Ascending.
std::vector<std::uint32_t> missing_ranks(const std::vector<Rank>& ranks, std::uint64_t world);

}  // namespace cli
TAKT_END_NAMESPACE
