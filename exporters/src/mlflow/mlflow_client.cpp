// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_client.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include "base/fault.hpp"
#include "base/file.hpp"
#include "base/json_text.hpp"
#include "base/nanoseconds.hpp"
#include "report/losses.hpp"
#include "trackers/time_line_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <thread>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMostServerErrors = 3;
constexpr int kMostRefusals = 50;
constexpr int kMostLoneFailures = 8;
constexpr std::chrono::seconds kFilePatience(10);
constexpr std::int64_t kMostFileBytes = 100'000'000;

std::int64_t ms_of(const Snapshot& snapshot, std::int64_t since_start_ns) {
  return (snapshot.run.start_unix_ns + since_start_ns) / kMillisecondNs;
}

}  // namespace

MlflowClient::MlflowClient(const MlflowOptions& options, const SenderTimes& times, std::size_t most_points)
    : options_(options),
      http_(mlflow_http_options(options, times.connect, times.total)),
      login_(mlflow_is_mantik(options) ? std::make_unique<MantikLogin>(options, times) : nullptr),
      points_(options.every_step, MetricSet::few),
      queue_(most_points),
      source_(program_invocation_short_name),
      create_nonce_(mlflow_nonce()),
      backoff_(times) {
  points_.keep_nans();
}

void MlflowClient::keep_cursor(const std::string& file) {
  cursor_file_ = file;
  cursor_folder_ = std::make_shared<FolderFiles>(folder_part(file));
  cursor_name_ = name_part(file);
}

void MlflowClient::keep_cursor(std::shared_ptr<const FolderFiles> folder) {
  cursor_folder_ = std::move(folder);
  cursor_file_ = mlflow_cursor_file(cursor_folder_->path());
  cursor_name_ = name_part(cursor_file_);
}

void MlflowClient::resume(const MlflowCursor& cursor) {
  resumed_ = true;
  if (cursor.run_id.empty()) { instead_ = {options_.experiment_name, options_.experiment_id, options_.run_id}; }
  options_.experiment_name = cursor.experiment_name;
  options_.experiment_id = cursor.experiment_id;
  options_.run_id = cursor.joined_run;
  options_.every_step = cursor.every_step;
  options_.all_ranks = cursor.all_ranks;
  options_.artifacts = cursor.artifacts;
  first_schema_ = cursor.first_schema;
  points_ = MetricPoints(cursor.every_step, first_schema_ ? MetricSet::full : MetricSet::few);
  if (!first_schema_) { points_.keep_nans(); }
  points_.begin_at(cursor.first_row, cursor.first_metric);
  queue_.resume(cursor);
  create_nonce_ = cursor.nonce;
  source_ = cursor.source;
  commit_ = cursor.commit;
  former_server_ = cursor.server;
  run_id_ = cursor.run_id;
  told_status_ = cursor.status;
  attached_ = cursor.attached;
  killed_bytes_ = cursor.killed_bytes;
  killed_rows_ = cursor.killed_rows;
}

MlflowCursor MlflowClient::cursor() const {
  MlflowCursor cursor;
  cursor.server = http_.url().substr(0, http_.url().find('?'));
  cursor.nonce = create_nonce_;
  cursor.source = source_;
  cursor.commit = commit_;
  cursor.first_schema = first_schema_;
  cursor.experiment_name = options_.experiment_name;
  cursor.experiment_id = options_.experiment_id;
  cursor.joined_run = options_.run_id;
  cursor.every_step = options_.every_step;
  cursor.all_ranks = options_.all_ranks;
  cursor.artifacts = options_.artifacts;
  cursor.first_row = points_.first_row();
  cursor.first_metric = points_.first_metric();
  cursor.run_id = run_id_;
  queue_.tell(cursor);
  cursor.status = told_status_;
  cursor.attached = attached_;
  cursor.killed_bytes = killed_bytes_;
  cursor.killed_rows = killed_rows_;
  cursor.of = of_;
  return cursor;
}

/// Before anything is sent that must not be sent twice, and after each answer.
void MlflowClient::save() {
  if (cursor_file_.empty()) { return; }
  std::string text = format_cursor(cursor());
  if (text == cursor_saved_) { return; }
  WholeFile file;
  if (file.open(cursor_folder_, cursor_name_) && file.write(text) && file.commit()) {
    cursor_saved_ = std::move(text);
    cursor_problem_.clear();
  } else {
    cursor_problem_ = file.error();
    report("mlflow.cursor", "what MLflow has is not written down, so that " + sync_command() +
                                " could send it again later: " + cursor_problem_);
  }
}

void MlflowClient::take(const Snapshot& snapshot, bool killed, std::uint64_t journal_bytes) {
  begin(snapshot);
  if (stopped()) { return; }
  choose_parent(snapshot);
  std::vector<MetricPoint> points;
  points_.take(snapshot, points);
  if (killed) {
    killed_bytes_ = journal_bytes;
    killed_rows_ = points_.before_end();
  }
  queue_.add_params(snapshot.params);
  queue_.add_tags(snapshot.tags);
  const LostRecords lost = lost_records(snapshot.losses);
  if (snapshot.finished && lost.any()) { queue_.add_tags({{"takt.lost", lost.words()}}); }
  queue_.add_points(points);
  traced_ = traced_ || !snapshot.spans.empty();
  if (points_.nans() != 0) {
    report("mlflow.nan",
           fmt::format("{} metrics were not a number, which MLflow cannot be sent twice; they are left out",
                       points_.nans()));
  }
  tell_renamed();
  if (snapshot.finished && !finished_) { finish(snapshot, killed); }
}

void MlflowClient::begin(const Snapshot& snapshot) {
  if (std::exchange(begun_, true)) { return; }
  const RunInfo& run = snapshot.run;
  of_ = mlflow_cursor_owner(run);
  const bool child = run.rank != 0 && !options_.run_id.empty();
  choose_parent(snapshot);
  if (!run_id_.empty()) {
    stage_ = Stage::resume_run;
  } else if (!options_.run_id.empty() && !child) {
    stage_ = Stage::join_run;
  } else {
    begin_in_experiment();
  }
  create_body_ = mlflow_create_body(run, options_, create_nonce_, source_, commit_);
  save();
}

/// In that which the options say.
void MlflowClient::begin_in_experiment() {
  experiment_id_ = options_.experiment_id.empty() ? "0" : options_.experiment_id;
  if (!options_.experiment_name.empty()) {
    stage_ = Stage::find_experiment;
    return;
  }
  const bool sought = parent_.empty() || sought_parent_;
  if (login_ != nullptr && options_.experiment_id.empty() && sought) { return stop(kMantikNoExperiment); }
  // Who stopped may have made a run without ever knowing.
  stage_ = resumed_ ? Stage::find_run : Stage::create_run;
}

/// MLflow shows a child below its parent only where both are in one experiment.
void MlflowClient::choose_parent(const Snapshot& snapshot) {
  if (!parent_.empty()) { return; }
  const bool child = snapshot.run.rank != 0 && !options_.run_id.empty();
  const auto tag = snapshot.tags.find(kMlflowParent);
  parent_ = child ? options_.run_id : tag == snapshot.tags.end() ? "" : tag->second;
}

/// Asks for the parent's experiment before anything is made in another one.
void MlflowClient::seek_parent() noexcept {
  const bool is_early = stage_ == Stage::find_experiment || stage_ == Stage::create_experiment ||
                        stage_ == Stage::create_run || (stage_ == Stage::find_run && resumed_);
  if (parent_.empty() || sought_parent_ || !is_early) { return; }
  sought_parent_ = true;
  stage_ = Stage::find_parent;
}

void MlflowClient::found_parent(const std::string& body) {
  const std::string id = json_string(body, "/run/info/experiment_id");
  if (id.empty()) { return begin_in_experiment(); }
  experiment_id_ = id;
  stage_ = resumed_ ? Stage::find_run : Stage::create_run;
  if (options_.experiment_id.empty() || options_.experiment_id == id) { return; }
  report("mlflow.experiment", "MLFLOW_EXPERIMENT_ID is " + options_.experiment_id + ", but the run " + parent_ +
                                  ", the parent of this one, is in " + id + ", where the run goes, too");
}

void MlflowClient::finish(const Snapshot& snapshot, bool killed) {
  finished_ = true;
  status_ = killed || snapshot.killed ? "KILLED" : snapshot.failed ? "FAILED" : "FINISHED";
  settle_status();
  update_body_ = JsonText{{"end_time", ms_of(snapshot, snapshot.wall_ns)}, {"status", status_}}.text();
  // Trying again soon costs one request; waiting longer than the run lasts costs the data.
  if (!backoff_.asked_to_wait()) { not_before_ = Time(); }
  if (!options_.artifacts) { return; }
  attach({"summary.json", "application/json", format_json(snapshot), ""});
  attach({"table.txt", "text/plain; charset=utf-8", format_table(snapshot, 120, false), ""});
  // Another thread writes it meanwhile.
  const std::string trace = snapshot.run.directory + "/trace.json";
  const bool is_traced = !snapshot.run.directory.empty() && (traced_ || may_exist(trace));
  if (is_traced) { attach({"trace.json", "application/json", "", trace}); }
}

/// Whether the server knows how the run ended. What the program has said there outlives the guess that it was killed.
void MlflowClient::settle_status() {
  if (status_ == "KILLED" && (told_status_ == "FINISHED" || told_status_ == "FAILED")) { status_ = told_status_; }
  closed_ = finished_ && told_status_ == status_;
}

void MlflowClient::attach(MlflowAttachment attachment) {
  if (attached_.count(attachment.name) == 0) { attachments_.push_back(std::move(attachment)); }
}

/// The first in the list was sent, or never will be.
void MlflowClient::attached() {
  attached_.insert(attachments_.front().name);
  attachments_.pop_front();
}

bool MlflowClient::all_said() const noexcept {
  return queue_.empty() && (!finished_ || (closed_ && attachments_.empty()));
}

bool MlflowClient::idle() const noexcept {
  if (stopped() || !begun_) { return true; }
  return stage_ == Stage::data && all_said();
}

bool MlflowClient::deliver(Time until) {
  while (!idle() || http_.busy()) {
    if (!http_.busy()) {
      if (not_before_ > steady_clock::now()) {
        if (not_before_ >= until) { return false; }
        std::this_thread::sleep_until(not_before_);
      }
      if (uploading() && !attachments_.front().file.empty() && !is_there(attachments_.front().file)) { continue; }
      if (!logged_in(until)) {
        if (steady_clock::now() >= until) { return false; }
        continue;
      }
      seek_parent();
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

/// Whether the next request has the credentials that it needs.
bool MlflowClient::logged_in(Time until) {
  if (login_ == nullptr) { return true; }
  switch (login_->obtain(until)) {
    case MantikLogin::State::ready:
      http_.set_token(login_->token());
      return true;
    case MantikLogin::State::later:
      not_before_ = steady_clock::now() + login_->wait();
      if (!login_->problem().empty()) {
        report("mantik.away", fmt::format("{}. It is tried again, {} points wait{}", login_->problem(), queue_.points(),
                                          with_sync("; ", " sends what the run cannot")));
      }
      return false;
    case MantikLogin::State::refused:
      stop(login_->problem());
      return false;
    default:
      return false;
  }
}

/// Whether a file can be sent now; one that never can is taken from the list. It gets its name when it is whole.
bool MlflowClient::is_there(const std::string& file) {
  struct stat status = {};
  const Time now = steady_clock::now();
  if (file_until_ == Time()) { file_until_ = now + kFilePatience; }
  // The folder that the journal was read from, whatever its path leads to by now.
  const bool same = cursor_folder_ != nullptr && cursor_folder_->path() == folder_part(file);
  const FolderFiles named(folder_part(file));
  file_ = std::make_shared<const Descriptor>(open_time_line(same ? *cursor_folder_ : named));
  const bool found = file_->look(status);
  if (found && status.st_size <= kMostFileBytes) { return true; }
  const bool foreign = !found && (errno == ENOEXEC || errno == ELOOP || errno == ENXIO);
  if (found || foreign || now >= file_until_) {
    ++missing_;
    report("mlflow.artifact", file +
                                  (found     ? " is larger than what MLflow servers take well"
                                   : foreign ? " is not a time line of Takt's"
                                             : " was not written") +
                                  "; it is not attached" + with_sync(", and ", " does not attach it either"));
    attached();
  } else {
    not_before_ = now + milliseconds(20);
  }
  return false;
}

bool MlflowClient::uploading() const noexcept { return stage_ == Stage::data && queue_.empty() && closed_; }

HttpRequest MlflowClient::request() {
  switch (stage_) {
    case Stage::find_experiment:
      return mlflow_get("experiments/get-by-name?experiment_name=" + url_encoded(options_.experiment_name));
    case Stage::create_experiment:
      return mlflow_post("experiments/create", with_member("name", options_.experiment_name, "{}"));
    case Stage::data:
      if (!queue_.empty()) { return request_of_queue(); }
      if (!closed_) { return request_of_run(); }
      return request_of_attachment();
    default:
      return request_of_run();
  }
}

HttpRequest MlflowClient::request_of_attachment() const {
  HttpRequest request = mlflow_put(artifact_root_, attachments_.front());
  if (!attachments_.front().file.empty()) { request.file = file_; }
  return request;
}

HttpRequest MlflowClient::request_of_queue() {
  const std::string& body = queue_.body(run_id_, points_);
  if (std::exchange(read_first_, false)) { read_back_.begin(queue_.sending(), points_, sent_before_); }
  if (read_back_.busy()) { return read_back_.request(run_id_); }
  HttpRequest request = mlflow_post("runs/log-batch", body);
  request.fresh = true;  // libcurl must not send it again by itself
  return request;
}

/// The one under way is done with; what the next one holds was not sent from here.
void MlflowClient::next_request() {
  const bool halved = queue_.halved();  // what is left of it was sent with what is done with
  read_first_ = taken_over_ || halved;
  sent_before_ = halved;
}

HttpRequest MlflowClient::request_of_run() const {
  if (stage_ == Stage::find_parent) { return mlflow_get_run(parent_); }
  if (stage_ == Stage::join_run) { return mlflow_get_run(options_.run_id); }
  if (stage_ == Stage::resume_run) { return mlflow_get_run(run_id_); }
  if (stage_ == Stage::find_run) {
    JsonText ids = JsonText::array();
    ids.push_back(experiment_id_);
    const JsonText body = {{"experiment_ids", ids},
                           {"filter", fmt::format("tags.`{}` = '{}'", kMlflowNonce, create_nonce_)},
                           {"max_results", 1}};
    return mlflow_post("runs/search", body.text());
  }
  if (stage_ == Stage::create_run) {
    HttpRequest request = mlflow_post("runs/create", with_member("experiment_id", experiment_id_, create_body_));
    request.fresh = true;  // libcurl must not send this one again by itself
    return request;
  }
  const std::string& body = stage_ == Stage::reopen_run ? R"({"status":"RUNNING"})" : update_body_;
  return mlflow_post("runs/update", with_member("run_id", run_id_, body));
}

/// The server's answer about what it has.
void MlflowClient::read_back(const HttpReply& reply) {
  const bool said = reply.status >= 200 && reply.status < 300;
  if (said && login_ != nullptr) { login_->accepted(); }
  // A server that fails over the question may take the points all the same.
  const bool fails = reply.status == 500 && server_errors_ + 1 >= kMostServerErrors;
  const bool never = reply.too_long || fails || (!said && !mlflow_may_pass(reply.status));
  if (never) {
    report("mlflow.unread",
           "MLflow does not tell which points it has; where their delivery was not confirmed it may keep "
           "two of one: " +
               mlflow_told(reply, http_) + with_sync("; ", " asks again"));
    read_back_.give_up();
    server_errors_ = 0;
  } else if (!said || !read_back_.answered(reply.body)) {
    return try_again(reply);
  }
  ++answers_;
  backoff_.waited();  // but tries count on: they are about the request that this prepares
  if (!read_back_.busy() && !queue_.found(read_back_.there())) {
    backoff_.reset();
    refusals_ = 0;
    next_request();
  }
}

/// Without memory for the answer the request is as if there had been none.
void MlflowClient::take_answer(const HttpReply& reply) {
  try {
    answered(reply);
  } catch (const std::exception&) {
    if (stage_ == Stage::data && !read_back_.busy()) { read_first_ = sent_before_ = true; }
    if (stage_ == Stage::create_run) { stage_ = Stage::find_run; }
    throw;
  }
}

void MlflowClient::answered(const HttpReply& reply) {
  // The same again, with another token.
  if (reply.status == 401 && login_ != nullptr && login_->rejected()) { return; }
  if (read_back_.busy()) { return read_back(reply); }
  const bool taken = reply.status >= 200 && reply.status < 300;
  if (taken && (uploading() || is_json_object(reply.body))) {
    // Where the answer to create_run never comes, looking for the run always succeeds.
    if (stage_ != Stage::find_run) { backoff_.reset(); }
    ++answers_;
    server_errors_ = refusals_ = lone_failures_ = 0;
    if (login_ != nullptr) { login_->accepted(); }
    succeeded(reply.body);
  } else if (uploading() && !mlflow_may_pass(reply.status)) {
    ++missing_;
    report("mlflow.artifact", "MLflow did not take " + attachments_.front().name + ": " + mlflow_told(reply, http_) +
                                  with_sync("; ", " does not attach it either"));
    attached();
  } else if (taken || (mlflow_may_pass(reply.status) && !mlflow_is_deleted(reply))) {
    try_again(reply);
  } else {
    refused(reply);
  }
}

void MlflowClient::succeeded(const std::string& body) {
  switch (stage_) {
    case Stage::find_parent:
      found_parent(body);
      return;
    case Stage::find_experiment:
      found_experiment(body);
      return;
    case Stage::create_experiment:
      experiment_id_ = json_string(body, "/experiment_id");
      compare_experiment();
      stage_ = Stage::create_run;  // nobody can have made a run in it
      return;
    case Stage::find_run:
      if (json_string(body, "/runs/0/info/run_id").empty()) {
        stage_ = Stage::create_run;
      } else {
        backoff_.reset();
        adopt(body, "/runs/0");
      }
      return;
    case Stage::create_run:
      adopt(body, "/run");
      return;
    case Stage::join_run:
      adopt(body, "/run");
      if (!stopped()) { stage_ = Stage::reopen_run; }
      return;
    case Stage::reopen_run:
      stage_ = Stage::data;
      return;
    case Stage::resume_run:
      if (json_string(body, "/run/info/lifecycle_stage") == "deleted") { return stop_deleted(); }
      adopt(body, "/run");
      if (stopped()) { return; }
      if (const std::string status = json_string(body, "/run/info/status");
          status == "FINISHED" || status == "FAILED") {
        told_status_ = status;
      }
      settle_status();
      if (closed_) { give_up_attachments(); }
      read_first_ = taken_over_ = true;
      return;
    default:
      break;
  }
  if (!queue_.empty()) {
    queue_.accepted();
    next_request();
  } else if (!closed_) {
    closed_ = true;
    told_status_ = status_;
    give_up_attachments();
  } else {
    attached();
  }
}

/// Where there is no way to send them.
void MlflowClient::give_up_attachments() {
  if (!artifact_root_.empty() || attachments_.empty()) { return; }
  report("mlflow.artifact",
         "this MLflow server keeps artifacts where only its Python client can put them; nothing is attached. Start it "
         "with --serve-artifacts to change that");
  while (!attachments_.empty()) { attached(); }
}

void MlflowClient::found_experiment(const std::string& body) {
  experiment_id_ = json_string(body, "/experiment/experiment_id");
  if (json_string(body, "/experiment/lifecycle_stage") == "deleted") {
    if (!turn_to_options("the experiment \"" + options_.experiment_name + "\" is deleted")) {
      stop_deleted_experiment();
    }
    return;
  }
  compare_experiment();
  stage_ = resumed_ ? Stage::find_run : Stage::create_run;
}

/// MLflow's own client sends nothing to either; here the name may be the code's, which wins over variables.
void MlflowClient::compare_experiment() const {
  if (options_.experiment_id.empty() || options_.experiment_id == experiment_id_) { return; }
  report("mlflow.experiment", "MLFLOW_EXPERIMENT_ID is " + options_.experiment_id + ", but the experiment \"" +
                                  options_.experiment_name + "\" of MLFLOW_EXPERIMENT_NAME is " + experiment_id_ +
                                  ", where the run goes; unset one of the two");
}

void MlflowClient::adopt(const std::string& body, const std::string& place) {
  std::string id = json_string(body, (place + "/info/run_id").c_str());
  if (id.empty()) { return stop("it answers without a run_id; is this an MLflow server?"); }
  run_id_ = std::move(id);
  artifact_root_ = mlflow_artifact_path(json_string(body, (place + "/info/artifact_uri").c_str()));
  stage_ = Stage::data;
}

/// Where no run was made as the cursor says, nor ever will be, what the options say holds instead, once. False: they say the same, or
/// nothing.
bool MlflowClient::turn_to_options(const std::string& why) {
  Place place = std::exchange(instead_, {});
  if (stage_ != Stage::join_run) { place.run_id = options_.run_id; }  // of another rank it is the parent
  const bool says = !place.experiment_name.empty() || !place.experiment_id.empty() ||
                    (stage_ == Stage::join_run && !place.run_id.empty());
  const bool same = place.run_id == options_.run_id && place.experiment_name == options_.experiment_name &&
                    place.experiment_id == options_.experiment_id;
  if (!says || same) { return false; }
  report("mlflow.turned", "MLflow at " + http_.url() + " refuses what the run was begun with: " + why +
                              ". It goes where MLFLOW_EXPERIMENT_NAME, MLFLOW_EXPERIMENT_ID and MLFLOW_RUN_ID say now");
  const bool joins = stage_ == Stage::join_run && !place.run_id.empty();
  options_.experiment_name = std::move(place.experiment_name);
  options_.experiment_id = std::move(place.experiment_id);
  options_.run_id = std::move(place.run_id);
  rounds_ = 0;
  if (!joins) { begin_in_experiment(); }
  return true;
}

/// It will never be taken like this.
void MlflowClient::refused(const HttpReply& reply) {
  const std::string code = json_string(reply.body, "/error_code");
  const bool no_experiment = stage_ == Stage::find_experiment && code == "RESOURCE_DOES_NOT_EXIST";
  const bool no_place = reply.status == 404 || reply.status == 400 || mlflow_is_deleted(reply);
  const bool no_run = stage_ == Stage::find_run || stage_ == Stage::create_run || stage_ == Stage::join_run;
  if (no_place && no_run && turn_to_options(mlflow_told(reply, http_))) { return backoff_.reset(); }
  if (no_experiment && login_ != nullptr) {
    stop("there is no experiment \"" + options_.experiment_name + "\" at Mantik, where they are made on the platform " +
         "only; make it there, or set MLFLOW_EXPERIMENT_ID to the number of another one");
  } else if (no_experiment && rounds_++ < 3) {
    stage_ = Stage::create_experiment;
  } else if (stage_ == Stage::create_experiment && code == "RESOURCE_ALREADY_EXISTS" && rounds_++ < 3) {
    stage_ = Stage::find_experiment;  // another rank was faster
  } else if (mlflow_is_deleted(reply) && !run_id_.empty()) {
    stop_deleted();
  } else if (mlflow_is_deleted(reply) && stage_ == Stage::create_run) {
    stop_deleted_experiment();
  } else if (stage_ == Stage::find_parent && (reply.status == 404 || reply.status == 400)) {
    begin_in_experiment();
    report("mlflow.parent", "MLflow does not know the run " + parent_ +
                                ", which is said to be the parent of this one, " +
                                "so that this one goes where the options say: " + mlflow_told(reply, http_));
  } else if (stage_ == Stage::resume_run && reply.status == 404 && former_server_ != http_.url()) {
    stop("the run " + run_id_ + " is not there, but at " + former_server_ + "; set MLFLOW_TRACKING_URI to that, or " +
         "remove " + cursor_file_ + " to send everything to a new run");
  } else if (stage_ != Stage::data || queue_.empty() || mlflow_ends_it(reply.status)) {
    const bool anew = reply.status == 404 && run_id_.empty();
    stop(mlflow_told(reply, http_) + (login_ != nullptr && reply.status == 401 ? kMantikCure : mlflow_cure(reply)) +
         (anew ? with_sync(", which ", " reads anew") : ""));
  } else {
    refused_data(reply);
  }
  backoff_.reset();
}

void MlflowClient::refused_data(const HttpReply& reply) {
  next_request();
  if (queue_.is_lone_nan() && mlflow_is_there(reply)) {
    queue_.found({true});
  } else if (mlflow_is_too_long(reply) ? queue_.too_long() : queue_.refused()) {
    report("mlflow.refused", "MLflow refuses a value, which is left out: " + mlflow_told(reply, http_) +
                                 with_sync("; ", " does not send it either"));
    if (++refusals_ >= kMostRefusals) { stop("it refuses every value: " + mlflow_told(reply, http_)); }
  }
}

void MlflowClient::try_again(const HttpReply& reply) {
  backoff_.failed();
  server_errors_ = reply.status == 500 ? server_errors_ + 1 : 0;
  // Whether the run was made before the answer got lost, only the server knows.
  if (stage_ == Stage::create_run && reply.status != 429) { stage_ = Stage::find_run; }
  const bool may_be_there = reply.status == 0 ? reply.may_have_arrived : reply.status != 429;
  if (may_be_there && stage_ == Stage::data && !read_back_.busy()) { read_first_ = sent_before_ = true; }
  if (gave_up(reply)) { return; }
  not_before_ = steady_clock::now() + backoff_.wait(reply);
  trouble_ = mlflow_told(reply, http_);
  report("mlflow.away",
         fmt::format("MLflow at {} does not answer as it should: {}. It is tried again, {} points wait{}", http_.url(),
                     trouble_, queue_.points(), with_sync("; ", " sends what the run cannot")));
}

/// Where the server fails over what it is sent, and would again, that is not sent from here any more.
bool MlflowClient::gave_up(const HttpReply& reply) {
  if (stage_ != Stage::data || read_back_.busy()) { return false; }
  const bool at_once = !queue_.empty() && (queue_.halved() || mlflow_is_clash(reply));
  if (server_errors_ < (at_once ? 1 : kMostServerErrors)) { return false; }
  backoff_.reset();
  server_errors_ = 0;
  if (!queue_.empty()) {
    give_up_request(reply);
    return true;
  }
  report("mlflow.failing", "MLflow fails over a request, which is not sent again from here: " +
                               mlflow_told(reply, http_) + with_sync(". ", " sends it once MLflow does not"));
  ++owed_;
  if (!closed_) {
    closed_ = true;  // but told_status_ stays: it was not told
    give_up_attachments();
  } else {
    attachments_.pop_front();
  }
  return true;
}

/// One value may be what the server fails over: the others are sent without it.
void MlflowClient::give_up_request(const HttpReply& reply) {
  if (lone_failures_ < kMostLoneFailures && queue_.halve()) { return; }
  std::string what = "a request";
  if (++lone_failures_ >= kMostLoneFailures) {
    queue_.give_up_rest();
  } else {
    what = '"' + queue_.give_up_one(points_) + '"';
  }
  next_request();
  const char* const cure = mlflow_is_clash(reply)
                               ? ". A server without a database keeps no \"a\" beside \"a/b\": rename one of the two"
                               : "";
  report("mlflow.failing", "MLflow fails over " + what + ", which is not sent again from here: " +
                               mlflow_told(reply, http_) + cure + with_sync(". ", " sends it once MLflow does not"));
}

void MlflowClient::stop(const std::string& why) {
  stage_ = Stage::stopped;
  trouble_ = http_.without_secrets(why);
  read_back_.give_up();
  queue_.clear();
  attachments_.clear();
  report("mlflow.stopped", "nothing is sent to MLflow at " + http_.url() + ": " + why + ". The run goes on" +
                               with_sync("; ", " sends what is not there"));
}

void MlflowClient::stop_deleted() {
  stop("the run " + run_id_ + " was deleted there; bring it back: mlflow runs restore --run-id " + run_id_);
}

void MlflowClient::stop_deleted_experiment() {
  const std::string& name = options_.experiment_name;
  const std::string which =
      name.empty() ? experiment_id_ + " is deleted; choose another one in MLFLOW_EXPERIMENT_ID"
                   : "\"" + name + "\" is deleted but keeps its name; choose another one in MLFLOW_EXPERIMENT_NAME";
  stop("the experiment " + which + ", or bring it back: mlflow experiments restore -x " + experiment_id_);
}

void MlflowClient::tell_renamed() {
  MetricPoints::Renamed renamed = points_.take_renamed();
  for (auto& each : queue_.take_renamed()) { renamed.push_back(std::move(each)); }
  const char* const takes = "MLflow takes letters, digits, blanks and _-./ in names";
  if (!renamed.empty()) { report_renamed("mlflow.names.", takes, renamed, renamed_lines_++); }
}

/// What sends to MLflow, later.
std::string MlflowClient::sync_command() const {
  return "takt sync" + (cursor_folder_ == nullptr ? "" : " " + cursor_folder_->path());
}

/// The end of a line that says what it does; empty where there will be nothing that it could send.
std::string MlflowClient::with_sync(const char* before, const char* behind) const {
  return cursor_folder_ == nullptr ? "" : before + sync_command() + behind;
}

void MlflowClient::report(const char* cause, const std::string& line) const {
  report_fault(cause, http_.without_secrets(line));
}

}  // namespace detail
TAKT_END_NAMESPACE
