// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/tensorboard.hpp>

#include <takt/session.hpp>
#include <takt/snapshot.hpp>

#include "base/report_error.hpp"
#include "tensorboard/tensorboard_run.hpp"
#include "trackers/live_delivery.hpp"
#include "trackers/tracker_names.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

class TensorboardLive : public detail::LiveRun {
 public:
  explicit TensorboardLive(const TensorboardOptions& options) : options_(options), run_(options.every_step) {
    std::error_code error;
    // The program may change its working directory later.
    if (!options_.directory.empty()) {
      options_.directory = std::filesystem::absolute(options_.directory, error).string();
    }
  }

  bool begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why, detail::FileLease*) override;
  ExportResult take(const Snapshot& snapshot) override {
    return writes_ && feed_->take(snapshot) ? ExportResult::ok : ExportResult::drop;
  }
  bool flush(milliseconds deadline) override {
    if (!writes_) { return false; }
    const bool delivered = feed_->deliver(steady_clock::now() + deadline);
    return run_.flush() && delivered;
  }
  bool finish(milliseconds deadline) override {
    const bool delivered = flush(deadline);
    return writes_ && run_.sync() && delivered;
  }
  bool stopped() const noexcept override { return !writes_; }

 private:
  std::string create(const RunInfo& info);

  TensorboardOptions options_;
  detail::TensorboardRun run_;
  std::optional<detail::JournalFeed> feed_;  // set in begin()
  bool writes_ = false;
};

bool TensorboardLive::begin(const Snapshot& snapshot, detail::Claim claim, const std::string& why,
                            detail::FileLease* /*lease*/) {
  const RunInfo& info = snapshot.run;
  std::string fault = why;
  if (options_.directory.empty() && info.directory.empty()) {
    fault = "no run directory for TensorBoard's event file; set TAKT_TENSORBOARD_DIR";
  } else if (claim == detail::Claim::ours) {
    fault = create(info);
  }
  writes_ = fault.empty();
  if (writes_) {
    feed_.emplace(run_, detail::kTensorboard, info.directory);
    feed_->begin(snapshot);
    run_.flush();
  } else {
    detail::report_error("tensorboard.begin", fault + ". Nothing is written for TensorBoard; the run continues");
  }
  return true;
}

/// Creates the event file. Returns an error message, or an empty string.
std::string TensorboardLive::create(const RunInfo& info) {
  std::string fault;
  const auto directory = tensorboard_directory(options_.directory, info, detail::DirectoryFiles(info.directory), fault);
  const std::string name = detail::tensorboard_file(info, options_.every_step);
  if (fault.empty() && !run_.create(directory, name, info)) {
    fault = detail::tensorboard_error("make", directory->path(name), errno);
  }
  return fault;
}

}  // namespace

TensorboardOptions TensorboardOptions::from_env() {
  TensorboardOptions options;
  options.directory = detail::variable("TAKT_TENSORBOARD_DIR");
  options.all_ranks = SessionOptions::from_env().all_ranks;
  return options;
}

struct TensorboardExporter::Impl : detail::LiveDelivery {
  explicit Impl(const TensorboardOptions& options)
      : LiveDelivery(detail::kTensorboard, options.all_ranks, std::make_unique<TensorboardLive>(options)) {}
};

TensorboardExporter::TensorboardExporter(const TensorboardOptions& options) : impl_(std::make_unique<Impl>(options)) {}

TensorboardExporter TensorboardExporter::from_env() { return TensorboardExporter(TensorboardOptions::from_env()); }

TensorboardExporter::~TensorboardExporter() = default;
TensorboardExporter::TensorboardExporter(TensorboardExporter&&) noexcept = default;
TensorboardExporter& TensorboardExporter::operator=(TensorboardExporter&&) noexcept = default;

void TensorboardExporter::begin(const Snapshot& snapshot) { impl_->begin(snapshot); }
ExportResult TensorboardExporter::export_snapshot(const Snapshot& snapshot) { return impl_->export_snapshot(snapshot); }
bool TensorboardExporter::flush(milliseconds deadline) { return impl_->flush(deadline); }
bool TensorboardExporter::shutdown(milliseconds deadline) { return impl_->shutdown(deadline); }

TAKT_END_NAMESPACE
