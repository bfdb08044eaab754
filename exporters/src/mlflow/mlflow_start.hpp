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

/// How a run comes to its place on the server: the experiment is found or made, and the run made, joined, or found
/// again; what the server answers leads from one request to the next. One thread at a time.
class MlflowStart {
 public:
  /// \param lines not owned.
  MlflowStart(const MlflowOptions& options, const MlflowLines& lines);

  /// Goes on where another process stopped. Before begin().
  void resume(const MlflowCursor& cursor);
  void report(MlflowCursor& cursor) const;
  /// Of the program's sources; empty: not known. Before begin().
  void set_commit(std::string commit) { commit_ = std::move(commit); }

  void begin(const Snapshot& snapshot);
  /// MLflow shows a child below its parent only where both are in one experiment: a run that names one before it is
  /// made goes there.
  void choose_parent(const Snapshot& snapshot);

  /// REQUIRES: begun, and neither ready() nor stopped.
  HttpRequest request();
  void succeeded(const std::string& body);
  /// It will never be taken like this.
  void refused(const HttpReply& reply);
  /// Whether the run was made before the answer got lost, only the server knows.
  void answer_lost() noexcept;

  /// The run is there, and takes what is sent.
  bool ready() const noexcept { return stage_ == Stage::ready; }
  /// Where the answer to the making of a run never comes, looking for it always succeeds.
  bool is_searching() const noexcept { return stage_ == Stage::find_run; }
  /// Why there will be no run; empty: there may be.
  const std::string& stopped_by() const noexcept { return stopped_by_; }

  const std::string& run_id() const noexcept { return run_id_; }                ///< empty until the server has told it
  const std::string& artifact_root() const noexcept { return artifact_root_; }  ///< path below the URL
  /// It was another process's before.
  bool was_taken_over() const noexcept { return taken_over_; }
  /// Then: how it had ended there; empty: it had not.
  const std::string& former_status() const noexcept { return former_status_; }

  /// Others may go on with the same run: its id was given.
  bool is_shared() const noexcept { return is_joining_; }
  /// Whether `body`, the server's answer to mlflow_get_run(), names in the tag takt.owner a program that started later
  /// than this one, by the clocks of their machines.
  bool is_of_newer(const std::string& body) const;
  /// The same at the time at which the run was found.
  bool was_of_newer() const noexcept { return of_newer_; }

  /// Why a request was refused, and what to do.
  std::string refusal(const HttpReply& reply) const;
  /// That the run was deleted, and what to do.
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
  /// Where a run is to be.
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
  Place instead_;  // of that of the cursor; empty: none
  std::string source_;
  std::string commit_;
  std::string parent_;          // a run in whose experiment this one goes
  bool sought_parent_ = false;  // or need not be
  std::string former_server_;   // of the process before
  std::string create_body_;
  std::string nonce_;
  std::string experiment_id_;
  std::string run_id_;
  std::string artifact_root_;
  bool taken_over_ = false;
  std::string former_status_;
  bool is_joining_ = false;
  std::string mark_;  // of this process of the run
  std::int64_t start_unix_ns_ = 0;
  bool of_newer_ = false;
  int rounds_ = 0;  // between find_experiment and create_experiment
  std::string stopped_by_;
};

/// What a server is told at the end of a run, behind all points: how it ended, and then its files. One thread at a
/// time.
class MlflowEnding {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// Neither is owned. \param cursor by whose directory a file of the run is found.
  MlflowEnding(const MlflowLines& lines, const CursorFile& cursor) noexcept : lines_(lines), cursor_(cursor) {}

  void resume(const MlflowCursor& cursor);
  void report(MlflowCursor& cursor) const;

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
  std::string status_;           // that the server is to be told
  std::string reported_status_;  // that it has been told
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
