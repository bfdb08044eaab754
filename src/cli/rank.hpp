// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/run_directory.hpp"
#include "journal/journal_reader.hpp"
#include "ranks/rank_steps.hpp"

#include <takt/snapshot.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// How a process that kept a journal stands.
enum class Ending {
  finished,
  failed,   ///< it has ended, and said that it failed
  killed,   ///< it has ended, and said that SIGTERM made it
  running,  ///< it is there, or was not long ago
  died,     ///< it is not there any more, and has not said that it ended
  silent,   ///< on another machine, and nothing was heard from it for a while
};

/// The steps of one series.
struct SeriesSteps {
  std::string path;         ///< of its Batch, for people
  std::uint64_t steps = 0;  ///< that have ended, without those of earlier Sessions of the process
  std::uint64_t rows = 0;   ///< of these, in the journal
  std::uint32_t batch = 0;  ///< the path, index into Snapshot::paths
};

/// What the journal in the directory of one rank says.
struct Rank {
  RankDirectory directory;
  Snapshot snapshot;  ///< its newest state; without rows and metrics
  Ending ending = Ending::silent;
  std::int64_t heartbeat_unix_ns = 0;  ///< when the journal was last written
  detail::JournalReader::Damage damage;
  std::string error;  ///< what could not be read at all
  std::uint64_t frames = 0;
  std::uint64_t states = 0;  ///< as of which the journal tells the run; the first one is from its beginning
  std::uint64_t rows = 0;
  std::vector<SeriesSteps> steps;
  std::shared_ptr<const detail::RankSteps> kept_steps;  ///< for the comparison of ranks; nullptr: none
  std::uint64_t metrics = 0;
  std::size_t segments = 0;
  std::uint64_t bytes = 0;
  std::string standing;               ///< as of describe(), in a report: its figures may be gone
  std::size_t place = 0;              ///< among those that were named, where a RunReader has read it
  std::vector<std::string> not_read;  ///< what else in its directory was wanted and could not be read, and why

  bool readable() const noexcept { return frames != 0; }
};

/// Shown a snapshot with the rows and metrics that are new in it.
using Consumer = std::function<void(const Snapshot&)>;

/// Reads the journal once from the start to its end, in parts, each of which is shown to `take`.
Rank read_rank(const RankDirectory& directory, const Consumer& take = {});

/// Frees what the figures of a rank take, which are in a sum. Who it is stays, with parameters, wall time, findings,
/// trials and measurements.
void drop_figures(Rank& rank);

/// Says on stderr what the run has lost on the way to its journal, with `name` in front, and returns whether it has: a
/// delivery of all that is there is not one of all that was.
bool report_lost(const RankDirectory& directory, const std::string& name);

/// How it stands, also after more of it was read into `snapshot`.
Ending ending_of(const detail::ReadableDirectory& files, const detail::JournalReader& reader, const Snapshot& snapshot);

/// The same of one whose journal does not say that it ended.
Ending ending_without_word(const detail::ReadableDirectory& files, const RunInfo& run);

/// More than any machine runs: sums and tables go by their numbers, and journals may say anything.
constexpr int kMaxRanks = 1 << 20;
/// Whether there can be a rank of that number.
bool can_be_rank(int number) noexcept;

/// Of the three that the process itself has told.
bool has_ended(Ending ending) noexcept;

/// Of one that is silent: nothing was heard from it for so long that it is taken for dead.
/// \param now_unix_ns by the clock that gives these files their times, where that is known.
bool is_given_up(const detail::ReadableDirectory& files, std::optional<std::int64_t> now_unix_ns = {});

/// Fills in what the files of its journal say of themselves.
void read_state(const detail::ReadableDirectory& files, Rank& rank);

/// Of all segments in the directory.
std::uint64_t journal_bytes(const detail::ReadableDirectory& files);

/// "finished", "died in Epoch > Batch > Comm on thread main, open 312 s; last heard of ..."
std::string describe(const Rank& rank);

/// Why the directory cannot be listed, and what to do; empty where it can be, or is none.
std::string why_closed(const std::string& directory);

/// Why there is nothing to say about it, and what to do. For one that is not readable().
std::string why_unreadable(const Rank& rank);

/// What is wrong with the files, as parts of a sentence; none: nothing is.
std::vector<std::string> damages(const Rank& rank);

/// Reads the journal of one rank, also while it is written. One thread at a time.
class RankReader {
 public:
  explicit RankReader(const RankDirectory& directory);

  /// Reads about a MiB of what was appended since the last call, and shows it to `take`. Returns whether there was any.
  bool read_part(const Consumer& take = {});
  /// Behind the last part: finds out how the process stands. Of one that has ended or died it takes the rest, too.
  void look(const Consumer& take = {});
  /// Nobody reads on: takes what is left, and the rows that wait for values of a device as they stand.
  void close(const Consumer& take = {});

  /// As of the last look() or close().
  const Rank& rank() const noexcept { return rank_; }
  /// Of which checksums were made: what reading has cost.
  std::uint64_t checked_bytes() const noexcept { return reader_.checked_bytes(); }

 private:
  void show(const Consumer& take);
  void report();

  Rank rank_;
  std::shared_ptr<const detail::ReadableDirectory> files_;
  detail::JournalReader reader_;
  std::vector<std::uint64_t> rows_;  // by series
};

}  // namespace cli
TAKT_END_NAMESPACE
