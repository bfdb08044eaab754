// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "wandb/wandb_cursor.hpp"
#include "wandb/wandb_log.hpp"
#include "wandb/wandb_rows.hpp"

#include <cstdint>
#include <map>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the summary of a run says in words; that is in no row.
constexpr const char* kWandbFindings = "takt/findings";
constexpr const char* kWandbLost = "takt/lost";
constexpr const char* kWandbRanks = "takt/ranks";
using WandbNotes = std::map<std::string, std::string>;  // JSON, by name

/// What is in an old log, beside its records.
struct WandbOldLog {
  WandbNotes notes;
  WandbSummary summary;  ///< of its rows
  /// Where the last row, or line on the system, ends: behind it stands what a run ends with; 0: there is none.
  std::uint64_t rows_end = 0;
  std::int64_t rows_records = 0;  ///< up to there
};

/// Whether the open `log` is what `cursor` says: that of `run`, under the name `id`, this user's own, with the end of a
/// record where it was left, and as many records and rows up to there. Anybody may have written the cursor, and nothing
/// is changed here.
/// \param path for people.
/// \param found what is in it.
/// Returns why not; empty: it is. One thread at a time.
std::string wandb_old_log_fault(const WandbLog& log, const std::string& path, const WandbCursor& cursor,
                                const RunInfo& run, const std::string& id, WandbOldLog& found);

}  // namespace detail
TAKT_END_NAMESPACE
