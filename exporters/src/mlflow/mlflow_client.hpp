// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/exporters/mlflow.hpp>
#include <takt/snapshot.hpp>

#include "base/directory_files.hpp"
#include "mlflow/mantik.hpp"
#include "mlflow/mlflow_batches.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "mlflow/mlflow_queue.hpp"
#include "mlflow/mlflow_start.hpp"
#include "trackers/backoff.hpp"
#include "trackers/http.hpp"
#include "trackers/live_delivery.hpp"
#include "trackers/metric_points.hpp"
#include "trackers/tracker_files.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A run on an MLflow server: takes snapshots, and sends what follows from them whenever it is given time. Everything
/// is sent until it is taken: first the run is brought to its place, then parameters, tags and points are, and at the
/// end what the server is told of it. One thread at a time.
class MlflowClient : public RunConsumer {
 public:
  /// \throws takt::Error for options that cannot work.
  /// \param max_points that are kept; beyond, the oldest go.
  explicit MlflowClient(const MlflowOptions& options, const SenderTimes& times = {},
                        std::size_t max_points = MlflowQueue::kMaxBytes / sizeof(MetricPoint));

  /// From now on `file` says how far the run was delivered. Before take(). \param lease as for CursorFile::keep().
  void keep_cursor(const std::string& file, FileLease* lease = nullptr);
  /// The same in a run directory, where it has its own name.
  void keep_cursor(std::shared_ptr<const DirectoryFiles> directory, FileLease* lease);
  /// Goes on where another process stopped: what it has delivered is passed over when it is taken again. Of the
  /// options, only those about the server count; as long as there is no run, also experiment and run to join, where the
  /// server refuses those of the cursor. Before take().
  void resume(const MlflowCursor& cursor);

  /// Of the program's sources; empty: not known. Before take().
  void set_commit(std::string commit) { start_.set_commit(std::move(commit)); }
  /// From now on no point goes because there are too many: whoever adds them sees to that.
  void found_journal() noexcept override { batches_.queue().keep_all(); }
  bool has_space() const noexcept override { return stopped() || queue().points() < max_points_; }
  std::uint64_t next_row() const noexcept override { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept override { return points_.next_metric(); }
  std::uint64_t next_sample() const noexcept override { return points_.next_sample(); }

  bool take(const Snapshot& snapshot) override { return take(snapshot, false, 0); }
  /// The last, of a process that is gone, and would have ended the run otherwise.
  /// \param journal_bytes by which the next delivery sees that it was not the last after all.
  bool take_killed(const Snapshot& snapshot, std::uint64_t journal_bytes) {
    return take(snapshot, true, journal_bytes);
  }
  /// The last once more, with the figures over ranks, where it had none of them before. After take().
  void take_job(const Snapshot& snapshot);
  /// Writes down what the run is begun with, unless that has been done. Asks the server for nothing.
  void begin(const Snapshot& snapshot);
  /// Sends until `until`; a request that has not ended by then goes on in the next call. Returns whether nothing is
  /// left.
  bool deliver(Time until) override;
  /// Nothing more will be delivered from here, so that other processes need not wait for this one.
  void leave() noexcept {
    if (login_ != nullptr) { login_->leave(); }
  }
  /// Everything so far was taken by the server, or is the totals of a run that has not ended.
  bool complete() const noexcept {
    return !stopped() && owed() == 0 && queue().left_out() == 0 && missing_files() == 0;
  }
  /// How many files of the run the server will never have.
  std::size_t missing_files() const noexcept { return ending_.missing(); }
  /// Answers that brought it on, of whatever kind.
  std::uint64_t answers() const noexcept { return answers_; }
  /// A request is under way, which has a time limit of its own.
  bool asking() const noexcept { return http_.busy() || (login_ != nullptr && login_->asking()); }
  /// What was given up here, and the next process sends: points, parameters, tags, files, and the end of the run.
  std::uint64_t owed() const noexcept { return queue().lost() + ending_.owed(); }
  /// Why the cursor is not written; empty when it is.
  const std::string& cursor_problem() const noexcept { return cursor_file_.problem(); }
  bool stopped() const noexcept { return stopped_; }
  const MlflowQueue& queue() const noexcept { return batches_.queue(); }
  const std::string& run_id() const noexcept { return start_.run_id(); }
  /// The URL of the server, without credentials.
  const std::string& server() const noexcept { return http_.url(); }
  /// Why it has stopped, or what the server last said instead of taking something; may be empty.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  bool take(const Snapshot& snapshot, bool killed, std::uint64_t journal_bytes);
  void take_notes(const Snapshot& snapshot);
  MlflowCursor cursor() const;
  void save();
  bool idle() const noexcept;
  bool uploading() const noexcept;
  HttpRequest request();
  bool logged_in(Time until);
  void take_answer(const HttpReply& reply);
  void answered(const HttpReply& reply);
  void read_back(const HttpReply& reply);
  void succeeded(const std::string& body);
  void start_succeeded(const std::string& body);
  void refused(const HttpReply& reply);
  void try_again(const HttpReply& reply);
  bool gave_up(const HttpReply& reply);
  void stop_if(const std::string& why);
  bool must_ask_owner() const noexcept;
  void take_owner(const HttpReply& reply);
  void leave_to_newer();
  void warn_renamed();

  MlflowOptions options_;
  Http http_;
  std::unique_ptr<MantikLogin> login_;  // none where the credentials are those of the options
  MetricPoints points_;
  std::size_t max_points_;
  CursorFile cursor_file_;
  MlflowLines lines_;
  MlflowStart start_;
  MlflowBatches batches_;
  MlflowEnding ending_;
  bool started_ = false;
  bool stopped_ = false;
  // For a run that several programs may continue: whether the newest of them is known.
  bool owner_known_ = false;         // by an answer since the last outage
  bool owner_known_at_end_ = false;  // by one after all points
  bool asks_owner_ = false;          // the request that is under way
  bool left_to_newer_ = false;
  std::string of_;             // the run that it is of
  bool first_schema_ = false;  // by a version that made other points
  std::string trouble_;
  int renamed_lines_ = 0;
  std::uint64_t killed_bytes_ = 0;
  std::uint64_t killed_rows_ = 0;
  Backoff backoff_;        // of the request under way
  int server_errors_ = 0;  // in a row
  std::uint64_t answers_ = 0;
  Time not_before_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
