// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/tensorboard.hpp>

#include <takt/session.hpp>
#include <takt/snapshot.hpp>

#include "base/fault.hpp"
#include "tensorboard/tensorboard_run.hpp"
#include "trackers/file_lease.hpp"
#include "trackers/variables.hpp"

#include <cerrno>
#include <filesystem>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE

TensorboardOptions TensorboardOptions::from_env() {
  TensorboardOptions options;
  options.directory = detail::variable("TAKT_TENSORBOARD_DIR");
  options.all_ranks = SessionOptions::from_env().all_ranks;
  return options;
}

struct TensorboardExporter::Impl {
  explicit Impl(const TensorboardOptions& given) : options(given), run(given.every_step) {
    std::error_code error;
    // The program may go to another folder later.
    if (!options.directory.empty()) {
      options.directory = std::filesystem::absolute(options.directory, error).string();
    }
  }

  bool is_forked() const { return ::getpid() != pid; }
  std::string start(const RunInfo& info);

  TensorboardOptions options;
  detail::TensorboardRun run;
  detail::FileLease lease;  // of the file, so that `takt sync` waits
  bool begun = false;
  bool spoken_for = false;  // by rank 0
  bool writes = false;
  pid_t pid = ::getpid();
};

/// Returns why it cannot write.
std::string TensorboardExporter::Impl::start(const RunInfo& info) {
  if (options.directory.empty() && info.directory.empty()) {
    return "there is no run folder for TensorBoard's file; set TAKT_TENSORBOARD_DIR";
  }
  if (!info.directory.empty() && !lease.take(info.directory + "/" + detail::kTensorboardLease)) {
    return lease.problem();
  }
  std::string error;
  const auto folder = tensorboard_folder(options.directory, info, detail::FolderFiles(info.directory), error);
  const std::string name = detail::tensorboard_file(info, options.every_step);
  if (error.empty() && !run.create(folder, name, info)) {
    error = detail::tensorboard_fault("make", folder->path(name), errno);
  }
  return error;
}

TensorboardExporter::TensorboardExporter(const TensorboardOptions& options) : impl_(std::make_unique<Impl>(options)) {}

TensorboardExporter TensorboardExporter::from_env() { return TensorboardExporter(TensorboardOptions::from_env()); }

TensorboardExporter::~TensorboardExporter() {
  if (impl_ != nullptr && !impl_->is_forked()) { impl_->lease.release(); }
}
TensorboardExporter::TensorboardExporter(TensorboardExporter&&) noexcept = default;
TensorboardExporter& TensorboardExporter::operator=(TensorboardExporter&&) noexcept = default;

void TensorboardExporter::begin(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked() || std::exchange(impl.begun, true)) { return; }
  impl.spoken_for = snapshot.run.rank != 0 && !impl.options.all_ranks;
  if (impl.spoken_for) { return; }
  const std::string why = impl.start(snapshot.run);
  impl.writes = why.empty();
  if (impl.writes) {
    impl.run.flush();
  } else {
    impl.lease.release();
    detail::report_fault("tensorboard.begin", why + ". Nothing is written for TensorBoard; the run goes on");
  }
}

ExportResult TensorboardExporter::export_snapshot(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return ExportResult::drop; }  // the file is the parent's
  begin(snapshot);
  if (impl.spoken_for) { return ExportResult::ok; }
  if (impl.lease.held() && !impl.lease.refresh()) {
    detail::report_fault_once("tensorboard.taken",
                              impl.lease.problem() + ". Nothing more is written for TensorBoard from here");
    impl.writes = false;
  }
  return impl.writes && impl.run.take(snapshot) ? ExportResult::ok : ExportResult::drop;
}

bool TensorboardExporter::flush(std::chrono::milliseconds /*deadline*/) {
  return !impl_->is_forked() && (impl_->spoken_for || (impl_->writes && impl_->run.flush()));
}

bool TensorboardExporter::shutdown(std::chrono::milliseconds /*deadline*/) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return false; }
  const bool written = impl.spoken_for || (impl.writes && impl.run.sync());
  impl.lease.release();
  return written;
}

TAKT_END_NAMESPACE
