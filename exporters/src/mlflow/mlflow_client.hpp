// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/mlflow.hpp>
#include <takt/snapshot.hpp>

#include "base/folder_files.hpp"
#include "http/backoff.hpp"
#include "http/http.hpp"
#include "http/sender_times.hpp"
#include "mlflow/mantik_login.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "mlflow/mlflow_queue.hpp"
#include "mlflow/mlflow_read_back.hpp"
#include "trackers/metric_points.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A run on an MLflow server: takes snapshots, and sends what follows from them whenever it is given time. Everything is sent
/// until it is taken; points that may have arrived are read back before, and only what lacks is sent again. One thread at a
/// time.
class MlflowClient {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// \throws takt::Error for options that cannot work.
  /// \param most_points that are kept; beyond, the oldest go.
  explicit MlflowClient(const MlflowOptions& options, const SenderTimes& times = {},
                        std::size_t most_points = MlflowQueue::kMostBytes / sizeof(MetricPoint));

  /// From now on `file` says how far the run was delivered. Before take().
  void keep_cursor(const std::string& file);
  /// The same in a run folder, where it has its own name.
  void keep_cursor(std::shared_ptr<const FolderFiles> folder);
  /// Goes on where another process stopped: what it has delivered is passed over when it is taken again. Of the options, only
  /// those about the server count; as long as there is no run, also experiment and run to join, where the server refuses those of
  /// the cursor. Before take().
  void resume(const MlflowCursor& cursor);

  /// Of the program's sources; empty: not known. Before take().
  void set_commit(std::string commit) { commit_ = std::move(commit); }
  /// For whoever sees to it that there are not too many points.
  void keep_all_points() noexcept { queue_.keep_all(); }
  /// The least numbers of rows and metrics that take() has not seen.
  std::uint64_t next_row() const noexcept { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept { return points_.next_metric(); }

  /// \param killed what is taken is the last, because the process is gone that would have ended it.
  /// \param journal_bytes then: by which the next delivery sees that it was not the last after all.
  void take(const Snapshot& snapshot, bool killed = false, std::uint64_t journal_bytes = 0);
  /// Writes down what the run is begun with, unless that has been done. Asks the server for nothing.
  void begin(const Snapshot& snapshot);
  /// Sends until `until`; a request that has not ended by then goes on in the next call. Returns whether nothing is left.
  bool deliver(Time until);
  /// Nothing more will be delivered from here, so that other processes need not wait for this one.
  void leave() noexcept {
    if (login_ != nullptr) { login_->leave(); }
  }
  /// Everything so far was taken by the server, or is the totals of a run that has not ended.
  bool complete() const noexcept { return !stopped() && owed() == 0 && queue_.left_out() == 0 && missing_ == 0; }
  /// Answers that brought it on, of whatever kind.
  std::uint64_t answers() const noexcept { return answers_; }
  /// A request is under way, which has a time limit of its own.
  bool asking() const noexcept { return http_.busy() || (login_ != nullptr && login_->asking()); }
  /// What was given up here, and the next process sends: points, parameters, tags, files, and the end of the run.
  std::uint64_t owed() const noexcept { return queue_.lost() + owed_; }
  /// Why the cursor is not written; empty when it is.
  const std::string& cursor_problem() const noexcept { return cursor_problem_; }
  bool stopped() const noexcept { return stage_ == Stage::stopped; }
  const MlflowQueue& queue() const noexcept { return queue_; }
  const std::string& run_id() const noexcept { return run_id_; }
  /// The URL of the server, without credentials.
  const std::string& server() const noexcept { return http_.url(); }
  /// Why it has stopped, or what the server last said instead of taking something; may be empty.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  enum class Stage {
    find_parent,
    find_experiment,
    create_experiment,
    find_run,
    create_run,
    join_run,
    reopen_run,
    resume_run,
    data,
    stopped
  };
  void finish(const Snapshot& snapshot, bool killed);
  void attach(MlflowAttachment attachment);
  void attached();
  void settle_status();
  void give_up_attachments();
  bool all_said() const noexcept;
  MlflowCursor cursor() const;
  void save();
  bool idle() const noexcept;
  HttpRequest request();
  HttpRequest request_of_run() const;
  bool logged_in(Time until);
  HttpRequest request_of_attachment() const;
  HttpRequest request_of_queue();
  void take_answer(const HttpReply& reply);
  void answered(const HttpReply& reply);
  void read_back(const HttpReply& reply);
  void next_request();
  void succeeded(const std::string& body);
  void begin_in_experiment();
  void choose_parent(const Snapshot& snapshot);
  void seek_parent() noexcept;
  void found_parent(const std::string& body);
  void found_experiment(const std::string& body);
  void compare_experiment() const;
  void adopt(const std::string& body, const std::string& place);
  void refused(const HttpReply& reply);
  void refused_data(const HttpReply& reply);
  void try_again(const HttpReply& reply);
  bool gave_up(const HttpReply& reply);
  void give_up_request(const HttpReply& reply);
  void stop(const std::string& why);
  void stop_deleted();
  void stop_deleted_experiment();
  bool turn_to_options(const std::string& why);
  bool uploading() const noexcept;
  bool is_there(const std::string& file);
  void tell_renamed();
  std::string sync_command() const;
  std::string with_sync(const char* before, const char* behind) const;
  void report(const char* cause, const std::string& line) const;

  /// Where a run is to be.
  struct Place {
    std::string experiment_name;
    std::string experiment_id;
    std::string run_id;
  };

  MlflowOptions options_;
  Http http_;
  std::unique_ptr<MantikLogin> login_;  // none where the credentials are those of the options
  MetricPoints points_;
  MlflowQueue queue_;
  Stage stage_ = Stage::find_experiment;
  bool begun_ = false;
  bool finished_ = false;    // the run has ended, here
  bool closed_ = false;      // the server has been told
  bool traced_ = false;      // there will be a trace.json
  std::string cursor_file_;  // for people
  std::shared_ptr<const FolderFiles> cursor_folder_;
  std::string cursor_name_;
  std::string of_;                          // the run that it is of
  std::shared_ptr<const Descriptor> file_;  // of the first attachment
  std::string cursor_saved_;
  std::string cursor_problem_;
  bool resumed_ = false;
  Place instead_;              // of that of the cursor; empty: none
  bool first_schema_ = false;  // by a version that made other points
  std::string source_;
  std::string commit_;
  std::string parent_;          // a run in whose experiment this one goes
  bool sought_parent_ = false;  // or need not be
  std::string former_server_;   // of the process before
  std::string trouble_;
  int renamed_lines_ = 0;
  std::string status_;       // that the server is to be told at the end
  std::string told_status_;  // that it has been told
  std::set<std::string> attached_;
  std::string create_body_;
  std::string create_nonce_;
  std::string update_body_;
  std::string experiment_id_;
  std::string run_id_;
  std::string artifact_root_;  // path below the URL
  std::deque<MlflowAttachment> attachments_;
  MlflowReadBack read_back_;
  bool read_first_ = false;   // the points of the next request may be there already
  bool sent_before_ = false;  // all of them, in one request
  bool taken_over_ = false;   // from a process of whose last request nobody knows what became
  std::uint64_t killed_bytes_ = 0;
  std::uint64_t killed_rows_ = 0;
  std::uint64_t missing_ = 0;  // attachments that never can be sent
  std::uint64_t owed_ = 0;     // attachments, and the end of the run, over which the server failed
  Backoff backoff_;            // of the request under way
  int rounds_ = 0;             // between find_experiment and create_experiment
  int refusals_ = 0;           // in a row
  int server_errors_ = 0;      // likewise
  int lone_failures_ = 0;      // likewise, over a request of one value
  std::uint64_t answers_ = 0;
  Time not_before_{};
  Time file_until_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
