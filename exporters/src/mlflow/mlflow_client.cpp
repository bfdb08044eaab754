// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_client.hpp"

#include <takt/job.hpp>

#include "base/format.hpp"
#include "base/report_error.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/system_metrics.hpp"
#include "trackers/tracker_names.hpp"

#include <memory>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

constexpr int kMaxServerErrors = 3;

bool is_success(const HttpReply& reply) { return reply.status >= 200 && reply.status < 300; }

}  // namespace

MlflowClient::MlflowClient(const MlflowOptions& options, const SenderTimes& times, std::size_t max_points)
    : options_(options),
      http_(mlflow_http_options(options, times.connect, times.total)),
      login_(mlflow_is_mantik(options) ? std::make_unique<MantikLogin>(options, times) : nullptr),
      points_(options.every_step, MetricSet::few),
      max_points_(max_points),
      lines_(http_, cursor_file_),
      start_(options, lines_),
      batches_(points_, lines_, max_points),
      ending_(lines_, cursor_file_),
      backoff_(times) {
  points_.keep_nans();
  points_.report_system(&mlflow_system_metrics, kMlflowSystemNs);
}

void MlflowClient::keep_cursor(const std::string& file, FileLease* lease) { cursor_file_.keep(file, lease); }

void MlflowClient::keep_cursor(std::shared_ptr<const DirectoryFiles> directory, FileLease* lease) {
  cursor_file_.keep(std::move(directory), kMlflow.cursor, lease);
}

void MlflowClient::resume(const MlflowCursor& cursor) {
  options_.every_step = cursor.every_step;
  options_.all_ranks = cursor.all_ranks;
  options_.artifacts = cursor.artifacts;
  first_schema_ = cursor.first_schema;
  points_ = MetricPoints(cursor.every_step, first_schema_ ? MetricSet::full : MetricSet::few);
  if (!first_schema_) { points_.keep_nans(); }
  points_.report_system(&mlflow_system_metrics, kMlflowSystemNs);
  points_.begin_at(cursor.first_row, cursor.first_metric, cursor.first_sample);
  start_.resume(cursor);
  batches_.queue().resume(cursor);
  ending_.resume(cursor);
  killed_bytes_ = cursor.killed_bytes;
  killed_rows_ = cursor.killed_rows;
}

MlflowCursor MlflowClient::cursor() const {
  MlflowCursor cursor;
  cursor.first_schema = first_schema_;
  cursor.every_step = options_.every_step;
  cursor.all_ranks = options_.all_ranks;
  cursor.artifacts = options_.artifacts;
  cursor.first_row = points_.first_row();
  cursor.first_metric = points_.first_metric();
  cursor.first_sample = points_.first_sample();
  start_.report(cursor);
  queue().report(cursor);
  ending_.report(cursor);
  cursor.killed_bytes = killed_bytes_;
  cursor.killed_rows = killed_rows_;
  cursor.of = of_;
  return cursor;
}

/// Saves the cursor: before any request that must not be repeated, and after each answer.
void MlflowClient::save() {
  if (!cursor_file_.is_kept() || cursor_file_.save(format_cursor(cursor()))) { return; }
  lines_.report("mlflow.cursor", "the delivery state cannot be saved, so " + lines_.sync_command() +
                                     " may send data twice: " + cursor_file_.problem());
}

bool MlflowClient::take(const Snapshot& snapshot, bool killed, std::uint64_t journal_bytes) {
  begin(snapshot);
  if (stopped()) { return false; }
  start_.choose_parent(snapshot);
  std::vector<MetricPoint> points;
  points_.take(snapshot, points);
  if (killed) {
    killed_bytes_ = journal_bytes;
    killed_rows_ = points_.before_end();
  }
  MlflowQueue& queue = batches_.queue();
  queue.add_params(snapshot.params);
  queue.add_tags(snapshot.tags);
  if (snapshot.finished) { take_notes(snapshot); }
  queue.add_points(points);
  if (snapshot.finished && snapshot.job != nullptr) { take_job(snapshot); }
  if (!snapshot.spans.empty()) { ending_.note_trace(); }
  if (points_.nans() != 0) {
    lines_.report(
        "mlflow.nan",
        detail::format("{} metrics were not a number and are not sent, because MLflow cannot store a second one",
                       points_.nans()));
  }
  warn_renamed();
  if (snapshot.finished && !ending_.finished()) {
    ending_.finish(snapshot, killed, options_.artifacts);
    // An early retry costs one request; waiting past the end of the run costs the data.
    if (!backoff_.asked_to_wait()) { not_before_ = Time(); }
  }
  return true;
}

/// Adds the tags with text: dropped data and findings.
void MlflowClient::take_notes(const Snapshot& snapshot) {
  const LostRecords lost = lost_records(snapshot.losses);
  const std::string findings = findings_text(snapshot);
  if (lost.any()) { batches_.queue().add_tags({{"takt.lost", lost.words()}}); }
  if (!findings.empty()) { batches_.queue().add_tags({{"takt.findings", findings}}); }
}

void MlflowClient::take_job(const Snapshot& snapshot) {
  if (stopped()) { return; }
  std::vector<MetricPoint> points;
  points_.take_job(snapshot, points);
  const Job& job = *snapshot.job;
  if (!batches_.queue().add_job(job.wall.ranks, std::move(points), points_)) { return; }
  batches_.queue().add_tags({{"takt.ranks", job_text(job)}});
  warn_renamed();
}

void MlflowClient::begin(const Snapshot& snapshot) {
  if (std::exchange(started_, true)) { return; }
  of_ = mlflow_cursor_owner(snapshot.run);
  start_.begin(snapshot);
  stop_if(start_.stopped_by());
  save();
}

bool MlflowClient::idle() const noexcept {
  if (stopped() || !started_) { return true; }
  return start_.ready() && queue().empty() && ending_.all_said();
}

/// Returns whether only files are left to send.
bool MlflowClient::uploading() const noexcept { return start_.ready() && queue().empty() && ending_.closed(); }

bool MlflowClient::deliver(Time until) {
  while (!idle() || http_.busy()) {
    if (!http_.busy()) {
      if (not_before_ > steady_clock::now()) {
        if (not_before_ >= until) { return false; }
        std::this_thread::sleep_until(not_before_);
      }
      if (uploading() && !ending_.is_there(not_before_)) { continue; }
      if (!logged_in(until)) {
        if (steady_clock::now() >= until) { return false; }
        continue;
      }
      http_.start(request());
    }
    HttpReply reply;
    if (!http_.wait(until, reply)) { return false; }
    take_answer(reply);
    save();
    if (steady_clock::now() >= until) { break; }
  }
  return idle() && !stopped();
}

/// Returns whether the next request has the credentials that it needs.
bool MlflowClient::logged_in(Time until) {
  if (login_ == nullptr) { return true; }
  switch (login_->obtain(until)) {
    case MantikLogin::State::ready:
      http_.set_token(login_->token());
      return true;
    case MantikLogin::State::later:
      not_before_ = steady_clock::now() + login_->wait();
      if (!login_->problem().empty()) {
        lines_.report("mantik.away",
                      detail::format("{}. Takt retries; {} points are queued{}", login_->problem(), queue().points(),
                                     lines_.with_sync("; ", " sends the remaining data")));
      }
      return false;
    case MantikLogin::State::refused:
      stop_if(login_->problem());
      return false;
    default:
      return false;
  }
}

HttpRequest MlflowClient::request() {
  if (!start_.ready()) { return start_.request(); }
  asks_owner_ = must_ask_owner();
  if (asks_owner_) { return mlflow_get_run(run_id()); }
  if (!queue().empty()) { return batches_.request(run_id()); }
  return ending_.request(run_id(), start_.artifact_root());
}

/// If there is no memory for the answer, the request counts as unanswered.
void MlflowClient::take_answer(const HttpReply& reply) {
  try {
    answered(reply);
  } catch (const std::exception&) {
    if (start_.ready()) { batches_.may_be_there(); }
    start_.answer_lost();
    throw;
  }
}

void MlflowClient::answered(const HttpReply& reply) {
  // Repeat the request with another token.
  if (reply.status == 401 && login_ != nullptr && login_->rejected()) { return; }
  if (asks_owner_) { return take_owner(reply); }
  if (batches_.asks()) { return read_back(reply); }
  const bool taken = is_success(reply);
  if (taken && (uploading() || is_json_object(reply.body))) {
    if (!start_.is_searching()) { backoff_.reset(); }
    ++answers_;
    server_errors_ = 0;
    if (login_ != nullptr) { login_->accepted(); }
    succeeded(reply.body);
  } else if (uploading() && !mlflow_may_pass(reply.status)) {
    ending_.refused(reply);
  } else if (taken || (mlflow_may_pass(reply.status) && !mlflow_is_deleted(reply))) {
    try_again(reply);
  } else {
    refused(reply);
    backoff_.reset();
  }
}

/// Returns whether to query the run's owner: before the end is sent, and after an outage.
bool MlflowClient::must_ask_owner() const noexcept {
  if (!start_.is_shared() || left_to_newer_) { return false; }
  return !owner_known_ || (queue().empty() && !ending_.closed() && !owner_known_at_end_);
}

void MlflowClient::take_owner(const HttpReply& reply) {
  if (!is_success(reply) || !is_json_object(reply.body)) {
    if (is_success(reply) || mlflow_may_pass(reply.status)) { return try_again(reply); }
    return stop_if(start_.refusal(reply));
  }
  backoff_.reset();
  ++answers_;
  if (login_ != nullptr) { login_->accepted(); }
  owner_known_at_end_ = queue().empty() && ending_.finished();
  owner_known_ = true;
  asks_owner_ = false;
  if (start_.is_of_newer(reply.body)) { leave_to_newer(); }
}

void MlflowClient::leave_to_newer() {
  if (std::exchange(left_to_newer_, true)) { return; }
  batches_.queue().keep_points_alone();
  ending_.leave();
  lines_.report("mlflow.newer", "a program that started later continues the run " + run_id() + " at " + http_.url() +
                                    ": its status, tags and files are kept, and this program adds only points");
}

/// Processes the answer to a read-back query.
void MlflowClient::read_back(const HttpReply& reply) {
  const bool said = is_success(reply);
  if (said && login_ != nullptr) { login_->accepted(); }
  // A server that fails on the query may still accept the points.
  const bool fails = reply.status == 500 && server_errors_ + 1 >= kMaxServerErrors;
  const bool never = reply.too_long || fails || (!said && !mlflow_may_pass(reply.status));
  if (never) {
    batches_.unreadable(reply);
    server_errors_ = 0;
  } else if (!said || !batches_.read(reply.body)) {
    return try_again(reply);
  }
  ++answers_;
  backoff_.waited();  // but keep counting tries: they concern the request that this prepares
  if (batches_.is_settled()) { backoff_.reset(); }
}

void MlflowClient::succeeded(const std::string& body) {
  if (!start_.ready()) {
    start_succeeded(body);
  } else if (!queue().empty()) {
    batches_.accepted();
  } else {
    ending_.accepted(start_.artifact_root());
  }
}

void MlflowClient::start_succeeded(const std::string& body) {
  start_.succeeded(body);
  stop_if(start_.stopped_by());
  if (!start_.ready()) { return; }
  backoff_.reset();
  owner_known_ = true;
  if (start_.was_of_newer()) { leave_to_newer(); }
  if (!start_.was_taken_over()) { return; }
  ending_.had_ended(start_.former_status(), start_.artifact_root());
  batches_.take_over();
}

/// Handles an answer that no retry can change.
void MlflowClient::refused(const HttpReply& reply) {
  if (!start_.ready()) {
    start_.refused(reply);
    stop_if(start_.stopped_by());
  } else if (mlflow_is_deleted(reply)) {
    stop_if(start_.deletion());
  } else if (!queue().empty() && (mlflow_refuses_values(reply) || (reply.status == 413 && !queue().is_lone()))) {
    stop_if(batches_.refused(reply));
  } else {
    stop_if(start_.refusal(reply));
  }
}

void MlflowClient::try_again(const HttpReply& reply) {
  backoff_.failed();
  server_errors_ = reply.status == 500 ? server_errors_ + 1 : 0;
  if (reply.status != 429) { start_.answer_lost(); }
  const bool may_be_there = reply.status == 0 ? reply.may_have_arrived : reply.status != 429;
  if (reply.status == 0 || reply.status >= 500) { owner_known_ = false; }
  if (may_be_there && start_.ready() && !asks_owner_) { batches_.may_be_there(); }
  if (gave_up(reply)) { return; }
  not_before_ = steady_clock::now() + backoff_.wait(reply);
  trouble_ = lines_.reported(reply);
  lines_.report(
      "mlflow.away",
      detail::format("MLflow at {} does not respond correctly: {}. Takt retries; {} points are queued{}", http_.url(),
                     trouble_, queue().points(), lines_.with_sync("; ", " sends the remaining data")));
}

/// Drops a request after repeated server errors. Returns whether it did.
bool MlflowClient::gave_up(const HttpReply& reply) {
  if (!start_.ready() || batches_.asks() || asks_owner_) { return false; }
  if (server_errors_ < (batches_.fails_at_once(reply) ? 1 : kMaxServerErrors)) { return false; }
  backoff_.reset();
  server_errors_ = 0;
  if (!queue().empty()) {
    batches_.failed(reply);
    return true;
  }
  lines_.report("mlflow.failing", "MLflow fails on a request, which is not sent again from here: " +
                                      lines_.reported(reply) + lines_.with_sync(". ", " retries it"));
  ending_.failed(start_.artifact_root());
  return true;
}

/// \param why empty: continues.
void MlflowClient::stop_if(const std::string& why) {
  if (why.empty() || stopped_) { return; }
  stopped_ = true;
  trouble_ = http_.without_secrets(why);
  batches_.stop();
  ending_.stop();
  lines_.report("mlflow.stopped", "nothing is sent to MLflow at " + http_.url() + ": " + why + ". The run continues" +
                                      lines_.with_sync("; ", " sends the missing data"));
}

void MlflowClient::warn_renamed() {
  MetricPoints::Renamed renamed = points_.take_renamed();
  for (auto& each : batches_.queue().take_renamed()) { renamed.push_back(std::move(each)); }
  const char* const takes = "MLflow allows letters, digits, blanks and _-./ in names";
  if (!renamed.empty()) { report_renamed("mlflow.names.", takes, renamed, renamed_lines_++); }
}

}  // namespace detail
TAKT_END_NAMESPACE
