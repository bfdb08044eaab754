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

/// Reads the journal of a run, also while it is written. Whatever is in the files, it ends, stays inside its memory,
/// and tells what it could not read. One thread at a time. Exported for the exporters that are libraries of their own.
class TAKT_EXPORT JournalReader {
 public:
  /// What a journal does not tell any more.
  struct Damage {
    std::uint64_t damaged_bytes = 0;      ///< stepped over, up to the next good frame
    std::uint64_t torn_tail_bytes = 0;    ///< cut off at the end of a segment
    std::uint64_t lost_frames = 0;        ///< frames that were written and are not there, by their numbers
    std::uint64_t unknown_frames = 0;     ///< of a type that this version has no name for
    std::uint64_t unreadable_frames = 0;  ///< undamaged, but what they say cannot be
  };

  /// \param directory of the run; it may be empty, or not there yet.
  explicit JournalReader(const std::string& directory);
  explicit JournalReader(std::shared_ptr<const ReadableDirectory> directory);

  /// Reads what was appended since the last call. If there was something: `snapshot` becomes the newest state, rows and
  /// metrics are added to those that it has, and it returns true. Else `snapshot` is left as it is.
  bool read(Snapshot& snapshot);
  /// The same, but stops behind the first piece, of about a MiB, that had something new: of a long run, nobody wants
  /// all rows at once.
  bool read_part(Snapshot& snapshot);
  /// Nobody writes to the journal any more: reads the rest, and counts as torn what is cut off at the end. Otherwise as
  /// read().
  bool finish(Snapshot& snapshot);

  /// Nobody will tell the device values that rows wait for: adds these rows as they stand, behind all others. Returns
  /// whether there were any.
  bool release_early(Snapshot& snapshot);

  /// Whether there is a journal at all.
  bool exists() const { return !segments_left().empty(); }

  const Damage& damage() const noexcept { return damage_; }
  /// Good frames so far.
  std::uint64_t frames() const noexcept { return frames_; }
  /// Of which checksums were made: what reading costs.
  std::uint64_t checked_bytes() const noexcept { return checked_bytes_; }
  /// The run has ended and said so.
  bool ended() const noexcept { return state_.ended(); }
  /// How many states of the run were read; the first one is from its beginning.
  std::uint64_t states() const noexcept { return state_.states(); }
  /// The steps of each series, by number, that earlier Sessions of the process had counted as the run began. There may
  /// be fewer than there are series: of the others none.
  const std::vector<std::uint64_t>& earlier_steps() const noexcept { return state_.earlier_steps(); }
  /// Wall clock of the newest state, 0 before the first.
  std::int64_t last_time_unix_ns() const noexcept { return state_.last_time_unix_ns(); }
  /// Why a segment was not read at all; empty: each one was.
  const std::string& error() const noexcept { return error_; }

 private:
  enum class Much { all, part };
  bool read_on(Snapshot& snapshot, bool closed, Much much);
  std::vector<std::uint32_t> segments_left() const;
  bool read_file(bool closed, std::size_t max);
  /// Each returns how many of `bytes` were dealt with.
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
  std::uint64_t seen_bytes_ = 0;  // up to the end of the last frame
  std::string error_;
  bool has_segment_ = false;
  std::uint32_t segment_ = 0;  // that is being read
  std::uint64_t offset_ = 0;   // in it, of what has not been dealt with
  bool given_up_ = false;      // on this segment
  std::uint64_t journal_ = 0;  // that the frames belong to
  bool has_journal_ = false;
  std::uint64_t expected_ = 0;  // number of the next frame
  bool news_ = false;
};

}  // namespace detail
TAKT_END_NAMESPACE
