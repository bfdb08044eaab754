// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "trackers/protobuf.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// A value of W&B is JSON in which NaN, Infinity and -Infinity are allowed.
/// The shortest that reads back as the same bits. Any thread.
std::string wandb_json(double value);
/// What is not UTF-8 becomes U+FFFD. Any thread.
std::string wandb_json(std::string_view text);

/// A value by its name.
struct WandbItem {
  std::string key;  ///< valid UTF-8
  std::string json;
};
using WandbItems = std::vector<WandbItem>;

/// What a run is called and belongs to; empty: not said. Valid UTF-8.
struct WandbIdentity {
  std::string id;
  std::string entity;
  std::string project;
  std::string group;
  std::string job_type;
  std::string name;
  std::string notes;
  std::vector<std::string> tags;
  std::string sweep_id;
  std::string host;
  std::string commit;      ///< of the code
  std::string remote;      ///< address of its repository, without what gives a right to it
  std::string program;     ///< not in the record of the run, but in that of its environment
  std::string storage_id;  ///< what the server calls a run that is continued; in no record
  std::int64_t start_unix_ns = 0;
  bool resume = false;  ///< for the client: behind the run of that id, if there is one
};

/// "takt-1.2.3". Any thread.
std::string wandb_producer();

/// As protobuf's Timestamp. Any thread.
Protobuf wandb_time(std::int64_t unix_ns);

/// The records of a run's log, one after the other: each call gives the next one's bytes. Field numbers are those of
/// wandb_internal.proto. One thread at a time.
class WandbRecords {
 public:
  /// Goes on behind so many records.
  void resume(std::int64_t number) noexcept { number_ = number; }
  std::int64_t number() const noexcept { return number_; }

  /// The first one.
  std::string header(std::string_view producer);
  /// The second one: nothing before it counts.
  std::string run(const WandbIdentity& identity, const WandbItems& config);
  /// \param message of wandb_environment_message().
  std::string environment(const Protobuf& message);
  /// A number that others are drawn over.
  std::string axis(const std::string& name);
  /// All metrics that the pattern `glob` fits are drawn over `axis`.
  std::string drawn_over(const std::string& glob, const std::string& axis);
  std::string config(const WandbItems& changed);
  /// \param step greater than in the row before.
  std::string history(const WandbItems& row, std::int64_t step);
  /// \param metrics of the system, their names without "system.".
  std::string system(const WandbItems& metrics, std::int64_t unix_ns);
  std::string summary(const WandbItems& changed);
  /// \param path below the folder "files"; the file is whole.
  std::string file(const std::string& path);
  /// The last one.
  std::string exit(int code, std::int64_t runtime_s);

 private:
  std::string next(std::uint32_t field, const Protobuf& content);

  std::int64_t number_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
