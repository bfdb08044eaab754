// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>

#include "trackers/metric_points.hpp"
#include "trackers/tracker.hpp"
#include "wandb/wandb_resume.hpp"

#include <array>
#include <cstdint>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

inline constexpr Tracker kWandb{"wandb", "W&B", "takt sync --to wandb", "wandb.json", "wandb.lease"};

/// How far a run was written for W&B, and sent, so that another process can go on. In a file of its own beside the
/// journal; without credentials.
struct WandbCursor {
  std::string log;           ///< the file, absolute; empty: none was begun
  std::string id;            ///< that the program has given, where none was begun; empty: none
  std::uint64_t bytes = 0;   ///< of it that are whole records
  std::int64_t records = 0;  ///< in these
  std::int64_t rows = 0;     ///< likewise
  std::uint64_t events = 0;  ///< likewise: lines of metrics of the system
  std::int64_t start_unix_ns = 0;
  bool every_step = false;
  std::uint64_t first_row = 0;  ///< of those that were seen
  std::uint64_t first_metric = 0;
  std::uint64_t first_sample = 0;
  std::array<std::uint64_t, 4> points{};  ///< by source, but for the job: so many are in it, from the first on
  std::uint64_t job_ranks = 0;            ///< the figures over so many ranks are in it; 0: none are
  bool gap = false;                       ///< there are further ones behind a loss, of which nobody knows the numbers
  bool ended = false;                     ///< the log has its end
  std::string server;                     ///< where it was sent; empty: nowhere
  std::string run;                        ///< there: "entity/project/id"
  std::uint64_t lines = 0;                ///< that are there, of the log
  std::uint64_t sent_events = 0;          ///< likewise
  WandbBehind behind;                     ///< what was there before
  bool complete = false;                  ///< all is there
  std::uint64_t killed_bytes =
      0;  ///< of the journal that was taken for whole, as its process was taken for dead; 0: not
  std::uint64_t killed_rows = 0;  ///< points of rows that do not depend on where it ended
  /// What it has to do with a run of the same id.
  WandbResume resume = WandbResume::unset;
};

/// For a run that was taken for killed and has gone on: what followed from its end is to be written again.
void forget_end(WandbCursor& cursor);

// All: any thread.

std::string format_wandb_cursor(const WandbCursor& cursor);
/// False for a text that is no cursor, or of a newer version.
bool parse_wandb_cursor(const std::string& text, WandbCursor& cursor);

}  // namespace detail
TAKT_END_NAMESPACE
