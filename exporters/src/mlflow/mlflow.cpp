// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/mlflow.hpp>

#include <takt/error.hpp>
#include <takt/snapshot.hpp>

#include "base/fault.hpp"
#include "base/file.hpp"
#include "mlflow/mlflow_client.hpp"
#include "mlflow/mlflow_cursor.hpp"
#include "mlflow/mlflow_feed.hpp"
#include "mlflow/mlflow_messages.hpp"
#include "trackers/file_lease.hpp"
#include "trackers/git_state.hpp"

#include <chrono>
#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// What a call may take before the run has ended. A request that takes longer goes on in the next call: whoever ends the run
// never has to wait for a silent server first.
constexpr milliseconds kSlice(500);

}  // namespace

struct MlflowExporter::Impl {
  explicit Impl(MlflowOptions given) : options(std::move(given)) {}

  bool is_forked() const { return ::getpid() != pid; }
  bool begin(const Snapshot& snapshot);
  /// The end of a line about a fault.
  std::string sends_rest() const { return directory.empty() ? "" : "; takt sync " + directory + " sends what lacks"; }
  bool may_deliver();
  void leave();

  MlflowOptions options;
  std::unique_ptr<detail::MlflowClient> client;  // none where there is no server
  std::unique_ptr<detail::MlflowFeed> feed;      // likewise, and from the first snapshot on
  detail::FileLease lease;
  bool begun = false;
  bool left = false;      // to somebody else
  std::string directory;  // of the run
  pid_t pid = ::getpid();
};

/// In the run folder it says how far it got, for `takt sync`, and that nobody else need deliver meanwhile. Returns false where
/// somebody else has begun: what that one was not shown, this one can send, but neither knows what the other has sent.
bool MlflowExporter::Impl::begin(const Snapshot& snapshot) {
  begun = true;
  directory = snapshot.run.directory;
  feed = std::make_unique<detail::MlflowFeed>(*client, directory);
  if (directory.empty()) { return true; }
  const std::string cursor = detail::mlflow_cursor_file(directory);
  if (detail::may_exist(cursor)) {
    detail::report_fault("mlflow.begun",
                         "this run is delivered already, by another exporter or by takt sync (" + cursor +
                             "), so that nothing is sent from here. Add one exporter, at the start; takt sync " +
                             directory + " sends what lacks");
    return false;
  }
  if (!lease.take(detail::mlflow_lease_file(directory))) {
    detail::report_fault("mlflow.lease",
                         lease.problem() + ". Both may deliver, which servers with a database notice" + sends_rest());
  }
  client->keep_cursor(cursor);
  return true;
}

/// Whether the lease, if there was one, is still this process's; otherwise nothing more is sent.
bool MlflowExporter::Impl::may_deliver() {
  if (client == nullptr) { return false; }
  if (!lease.held() || lease.refresh()) { return true; }
  detail::report_fault_once("mlflow.taken", lease.problem() + ". Nothing more is sent from here" + sends_rest());
  leave();
  return false;
}

/// Somebody else delivers.
void MlflowExporter::Impl::leave() {
  feed.reset();
  client.reset();
  left = true;
}

MlflowExporter::MlflowExporter(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}

MlflowExporter::MlflowExporter(MlflowOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  const MlflowOptions& all = impl_->options;
  if (!detail::mlflow_has_server(all)) {
    throw Error("MlflowOptions::tracking_uri is empty; set it to the URL of a server, such as http://127.0.0.1:5000");
  }
  if (detail::mlflow_is_no_server(all.tracking_uri)) {
    detail::report_no_server();
    return;
  }
  if (detail::mlflow_is_mantik(all) && all.run_id.empty() && all.experiment_name.empty() && all.experiment_id.empty()) {
    throw Error(detail::kMantikNoExperiment);
  }
  impl_->client = std::make_unique<detail::MlflowClient>(impl_->options);
}

MlflowExporter MlflowExporter::from_env() {
  MlflowOptions options = MlflowOptions::from_env();
  if (detail::mlflow_has_server(options)) { return MlflowExporter(std::move(options)); }
  detail::report_fault_once("mlflow.unset",
                            "MLFLOW_TRACKING_URI is not set, so nothing is sent to MLflow; set it to the URL of a "
                            "server, such as http://127.0.0.1:5000");
  return MlflowExporter(std::make_unique<Impl>(std::move(options)));
}

MlflowExporter::~MlflowExporter() {
  // In a forked child the connection is the parent's: closing it properly would say goodbye in its name.
  if (impl_ == nullptr) { return; }
  if (impl_->is_forked()) {
    (void)impl_.release();
  } else {
    impl_->lease.release();
  }
}
MlflowExporter::MlflowExporter(MlflowExporter&&) noexcept = default;
MlflowExporter& MlflowExporter::operator=(MlflowExporter&&) noexcept = default;

/// The settings that the program has made are in the run folder before the server is asked for anything, and whether or not it is
/// ever there: `takt sync` goes by them.
void MlflowExporter::begin(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return; }
  if (snapshot.run.rank != 0 && !impl.options.all_ranks) { impl.client.reset(); }
  if (impl.client == nullptr || impl.begun) { return; }
  if (impl.begin(snapshot)) {
    impl.client->set_commit(detail::git_state().commit);
    impl.client->begin(snapshot);
  } else {
    impl.leave();
  }
}

ExportResult MlflowExporter::export_snapshot(const Snapshot& snapshot) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return ExportResult::drop; }
  begin(snapshot);
  if (impl.client == nullptr) { return ExportResult::ok; }
  if (!impl.may_deliver()) { return ExportResult::ok; }
  impl.feed->take(snapshot);
  // What is left at the end is shutdown()'s, which knows how long it may take.
  if (!snapshot.finished) {
    try {
      impl.feed->deliver(steady_clock::now() + kSlice);
    } catch (const std::bad_alloc&) {
      // What was taken waits, and is sent when there is memory again.
    }
  }
  if (impl.client->stopped()) { impl.lease.release(); }  // for takt sync, with what this one lacks
  return ExportResult::ok;
}

bool MlflowExporter::flush(milliseconds deadline) {
  Impl& impl = *impl_;
  if (impl.is_forked()) { return false; }
  if (!impl.may_deliver()) { return !impl.left; }
  return impl.feed == nullptr || impl.feed->deliver(steady_clock::now() + deadline);
}

bool MlflowExporter::shutdown(milliseconds deadline) {
  const bool delivered = flush(deadline);
  Impl& impl = *impl_;
  if (impl.client == nullptr || impl.is_forked()) { return delivered; }
  impl.lease.release();
  impl.client->leave();
  if (!impl.client->stopped() && (!delivered || impl.client->owed() != 0)) {
    const std::uint64_t missing = impl.client->queue().points() + impl.client->queue().lost();
    const char* const least = impl.feed != nullptr && impl.feed->is_behind() ? "at least " : "";
    detail::report_fault("mlflow.unsent", "MLflow had not been told everything when the run ended; " +
                                              (least + std::to_string(missing)) + " points are missing. " +
                                              (impl.directory.empty() ? std::string("More time: TAKT_EXIT_MS")
                                                                      : "Send them: takt sync " + impl.directory));
  }
  return delivered && impl.client->complete();
}

TAKT_END_NAMESPACE
