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

/// Returns the run and process of the directory's journal. Reads all of it only if its start is damaged. Any thread.
/// \param why reason if it cannot be read; else empty.
detail::JournalPeek peek_journal(const RankDirectory& directory, std::string& why);

/// A process whose journal is to be read.
struct RunProcess {
  RankDirectory directory;
  RunInfo run;            ///< from the start of the journal
  std::size_t place = 0;  ///< its position among the directories that were named
};

/// The processes of one run, ordered by rank, then by start.
using RunProcesses = std::vector<RunProcess>;

/// One attempt of a run, over all its processes, by the wall clocks of their hosts.
struct AttemptSpan {
  int attempt = 0;
  std::size_t ranks = 0;
  std::int64_t start_unix_ns = 0;  ///< start of the first rank
  std::int64_t end_unix_ns = 0;    ///< latest end of a journal
};

/// Returns the total time between attempts in which no rank ran, in ns. An attempt adds nothing if it started before
/// the previous one ended, by these clocks.
std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept;

/// The outcome of reading a run.
struct ReadRun {
  std::uint64_t ranks = 0;            ///< ranks that count; 0: nothing was readable
  std::uint64_t world = 0;            ///< ranks of the job, including those without a journal
  std::vector<std::string> warnings;  ///< excluded processes and the reasons
  std::vector<AttemptSpan> attempts;  ///< attempts with a journal, in order; the last one counts

  std::uint64_t missing() const noexcept { return world - ranks; }
};

/// Reads runs for all commands. Groups processes by run, reads a few journals concurrently, and passes on the ranks
/// that count: those of the latest attempt and, among processes of one rank, the one that started last. One thread at a
/// time.
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
  /// Keeps only the run that started last. Returns a warning if there were others, else an empty text. Call it before
  /// keep_rank().
  std::string keep_newest();

  /// \param run one of runs().
  /// \throws what `read` and `use` throw.
  ReadRun read(const RunProcesses& run, const Read& read, const Use& use);

  /// Returns the unreadable directories and the reasons, in the order in which they were named.
  std::vector<std::string> not_read() const;
  /// Prints not_read() on stderr. Returns all().
  bool report_not_read() const;
  /// Returns true if everything was read and no merged file is damaged.
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
