// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/run_directory.hpp"
#include "journal/journal_reader.hpp"
#include "ranks/rank_steps.hpp"
#include "report/epochs.hpp"

#include <takt/snapshot.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// State of a process with a journal.
enum class Ending {
  finished,
  failed,   ///< ended, and reported failure
  killed,   ///< ended by SIGTERM, as the journal records
  running,  ///< the process exists, or did so recently
  died,     ///< the process does not exist and has recorded no end
  silent,   ///< on another machine, without a recent heartbeat
};

/// Step counts of one series.
struct SeriesSteps {
  std::string path;         ///< path of its Batch, for display
  std::uint64_t steps = 0;  ///< ended steps, without those of earlier Sessions of the process
  std::uint64_t rows = 0;   ///< number of these steps with a row in the journal
  std::uint32_t batch = 0;  ///< index of the Batch in Snapshot::paths
};

/// Contents of one rank's journal.
struct Rank {
  RankDirectory directory;
  Snapshot snapshot;  ///< latest state; without rows and metrics
  Ending ending = Ending::silent;
  std::int64_t heartbeat_unix_ns = 0;  ///< last write of the journal
  detail::JournalReader::Damage damage;
  std::string error;  ///< reason if nothing could be read
  std::uint64_t frames = 0;
  std::uint64_t states = 0;  ///< recorded states of the run; the first one is from its start
  std::uint64_t rows = 0;
  std::vector<SeriesSteps> steps;
  std::shared_ptr<const detail::RankSteps> kept_steps;  ///< for the comparison of ranks; nullptr: none
  std::uint64_t metrics = 0;
  std::size_t segments = 0;
  std::uint64_t bytes = 0;
  std::string standing;               ///< text of describe(), for a report; its figures may be dropped
  std::size_t place = 0;              ///< index among the named directories, if read by a RunReader
  std::vector<std::string> not_read;  ///< other files that could not be read, and why

  bool readable() const noexcept { return frames != 0; }
};

/// Receives a snapshot with the new rows and metrics.
using Consumer = std::function<void(const Snapshot&)>;

/// Reads the journal once from start to end, in parts; each part is passed to `take`.
Rank read_rank(const RankDirectory& directory, const Consumer& take = {});

/// Frees the figures of a rank that are in a sum. Keeps its identity, parameters, wall time, findings, trials and
/// measurements.
void drop_figures(Rank& rank);

/// Prints data that the run dropped before its journal on stderr, prefixed by `name`, and returns true if there is any.
/// A complete delivery of the journal lacks that data.
bool report_lost(const RankDirectory& directory, const std::string& name);

/// Returns the state of the process, also after more was read into `snapshot`.
Ending ending_of(const detail::ReadableDirectory& files, const detail::JournalReader& reader, const Snapshot& snapshot);

/// Returns the state of a process whose journal records no end.
Ending ending_without_word(const detail::ReadableDirectory& files, const RunInfo& run);

/// Limit above any machine's number of ranks: ranks are used as indexes, and journals may contain any number.
constexpr int kMaxRanks = 1 << 20;
/// Returns true if the number is a valid rank.
bool can_be_rank(int number) noexcept;

/// Returns true for the three endings that the process itself records.
bool has_ended(Ending ending) noexcept;

/// Returns true if a silent process was not heard of for so long that it counts as dead.
/// \param now_unix_ns current time on the clock of the file system, if known.
bool is_given_up(const detail::ReadableDirectory& files, std::optional<std::int64_t> now_unix_ns = {});

/// Fills in the state of the journal's files.
void read_state(const detail::ReadableDirectory& files, Rank& rank);

/// Total size of all segments in the directory, in bytes.
std::uint64_t journal_bytes(const detail::ReadableDirectory& files);

/// Returns a text like "finished", "died in Epoch > Batch > Comm on thread main, open 312 s; last heard of ..."
std::string describe(const Rank& rank);

/// Returns why the directory cannot be listed, and the cure; empty if it can, or is not a directory.
std::string why_closed(const std::string& directory);

/// Returns why the rank has no readable data, and the cure. REQUIRES: !rank.readable().
std::string why_unreadable(const Rank& rank);

/// Returns the defects of the files as parts of a sentence; empty: none.
std::vector<std::string> damages(const Rank& rank);

/// Reads the journal of one rank, even while it is written. One thread at a time.
class RankReader {
 public:
  explicit RankReader(const RankDirectory& directory);

  /// Reads about 1 MiB of new data and passes it to `take`. Returns true if there was any.
  bool read_part(const Consumer& take = {});
  /// After the last part: finds the state of the process. If it has ended or died, reads the rest as well.
  void look(const Consumer& take = {});
  /// Ends reading: takes the remaining data, and rows that still wait for device values.
  void close(const Consumer& take = {});

  /// State as of the last look() or close().
  const Rank& rank() const noexcept { return rank_; }
  /// Number of checksummed bytes, a measure of the cost of reading.
  std::uint64_t checked_bytes() const noexcept { return reader_.checked_bytes(); }

 private:
  void show(const Consumer& take);
  void report();

  Rank rank_;
  std::shared_ptr<const detail::ReadableDirectory> files_;
  detail::JournalReader reader_;
  std::vector<std::uint64_t> rows_;  // by series
  detail::EpochTable epochs_;
};

}  // namespace cli
TAKT_END_NAMESPACE
