// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "wandb/wandb_rows.hpp"

#include <takt/config.hpp>
#include <takt/exporters/wandb.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// \throws takt::Error if W&B would reject the options; the message has the cure. Any thread.
void check_wandb_options(const WandbOptions& options);

/// Returns the command that uploads the log in `directory` without overwriting or duplicating data at W&B. Any thread.
/// \param run_directory has the progress for `takt sync`; empty: none.
/// \param started a part of the log was sent, or may have been.
std::string wandb_upload_command(const std::string& directory, const std::string& run_directory, WandbResume resume,
                                 bool started);

/// Returns the run's identity at W&B. Any thread.
/// \param id used if the options set none.
WandbIdentity wandb_identity(const RunInfo& run, const WandbOptions& options, const std::string& id);

/// Returns a parameter's value as JSON: a number or boolean if the text is one, so that W&B can sort by it. Any thread.
std::string wandb_param(const std::string& name, const std::string& value);

/// W&B's config of a run: parameters, plus Takt's own data under "tags" and "takt". One thread at a time.
class WandbConfig {
 public:
  /// Returns the items that are new or changed since the last call.
  WandbItems changed(const Snapshot& snapshot);

 private:
  std::map<std::string, std::string> known_;  // JSON
};

/// Default URL of W&B.
constexpr const char* kWandbUrl = "https://api.wandb.ai";

// All functions: any thread, but see variable() of trackers/tracker_names.hpp.

/// Returns why W&B would reject the key, which is not repeated, or an empty string. Same rule as W&B's own client.
std::string wandb_key_problem(const std::string& key);

/// Returns the password of `machine` in the text of a netrc, or an empty string. A "default" entry does not count: a
/// key is for one host.
std::string netrc_password(std::string_view text, const std::string& machine);

/// Returns the key for the host and port of `base_url` from the first existing file of NETRC, ~/.netrc and ~/_netrc, or
/// an empty string. A file that others can read is used with a warning.
std::string wandb_netrc_key(const std::string& base_url);

/// Position of a log after the data that the server already has of the same run.
struct WandbBehind {
  bool resumed = false;        ///< step, time, summary and config continue as well
  std::uint64_t lines = 0;     ///< history lines on the server before the log
  std::uint64_t events = 0;    ///< system metric lines on the server before the log
  std::int64_t step = 0;       ///< number of the log's first row
  std::int64_t runtime_s = 0;  ///< duration of the run before the log, in s
  bool newer = false;          ///< a later log of the run exists: this one only appends lines after all others
};

/// State of a run on the server. JSON is kept as text, because it may contain NaN and Infinity.
struct WandbThere {
  bool started = false;  ///< false: no such run, or one that never started
  std::string storage_id;
  WandbBehind behind;
  WandbItems last;  ///< last line of its history, if any
  WandbItems summary;
  WandbItems config;
  std::vector<std::string> tags;
  std::string notes;
};

// All functions: any thread.

/// Returns the members of a JSON object, with their values as text; empty if `object` is not one.
WandbItems wandb_members(std::string_view object);
/// Parses the answer to wandb_resume_status() as the official client does. Returns false if the answer lacks the state.
bool wandb_resume_reported(const std::string& body, WandbThere& there);
/// Returns whether two history lines are equal, regardless of number formats.
bool wandb_is_same_line(const WandbItems& one, const WandbItems& other);
/// Returns why a run must not be sent, or an empty string.
std::string wandb_resume_refusal(WandbResume resume, bool is_there, const std::string& id);

}  // namespace detail
TAKT_END_NAMESPACE
