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

/// How rows go into a journal: one whose device values are in as it stands; another one early, and what comes later as
/// an amendment to that. Knows which early rows the journal has, in whichever segment. One thread at a time.
class JournalRows {
 public:
  /// Rows of `snapshot` that only lack their amendment.
  std::size_t owed(const Snapshot& snapshot) const;
  /// Appends rows. \param thin only amendments of what the journal has.
  void add(FrameBuffer& out, const Snapshot& snapshot, bool thin);
  /// What was added last is in the journal. Without that it is added again. Needs no memory.
  void written() noexcept;

 private:
  void add_early(FrameBuffer& out, const Snapshot& snapshot, bool thin);
  bool has(const Row& row) const { return early_.count(row.early) != 0; }

  std::unordered_set<std::uint64_t> early_;    // numbers of those that wait
  std::unordered_set<std::uint64_t> started_;  // by the last add()
  std::vector<std::uint64_t> settled_;
};

/// What the current segment of a journal says, and what of a snapshot it does not say yet. One thread at a time.
class JournalChanges {
 public:
  /// The next snapshot is new in full.
  void clear();
  /// Appends what has changed but for rows and metrics, and takes it as said.
  void add_state(FrameBuffer& out, const Snapshot& snapshot);
  /// Appends what was left out, if that has changed.
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
  std::string clock_;            // as last spelled
  std::deque<PathStats> paths_;  // grows without moving histograms
  std::size_t totals_ = 0;       // paths whose numbers were said; those that are 0 have to be, too
  std::vector<ThreadInfo> threads_;
  std::vector<std::string> series_;  // as last spelled
  Notes params_;
  Notes tags_;
  std::string losses_;                          // as last spelled
  std::string devices_ = std::string(1, '\0');  // likewise; none
  std::string time_lines_ = devices_;           // likewise
  std::string groups_ = devices_;               // likewise
  std::string sensors_ = std::string(2, '\0');  // likewise
  std::int64_t sampled_ns_ = kLongAgo;          // when figures of samples were told last
  std::string clock_readings_ = devices_;       // likewise
  bool open_ = true;                            // regions are open as far as a reader knows
  GapRecord gap_;

  static constexpr std::int64_t kLongAgo = -3'600'000'000'000;
};

struct JournalOptions {
  std::size_t max_bytes = std::size_t{256} << 20U;  ///< beyond: no rows, metrics and samples, and totals once a minute
  std::size_t segment_bytes = std::size_t{8}
                              << 20U;  ///< a file is closed by the export after the one that reaches this
  double keep_free =
      0.05;  ///< share of the disk, of at most 1 GiB, that is not the journal's; below it as beyond max_bytes
  int (*disk)(const char*, struct statvfs*) = &::statvfs;  ///< by which its size and what is free are known
  bool threads = true;                                     ///< false: nothing is written through to the disk
};

/// Appends what is new to the journal of a run (docs/journal.md): one write(2) an export, so that a process that is
/// killed has lost at most one period. While nothing can be written it answers `retry`.
class JournalExporter final : public Exporter {
 public:
  /// \param directory of the run, which is there.
  explicit JournalExporter(std::string directory, JournalOptions options = {});
  ~JournalExporter() override;

  const char* name() const noexcept override { return "journal"; }
  ExportResult export_snapshot(const Snapshot& snapshot) override;
  bool shutdown(std::chrono::milliseconds deadline) override;
  void begin(const Snapshot& snapshot) override;

  /// What it has no room for. Any thread.
  std::uint64_t left_out_rows() const noexcept { return left_out_rows_.load(std::memory_order_relaxed); }
  std::uint64_t left_out_metrics() const noexcept { return left_out_metrics_.load(std::memory_order_relaxed); }
  std::uint64_t left_out_samples() const noexcept { return left_out_samples_.load(std::memory_order_relaxed); }
  /// Files of it that something else has removed or changed. Any thread.
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
  DirectoryFiles files_;  // the same, wherever it is moved
  const JournalOptions options_;
  const std::uint64_t journal_;
  JournalSegment segment_;
  JournalChanges changes_;
  JournalRows rows_;
  JournalSync sync_;
  JournalReserve reserve_;
  GapRecord gap_;
  std::atomic<std::uint64_t> left_out_rows_{0};  // those of gap_
  std::atomic<std::uint64_t> left_out_metrics_{0};
  std::atomic<std::uint64_t> left_out_samples_{0};
  std::atomic<std::uint64_t> changed_files_{0};
  std::uint32_t next_segment_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::size_t closed_bytes_ = 0;  // in all segments but the current one
  bool no_space_ = false;         // on the disk
  bool last_words_ = false;       // the disk is full, and the run ends: without rows
  bool ended_ = false;
  bool end_written_ = false;  // without the totals
  int failures_ = 0;          // in a row
  // On the clock of snapshots; far back, so that everything is due at first.
  std::int64_t written_at_ns_ = kLongAgo;
  std::int64_t checked_ns_ = kLongAgo;
  std::int64_t synced_at_ns_ = 0;

  static constexpr std::int64_t kLongAgo = -3'600'000'000'000;
};

}  // namespace detail
TAKT_END_NAMESPACE
