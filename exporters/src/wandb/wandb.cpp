// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/report_error.hpp"
#include "trackers/live_delivery.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_environment.hpp"
#include "wandb/wandb_run.hpp"
#include "wandb/wandb_upload.hpp"

#include <takt/exporters/wandb.hpp>
#include <takt/session.hpp>
#include <takt/snapshot.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace {

using detail::flag;
using detail::trimmed;
using detail::variable;

constexpr std::pair<const char*, WandbMode> kModes[] = {
    {"", WandbMode::online},         {"online", WandbMode::online},  {"run", WandbMode::online},
    {"offline", WandbMode::offline}, {"dryrun", WandbMode::offline}, {"disabled", WandbMode::disabled}};

constexpr std::pair<const char*, WandbResume> kResumes[] = {{"", WandbResume::unset},
                                                            {"allow", WandbResume::allow},
                                                            {"auto", WandbResume::allow},
                                                            {"must", WandbResume::must},
                                                            {"never", WandbResume::never}};

WandbMode mode_of_environment() {
  if (flag("WANDB_DISABLED")) { return WandbMode::disabled; }
  const std::string value = trimmed(variable("WANDB_MODE"));
  for (const auto& [word, meaning] : kModes) {
    if (value == word) { return meaning; }
  }
  detail::report_error_once("environment.WANDB_MODE", "WANDB_MODE=" + value +
                                                          " is not online, offline or disabled (or the older names "
                                                          "run and dryrun); using online");
  return WandbMode::online;
}

std::vector<std::string> tags_of_environment() {
  std::vector<std::string> tags;
  std::istringstream list(variable("WANDB_TAGS"));
  for (std::string each; std::getline(list, each, ',');) {
    each = trimmed(each);
    if (!each.empty()) { tags.push_back(each); }
  }
  return tags;
}

void read_server(WandbOptions& options) {
  options.base_url = trimmed(variable("WANDB_BASE_URL"));
  options.api_key = trimmed(variable("WANDB_API_KEY"));
  if (options.api_key.empty() && options.mode == WandbMode::online) {
    options.api_key = detail::wandb_netrc_key(options.base_url);
  }
  options.username = trimmed(variable("WANDB_USERNAME"));
  options.user_email = trimmed(variable("WANDB_USER_EMAIL"));
  options.server_cert_path = variable("SSL_CERT_FILE");
  options.insecure_tls = flag("WANDB_INSECURE_DISABLE_SSL");
  const std::string timeout = trimmed(variable("WANDB_HTTP_TIMEOUT"));
  if (timeout.empty()) { return; }
  char* end = nullptr;
  const double seconds = std::strtod(timeout.c_str(), &end);
  if (*end == '\0' && seconds > 0 && seconds <= 86'400) {
    options.request_timeout = std::chrono::milliseconds(static_cast<long long>(seconds * 1e3) + 1);
  } else {
    detail::report_error_once("environment.WANDB_HTTP_TIMEOUT",
                              "WANDB_HTTP_TIMEOUT=" + timeout + " is not a number of seconds up to 86400; using 30");
  }
}

WandbResume resume_of_environment(const std::string& run_id) {
  const std::string value = trimmed(variable("WANDB_RESUME"));
  for (const auto& [word, meaning] : kResumes) {
    if (value != word) { continue; }
    if (value != "auto" || !run_id.empty()) { return meaning; }
    detail::report_error_once(
        "environment.WANDB_RESUME",
        "WANDB_RESUME=auto is ignored without WANDB_RUN_ID, because Takt does not store the id of "
        "the last run; set WANDB_RESUME=allow and WANDB_RUN_ID to that id");
    return WandbResume::unset;
  }
  detail::report_error_once("environment.WANDB_RESUME",
                            "WANDB_RESUME=" + value + " is not allow, must, never or auto; it is ignored");
  return WandbResume::unset;
}

// Variables of W&B's own client that Takt supports.
constexpr std::string_view kFollowed[] = {
    "WANDB_API_KEY",        "WANDB_BASE_URL",     "WANDB_DIR",           "WANDB_DISABLED",
    "WANDB_DISABLE_GIT",    "WANDB_ENTITY",       "WANDB_GIT_COMMIT",    "WANDB_GIT_REMOTE",
    "WANDB_GIT_REMOTE_URL", "WANDB_HTTP_TIMEOUT", "WANDB_JOB_TYPE",      "WANDB_MODE",
    "WANDB_NAME",           "WANDB_NOTES",        "WANDB_PROGRAM",       "WANDB_PROJECT",
    "WANDB_QUIET",          "WANDB_RESUME",       "WANDB_RUN_GROUP",     "WANDB_RUN_ID",
    "WANDB_SILENT",         "WANDB_SWEEP_ID",     "WANDB_TAGS",          "WANDB_INSECURE_DISABLE_SSL",
    "WANDB_USERNAME",       "WANDB_USER_EMAIL",   "WANDB_X_DISABLE_META"};

// Variables that only matter to W&B's own client, so a run is the same without them: its caches and process, Python,
// code and artifacts that Takt never saves, and the agent of a sweep.
constexpr std::string_view kWithoutEffect[] = {"WANDB_AGENT_DISABLE_FLAPPING",
                                               "WANDB_AGENT_KILL_DELAY",
                                               "WANDB_AGENT_MAX_INITIAL_FAILURES",
                                               "WANDB_AGENT_REPORT_INTERVAL",
                                               "WANDB_APP_URL",
                                               "WANDB_ARTIFACT_DIR",
                                               "WANDB_CACHE_DIR",
                                               "WANDB_CONFIG_DIR",
                                               "WANDB_CONSOLE",
                                               "WANDB_CORE_DEBUG",
                                               "WANDB_CRASH_NOSYNC_TIME",
                                               "WANDB_DATA_DIR",
                                               "WANDB_DEBUG",
                                               "WANDB_DISABLE_CODE",
                                               "WANDB_ERROR_REPORTING",
                                               "WANDB_INIT_TIMEOUT",
                                               "WANDB_JUPYTER",
                                               "WANDB_NOTEBOOK_NAME",
                                               "WANDB_SAVE_CODE",
                                               "WANDB_SERVICE",
                                               "WANDB_SERVICE_WAIT",
                                               "WANDB_SHOW_RUN",
                                               "WANDB_START_METHOD",
                                               "WANDB_X_DISABLE_STATS",
                                               "WANDB_X_EXECUTABLE",
                                               "WANDB_X_SAVE_REQUIREMENTS"};

template <std::size_t Size>
bool is_in(const std::string_view (&list)[Size], std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// Reports variables that would change the run with W&B's client but not here, and variables that W&B's client does not
/// know either. Prints names only: values may be secrets.
void say_what_is_not_done(const WandbOptions& options) {
  const bool wants_token = options.mode == WandbMode::online && options.api_key.empty();
  if (wants_token && !variable("WANDB_IDENTITY_TOKEN_FILE").empty()) {
    detail::report_error_once("environment.WANDB_IDENTITY_TOKEN_FILE",
                              "WANDB_IDENTITY_TOKEN_FILE is not supported; set WANDB_API_KEY to send during the "
                              "run, or upload with wandb sync");
  }
  std::set<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line = *entry;
    const std::string_view name = line.substr(0, line.find('='));
    const bool is_set = name.size() + 1 < line.size();
    const bool known = is_in(kFollowed, name) || is_in(kWithoutEffect, name) || name == "WANDB_IDENTITY_TOKEN_FILE";
    if (is_set && !known && name.substr(0, 6) == "WANDB_") { names.emplace(name); }
  }
  if (names.empty()) { return; }
  std::string list;
  for (const std::string& name : names) { list += (list.empty() ? "" : ", ") + name; }
  detail::report_error_once("environment.WANDB",
                            list + (names.size() == 1 ? " is" : " are") +
                                " not supported by Takt; see docs/wandb.md for the supported variables");
}

void read_metadata(WandbOptions& options) {
  options.metadata = !flag("WANDB_X_DISABLE_META");
  options.program = variable("WANDB_PROGRAM");
  options.git = !flag("WANDB_DISABLE_GIT");
  if (const std::string remote = trimmed(variable("WANDB_GIT_REMOTE")); !remote.empty()) {
    options.git_remote = remote;
  }
  options.git_commit = trimmed(variable("WANDB_GIT_COMMIT"));
  options.git_remote_url = trimmed(variable("WANDB_GIT_REMOTE_URL"));
}

}  // namespace

WandbOptions WandbOptions::from_env() {
  WandbOptions options;
  options.mode = mode_of_environment();
  options.directory = variable("WANDB_DIR");
  options.entity = trimmed(variable("WANDB_ENTITY"));
  options.project = trimmed(variable("WANDB_PROJECT"));
  options.run_id = variable("WANDB_RUN_ID");
  options.name = variable("WANDB_NAME");
  options.notes = variable("WANDB_NOTES");
  options.tags = tags_of_environment();
  options.group = variable("WANDB_RUN_GROUP");
  options.job_type = variable("WANDB_JOB_TYPE");
  options.sweep_id = variable("WANDB_SWEEP_ID");
  options.silent = flag("WANDB_SILENT") || flag("WANDB_QUIET");
  options.all_ranks = SessionOptions::from_env().all_ranks;
  if (options.mode != WandbMode::disabled) {
    options.resume = resume_of_environment(options.run_id);
    read_server(options);
    read_metadata(options);
    say_what_is_not_done(options);
  }
  return options;
}

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class WandbLive : public detail::LiveRun {
 public:
  explicit WandbLive(const WandbOptions& options);

  bool begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why, detail::FileLease* lease) override;
  ExportResult take(const Snapshot& snapshot) override;
  bool flush(milliseconds deadline) override;
  bool finish(milliseconds deadline) override;

 private:
  void send(steady_clock::time_point until, bool all);

  WandbOptions options_;
  detail::WandbEnvironment environment_;
  bool is_online_ = false;
  std::optional<detail::WandbRun> run_;          // set in the constructor
  std::optional<detail::JournalFeed> feed_;      // set in begin()
  std::unique_ptr<detail::WandbUpload> upload_;  // none if nothing is sent
  std::string cursor_directory_;                 // run directory, if it has this run's cursor
};

WandbLive::WandbLive(const WandbOptions& options) : options_(options) {
  detail::check_wandb_options(options_);
  is_online_ = options_.mode == WandbMode::online && !options_.api_key.empty();
  if (is_online_ && !detail::WandbUpload::available()) {
    is_online_ = false;
    detail::report_error_once("wandb.curl",
                              "Takt was built without libcurl, so nothing is sent to W&B "
                              "during the run; upload it with wandb sync");
  }
  if (is_online_) { detail::WandbUpload::check(options_); }
  if (options_.run_id.empty()) { options_.resume = WandbResume::unset; }  // no run of a generated id exists
  run_.emplace(options_);
  environment_ = detail::wandb_environment(options_);
}

bool WandbLive::begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why, detail::FileLease* lease) {
  const std::string& directory = snapshot.run.directory;
  if (claim == detail::Claim::started) {
    detail::report_error("wandb.begun", "another exporter or takt sync already writes this run for W&B (" + why +
                                            "); this exporter creates a second run there");
  } else if (claim == detail::Claim::taken) {
    detail::report_error("wandb.lease", why + ". This exporter creates a second run at W&B");
  } else if (!directory.empty()) {
    run_->keep_cursor(detail::kWandb.cursor_file(directory), lease);
    cursor_directory_ = directory;
  }
  feed_.emplace(*run_, detail::kWandb, directory);
  feed_->begin(snapshot);
  if (snapshot.run.machine.command.empty()) { environment_.args.clear(); }  // SessionOptions::command_line
  run_->describe(environment_);
  run_->open(snapshot);
  return true;
}

/// Sends the content of the log.
void WandbLive::send(steady_clock::time_point until, bool all) {
  if (!is_online_ || run_->log_file().empty()) { return; }
  if (upload_ == nullptr) {
    detail::WandbSent before;
    before.run_directory = cursor_directory_;
    upload_ = std::make_unique<detail::WandbUpload>(options_, run_->log_file(), before,
                                                    [this](const std::string& name, const detail::WandbBehind& behind) {
                                                      return run_->sending(upload_->url(), name, behind);
                                                    });
  }
  upload_->deliver(until, all);
  run_->sent(upload_->url(), upload_->run(), upload_->lines(), upload_->events(), upload_->complete());
}

ExportResult WandbLive::take(const Snapshot& snapshot) {
  const bool written = feed_->take(snapshot);
  // finish() sends the rest: it knows the deadline.
  if (!snapshot.finished) { send(steady_clock::now() + detail::kLiveSlice, false); }
  return written ? ExportResult::ok : ExportResult::drop;
}

bool WandbLive::flush(milliseconds deadline) {
  const bool written = run_->flush();
  send(steady_clock::now() + deadline, true);
  return written;
}

bool WandbLive::finish(milliseconds deadline) {
  const auto begin = steady_clock::now();
  const auto log_until = begin + deadline * (is_online_ ? 2 : 3) / 4;
  feed_->deliver(log_until);
  const bool written = run_->finish(log_until);
  send(begin + deadline * 7 / 8, true);
  if (upload_ != nullptr && !upload_->ended()) {  // the end of the run matters more than its files
    upload_->give_up_files();
    send(begin + deadline, true);
  }
  const bool sent = upload_ == nullptr || upload_->complete();
  if (!sent && !upload_->stopped()) {
    detail::report_error("wandb.unsent",
                         "the run ended before all data was sent to W&B. Upload the rest with: " + upload_->command());
  }
  return written && sent;
}

std::unique_ptr<detail::LiveRun> live_run(const WandbOptions& options) {
  if (options.mode == WandbMode::disabled) { return nullptr; }
  return std::make_unique<WandbLive>(options);
}

}  // namespace

struct WandbExporter::Impl : detail::LiveDelivery {
  explicit Impl(const WandbOptions& options) : LiveDelivery(detail::kWandb, options.all_ranks, live_run(options)) {}
};

WandbExporter::WandbExporter(const WandbOptions& options) : impl_(std::make_unique<Impl>(options)) {}

WandbExporter WandbExporter::from_env() { return WandbExporter(WandbOptions::from_env()); }

WandbExporter::~WandbExporter() = default;
WandbExporter::WandbExporter(WandbExporter&&) noexcept = default;
WandbExporter& WandbExporter::operator=(WandbExporter&&) noexcept = default;

void WandbExporter::begin(const Snapshot& snapshot) { impl_->begin(snapshot); }
ExportResult WandbExporter::export_snapshot(const Snapshot& snapshot) { return impl_->export_snapshot(snapshot); }
bool WandbExporter::flush(milliseconds deadline) { return impl_->flush(deadline); }
bool WandbExporter::shutdown(milliseconds deadline) { return impl_->shutdown(deadline); }

TAKT_END_NAMESPACE
