// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "base/folder_files.hpp"
#include "wandb/wandb_log_reader.hpp"
#include "wandb/wandb_replay.hpp"
#include "wandb/wandb_requests.hpp"
#include "wandb/wandb_resume.hpp"

#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A log that grows, and the rows of it that a server has not been told of. One thread at a time.
class WandbLogTail {
 public:
  /// \param log for people; `folder` has it.
  WandbLogTail(std::string log, std::shared_ptr<const FolderFiles> folder);

  /// Reads from the first record on, once more where that was done before.
  void start(const WandbThere& there, const WandbBehind& behind);
  /// Where `stream` has no lines: the next ones, as many as one request may carry. Those before `known_lines`, and of
  /// metrics of the system those before `known_events`, are passed over. False: what is there is no such log;
  /// problem() says why.
  bool read(WandbStream& stream, std::uint64_t known_lines, std::uint64_t known_events);

  const WandbReplay& replay() const noexcept { return replay_; }
  const std::string& problem() const noexcept { return reader_->problem(); }

 private:
  std::string log_;
  std::shared_ptr<const FolderFiles> folder_;
  std::unique_ptr<WandbLogReader> reader_;
  WandbReplay replay_;
};

}  // namespace detail
TAKT_END_NAMESPACE
