// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_format.hpp"
#include "journal/journal_records.hpp"

#include <deque>
#include <map>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
  std::string meters_ = std::string(2, '\0');   // likewise
  std::int64_t sampled_ns_ = kLongAgo;          // when figures of samples were told last
  std::string clock_readings_ = devices_;       // likewise
  bool open_ = true;                            // regions are open as far as a reader knows
  GapRecord gap_;

  static constexpr std::int64_t kLongAgo = -3'600'000'000'000;
};

}  // namespace detail
TAKT_END_NAMESPACE
