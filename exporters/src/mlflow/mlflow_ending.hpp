// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/descriptor.hpp"
#include "http/http.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_lines.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/cursor_file.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a server is told at the end of a run, behind all points: how it ended, and then its files. One thread at a
/// time.
class MlflowEnding {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Neither is owned. \param cursor by whose folder a file of the run is found.
  MlflowEnding(const MlflowLines& lines, const CursorFile& cursor) noexcept : lines_(lines), cursor_(cursor) {}

  void resume(const MlflowCursor& cursor);
  void tell(MlflowCursor& cursor) const;

  /// The snapshot has spans: there will be a trace.json.
  void note_trace() noexcept { traced_ = true; }
  /// \param attach the files, too.
  void finish(const Snapshot& snapshot, bool killed, bool attach);
  /// For a run that goes on here: how it had ended on the server, as far as that says so. What the program has said
  /// there outlives the guess that it was killed.
  void had_ended(const std::string& status, const std::string& artifact_root);

  bool finished() const noexcept { return finished_; }  ///< the run has ended, here
  bool closed() const noexcept { return closed_; }      ///< the server knows
  /// Nothing is left of it, as far as is known.
  bool all_said() const noexcept { return !finished_ || (closed_ && attachments_.empty()); }

  /// Whether what comes next can be sent now. False: a file that is not there yet, for which `not_before` says when to
  /// look again, or that never will be, and was taken from the list.
  bool is_there(Time& not_before);
  /// REQUIRES: finished() and not all_said().
  HttpRequest request(const std::string& run_id, const std::string& artifact_root) const;
  void accepted(const std::string& artifact_root);
  /// The file will never be taken.
  void refused(const HttpReply& reply);
  /// The server fails over it; it is not sent again from here.
  void failed(const std::string& artifact_root);
  void stop() { attachments_.clear(); }
  /// Status and files are another program's.
  void leave() noexcept {
    left_ = closed_ = true;
    attachments_.clear();
  }

  /// Files that never can be sent, from here or by an earlier process.
  std::size_t missing() const noexcept { return missing_.size(); }
  /// Files, and the end of the run, over which the server failed.
  std::uint64_t owed() const noexcept { return owed_; }

 private:
  void settle_status();
  void attach(MlflowAttachment attachment);
  void attached();
  void miss();
  void give_up_without_root(const std::string& artifact_root);

  const MlflowLines& lines_;
  const CursorFile& cursor_;
  bool finished_ = false;
  bool closed_ = false;
  bool traced_ = false;
  bool left_ = false;
  std::string status_;       // that the server is to be told
  std::string told_status_;  // that it has been told
  std::string update_body_;
  std::set<std::string> attached_;
  std::deque<MlflowAttachment> attachments_;
  std::shared_ptr<const Descriptor> file_;  // of the first of them
  Time file_until_{};
  std::set<std::string> missing_;  // of attached_
  std::uint64_t owed_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
