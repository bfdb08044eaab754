// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "journal/journal_file.hpp"
#include "journal/journal_format.hpp"
#include "journal/journal_records.hpp"

#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include <sys/statvfs.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Writes rows to a journal: complete rows directly; rows that wait for device values early, with amendments later.
/// Tracks the early rows in all segments. Not thread-safe.
class JournalRows {
 public:
  /// Returns the number of rows in `snapshot` that only need their amendment.
  std::size_t owed(const Snapshot& snapshot) const;
  /// Appends rows.
  /// \param thin true: only amendments of rows in the journal.
  void add(FrameBuffer& out, const Snapshot& snapshot, bool thin);
  /// Confirms that the last add() is in the journal; otherwise it is repeated. Allocates nothing.
  void written() noexcept;

 private:
  void add_early(FrameBuffer& out, const Snapshot& snapshot, bool thin);
  bool has(const Row& row) const { return early_.count(row.early) != 0; }

  std::unordered_set<std::uint64_t> early_;    // numbers of rows that still wait
  std::unordered_set<std::uint64_t> started_;  // early rows of the last add()
  std::vector<std::uint64_t> settled_;
};

/// The state recorded in the current segment, to find changes in a snapshot. Not thread-safe.
class JournalChanges {
 public:
  /// Forgets everything: the next snapshot is written completely.
  void clear();
  /// Appends changes, except rows and metrics, and marks them as recorded.
  void add_state(FrameBuffer& out, const Snapshot& snapshot);
  /// Appends `gap` if it changed.
  void add_gap(FrameBuffer& out, const GapRecord& gap);

 private:
  using Notes = std::map<std::string, std::string>;

  void add_run(FrameBuffer& out, const Snapshot& snapshot);
  void add_paths(FrameBuffer& out, const Snapshot& snapshot);
  void add_totals(FrameBuffer& out, const Snapshot& snapshot);
  void add_threads(FrameBuffer& out, const Snapshot& snapshot);
  void add_series(FrameBuffer& out, const Snapshot& snapshot);
  static void add_notes(FrameBuffer& out, FrameType type, const Notes& now, Notes& said);
  void add_lists(FrameBuffer& out, const Snapshot& snapshot);
  void add_sampled(FrameBuffer& out, const Snapshot& snapshot);

  bool has_run_ = false;
  std::string machine_{"\0\1\1\1\0\0\0\0\0", 9};  // last encoding; initially unknown
  std::string clock_;                             // last encoding
  std::deque<PathStats> paths_;                   // grows without moving histograms
  std::size_t totals_ = 0;                        // paths whose numbers were written; zeros must be written too
  std::vector<ThreadInfo> threads_;
  std::vector<std::string> series_;  // last encodings
  Notes params_;
  Notes tags_;
  std::string losses_;                          // last encoding
  std::string devices_ = std::string(1, '\0');  // last encoding; initially an empty list
  std::string time_lines_ = devices_;           // likewise
  std::string groups_ = devices_;               // likewise
  std::string sensors_ = std::string(2, '\0');  // likewise
  std::int64_t sampled_ns_ = kLongAgo;          // when figures of samples were last written
  std::string clock_readings_ = devices_;       // last encoding
  std::string region_memories_;                 // last encoding; empty: none
  bool open_ = true;                            // readers assume open regions
  GapRecord gap_;

  static constexpr std::int64_t kLongAgo = -3'600'000'000'000;
};

struct JournalOptions {
  std::size_t max_bytes = std::size_t{256} << 20U;    ///< above it: only totals, once a minute
  std::size_t segment_bytes = std::size_t{8} << 20U;  ///< the first export after this size closes the file
  double keep_free = 0.05;  ///< minimum free share of the disk, at most 1 GiB; below it as above max_bytes
  int (*disk)(const char*, struct statvfs*) = &::statvfs;  ///< returns the disk's size and free space
  bool threads = true;                                     ///< false: nothing is synced to the disk
};

/// Appends new data to a run's journal (docs/journal.md): one write(2) per export, so that a killed process loses at
/// most one interval. Returns `retry` while it cannot be written.
class JournalExporter final : public Exporter {
 public:
  /// \param directory of the run; must exist.
  explicit JournalExporter(std::string directory, JournalOptions options = {});
  ~JournalExporter() override;

  const char* name() const noexcept override { return "journal"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool shutdown(std::chrono::milliseconds deadline) override;
  void begin(const Snapshot& snapshot) override;

  /// Counts of omitted data. Any thread.
  std::uint64_t left_out_rows() const noexcept { return left_out_rows_.load(std::memory_order_relaxed); }
  std::uint64_t left_out_metrics() const noexcept { return left_out_metrics_.load(std::memory_order_relaxed); }
  std::uint64_t left_out_samples() const noexcept { return left_out_samples_.load(std::memory_order_relaxed); }
  /// Returns the number of journal files removed or changed by others. Any thread.
  std::uint64_t changed_files() const noexcept { return changed_files_.load(std::memory_order_relaxed); }

 private:
  ExportResult write(const Snapshot& snapshot);
  bool begin_segment(const Snapshot& snapshot, FrameBuffer& frames);
  void leave_segment() noexcept;
  void add_records(FrameBuffer& frames, const Snapshot& snapshot, bool thin);
  void set_gap(const GapRecord& gap) noexcept;
  ExportResult refuse(const Snapshot& snapshot);
  void write_end(const Snapshot& snapshot);
  void check_space(const Snapshot& snapshot);
  void sync_at_times(const Snapshot& snapshot);

  const std::string directory_;
  DirectoryFiles files_;  // stays the same if the directory is moved
  const JournalOptions options_;
  const std::uint64_t journal_;
  JournalSegment segment_;
  JournalChanges changes_;
  JournalRows rows_;
  JournalSync sync_;
  JournalReserve reserve_;
  GapRecord gap_;
  std::atomic<std::uint64_t> left_out_rows_{0};  // values of gap_
  std::atomic<std::uint64_t> left_out_metrics_{0};
  std::atomic<std::uint64_t> left_out_samples_{0};
  std::atomic<std::uint64_t> changed_files_{0};
  std::uint32_t next_segment_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t closed_bytes_ = 0;  // size of all segments except the current one
  bool no_space_ = false;         // the disk has less free space than `keep_free`
  bool last_words_ = false;       // the disk is full and the run ends: rows are omitted
  bool ended_ = false;
  bool end_written_ = false;  // end written without the totals
  int failures_ = 0;          // consecutive
  // On the clock of snapshots; initial values make everything due.
  std::int64_t written_at_ns_ = kLongAgo;
  std::int64_t checked_ns_ = kLongAgo;
  std::int64_t synced_at_ns_ = 0;

  static constexpr std::int64_t kLongAgo = -3'600'000'000'000;
};

}  // namespace detail
TAKT_END_NAMESPACE
