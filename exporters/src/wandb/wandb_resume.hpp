// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>

#include "wandb/wandb_records.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Where a log goes: behind what the server has of the same run from before it.
struct WandbBehind {
  bool resumed = false;        ///< step, time, summary and config go on as well
  std::uint64_t lines = 0;     ///< of the history, that are there
  std::uint64_t events = 0;    ///< of metrics of the system, likewise
  std::int64_t step = 0;       ///< number of the log's first row
  std::int64_t runtime_s = 0;  ///< that the run has lasted before it
  bool newer = false;          ///< another log of the run was begun later: this one only adds lines behind all others
};

/// What the server has of a run. JSON is kept as text: it may have NaN and Infinity in it.
struct WandbThere {
  bool begun = false;  ///< false: it has none, or one that never began
  std::string storage_id;
  WandbBehind behind;
  WandbItems last;  ///< line of its history, if there is one
  WandbItems summary;
  WandbItems config;
  std::vector<std::string> tags;
  std::string notes;
};

// All: any thread.

/// The members of an object of JSON, their values as they are written; none of what is no object.
WandbItems wandb_members(std::string_view object);
/// Reads the answer to wandb_resume_status() as the official client does. False, where the answer does not say it.
bool wandb_resume_told(const std::string& body, WandbThere& there);
/// Whether two lines of a history say the same, however numbers are written.
bool wandb_is_same_line(const WandbItems& one, const WandbItems& other);
/// Why a run is not sent; empty: it is.
std::string wandb_resume_refusal(WandbResume resume, bool is_there, const std::string& id);

}  // namespace detail
TAKT_END_NAMESPACE
