// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/wandb.hpp>

#include <takt/snapshot.hpp>

#include "base/fault.hpp"
#include "trackers/journal_feed.hpp"
#include "trackers/live_delivery.hpp"
#include "wandb/wandb_config.hpp"
#include "wandb/wandb_cursor.hpp"
#include "wandb/wandb_environment.hpp"
#include "wandb/wandb_folder.hpp"
#include "wandb/wandb_run.hpp"
#include "wandb/wandb_upload.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
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
  bool is_online_ = false;
  std::optional<detail::WandbRun> run_;          // from the constructor on
  std::optional<detail::JournalFeed> feed_;      // from begin() on
  std::unique_ptr<detail::WandbUpload> upload_;  // none where nothing is sent
  std::string cursor_folder_;                    // the run folder, where it has this run's cursor
};

WandbLive::WandbLive(const WandbOptions& options) : options_(options) {
  detail::check_wandb_options(options_);
  is_online_ = options_.mode == WandbMode::online && !options_.api_key.empty();
  if (is_online_ && !detail::WandbUpload::available()) {
    is_online_ = false;
    detail::report_fault_once("wandb.curl",
                              "this Takt was built without libcurl, so that nothing is sent to W&B "
                              "while the run goes on; upload it with wandb sync");
  }
  if (is_online_) { detail::WandbUpload::check(options_); }
  if (options_.run_id.empty()) { options_.resume = WandbResume::unset; }  // nobody has a run of that id
  run_.emplace(options_);
  run_->describe(detail::wandb_environment(options_));
}

bool WandbLive::begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why, detail::FileLease* lease) {
  const std::string& directory = snapshot.run.directory;
  if (claim == detail::Claim::begun) {
    detail::report_fault("wandb.begun", "this run is written for W&B already, by another exporter or by takt sync (" +
                                            why + "); this makes a second run there");
  } else if (claim == detail::Claim::taken) {
    detail::report_fault("wandb.lease", why + ". This makes a second run at W&B");
  } else if (!directory.empty()) {
    run_->keep_cursor(detail::kWandb.cursor_file(directory), lease);
    cursor_folder_ = directory;
  }
  feed_.emplace(*run_, detail::kWandb, directory);
  feed_->begin(snapshot);
  run_->open(snapshot);
  return true;
}

/// What is in the log.
void WandbLive::send(steady_clock::time_point until, bool all) {
  if (!is_online_ || run_->log_file().empty()) { return; }
  if (upload_ == nullptr) {
    detail::WandbSent before;
    before.run_folder = cursor_folder_;
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
  // What is left at the end is finish()'s, which knows how long it may take.
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
  if (upload_ != nullptr && !upload_->ended()) {  // that the run has ended matters more than its files
    upload_->give_up_files();
    send(begin + deadline, true);
  }
  const bool sent = upload_ == nullptr || upload_->complete();
  if (!sent && !upload_->stopped()) {
    detail::report_fault("wandb.unsent",
                         "W&B had not been told everything when the run ended; this uploads it: " + upload_->command());
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
