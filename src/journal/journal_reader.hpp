// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/directory_files.hpp"
#include "journal/journal_format.hpp"
#include "journal/journal_state.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Reads a run's journal, also while it is written. Terminates within bounded memory for any file contents, and counts
/// what it could not read. Not thread-safe. Exported for the separate exporter libraries.
class TAKT_EXPORT JournalReader {
 public:
  /// Data that could not be read.
  struct Damage {
    std::uint64_t damaged_bytes = 0;      ///< skipped up to the next valid frame
    std::uint64_t torn_tail_bytes = 0;    ///< cut off at the end of a segment
    std::uint64_t lost_frames = 0;        ///< missing sequence numbers
    std::uint64_t unknown_frames = 0;     ///< frames of unknown types
    std::uint64_t unreadable_frames = 0;  ///< intact frames with invalid contents
  };

  /// \param directory of the run; may be empty or missing at first.
  explicit JournalReader(const std::string& directory);
  explicit JournalReader(std::shared_ptr<const ReadableDirectory> directory);

  /// Reads data appended since the last call. If there is any, updates `snapshot` to the newest state, appends rows and
  /// metrics, and returns true. Otherwise leaves `snapshot` unchanged.
  bool read(Snapshot& snapshot);
  /// Like read(), but stops after the first part of about 1 MiB with new data. A long run need not be in memory at
  /// once.
  bool read_part(Snapshot& snapshot);
  /// Reads the rest of a journal that is no longer written; counts a frame cut off at the end as torn. Otherwise like
  /// read().
  bool finish(Snapshot& snapshot);

  /// Appends, after all others, the rows that still wait for device values, in their current state. For journals that
  /// are no longer written. Returns true if there were any.
  bool release_early(Snapshot& snapshot);

  /// Returns true if the directory contains a journal.
  bool exists() const { return !segments_left().empty(); }

  const Damage& damage() const noexcept { return damage_; }
  /// Returns the number of valid frames so far.
  std::uint64_t frames() const noexcept { return frames_; }
  /// Returns the number of bytes checksummed: the cost of reading.
  std::uint64_t checked_bytes() const noexcept { return checked_bytes_; }
  /// Returns true if the run recorded its end.
  bool ended() const noexcept { return state_.ended(); }
  /// Returns the number of states read; the first is from the start of the run.
  std::uint64_t states() const noexcept { return state_.states(); }
  /// Returns the steps per series that earlier Sessions of the process had counted before the run. Missing entries are
  /// 0.
  const std::vector<std::uint64_t>& earlier_steps() const noexcept { return state_.earlier_steps(); }
  /// Returns the wall-clock time of the newest state; 0 before the first.
  std::int64_t last_time_unix_ns() const noexcept { return state_.last_time_unix_ns(); }
  /// Returns why a segment was not read completely; empty if none failed.
  const std::string& error() const noexcept { return error_; }

 private:
  enum class Much { all, part };
  bool read_on(Snapshot& snapshot, bool closed, Much much);
  std::vector<std::uint32_t> segments_left() const;
  bool read_file(bool closed, std::size_t max);
  /// Each returns the number of bytes consumed.
  std::size_t take_header(std::string_view bytes, bool closed);
  std::size_t take_frames(std::string_view bytes, bool closed);
  std::size_t find_frame(std::string_view bytes, std::size_t at, std::uint64_t& searched, Frame& frame);
  void take(const Frame& frame);
  void give_up(const std::string& why);
  std::string path() const;

  std::shared_ptr<const ReadableDirectory> directory_;
  JournalState state_;
  Damage damage_;
  std::uint64_t frames_ = 0;
  std::uint64_t checked_bytes_ = 0;
  std::uint64_t seen_bytes_ = 0;  // bytes up to the end of the last frame
  std::string error_;
  bool has_segment_ = false;
  std::uint32_t segment_ = 0;  // current segment
  std::uint64_t offset_ = 0;   // position of the first unprocessed byte in the segment
  bool given_up_ = false;      // skips the rest of this segment
  std::uint64_t journal_ = 0;  // identifier of the journal being read
  bool has_journal_ = false;
  std::uint64_t expected_ = 0;  // sequence number of the next frame
  bool news_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
