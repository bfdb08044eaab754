// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "mlflow/mlflow_ending.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include "base/file.hpp"
#include "base/json_text.hpp"
#include "base/nanoseconds.hpp"
#include "trackers/time_line_file.hpp"

#include <cerrno>
#include <utility>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::chrono::seconds kFilePatience(10);
constexpr std::chrono::milliseconds kFilePause(20);
constexpr std::int64_t kMostFileBytes = 100'000'000;

}  // namespace

void MlflowEnding::resume(const MlflowCursor& cursor) {
  told_status_ = cursor.status;
  attached_ = cursor.attached;
  missing_ = cursor.missing;
}

void MlflowEnding::tell(MlflowCursor& cursor) const {
  cursor.status = told_status_;
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
  attach({"table.txt", "text/plain; charset=utf-8", format_table(snapshot, 120, false), ""});
  // Another thread writes it meanwhile.
  const std::string trace = snapshot.run.directory + "/trace.json";
  const bool is_traced = !snapshot.run.directory.empty() && (traced_ || may_exist(trace));
  if (is_traced) { attach({"trace.json", "application/json", "", trace}); }
}

void MlflowEnding::had_ended(const std::string& status, const std::string& artifact_root) {
  if (left_) { return; }
  if (status == "FINISHED" || status == "FAILED") { told_status_ = status; }
  settle_status();
  if (closed_) { give_up_without_root(artifact_root); }
}

/// Whether the server knows how the run ended.
void MlflowEnding::settle_status() {
  if (status_ == "KILLED" && (told_status_ == "FINISHED" || told_status_ == "FAILED")) { status_ = told_status_; }
  closed_ = finished_ && told_status_ == status_;
}

void MlflowEnding::attach(MlflowAttachment attachment) {
  if (attached_.count(attachment.name) == 0) { attachments_.push_back(std::move(attachment)); }
}

/// The first in the list was sent, or never will be.
void MlflowEnding::attached() {
  attached_.insert(attachments_.front().name);
  attachments_.pop_front();
}

/// The first in the list never will be sent.
void MlflowEnding::miss() {
  missing_.insert(attachments_.front().name);
  attached();
}

/// It gets its name when it is whole.
bool MlflowEnding::is_there(Time& not_before) {
  if (!closed_ || attachments_.empty() || attachments_.front().file.empty()) { return true; }
  const std::string& file = attachments_.front().file;
  struct stat status = {};
  const Time now = std::chrono::steady_clock::now();
  if (file_until_ == Time()) { file_until_ = now + kFilePatience; }
  file_ = std::make_shared<const Descriptor>(open_time_line(*cursor_.folder_at(folder_part(file))));
  const bool found = file_->look(status);
  if (found && status.st_size <= kMostFileBytes) { return true; }
  const bool foreign = !found && (errno == ENOEXEC || errno == ELOOP || errno == ENXIO);
  if (found || foreign || now >= file_until_) {
    lines_.report("mlflow.artifact", file +
                                         (found     ? " is larger than what MLflow servers take well"
                                          : foreign ? " is not a time line of Takt's"
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
  told_status_ = status_;
  give_up_without_root(artifact_root);
}

void MlflowEnding::refused(const HttpReply& reply) {
  if (!mlflow_refuses_values(reply)) {
    ++owed_;
    lines_.report("mlflow.artifact", "MLflow did not take " + attachments_.front().name + ": " + lines_.told(reply) +
                                         lines_.with_sync("; ", " tries again"));
    return attachments_.pop_front();
  }
  lines_.report("mlflow.artifact", "MLflow did not take " + attachments_.front().name + ": " + lines_.told(reply) +
                                       lines_.with_sync("; ", " does not attach it either"));
  miss();
}

void MlflowEnding::failed(const std::string& artifact_root) {
  ++owed_;
  if (closed_) {
    attachments_.pop_front();
    return;
  }
  closed_ = true;  // but told_status_ stays: it was not told
  give_up_without_root(artifact_root);
}

/// Where there is no way to send them.
void MlflowEnding::give_up_without_root(const std::string& artifact_root) {
  if (!artifact_root.empty() || attachments_.empty()) { return; }
  lines_.report("mlflow.artifact",
                "this MLflow server keeps artifacts where only its Python client can put them; nothing is attached. "
                "Start it with --serve-artifacts to change that");
  while (!attachments_.empty()) { attached(); }
}

}  // namespace detail
TAKT_END_NAMESPACE
