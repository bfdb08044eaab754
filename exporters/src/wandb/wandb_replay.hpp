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

/// The items of a row in `record`; none in a record of another kind. Any thread.
WandbItems wandb_row_items(std::string_view record);

/// What the records of a log say about its run, as W&B's server wants to be told. Reads what WandbRecords writes, and
/// passes over what it does not know. One thread at a time.
class WandbReplay {
 public:
  /// What counts on, and what is kept, from before the log. Before take().
  void go_on_behind(const WandbThere& there, const WandbBehind& behind);

  /// False for what is no record.
  bool take(std::string_view record);

  /// A record has said what the run is called.
  bool started() const noexcept { return !identity_.id.empty(); }
  const WandbIdentity& identity() const noexcept { return identity_; }
  /// Rows since the last call, an object of JSON each.
  std::vector<std::string> take_lines();
  /// The same of metrics of the system.
  std::vector<std::string> take_events();
  std::size_t line_bytes() const noexcept { return line_bytes_; }   ///< of both
  std::uint64_t lines() const noexcept { return lines_so_far_; }    ///< in all
  std::uint64_t events() const noexcept { return events_so_far_; }  ///< likewise
  /// An object of JSON: what is named the same is the last one.
  std::string summary() const;
  /// The same of the config, with W&B's own part in it.
  /// \param producer who writes it.
  std::string config(const std::string& producer) const;
  /// JSON, "null" where there is none.
  std::string config_value(const std::string& name) const;
  std::string summary_value(const std::string& name) const;
  std::uint64_t summary_version() const noexcept { return summary_version_; }  ///< goes up with each change
  std::uint64_t config_version() const noexcept { return config_version_; }
  /// What wandb-metadata.json is to say, an object of JSON; empty: nothing.
  const std::string& metadata() const noexcept { return environment_; }
  const std::vector<std::string>& files() const noexcept { return files_; }  ///< below the directory "files"
  std::optional<int> exit_code() const noexcept { return exit_code_; }       ///< there is one when the log has ended

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
  Values wandb_before_;  // of the config's own part
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
