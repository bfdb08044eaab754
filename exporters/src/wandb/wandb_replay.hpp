// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "wandb/wandb_config.hpp"
#include "wandb/wandb_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Returns the items of a row in `record`; empty for other records. Any thread.
WandbItems wandb_row_items(std::string_view record);

/// Converts the records of a log to the form that W&B's server expects. Reads the records of WandbRecords, and skips
/// unknown ones. One thread at a time.
class WandbReplay {
 public:
  /// Sets the state from before the log, to continue counters and keep values. Call before take().
  void go_on_behind(const WandbThere& there, const WandbBehind& behind);

  /// Returns false if `record` is not a record.
  bool take(std::string_view record);

  /// Returns whether a record has named the run.
  bool started() const noexcept { return !identity_.id.empty(); }
  const WandbIdentity& identity() const noexcept { return identity_; }
  /// Returns the rows since the last call, as JSON objects.
  std::vector<std::string> take_lines();
  /// Returns the system metric lines since the last call.
  std::vector<std::string> take_events();
  std::size_t line_bytes() const noexcept { return line_bytes_; }   ///< bytes of pending lines of both kinds
  std::uint64_t lines() const noexcept { return lines_so_far_; }    ///< number of rows so far
  std::uint64_t events() const noexcept { return events_so_far_; }  ///< number of system metric lines so far
  /// Returns a JSON object; for equal names the last value wins.
  std::string summary() const;
  /// Returns the config as a JSON object, including W&B's own part.
  /// \param producer name of the writing program.
  std::string config(const std::string& producer) const;
  /// Returns JSON, or "null" if there is no such value.
  std::string config_value(const std::string& name) const;
  std::string summary_value(const std::string& name) const;
  std::uint64_t summary_version() const noexcept { return summary_version_; }  ///< increases with each change
  std::uint64_t config_version() const noexcept { return config_version_; }
  /// Returns the JSON object for wandb-metadata.json; empty: none.
  const std::string& metadata() const noexcept { return environment_; }
  const std::vector<std::string>& files() const noexcept { return files_; }  ///< paths below the directory "files"
  std::optional<int> exit_code() const noexcept { return exit_code_; }       ///< set when the log has ended

 private:
  struct Metric {
    std::string name;
    std::string glob;
    std::string axis;
    bool step_sync = false;
  };
  using Values = std::map<std::string, std::string>;  // JSON

  std::string* place_of(std::uint32_t field) noexcept;
  void take_run(std::string_view message);
  void take_row(std::string_view message);
  void take_system(std::string_view message);
  void take_metric(std::string_view message);
  void take_environment(std::string_view message);
  void take_exit(std::string_view message);
  bool take_summary(std::string_view message);
  std::string moved(const WandbItem& item) const;

  WandbBehind behind_;
  Values config_before_;
  Values wandb_before_;  // part of the config that W&B itself uses
  std::string environment_;
  std::string writer_id_;
  WandbIdentity identity_;
  Values config_;
  Values summary_;
  std::vector<Metric> metrics_;
  std::vector<std::string> lines_;
  std::vector<std::string> events_;
  std::vector<std::string> files_;
  std::optional<int> exit_code_;
  std::size_t line_bytes_ = 0;
  std::uint64_t lines_so_far_ = 0;
  std::uint64_t events_so_far_ = 0;
  std::uint64_t summary_version_ = 0;
  std::uint64_t config_version_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
