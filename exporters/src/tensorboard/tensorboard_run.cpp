// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "tensorboard/tensorboard_run.hpp"

#include "base/encoding.hpp"
#include "base/file.hpp"
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"

#include <takt/job.hpp>

#include <cctype>
#include <cerrno>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Fields of Event, Summary, Summary.Value and HistogramProto.
enum Event : std::uint32_t { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum Value : std::uint32_t { kValue = 1, kTag = 1, kSimpleValue = 2, kHistogram = 5 };
enum Bins : std::uint32_t { kMin = 1, kMax = 2, kNumber = 3, kSum = 4, kSquares = 5, kLimits = 6, kCounts = 7 };

std::string little_endian(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned at = 0; at < bytes; ++at) { text += static_cast<char>((value >> (8U * at)) & 0xFFU); }
  return text;
}

/// Returns the masked CRC-32C of TFRecord, rotated plus a constant: a plain CRC of data that contains CRCs would be
/// weak.
std::string checksum(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return little_endian(((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U, 4);
}

double in_seconds(double ns) { return ns / 1e9; }
double lowest_s(unsigned bucket) { return in_seconds(static_cast<double>(Histogram::lowest_ns(bucket))); }

Protobuf event_of(double wall_time_s, std::int64_t step, const Protobuf& value) {
  const Protobuf summary = Protobuf().message(kValue, value);
  return Protobuf().real(kWallTime, wall_time_s).number(kStep, step).message(kSummary, summary);
}

}  // namespace

std::string tfrecord(std::string_view record) {
  const std::string length = little_endian(record.size(), 8);
  return (length + checksum(length)).append(record) + checksum(record);
}

Protobuf version_event(double wall_time_s) {
  return Protobuf().real(kWallTime, wall_time_s).text(kFileVersion, "brain.Event:2");
}

Protobuf scalar_event(double wall_time_s, std::int64_t step, const std::string& tag, double value) {
  const bool is_beyond = std::isfinite(value) && std::abs(value) > std::numeric_limits<float>::max();
  const double shown = is_beyond ? std::copysign(std::numeric_limits<double>::infinity(), value) : value;
  return event_of(wall_time_s, step, Protobuf().text(kTag, tag).real32(kSimpleValue, static_cast<float>(shown)));
}

Protobuf histogram_event(double wall_time_s, std::int64_t step, const std::string& tag, const Summary& durations) {
  // Upper ends of buckets. Each bucket starts at the end of the previous one, the first at the minimum.
  std::vector<double> limits;
  std::vector<double> counts;
  durations.histogram().each([&](unsigned bucket, std::uint64_t count) {
    if (!limits.empty() && limits.back() < lowest_s(bucket)) {
      limits.push_back(lowest_s(bucket));
      counts.push_back(0);
    }
    limits.push_back(lowest_s(bucket + 1));
    counts.push_back(static_cast<double>(count));
  });
  const Protobuf bins = Protobuf()
                            .real(kMin, in_seconds(static_cast<double>(durations.min_ns())))
                            .real(kMax, in_seconds(static_cast<double>(durations.max_ns())))
                            .real(kNumber, static_cast<double>(durations.measured_n()))
                            .real(kSum, in_seconds(static_cast<double>(durations.measured_total_ns())))
                            .real(kSquares, static_cast<double>(durations.sum_of_squares()) / 1e18)
                            .reals(kLimits, limits)
                            .reals(kCounts, counts);
  return event_of(wall_time_s, step, Protobuf().text(kTag, tag).message(kHistogram, bins));
}

namespace {

constexpr std::size_t kLongestHost = 64;
constexpr std::uint64_t kWrittenAtOnce = 4096;  // values; a collection interval may have a million
// TensorBoard reads every file that has "tfevents" in its name.
constexpr const char* kRanksUnderWay = "takt-ranks.part";
constexpr std::size_t kRanksDigits = 7;  // so that file names sort by number of ranks

double wall_time_s(const MetricPoint& point) { return static_cast<double>(point.timestamp_ms) / 1e3; }

std::string file_of_process(const RunInfo& run) {
  std::string host = run.host.substr(0, kLongestHost);
  for (char& each : host) {
    if (std::isalnum(static_cast<unsigned char>(each)) == 0 && each != '-' && each != '.') { each = '_'; }
  }
  return detail::format("events.out.tfevents.{:010}.{}.{}.takt", run.start_unix_ns / kSecondNs, host, run.pid);
}

/// Returns the start of the name of a file with figures over ranks; the number of ranks follows. TensorBoard reads
/// files in order of their names and never goes back, so this file must sort after the run's.
std::string ranks_stem(const RunInfo& run) { return file_of_process(run) + "-total-ranks-"; }

bool is_ranks_file(const std::string& name, const std::string& stem) {
  return name.size() == stem.size() + kRanksDigits && name.compare(0, stem.size(), stem) == 0 &&
         name.find_first_not_of("0123456789", stem.size()) == std::string::npos;
}

/// Opens the directory `name` in `from`, and creates it if it is missing.
DirectoryFiles entered(const DirectoryFiles& from, const std::string& name, std::string& error) {
  from.make_directory(name);  // may already exist
  DirectoryFiles inner = from.directory(name);
  const int why = errno;
  if (error.empty() && !inner.is_open()) { error = tensorboard_error("make the directory", from.path(name), why); }
  return inner;
}

}  // namespace

std::shared_ptr<const DirectoryFiles> tensorboard_directory(const std::string& logdir, const RunInfo& run,
                                                            const DirectoryFiles& run_directory, std::string& error) {
  if (logdir.empty()) { return std::make_shared<DirectoryFiles>(entered(run_directory, "tensorboard", error)); }
  const DirectoryFiles root(logdir);
  std::string ignored;
  if (!root.is_open() && !make_directories(logdir, ignored)) {
    error = tensorboard_error("make the directory", logdir, errno);
  }
  const std::string own = detail::format("rank-{}-{}-{}", run.rank, run.attempt, run.pid);
  const std::string named = name_part(run.directory);
  return std::make_shared<DirectoryFiles>(
      entered(entered(root, run.id, error), is_entry_name(named) ? named : own, error));
}

std::string tensorboard_error(const char* what, const std::string& path, int number) {
  return detail::format("cannot {} {}: {}; free disk space, or set TAKT_TENSORBOARD_DIR to a writable directory", what,
                        path, std::system_category().message(number));
}

std::string tensorboard_file(const RunInfo& run, bool every_step) {
  return file_of_process(run) + (every_step ? "-steps" : "");
}

TensorboardRun::TensorboardRun(bool every_step, std::size_t max_backlog)
    : points_(every_step),
      backlog_(file_, kTensorboard, &tensorboard_error, max_backlog,
               ". Write all data from the run directory with: takt sync --to tensorboard") {
  points_.keep_nans();
  points_.keep_names();
  names_.take_utf8();
}

bool TensorboardRun::create(std::shared_ptr<const DirectoryFiles> directory, const std::string& name,
                            const RunInfo& run) {
  path_ = directory->path(name);
  directory_ = std::move(directory);
  if (!file_.create(directory_, name)) { return false; }
  file_.append_bytes(tfrecord(version_event(static_cast<double>(run.start_unix_ns) / 1e9).bytes()));
  return true;
}

void TensorboardRun::append(const Protobuf& event) {
  file_.append_bytes(tfrecord(event.bytes()));
  if (++values_ % kWrittenAtOnce == 0) { flush(); }
}

bool TensorboardRun::take(const Snapshot& snapshot) {
  if (backlog_.is_given_up()) { return false; }
  std::vector<MetricPoint> points;
  points_.take(snapshot, points);
  for (const MetricPoint& each : points) {
    append(scalar_event(wall_time_s(each), each.step, points_.key(each.key), each.value));
  }
  if (snapshot.finished && !std::exchange(finished_, true)) {
    add_histograms(snapshot, points.back());
    if (snapshot.job != nullptr) { take_job(snapshot); }
  }
  flush();
  return !backlog_.is_given_up();
}

/// Adds histograms of the whole run, as in summary.json: a window only has the times of a region's steps, not of its
/// calls.
void TensorboardRun::add_histograms(const Snapshot& snapshot, const MetricPoint& last) {
  for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
    for (const bool device : {false, true}) {
      const Summary& durations = device ? snapshot.paths[path].device : snapshot.paths[path].host;
      if (durations.measured_n() == 0) { continue; }
      const std::string name = (device ? "total/durations/gpu/" : "total/durations/time/") + snapshot.path_name(path);
      append(histogram_event(wall_time_s(last), last.step, names_.of(name), durations));
    }
  }
}

bool TensorboardRun::take_job(const Snapshot& snapshot) {
  const std::string stem = ranks_stem(snapshot.run);
  const std::string name = detail::format("{}{:0{}}", stem, snapshot.job->wall.ranks, kRanksDigits);
  std::vector<std::string> earlier;
  for (std::string& each : directory_->names()) {
    if (!is_ranks_file(each, stem)) { continue; }
    if (each >= name) { return true; }
    earlier.push_back(std::move(each));
  }
  job_lacks_ = !write_job(snapshot, name);
  if (job_lacks_) {
    report_error("tensorboard.ranks", tensorboard_error("write", directory_->path(name), errno));
    return false;
  }
  for (const std::string& each : earlier) { directory_->remove(each); }
  return true;
}

/// Writes the file completely or not at all: an existing file is not written again.
bool TensorboardRun::write_job(const Snapshot& snapshot, const std::string& name) {
  std::vector<MetricPoint> points;
  points_.take_job(snapshot, points);
  GrowingFile file;
  directory_->remove(kRanksUnderWay);  // left over from a killed process
  if (!file.create(directory_, kRanksUnderWay)) { return false; }
  file.append_bytes(tfrecord(version_event(wall_time_s(points.front())).bytes()));
  for (const MetricPoint& each : points) {
    file.append_bytes(tfrecord(scalar_event(wall_time_s(each), each.step, points_.key(each.key), each.value).bytes()));
  }
  if (file.flush() && file.sync() && directory_->rename(kRanksUnderWay, name)) { return true; }
  const int why = errno;
  directory_->remove(kRanksUnderWay);
  errno = why;
  return false;
}

bool TensorboardRun::flush() {
  if (file_.backlog() != 0 && !file_.is_in_place()) { backlog_.give_up(path_, path_ + " was removed"); }
  return backlog_.write(path_);
}

}  // namespace detail
TAKT_END_NAMESPACE
