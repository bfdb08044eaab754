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

/// A run on an MLflow server. Takes snapshots and sends their data when deliver() is called, with retries until the
/// server accepts it. The order is: create or find the run, then parameters, tags and points, then the end of the run.
/// One thread at a time.
class MlflowClient : public RunConsumer {
 public:
  /// \throws takt::Error if the options cannot work.
  /// \param max_points maximum number of queued points; beyond it, the oldest are dropped.
  explicit MlflowClient(const MlflowOptions& options, const SenderTimes& times = {},
                        std::size_t max_points = MlflowQueue::kMaxBytes / sizeof(MetricPoint));

  /// Saves delivery progress in `file` from now on. Call before take(). \param lease as for CursorFile::keep().
  void keep_cursor(const std::string& file, FileLease* lease = nullptr);
  /// Same, with the default file name in a run directory.
  void keep_cursor(std::shared_ptr<const DirectoryFiles> directory, FileLease* lease);
  /// Resumes where another process stopped, and skips what that process delivered. Only the server options are used. If
  /// the run does not exist yet, the options also set the experiment and the run to join if the server rejects the
  /// cursor's. Call before take().
  void resume(const MlflowCursor& cursor);

  /// Never drops points from now on; the caller limits the backlog.
  void found_journal() noexcept override { batches_.queue().keep_all(); }
  bool has_space() const noexcept override { return stopped() || queue().points() < max_points_; }
  std::uint64_t next_row() const noexcept override { return points_.next_row(); }
  std::uint64_t next_metric() const noexcept override { return points_.next_metric(); }
  std::uint64_t next_sample() const noexcept override { return points_.next_sample(); }

  bool take(const Snapshot& snapshot) override { return take(snapshot, false, 0); }
  /// Takes the last snapshot of a killed process, which therefore did not end the run itself.
  /// \param journal_bytes journal size, by which the next delivery detects that the process went on after all.
  bool take_killed(const Snapshot& snapshot, std::uint64_t journal_bytes) {
    return take(snapshot, true, journal_bytes);
  }
  /// Adds the figures over ranks to the last snapshot, if it had none. Call after take().
  void take_job(const Snapshot& snapshot);
  /// Saves the settings of the run, once. Sends no request.
  void begin(const Snapshot& snapshot);
  /// Sends until `until`; an unfinished request continues in the next call. Returns whether everything was sent.
  bool deliver(Time until) override;
  /// Ends delivery from this process, so that others need not wait for it.
  void leave() noexcept {
    if (login_ != nullptr) { login_->leave(); }
  }
  /// Returns whether the server accepted everything so far, except the totals of an unfinished run.
  bool complete() const noexcept {
    return !stopped() && owed() == 0 && queue().left_out() == 0 && missing_files() == 0;
  }
  /// Returns the number of files of the run that the server will never have.
  std::size_t missing_files() const noexcept { return ending_.missing(); }
  /// Returns the number of answers that made progress.
  std::uint64_t answers() const noexcept { return answers_; }
  /// Returns whether a request is under way; requests have their own time limit.
  bool asking() const noexcept { return http_.busy() || (login_ != nullptr && login_->asking()); }
  /// Returns the number of items dropped here that the next process sends: points, parameters, tags, files, and the end
  /// of the run.
  std::uint64_t owed() const noexcept { return queue().lost() + ending_.owed(); }
  /// Reason why the cursor cannot be saved; empty if it can.
  const std::string& cursor_problem() const noexcept { return cursor_file_.problem(); }
  bool stopped() const noexcept { return stopped_; }
  const MlflowQueue& queue() const noexcept { return batches_.queue(); }
  const std::string& run_id() const noexcept { return start_.run_id(); }
  /// Returns the URL of the server, without credentials.
  const std::string& server() const noexcept { return http_.url(); }
  /// Reason for stopping, or the server's last error; may be empty.
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
  std::unique_ptr<MantikLogin> login_;  // none if the options contain the credentials
  MetricPoints points_;
  std::size_t max_points_;
  CursorFile cursor_file_;
  MlflowLines lines_;
  MlflowStart start_;
  MlflowBatches batches_;
  MlflowEnding ending_;
  bool started_ = false;
  bool stopped_ = false;
  // For a shared run: whether the server was asked which program is the newest.
  bool owner_known_ = false;         // known since the last outage
  bool owner_known_at_end_ = false;  // known after all points were sent
  bool asks_owner_ = false;          // the request under way asks for the owner
  bool left_to_newer_ = false;
  std::string of_;             // owner of the cursor, see mlflow_cursor_owner()
  bool first_schema_ = false;  // the run has the points of the first cursor schema
  std::string trouble_;
  int renamed_lines_ = 0;
  std::uint64_t killed_bytes_ = 0;
  std::uint64_t killed_rows_ = 0;
  Backoff backoff_;        // for the request under way
  int server_errors_ = 0;  // consecutive
  std::uint64_t answers_ = 0;
  Time not_before_{};
};

}  // namespace detail
TAKT_END_NAMESPACE
