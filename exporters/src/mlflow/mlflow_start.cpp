// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_start.hpp"

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "mlflow/mantik.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/tracker_files.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kOwnerTag = "takt.owner";

}  // namespace

MlflowStart::MlflowStart(const MlflowOptions& options, const MlflowLines& lines)
    : lines_(lines),
      is_mantik_(mlflow_is_mantik(options)),
      options_(options),
      source_(program_invocation_short_name),
      nonce_(mlflow_nonce()) {}

void MlflowStart::resume(const MlflowCursor& cursor) {
  resumed_ = true;
  if (cursor.run_id.empty()) { instead_ = {options_.experiment_name, options_.experiment_id, options_.run_id}; }
  options_.experiment_name = cursor.experiment_name;
  options_.experiment_id = cursor.experiment_id;
  options_.run_id = cursor.joined_run;
  nonce_ = cursor.nonce;
  source_ = cursor.source;
  former_server_ = cursor.server;
  run_id_ = cursor.run_id;
}

void MlflowStart::report(MlflowCursor& cursor) const {
  cursor.server = lines_.server().substr(0, lines_.server().find('?'));
  cursor.nonce = nonce_;
  cursor.source = source_;
  cursor.experiment_name = options_.experiment_name;
  cursor.experiment_id = options_.experiment_id;
  cursor.joined_run = options_.run_id;
  cursor.run_id = run_id_;
}

void MlflowStart::begin(const Snapshot& snapshot) {
  const bool child = snapshot.run.rank != 0 && !options_.run_id.empty();
  is_joining_ = !options_.run_id.empty() && !child;
  start_unix_ns_ = snapshot.run.start_unix_ns;
  mark_ = std::to_string(start_unix_ns_) + " " + mlflow_cursor_owner(snapshot.run);
  choose_parent(snapshot);
  if (!run_id_.empty()) {
    stage_ = Stage::resume_run;
  } else if (!options_.run_id.empty() && !child) {
    stage_ = Stage::join_run;
  } else {
    begin_in_experiment();
  }
  create_body_ = mlflow_create_body(snapshot.run, options_, nonce_, source_);
}

/// Starts in the experiment that the options name.
void MlflowStart::begin_in_experiment() {
  experiment_id_ = options_.experiment_id.empty() ? "0" : options_.experiment_id;
  if (!options_.experiment_name.empty()) {
    stage_ = Stage::find_experiment;
    return;
  }
  const bool sought = parent_.empty() || sought_parent_;
  if (is_mantik_ && options_.experiment_id.empty() && sought) {
    stopped_by_ = kMantikNoExperiment;
    return;
  }
  // The stopped process may have created a run without receiving the answer.
  stage_ = resumed_ ? Stage::find_run : Stage::create_run;
}

void MlflowStart::choose_parent(const Snapshot& snapshot) {
  if (!parent_.empty()) { return; }
  const bool child = snapshot.run.rank != 0 && !options_.run_id.empty();
  const auto tag = snapshot.tags.find(kMlflowParent);
  parent_ = child ? options_.run_id : tag == snapshot.tags.end() ? "" : tag->second;
}

/// Queries the parent's experiment before anything is created in another experiment.
void MlflowStart::seek_parent() noexcept {
  const bool is_early = stage_ == Stage::find_experiment || stage_ == Stage::create_experiment ||
                        stage_ == Stage::create_run || (stage_ == Stage::find_run && resumed_);
  if (parent_.empty() || sought_parent_ || !is_early) { return; }
  sought_parent_ = true;
  stage_ = Stage::find_parent;
}

HttpRequest MlflowStart::request() {
  seek_parent();
  switch (stage_) {
    case Stage::find_parent:
      return mlflow_get_run(parent_);
    case Stage::find_experiment:
      return mlflow_get("experiments/get-by-name?experiment_name=" + url_encoded(options_.experiment_name));
    case Stage::create_experiment:
      return mlflow_post("experiments/create", with_member("name", options_.experiment_name, "{}"));
    case Stage::find_run: {
      JsonText ids = JsonText::array();
      ids.push_back(experiment_id_);
      const JsonText body = {{"experiment_ids", ids},
                             {"filter", detail::format("tags.`{}` = '{}'", kMlflowNonce, nonce_)},
                             {"max_results", 1}};
      return mlflow_post("runs/search", body.text());
    }
    case Stage::join_run:
      return mlflow_get_run(options_.run_id);
    case Stage::resume_run:
      return mlflow_get_run(run_id_);
    case Stage::claim_run:
      return mlflow_post("runs/set-tag", JsonText{{"run_id", run_id_}, {"key", kOwnerTag}, {"value", mark_}}.text());
    case Stage::reopen_run:
      return mlflow_post("runs/update", with_member("run_id", run_id_, R"({"status":"RUNNING"})"));
    default:
      break;
  }
  HttpRequest request = mlflow_post("runs/create", with_member("experiment_id", experiment_id_, create_body_));
  request.fresh = true;  // libcurl must not resend it on a reused connection
  return request;
}

void MlflowStart::succeeded(const std::string& body) {
  switch (stage_) {
    case Stage::find_parent:
      return found_parent(body);
    case Stage::find_experiment:
      return found_experiment(body);
    case Stage::create_experiment:
      experiment_id_ = json_string(body, "/experiment_id");
      compare_experiment();
      stage_ = Stage::create_run;  // a new experiment has no runs
      return;
    case Stage::find_run:
      return found_run(body);
    case Stage::create_run:
      return adopt(body, "/run");
    case Stage::join_run:
      adopt(body, "/run");
      of_newer_ = is_of_newer(body);
      if (ready() && !of_newer_) { stage_ = Stage::claim_run; }
      return;
    case Stage::claim_run:
      stage_ = Stage::reopen_run;
      return;
    case Stage::resume_run:
      return found_former_run(body);
    default:
      stage_ = Stage::ready;
  }
}

void MlflowStart::found_parent(const std::string& body) {
  const std::string id = json_string(body, "/run/info/experiment_id");
  if (id.empty()) { return begin_in_experiment(); }
  experiment_id_ = id;
  stage_ = resumed_ ? Stage::find_run : Stage::create_run;
  if (options_.experiment_id.empty() || options_.experiment_id == id) { return; }
  lines_.report("mlflow.experiment", "MLFLOW_EXPERIMENT_ID is " + options_.experiment_id + ", but the run " + parent_ +
                                         ", its parent, is in " + id + "; this run is created there, too");
}

void MlflowStart::found_experiment(const std::string& body) {
  experiment_id_ = json_string(body, "/experiment/experiment_id");
  if (json_string(body, "/experiment/lifecycle_stage") == "deleted") {
    if (!turn_to_options("the experiment \"" + options_.experiment_name + "\" is deleted")) {
      stopped_by_ = experiment_deletion();
    }
    return;
  }
  compare_experiment();
  stage_ = resumed_ ? Stage::find_run : Stage::create_run;
}

void MlflowStart::found_run(const std::string& body) {
  if (json_string(body, "/runs/0/info/run_id").empty()) {
    stage_ = Stage::create_run;
  } else {
    adopt(body, "/runs/0");
  }
}

void MlflowStart::found_former_run(const std::string& body) {
  if (json_string(body, "/run/info/lifecycle_stage") == "deleted") {
    stopped_by_ = deletion();
    return;
  }
  adopt(body, "/run");
  of_newer_ = is_joining_ && is_of_newer(body);
  taken_over_ = ready();
  former_status_ = json_string(body, "/run/info/status");
}

bool MlflowStart::is_of_newer(const std::string& body) const {
  const Json tags = Json::parse(body).at("/run/data/tags");
  for (std::size_t at = 0; tags.is_array() && at < tags.size(); ++at) {
    const Json tag = tags.element(at);
    if (tag.member("key").text() != kOwnerTag) { continue; }
    return std::strtoll(tag.member("value").text().c_str(), nullptr, 10) > start_unix_ns_;
  }
  return false;
}

/// Reports conflicting options. MLflow's own client sends nothing in that case; here the name may be set in code, which
/// wins over variables.
void MlflowStart::compare_experiment() const {
  if (options_.experiment_id.empty() || options_.experiment_id == experiment_id_) { return; }
  lines_.report("mlflow.experiment", "MLFLOW_EXPERIMENT_ID is " + options_.experiment_id + ", but the experiment \"" +
                                         options_.experiment_name + "\" of MLFLOW_EXPERIMENT_NAME is " +
                                         experiment_id_ + ", which is used; unset one of the two");
}

void MlflowStart::adopt(const std::string& body, const std::string& place) {
  std::string id = json_string(body, (place + "/info/run_id").c_str());
  if (id.empty()) {
    stopped_by_ = "the answer has no run_id; is this an MLflow server?";
    return;
  }
  run_id_ = std::move(id);
  artifact_root_ = mlflow_artifact_path(json_string(body, (place + "/info/artifact_uri").c_str()));
  stage_ = Stage::ready;
}

/// Switches to the place in the options, once, if the cursor's place has no run and never will. Returns false if the
/// options have the same place, or none.
bool MlflowStart::turn_to_options(const std::string& why) {
  Place place = std::exchange(instead_, {});
  if (stage_ != Stage::join_run) { place.run_id = options_.run_id; }  // for another rank it is the parent
  const bool says = !place.experiment_name.empty() || !place.experiment_id.empty() ||
                    (stage_ == Stage::join_run && !place.run_id.empty());
  const bool same = place.run_id == options_.run_id && place.experiment_name == options_.experiment_name &&
                    place.experiment_id == options_.experiment_id;
  if (!says || same) { return false; }
  lines_.report("mlflow.turned",
                "MLflow at " + lines_.server() + " rejects the run's original settings: " + why +
                    ". Using the current MLFLOW_EXPERIMENT_NAME, MLFLOW_EXPERIMENT_ID and MLFLOW_RUN_ID instead");
  const bool joins = stage_ == Stage::join_run && !place.run_id.empty();
  options_.experiment_name = std::move(place.experiment_name);
  options_.experiment_id = std::move(place.experiment_id);
  options_.run_id = std::move(place.run_id);
  rounds_ = 0;
  if (!joins) { begin_in_experiment(); }
  return true;
}

void MlflowStart::answer_lost() noexcept {
  if (stage_ == Stage::create_run) { stage_ = Stage::find_run; }
}

void MlflowStart::refused(const HttpReply& reply) {
  const bool no_place = reply.status == 404 || reply.status == 400 || mlflow_is_deleted(reply);
  const bool no_run = stage_ == Stage::find_run || stage_ == Stage::create_run || stage_ == Stage::join_run;
  if (no_place && no_run && turn_to_options(lines_.reported(reply))) { return; }
  if (refused_experiment(reply)) { return; }
  if (mlflow_is_deleted(reply) && !run_id_.empty()) {
    stopped_by_ = deletion();
  } else if (mlflow_is_deleted(reply) && stage_ == Stage::create_run) {
    stopped_by_ = experiment_deletion();
  } else if (stage_ == Stage::find_parent && (reply.status == 404 || reply.status == 400)) {
    begin_in_experiment();
    lines_.report("mlflow.parent", "MLflow does not know the run " + parent_ + ", the parent of this one, " +
                                       "so this run is created as the options say: " + lines_.reported(reply));
  } else if (stage_ == Stage::resume_run && reply.status == 404 && former_server_ != lines_.server()) {
    stopped_by_ = "the run " + run_id_ + " is not on this server, but at " + former_server_ +
                  "; set MLFLOW_TRACKING_URI to that server, or remove " + lines_.cursor_file() +
                  " to send everything to a new run";
  } else {
    stopped_by_ = refusal(reply);
  }
}

/// Handles a rejected request about the experiment. Returns whether that determines the next request.
bool MlflowStart::refused_experiment(const HttpReply& reply) {
  const std::string code = json_string(reply.body, "/error_code");
  const bool no_experiment = stage_ == Stage::find_experiment && code == "RESOURCE_DOES_NOT_EXIST";
  if (no_experiment && is_mantik_) {
    stopped_by_ = "there is no experiment \"" + options_.experiment_name +
                  "\" at Mantik; create it on Mantik's platform, or set MLFLOW_EXPERIMENT_ID to " +
                  "the number of an existing one";
    return true;
  }
  if (no_experiment && rounds_++ < 3) {
    stage_ = Stage::create_experiment;
    return true;
  }
  if (stage_ == Stage::create_experiment && code == "RESOURCE_ALREADY_EXISTS" && rounds_++ < 3) {
    stage_ = Stage::find_experiment;  // another rank was faster
    return true;
  }
  return false;
}

std::string MlflowStart::refusal(const HttpReply& reply) const {
  const bool anew = reply.status == 404 && run_id_.empty();
  return lines_.reported(reply) + (is_mantik_ && reply.status == 401 ? kMantikCure : mlflow_cure(reply)) +
         (anew ? lines_.with_sync(", which ", " reads again") : "");
}

std::string MlflowStart::deletion() const {
  return "the run " + run_id_ + " was deleted; restore it with: mlflow runs restore --run-id " + run_id_;
}

std::string MlflowStart::experiment_deletion() const {
  const std::string& name = options_.experiment_name;
  const std::string which =
      name.empty() ? experiment_id_ + " is deleted; choose another one in MLFLOW_EXPERIMENT_ID"
                   : "\"" + name + "\" is deleted but keeps its name; choose another one in MLFLOW_EXPERIMENT_NAME";
  return "the experiment " + which + ", or restore it with: mlflow experiments restore -x " + experiment_id_;
}

namespace {

constexpr std::chrono::seconds kFileTimeout(10);
constexpr std::chrono::milliseconds kFilePause(20);
constexpr std::int64_t kMaxFileBytes = 100'000'000;

}  // namespace

void MlflowEnding::resume(const MlflowCursor& cursor) {
  reported_status_ = cursor.status;
  attached_ = cursor.attached;
  missing_ = cursor.missing;
}

void MlflowEnding::report(MlflowCursor& cursor) const {
  cursor.status = reported_status_;
  cursor.attached = attached_;
  cursor.missing = missing_;
}

void MlflowEnding::finish(const Snapshot& snapshot, bool killed, bool attach_files) {
  finished_ = true;
  if (left_) { return; }
  status_ = killed || snapshot.killed ? "KILLED" : snapshot.failed ? "FAILED" : "FINISHED";
  settle_status();
  const std::int64_t end_ms = (snapshot.run.start_unix_ns + snapshot.wall_ns) / kMillisecondNs;
  update_body_ = JsonText{{"end_time", end_ms}, {"status", status_}}.text();
  if (!attach_files) { return; }
  attach({"summary.json", "application/json", format_json(snapshot), ""});
  attach({"table.txt", "text/plain; charset=utf-8", format_table(snapshot, {120, false}), ""});
  // Another thread writes it meanwhile.
  const std::string trace = snapshot.run.directory + "/trace.json";
  const bool is_traced = !snapshot.run.directory.empty() && (traced_ || may_exist(trace));
  if (is_traced) { attach({"trace.json", "application/json", "", trace}); }
}

void MlflowEnding::had_ended(const std::string& status, const std::string& artifact_root) {
  if (left_) { return; }
  if (status == "FINISHED" || status == "FAILED") { reported_status_ = status; }
  settle_status();
  if (closed_) { give_up_without_root(artifact_root); }
}

/// Updates whether the server has the run's final status.
void MlflowEnding::settle_status() {
  if (status_ == "KILLED" && (reported_status_ == "FINISHED" || reported_status_ == "FAILED")) {
    status_ = reported_status_;
  }
  closed_ = finished_ && reported_status_ == status_;
}

void MlflowEnding::attach(MlflowAttachment attachment) {
  if (attached_.count(attachment.name) == 0) { attachments_.push_back(std::move(attachment)); }
}

/// Removes the first attachment: it was sent or never will be.
void MlflowEnding::attached() {
  attached_.insert(attachments_.front().name);
  attachments_.pop_front();
}

/// Removes the first attachment, which will never be sent.
void MlflowEnding::miss() {
  missing_.insert(attachments_.front().name);
  attached();
}

/// A file is complete when it has its name.
bool MlflowEnding::is_there(Time& not_before) {
  if (!closed_ || attachments_.empty() || attachments_.front().file.empty()) { return true; }
  const std::string& file = attachments_.front().file;
  struct stat status = {};
  const Time now = std::chrono::steady_clock::now();
  if (file_until_ == Time()) { file_until_ = now + kFileTimeout; }
  file_ = std::make_shared<const Descriptor>(open_time_line(*cursor_.directory_at(directory_part(file))));
  const bool found = file_->look(status);
  if (found && status.st_size <= kMaxFileBytes) { return true; }
  const bool foreign = !found && (errno == ENOEXEC || errno == ELOOP || errno == ENXIO);
  if (found || foreign || now >= file_until_) {
    lines_.report("mlflow.artifact", file +
                                         (found     ? " is too large for MLflow servers"
                                          : foreign ? " is not a time line written by Takt"
                                                    : " was not written") +
                                         "; it is not attached" +
                                         lines_.with_sync(", and ", " does not attach it either"));
    miss();
  } else {
    not_before = now + kFilePause;
  }
  return false;
}

HttpRequest MlflowEnding::request(const std::string& run_id, const std::string& artifact_root) const {
  if (!closed_) { return mlflow_post("runs/update", with_member("run_id", run_id, update_body_)); }
  HttpRequest request = mlflow_put(artifact_root, attachments_.front());
  if (!attachments_.front().file.empty()) { request.file = file_; }
  return request;
}

void MlflowEnding::accepted(const std::string& artifact_root) {
  if (closed_) { return attached(); }
  closed_ = true;
  reported_status_ = status_;
  give_up_without_root(artifact_root);
}

void MlflowEnding::refused(const HttpReply& reply) {
  if (!mlflow_refuses_values(reply)) {
    ++owed_;
    lines_.report("mlflow.artifact", "MLflow did not take " + attachments_.front().name + ": " +
                                         lines_.reported(reply) + lines_.with_sync("; ", " tries again"));
    return attachments_.pop_front();
  }
  lines_.report("mlflow.artifact", "MLflow did not take " + attachments_.front().name + ": " + lines_.reported(reply) +
                                       lines_.with_sync("; ", " does not attach it either"));
  miss();
}

void MlflowEnding::failed(const std::string& artifact_root) {
  ++owed_;
  if (closed_) {
    attachments_.pop_front();
    return;
  }
  closed_ = true;  // reported_status_ stays: the server has not accepted the status
  give_up_without_root(artifact_root);
}

/// Drops the attachments if there is no way to send them.
void MlflowEnding::give_up_without_root(const std::string& artifact_root) {
  if (!artifact_root.empty() || attachments_.empty()) { return; }
  lines_.report("mlflow.artifact",
                "only MLflow's Python client can write artifacts to this server's artifact store; nothing is attached. "
                "Start the server with --serve-artifacts to change that");
  while (!attachments_.empty()) { attached(); }
}

}  // namespace detail
TAKT_END_NAMESPACE
