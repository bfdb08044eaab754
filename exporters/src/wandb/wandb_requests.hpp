// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/directory_files.hpp"
#include "trackers/http.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_replay.hpp"
#include "wandb/wandb_rows.hpp"

#include <takt/exporters/wandb.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

// What W&B's server is told, and what its answers mean: as spoken by the official client 0.31, which is the only
// description of it that there is. All: any thread.

HttpOptions wandb_http_options(const WandbOptions& options, std::chrono::milliseconds connect);

/// Where a run is: as the server says, which may know the default ones.
struct WandbPlace {
  std::string entity;
  std::string project;
  std::string run;
};

/// Of "entity/project/id", where the entity may have a slash in it.
WandbPlace wandb_place_of(const std::string& run);

/// Makes the run of that id, or changes it.
/// \param whole false: of an existing one, only the config is told.
HttpRequest wandb_upsert(const WandbIdentity& identity, bool whole, const std::string& config,
                         const WandbOptions& options);
/// False, where the answer does not say it.
/// \param lines of the run's history that the server has; 0 where it does not say.
bool wandb_upserted(const std::string& body, WandbPlace& place, std::uint64_t& lines);

/// Asks what the server has of the run of that id.
HttpRequest wandb_resume_status(const WandbIdentity& identity, const WandbOptions& options);

/// What a request to file_stream carries.
struct WandbStream {
  std::uint64_t offset = 0;  ///< lines of the log that the server has
  std::vector<std::string> lines;
  std::uint64_t events_offset = 0;  ///< the same of metrics of the system
  std::vector<std::string> events;
  std::string summary;                ///< empty: not changed
  std::vector<std::string> uploaded;  ///< names of files that are there now
  bool complete = false;
  int exit_code = 0;
};
/// One with nothing in it says that the run is alive.
/// \param behind what the server has from before the log.
HttpRequest wandb_stream(const WandbPlace& place, const WandbStream& what, const WandbBehind& behind);

/// Asks where files go.
HttpRequest wandb_create_files(const WandbPlace& place, const std::vector<std::string>& names,
                               const WandbOptions& options);
struct WandbTarget {
  std::string name;
  std::string url;                   ///< holds the right to write there: a secret
  std::vector<std::string> headers;  ///< to be sent with it
};
bool wandb_created_files(const std::string& body, std::vector<WandbTarget>& targets);

/// What a GraphQL answer calls wrong, in a line; empty: nothing.
std::string wandb_errors(const std::string& body);
/// Someone has pressed "stop" at W&B.
bool wandb_wants_stop(const std::string& body);

enum class WandbKind { resume, upsert, stream, create_files, file };
/// Not the request's fault: the same may be taken later.
bool wandb_may_pass(WandbKind kind, const HttpReply& reply);
/// The run was deleted, and W&B gives its id to no other one.
bool wandb_is_deleted(const HttpReply& reply);
/// What the server said, in a line, without what is secret to `http`.
std::string wandb_reported(const HttpReply& reply, const Http& http);
/// What to do about it, as the end of a line; may be empty.
std::string wandb_cure(const HttpReply& reply);

/// The files of a run that has ended: where each one goes, and what became of it. One thread at a time.
class WandbFiles {
 public:
  enum class Next { places, file, nothing };
  enum class Outcome { taken, again, lost };

  /// \param directory of the run.
  WandbFiles(const WandbOptions& options, std::chrono::milliseconds connect, std::chrono::milliseconds max_time,
             std::shared_ptr<const DirectoryFiles> directory);

  /// What is to be asked for now.
  Next next(const WandbReplay& replay, const std::string& server);
  const std::vector<std::string>& names() const noexcept { return names_; }  ///< those without a place
  void placed(std::vector<WandbTarget> targets);
  /// After Next::file: what to send, and by whom; it never knows the key.
  const HttpRequest& request() const noexcept { return request_; }
  Http& http() noexcept { return *http_; }
  Outcome answered(const HttpReply& reply);
  /// None of those that are left will be sent.
  void give_up();

  const std::vector<std::string>& sent() const noexcept { return sent_; }
  std::uint64_t missing() const noexcept { return missing_; }

 private:
  bool prepare(const WandbReplay& replay, const std::string& server);
  void lose(const std::string& why);

  WandbOptions options_;
  std::chrono::milliseconds connect_;
  std::chrono::milliseconds max_time_;
  std::shared_ptr<const DirectoryFiles> directory_;
  std::unique_ptr<Http> http_;  // to wherever the next one goes
  HttpRequest request_;
  std::vector<std::string> names_;
  std::vector<WandbTarget> targets_;  // the next one last
  std::vector<std::string> sent_;
  bool placed_ = false;
  bool given_up_ = false;
  int tries_ = 0;
  int asked_again_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
