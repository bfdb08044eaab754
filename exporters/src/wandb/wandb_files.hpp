// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/wandb.hpp>

#include "base/folder_files.hpp"
#include "http/http.hpp"
#include "wandb/wandb_replay.hpp"
#include "wandb/wandb_requests.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The files of a run that has ended: where each one goes, and what became of it. One thread at a time.
class WandbFiles {
 public:
  enum class Next { places, file, nothing };
  enum class Outcome { taken, again, lost };

  /// \param folder of the run.
  WandbFiles(const WandbOptions& options, std::chrono::milliseconds connect, std::chrono::milliseconds most_time,
             std::shared_ptr<const FolderFiles> folder);

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
  std::chrono::milliseconds most_time_;
  std::shared_ptr<const FolderFiles> folder_;
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
