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

// Requests to W&B's server and the meaning of its answers, as in the official client 0.31: no other description exists.
// All functions: any thread.

HttpOptions wandb_http_options(const WandbOptions& options, std::chrono::milliseconds connect);

/// Location of a run as the server reports it, which may fill in defaults.
struct WandbPlace {
  std::string entity;
  std::string project;
  std::string run;
};

/// Parses "entity/project/id"; the entity may contain a slash.
WandbPlace wandb_place_of(const std::string& run);

/// Creates or changes the run of that id.
/// \param whole false: sends only the config of an existing run.
HttpRequest wandb_upsert(const WandbIdentity& identity, bool whole, const std::string& config,
                         const WandbOptions& options);
/// Returns false if the answer lacks the location.
/// \param lines number of history lines on the server; 0 if the answer has none.
bool wandb_upserted(const std::string& body, WandbPlace& place, std::uint64_t& lines);

/// Queries the server's state of the run of that id.
HttpRequest wandb_resume_status(const WandbIdentity& identity, const WandbOptions& options);

/// Content of a request to file_stream.
struct WandbStream {
  std::uint64_t offset = 0;  ///< number of the log's lines on the server
  std::vector<std::string> lines;
  std::uint64_t events_offset = 0;  ///< same for system metric lines
  std::vector<std::string> events;
  std::string summary;                ///< empty: unchanged
  std::vector<std::string> uploaded;  ///< names of uploaded files
  bool complete = false;
  int exit_code = 0;
};
/// Returns a file_stream request; an empty one is a heartbeat.
/// \param behind state of the server before the log.
HttpRequest wandb_stream(const WandbPlace& place, const WandbStream& what, const WandbBehind& behind);

/// Requests the upload URLs of files.
HttpRequest wandb_create_files(const WandbPlace& place, const std::vector<std::string>& names,
                               const WandbOptions& options);
struct WandbTarget {
  std::string name;
  std::string url;                   ///< grants write access: a secret
  std::vector<std::string> headers;  ///< to send with the upload
};
bool wandb_created_files(const std::string& body, std::vector<WandbTarget>& targets);

/// Returns the error in a GraphQL answer as one line, or an empty string.
std::string wandb_errors(const std::string& body);
/// Returns whether a user pressed "stop" at W&B.
bool wandb_wants_stop(const std::string& body);

enum class WandbKind { resume, upsert, stream, create_files, file };
/// Returns whether the error is temporary: the same request may succeed later.
bool wandb_may_pass(WandbKind kind, const HttpReply& reply);
/// Returns whether the run was deleted; W&B never reuses its id.
bool wandb_is_deleted(const HttpReply& reply);
/// Returns the server's answer as one line, without the secrets of `http`.
std::string wandb_reported(const HttpReply& reply, const Http& http);
/// Returns the remedy for an error, as the end of a message; may be empty.
std::string wandb_cure(const HttpReply& reply);

/// Uploads of a finished run's files: their URLs and results. One thread at a time.
class WandbFiles {
 public:
  enum class Next { places, file, nothing };
  enum class Outcome { taken, again, lost };

  /// \param directory of the run at W&B.
  WandbFiles(const WandbOptions& options, std::chrono::milliseconds connect, std::chrono::milliseconds max_time,
             std::shared_ptr<const DirectoryFiles> directory);

  /// Returns the next request to make.
  Next next(const WandbReplay& replay, const std::string& server);
  const std::vector<std::string>& names() const noexcept { return names_; }  ///< files without an upload URL
  void placed(std::vector<WandbTarget> targets);
  /// Request and client to use after Next::file; the client never has the key.
  const HttpRequest& request() const noexcept { return request_; }
  Http& http() noexcept { return *http_; }
  Outcome answered(const HttpReply& reply);
  /// Drops the remaining files.
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
  std::unique_ptr<Http> http_;  // client for the next file's host
  HttpRequest request_;
  std::vector<std::string> names_;
  std::vector<WandbTarget> targets_;  // next one last
  std::vector<std::string> sent_;
  bool placed_ = false;
  bool given_up_ = false;
  int tries_ = 0;
  int asked_again_ = 0;
  std::uint64_t missing_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
