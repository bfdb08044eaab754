// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/wandb.hpp>

#include <takt/snapshot.hpp>

#include "base/fault.hpp"
#include "base/file.hpp"
#include "trackers/file_lease.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_cursor.hpp"
#include "wandb/wandb_environment.hpp"
#include "wandb/wandb_feed.hpp"
#include "wandb/wandb_folder.hpp"
#include "wandb/wandb_run.hpp"
#include "wandb/wandb_upload.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// What sending may take in a call before the run has ended. A request that takes longer goes on in the next one.
constexpr milliseconds kSlice(500);

}  // namespace

struct WandbExporter::Impl {
  explicit Impl(const WandbOptions& given) : options(given) {
    if (options.mode == WandbMode::disabled) { return; }
    detail::check_wandb_options(options);
    is_online = options.mode == WandbMode::online && !options.api_key.empty();
    if (is_online && !detail::WandbUpload::available()) {
      is_online = false;
      detail::report_fault_once("wandb.curl",
                                "this Takt was built without libcurl, so that nothing is sent to W&B "
                                "while the run goes on; upload it with wandb sync");
    }
    if (is_online) { detail::WandbUpload::check(options); }
    if (options.run_id.empty()) { options.resume = WandbResume::unset; }  // nobody has a run of that id
    run = std::make_unique<detail::WandbRun>(options);
    run->describe(detail::wandb_environment(options));
  }

  bool is_forked() const { return ::getpid() != pid; }
  void begin(const std::string& run_folder);
  void send(steady_clock::time_point until, bool all);
  void leave();

  WandbOptions options;
  bool is_online = false;
  std::unique_ptr<detail::WandbRun> run;        // none where nothing is written
  std::unique_ptr<detail::WandbFeed> feed;      // likewise, and from the first snapshot on
  std::unique_ptr<detail::WandbUpload> upload;  // none where nothing is sent
  detail::FileLease lease;                      // of the run, so that `takt sync` waits
  std::string directory;                        // the run folder, may be empty
  bool begun = false;
  pid_t pid = ::getpid();
};

void WandbExporter::Impl::begin(const std::string& run_folder) {
  begun = true;
  directory = run_folder;
  feed = std::make_unique<detail::WandbFeed>(*run, directory);
  if (directory.empty()) { return; }
  const std::string cursor = detail::wandb_cursor_file(directory);
  if (detail::may_exist(cursor)) {
    detail::report_fault("wandb.begun", "this run is written for W&B already, by another exporter or by takt sync (" +
                                            cursor + "); this makes a second run there");
    return;
  }
  if (lease.take(detail::wandb_lease_file(directory))) {
    run->keep_cursor(cursor);
  } else {
    detail::report_fault("wandb.lease", lease.problem() + ". This makes a second run at W&B");
  }
}

/// Somebody else writes, or nobody.
void WandbExporter::Impl::leave() {
  upload.reset();
  feed.reset();
  run.reset();
}

/// What is in the log.
void WandbExporter::Impl::send(steady_clock::time_point until, bool all) {
  if (!is_online || run->log_file().empty()) { return; }
  if (upload == nullptr) {
    detail::WandbSent before;
    if (lease.held()) { before.run_folder = directory; }
    upload = std::make_unique<detail::WandbUpload>(options, run->log_file(), before,
                                                   [this](const std::string& name, const detail::WandbBehind& behind) {
                                                     return run->sending(upload->url(), name, behind);
                                                   });
  }
  upload->deliver(until, all);
  run->sent(upload->url(), upload->run(), upload->lines(), upload->complete());
}

WandbExporter::WandbExporter(const WandbOptions& options) : impl_(std::make_unique<Impl>(options)) {}

WandbExporter WandbExporter::from_env() { return WandbExporter(WandbOptions::from_env()); }

WandbExporter::~WandbExporter() {
  // In a forked child the connection is the parent's: closing it properly would say goodbye in its name.
  if (impl_ == nullptr) { return; }
  if (impl_->is_forked()) {
    (void)impl_.release();
  } else {
    impl_->lease.release();
  }
}
WandbExporter::WandbExporter(WandbExporter&&) noexcept = default;
WandbExporter& WandbExporter::operator=(WandbExporter&&) noexcept = default;

void WandbExporter::begin(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return; }
  if (snapshot.run.rank != 0 && !impl.options.all_ranks) { impl.leave(); }
  if (impl.run == nullptr || impl.begun) { return; }
  impl.begin(snapshot.run.directory);
  impl.run->open(snapshot);
}

ExportResult WandbExporter::export_snapshot(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return ExportResult::drop; }  // the file is the parent's
  begin(snapshot);
  if (impl.run == nullptr) { return ExportResult::ok; }
  if (impl.lease.held() && !impl.lease.refresh()) {
    detail::report_fault_once("wandb.taken", impl.lease.problem() + ". Nothing more is written for W&B from here");
    impl.leave();
    return ExportResult::ok;
  }
  const bool written = impl.feed->take(snapshot);
  // What is left at the end is shutdown()'s, which knows how long it may take.
  if (!snapshot.finished) { impl.send(steady_clock::now() + kSlice, false); }
  return written ? ExportResult::ok : ExportResult::drop;
}

bool WandbExporter::flush(milliseconds deadline) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return false; }
  if (impl.run == nullptr) { return true; }
  const bool written = impl.run->flush();
  impl.send(steady_clock::now() + deadline, true);
  return written;
}

bool WandbExporter::shutdown(milliseconds deadline) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return false; }
  if (impl.run == nullptr) { return true; }
  const auto begin = steady_clock::now();
  const auto log_until = begin + deadline * (impl.is_online ? 2 : 3) / 4;
  const bool written = impl.feed == nullptr ? impl.run->finish(log_until) : impl.feed->finish(log_until);
  impl.send(begin + deadline * 7 / 8, true);
  if (impl.upload != nullptr && !impl.upload->ended()) {  // that the run has ended matters more than its files
    impl.upload->give_up_files();
    impl.send(begin + deadline, true);
  }
  impl.lease.release();
  const bool sent = impl.upload == nullptr || impl.upload->complete();
  if (!sent && !impl.upload->stopped()) {
    detail::report_fault("wandb.unsent", "W&B had not been told everything when the run ended; this uploads it: " +
                                             impl.upload->command());
  }
  return written && sent;
}

TAKT_END_NAMESPACE
