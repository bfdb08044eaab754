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

/// \throws takt::Error for what W&B would not take, saying what to do. Any thread.
void check_wandb_options(const WandbOptions& options);

/// The command that uploads the log in `directory` without overwriting or doubling what is at W&B. Any thread.
/// \param run_directory where `takt sync` finds how far it got; empty: nowhere.
/// \param begun a part of it was sent, or may have been.
std::string wandb_upload_command(const std::string& directory, const std::string& run_directory, WandbResume resume,
                                 bool started);

/// What the run is called. Any thread.
/// \param id where none is set.
WandbIdentity wandb_identity(const RunInfo& run, const WandbOptions& options, const std::string& id);

/// The value of a parameter: a number or truth value where the text is one, so that W&B can sort by it. Any thread.
std::string wandb_param(const std::string& name, const std::string& value);

/// What W&B calls the config of a run: parameters, and below "tags" and "takt" what Takt knows more. One thread at a
/// time.
class WandbConfig {
 public:
  /// What is new or changed since the last call.
  WandbItems changed(const Snapshot& snapshot);

 private:
  std::map<std::string, std::string> known_;  // JSON
};

/// Where W&B is, unless the options say otherwise.
constexpr const char* kWandbUrl = "https://api.wandb.ai";

// All: any thread, but see variable() of trackers/tracker_names.hpp.

/// Why W&B would not take the key, which is not repeated; empty: it may. The rule is that of its own client.
std::string wandb_key_problem(const std::string& key);

/// The password of `machine` in the text of a netrc; empty where there is none. An entry "default" does not count: a
/// key is for one host.
std::string netrc_password(std::string_view text, const std::string& machine);

/// The key in NETRC, ~/.netrc or ~/_netrc, whichever is there first, for the host and port of `base_url`; empty where
/// there is none. A file that others can read is used, and one line says so.
std::string wandb_netrc_key(const std::string& base_url);

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
  bool started = false;  ///< false: it has none, or one that never began
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
bool wandb_resume_reported(const std::string& body, WandbThere& there);
/// Whether two lines of a history say the same, however numbers are written.
bool wandb_is_same_line(const WandbItems& one, const WandbItems& other);
/// Why a run is not sent; empty: it is.
std::string wandb_resume_refusal(WandbResume resume, bool is_there, const std::string& id);

}  // namespace detail
TAKT_END_NAMESPACE
