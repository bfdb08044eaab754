// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/file.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/http.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/exporters/mlflow.hpp>
#include <takt/snapshot.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Finds or creates the experiment, and creates, joins or finds the run; each answer determines the next request. One
/// thread at a time.
class MlflowStart {
 public:
  /// \param lines not owned.
  MlflowStart(const MlflowOptions& options, const MlflowLines& lines);

  /// Resumes where another process stopped. Call before begin().
  void resume(const MlflowCursor& cursor);
  void report(MlflowCursor& cursor) const;

  void begin(const Snapshot& snapshot);
  /// Chooses the parent's experiment if the run names a parent before it is created: MLflow shows a child below its
  /// parent only if both are in one experiment.
  void choose_parent(const Snapshot& snapshot);

  /// REQUIRES: begin() was called, and neither ready() nor stopped.
  HttpRequest request();
  void succeeded(const std::string& body);
  /// Handles an answer that no retry can change.
  void refused(const HttpReply& reply);
  /// Handles a lost answer: the run may or may not have been created.
  void answer_lost() noexcept;

  /// Returns whether the run exists and accepts data.
  bool ready() const noexcept { return stage_ == Stage::ready; }
  /// Returns whether the run is searched for. If runs/create never answers, searching for the run still succeeds.
  bool is_searching() const noexcept { return stage_ == Stage::find_run; }
  /// Returns the reason why there will be no run; empty if it is still possible.
  const std::string& stopped_by() const noexcept { return stopped_by_; }

  const std::string& run_id() const noexcept { return run_id_; }                ///< empty until the server has sent it
  const std::string& artifact_root() const noexcept { return artifact_root_; }  ///< path below the URL
  /// Returns whether another process had the run before.
  bool was_taken_over() const noexcept { return taken_over_; }
  /// Returns the final status that the other process left; empty if it left none.
  const std::string& former_status() const noexcept { return former_status_; }

  /// Returns whether other programs may continue the same run, because its id was given.
  bool is_shared() const noexcept { return is_joining_; }
  /// Returns whether `body`, the answer to mlflow_get_run(), has a takt.owner tag of a program that started later than
  /// this one, by the clocks of their machines.
  bool is_of_newer(const std::string& body) const;
  /// Returns the result of is_of_newer() when the run was found.
  bool was_of_newer() const noexcept { return of_newer_; }

  /// Returns why a request was rejected, and the cure.
  std::string refusal(const HttpReply& reply) const;
  /// Returns the message for a deleted run, with the cure.
  std::string deletion() const;

 private:
  enum class Stage {
    find_parent,
    find_experiment,
    create_experiment,
    find_run,
    create_run,
    join_run,
    claim_run,
    reopen_run,
    resume_run,
    ready
  };
  /// Location of a run.
  struct Place {
    std::string experiment_name;
    std::string experiment_id;
    std::string run_id;
  };
  void begin_in_experiment();
  void seek_parent() noexcept;
  void found_parent(const std::string& body);
  void found_experiment(const std::string& body);
  void found_run(const std::string& body);
  void found_former_run(const std::string& body);
  void compare_experiment() const;
  void adopt(const std::string& body, const std::string& place);
  bool turn_to_options(const std::string& why);
  bool refused_experiment(const HttpReply& reply);
  std::string experiment_deletion() const;

  const MlflowLines& lines_;
  const bool is_mantik_;
  MlflowOptions options_;
  Stage stage_ = Stage::find_experiment;
  bool resumed_ = false;
  Place instead_;  // replaces the cursor's place; empty: none
  std::string source_;
  std::string parent_;          // a run in whose experiment this run is created
  bool sought_parent_ = false;  // or no search is needed
  std::string former_server_;   // of the previous process
  std::string create_body_;
  std::string nonce_;
  std::string experiment_id_;
  std::string run_id_;
  std::string artifact_root_;
  bool taken_over_ = false;
  std::string former_status_;
  bool is_joining_ = false;
  std::string mark_;  // value of the takt.owner tag for this process
  std::int64_t start_unix_ns_ = 0;
  bool of_newer_ = false;
  int rounds_ = 0;  // between find_experiment and create_experiment
  std::string stopped_by_;
};

/// The data sent after all points when a run ends: its status, then its files. One thread at a time.
class MlflowEnding {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// `lines` and `cursor` are not owned. \param cursor its directory has the run's files.
  MlflowEnding(const MlflowLines& lines, const CursorFile& cursor) noexcept : lines_(lines), cursor_(cursor) {}

  void resume(const MlflowCursor& cursor);
  void report(MlflowCursor& cursor) const;

  /// Records that the snapshot has spans: there will be a trace.json.
  void note_trace() noexcept { traced_ = true; }
  /// \param attach whether to send the files, too.
  void finish(const Snapshot& snapshot, bool killed, bool attach);
  /// Takes the status that the server has for a run that continues here. A status set by the program wins over the
  /// guess that it was killed.
  void had_ended(const std::string& status, const std::string& artifact_root);

  bool finished() const noexcept { return finished_; }  ///< the run has ended in this process
  bool closed() const noexcept { return closed_; }      ///< the server has the final status
  /// Returns whether nothing is left to send, as far as is known.
  bool all_said() const noexcept { return !finished_ || (closed_ && attachments_.empty()); }

  /// Returns whether the next item can be sent now. If not, its file does not exist yet, and `not_before` is set to the
  /// next poll; or the file will never exist and was removed from the list.
  bool is_there(Time& not_before);
  /// REQUIRES: finished() and not all_said().
  HttpRequest request(const std::string& run_id, const std::string& artifact_root) const;
  void accepted(const std::string& artifact_root);
  /// Handles a permanently rejected file.
  void refused(const HttpReply& reply);
  /// Drops the item because the server fails on it.
  void failed(const std::string& artifact_root);
  void stop() { attachments_.clear(); }
  /// Leaves status and files to another program.
  void leave() noexcept {
    left_ = closed_ = true;
    attachments_.clear();
  }

  /// Returns the number of files that can never be sent, including those of earlier processes.
  std::size_t missing() const noexcept { return missing_.size(); }
  /// Returns the number of files, and the end of the run, on which the server failed.
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
  std::string status_;           // to be sent
  std::string reported_status_;  // accepted by the server
  std::string update_body_;
  std::set<std::string> attached_;
  std::deque<MlflowAttachment> attachments_;
  std::shared_ptr<const Descriptor> file_;  // the first attachment, if it is a file
  Time file_until_{};
  std::set<std::string> missing_;  // subset of attached_
  std::uint64_t owed_ = 0;
};

}  // namespace detail
TAKT_END_NAMESPACE
