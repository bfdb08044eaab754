// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/exporters/prometheus.hpp>

#include <takt/snapshot.hpp>

#include "base/directory_files.hpp"
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "prometheus/prometheus_text.hpp"

#include <cctype>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace {

using detail::DirectoryFiles;

constexpr mode_t kReadableByAll = 0644;  // node_exporter runs as another user

std::int64_t unix_now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::int64_t modified_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * detail::kSecondNs + status.st_mtim.tv_nsec;
}

/// Returns the file name, without the process: a restarted rank replaces the file of its earlier attempt. node_exporter
/// rejects all files if two have the same series.
std::string prometheus_file(const RunInfo& run) {
  std::string id = run.id;
  for (char& each : id) {
    if (std::isalnum(static_cast<unsigned char>(each)) == 0 && each != '-' && each != '.') { each = '_'; }
  }
  return detail::format("takt-{}-{}.prom", id, run.rank);
}

/// Removes the files of runs that have not written for ten minutes: they have ended, or were killed. Files of other
/// users may stay.
void remove_expired(const DirectoryFiles& directory) {
  for (const std::string& name : directory.names()) {
    struct stat status = {};
    const bool is_file = name.compare(0, 5, "takt-") == 0 && name.find(".prom") != std::string::npos &&
                         directory.look(name, status) && S_ISREG(status.st_mode);
    if (is_file && unix_now_ns() - modified_ns(status) > detail::kPrometheusExpiryNs) { directory.remove(name); }
  }
}

}  // namespace

PrometheusOptions PrometheusOptions::from_env() {
  PrometheusOptions options;
  options.directory = detail::variable("TAKT_PROMETHEUS_DIR");
  return options;
}

struct PrometheusExporter::Impl {
  explicit Impl(const PrometheusOptions& options) : directory(options.directory) {
    std::error_code error;
    // The program may change its working directory later.
    if (!directory.empty()) { directory = std::filesystem::absolute(directory, error).string(); }
  }

  bool is_off() const { return directory.empty() || ::getpid() != pid; }
  bool write();
  bool place(const DirectoryFiles& files);
  void report(int error);

  std::string directory;
  const pid_t pid = ::getpid();  // the run of a forked child is the parent's
  detail::PrometheusText text;
  std::string name;
  std::string unwritten;
  std::optional<struct stat> written;  // our file
  bool reported = false;
};

/// Reports a failure once, until a file was written.
void PrometheusExporter::Impl::report(int error) {
  if (std::exchange(reported, true)) { return; }
  detail::report_error("prometheus.write",
                       detail::format("cannot write {}/{}: {}; create the directory, writable for this user, free disk "
                                      "space, or set TAKT_PROMETHEUS_DIR to another one. The run continues, and Takt "
                                      "tries again once a period",
                                      directory, name, detail::reason_of(error)));
}

/// Writes the last text to the file. Opens the directory each time, because it may be made again.
bool PrometheusExporter::Impl::write() {
  if (unwritten.empty()) { return true; }
  if (!place(DirectoryFiles(directory))) {
    report(errno);
    return false;
  }
  reported = false;
  unwritten.clear();
  return true;
}

/// Returns false, with errno set, on failure. Not synchronised with the disk: after a power cut the run is gone, too.
bool PrometheusExporter::Impl::place(const DirectoryFiles& files) {
  struct stat status = {};
  if (files.look(name, status) && written && (status.st_ino != written->st_ino || status.st_dev != written->st_dev)) {
    detail::report_error_once("prometheus.shared",
                              "another process also writes " + files.path(name) +
                                  ": it has the same run id and rank, and their figures replace each other; set "
                                  "TAKT_RUN_ID or TAKT_RANK");
  }
  const std::string part = detail::format("{}.{}.part", name, pid);  // not *.prom: node_exporter ignores it
  files.remove(part);
  const detail::Descriptor file = files.create(part, O_WRONLY);
  if (!file.is_open()) { return false; }
  if (::fchmod(file.number(), kReadableByAll) == 0 && detail::write_all(file.number(), unwritten) == unwritten.size() &&
      file.look(status) && files.rename(part, name)) {
    written = status;
    return true;
  }
  const int why = errno;
  files.remove(part);
  errno = why;
  return false;
}

PrometheusExporter::PrometheusExporter(const PrometheusOptions& options) : impl_(std::make_unique<Impl>(options)) {}

PrometheusExporter PrometheusExporter::from_env() { return PrometheusExporter(PrometheusOptions::from_env()); }

PrometheusExporter::~PrometheusExporter() = default;
PrometheusExporter::PrometheusExporter(PrometheusExporter&&) noexcept = default;
PrometheusExporter& PrometheusExporter::operator=(PrometheusExporter&&) noexcept = default;

void PrometheusExporter::begin(const Snapshot& snapshot) {
  if (impl_->is_off()) { return; }
  impl_->name = prometheus_file(snapshot.run);
  const DirectoryFiles files(impl_->directory);
  if (!files.is_open()) { return impl_->report(errno); }
  remove_expired(files);
}

ExportResult PrometheusExporter::export_snapshot(const Snapshot& snapshot) {
  if (impl_->is_off()) { return ExportResult::ok; }
  impl_->name = prometheus_file(snapshot.run);
  impl_->unwritten = impl_->text.take(snapshot, unix_now_ns());
  if (impl_->text.left_out() != 0) {
    detail::report_error_once(
        "prometheus.series",
        detail::format("Prometheus gets at most {} series of a rank: {} regions, {} tags and {} kinds of dropped data. "
                       "takt_left_out counts the rest; summary.json has all",
                       detail::kMaxPrometheusSeries, detail::kMaxPrometheusRegions, detail::kMaxPrometheusTags,
                       detail::kMaxPrometheusLosses));
  }
  impl_->write();  // else later: the next text has these rows, too
  return ExportResult::ok;
}

bool PrometheusExporter::flush(std::chrono::milliseconds /*deadline*/) { return impl_->is_off() || impl_->write(); }
bool PrometheusExporter::shutdown(std::chrono::milliseconds deadline) { return flush(deadline); }

TAKT_END_NAMESPACE
