// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/journal_peek.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"

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

/// Returns which run and process the journal in the directory is of. Reads all of it only if its beginning is damaged.
/// Any thread.
/// \param why the reason why it cannot be read; empty if it can.
detail::JournalPeek peek_journal(const RankDirectory& directory, std::string& why);

/// A process whose journal is to be read.
struct RunProcess {
  RankDirectory directory;
  RunInfo run;            ///< from the beginning of the journal
  std::size_t place = 0;  ///< its position among the directories that were named
};

/// The processes of one run, ordered by rank, then by start.
using RunProcesses = std::vector<RunProcess>;

/// One attempt of a run, over all its processes, by the wall clocks of their hosts.
struct AttemptSpan {
  int attempt = 0;
  std::size_t ranks = 0;
  std::int64_t start_unix_ns = 0;  ///< of the rank that began first
  std::int64_t end_unix_ns = 0;    ///< the end of the journal that goes furthest
};

/// Returns the time between attempts in which no rank ran, in ns, over all of them. An attempt adds nothing if, by
/// these clocks, it began before the last one had ended.
std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept;

/// The outcome of reading a run.
struct ReadRun {
  std::uint64_t ranks = 0;            ///< that count; 0: nothing could be read
  std::uint64_t world = 0;            ///< the ranks of the job, those without a journal included
  std::vector<std::string> warnings;  ///< which processes are left out and why
  std::vector<AttemptSpan> attempts;  ///< those that left a journal, in order; the last one counts

  std::uint64_t missing() const noexcept { return world - ranks; }
};

/// Reads runs for all commands. It groups the processes in some directories by run, reads a few journals at the same
/// time, and passes on the ranks that count: those of the newest attempt, and of several processes of one rank the one
/// that began last. One thread at a time.
class RunReader {
 public:
  /// Reads one journal. Called on any thread, for several journals at the same time.
  using Read = std::function<Rank(const RunProcess&)>;
  /// Gets each rank that counts, once and in order. The reader keeps none of them.
  using Use = std::function<void(Rank&&)>;

  /// Returns the number of processors, at most four: one thread adds up the results, and more readers would wait for
  /// it.
  static unsigned usual_threads() noexcept;

  /// \param threads maximum number of threads that read.
  explicit RunReader(const std::vector<RankDirectory>& directories, unsigned threads = usual_threads());
  /// Takes processes whose journals are known to be readable.
  explicit RunReader(std::vector<RunProcess> processes, unsigned threads = usual_threads());

  /// Returns the runs in the order in which they were first named. Runs without a readable journal are left out.
  const std::vector<RunProcesses>& runs() const noexcept { return runs_; }
  /// Keeps this rank of each run only. Runs that do not have it stay, without processes.
  void keep_rank(int rank);
  /// Keeps only the run that began last. Returns a remark if there were others, else an empty text. Call it before
  /// keep_rank().
  std::string keep_newest();

  /// \param run one of runs().
  /// \throws what `read` and `use` throw.
  ReadRun read(const RunProcesses& run, const Read& read, const Use& use);

  /// Returns what could not be read and why, in the order in which it was named.
  std::vector<std::string> not_read() const;
  /// Prints not_read() on stderr. Returns all().
  bool report_not_read() const;
  /// Returns whether everything was read, and no merged file is damaged.
  bool all() const noexcept { return is_whole_ && not_read_.empty(); }

 private:
  void sort_out(std::vector<RunProcess> processes);
  bool take_in(Rank& rank, const RunProcess& process);

  unsigned threads_;
  bool is_whole_ = true;
  std::vector<RunProcesses> runs_;
  std::vector<std::pair<std::size_t, std::string>> not_read_;  // by place
};

/// Returns the error for a run that does not have this rank.
Error no_such_rank(int rank);

/// Returns the ranks below `world` that are not in `ranks`, ascending. REQUIRES: `ranks` is ordered by rank.
std::vector<std::uint32_t> missing_ranks(const std::vector<Rank>& ranks, std::uint64_t world);

}  // namespace cli
TAKT_END_NAMESPACE
