// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb/wandb_run.hpp"

#include <takt/error.hpp>
#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>
#include <takt/job.hpp>

#include "base/file.hpp"
#include "base/format.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "trackers/system_metrics.hpp"
#include "trackers/tracker_names.hpp"
#include "wandb/wandb_directory.hpp"
#include "wandb/wandb_rows.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include <sys/stat.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kSummaryNs = 5 * kSecondNs;
constexpr milliseconds kTracePause(20);
constexpr int kTableColumns = 120;
constexpr std::uint64_t kMaxOutput = std::uint64_t{4} << 20U;  // per collection interval
constexpr int kSigtermExit = 143;                              // as shells report SIGTERM

MetricPoints points_for(bool every_step) {
  MetricPoints points(every_step);
  points.keep_nans();
  points.keep_names();
  points.report_system(&wandb_system_metrics, kWandbSystemNs);
  return points;
}

/// Sorts by time, so that values logged in a step and measurements of that step share a row; totals are last.
void sort_by_time(std::vector<MetricPoint>& points) {
  std::stable_sort(points.begin(), points.end(), [](const MetricPoint& a, const MetricPoint& b) {
    const bool is_total[] = {a.source == MetricPoint::Source::total, b.source == MetricPoint::Source::total};
    if (is_total[0] || is_total[1]) { return is_total[1] && !is_total[0]; }
    return a.timestamp_ms < b.timestamp_ms;
  });
}

/// Resets the cursor to the state before the run's end.
void go_before_end(WandbCursor& cursor, const WandbOldLog& log) {
  cursor.ended = cursor.complete = false;
  cursor.bytes = log.rows_end;
  cursor.records = log.rows_records;
}

}  // namespace

WandbRun::WandbRun(const WandbOptions& options, std::size_t max_backlog)
    : options_(options),
      root_(wandb_root(options.directory)),
      output_(options.output_log),
      backlog_(log_, kWandb, &wandb_error, max_backlog),
      points_(points_for(options.every_step)),
      rows_(0) {}

bool WandbRun::begin(const Snapshot& snapshot) {
  started_ = stopped_ = true;  // until there is a log to write to
  WandbIdentity identity = wandb_identity(snapshot.run, options_, new_wandb_id());
  identity.commit = environment_.commit;
  identity.remote = environment_.remote;
  std::string error;
  directory_ = make_wandb_directory(root_, identity.start_unix_ns, identity.id, error);
  const std::string name = "run-" + identity.id + ".wandb";
  const std::string file = directory_ + "/" + name;
  files_ = std::make_shared<DirectoryFiles>(DirectoryFiles(root_).directory(name_part(directory_)));
  if (error.empty() && !log_.create(files_, name)) { error = wandb_error("make", file, errno); }
  if (!error.empty()) {
    stop(error);
    keep_id();
    return false;
  }
  stopped_ = false;
  cursor_.log = file;
  cursor_.id.clear();
  cursor_.start_unix_ns = identity.start_unix_ns;
  cursor_.every_step = options_.every_step;
  cursor_.resume = resume_wish();
  rows_ = WandbRows(identity.start_unix_ns);
  write_head(snapshot, identity);
  if (options_.mode == WandbMode::online && options_.api_key.empty() && !options_.silent) {
    report_error_once("wandb.online " + directory_,
                      "no key for W&B is set (WANDB_API_KEY, or netrc), so nothing is sent during the run. Upload it "
                      "now or later with: wandb sync " +
                          shell_word(directory_));
  }
  return true;
}

/// Returns the resume option for a run of its id.
WandbResume WandbRun::resume_wish() const { return options_.run_id.empty() ? WandbResume::unset : options_.resume; }

/// Saves the run's id for takt sync, which will write the log that cannot be started now.
void WandbRun::keep_id() {
  if (options_.run_id.empty() || !cursor_file_.is_kept()) { return; }
  cursor_.id = options_.run_id;
  cursor_.resume = resume_wish();
  if (!cursor_file_.save(format_wandb_cursor(cursor_))) {
    report_error("wandb.cursor", "takt sync will not know the run's id: " + cursor_file_.problem());
  }
}

/// Writes the first records of the log.
void WandbRun::write_head(const Snapshot& snapshot, const WandbIdentity& identity) {
  log_.append(records_.header(wandb_producer()));
  log_.append(records_.run(identity, config_.changed(snapshot)));
  if (environment_.known) {
    // A run may be continued: each of its processes is a separate writer.
    const std::string writer =
        valid_utf8(detail::format("{}-{}-{}", snapshot.run.id, snapshot.run.rank, identity.start_unix_ns));
    log_.append(
        records_.environment(wandb_environment_message(environment_, identity.host, identity.start_unix_ns, writer)));
  }
  log_.append(records_.axis(kWandbStep));
  log_.append(records_.axis(kWandbEpoch));
  log_.append(records_.drawn_over("*", kWandbStep));
}

void WandbRun::keep_cursor(const std::string& file, FileLease* lease) { cursor_file_.keep(file, lease); }

void WandbRun::keep_cursor(std::shared_ptr<const DirectoryFiles> directory, FileLease* lease) {
  cursor_file_.keep(std::move(directory), kWandb.cursor, lease);
}

void WandbRun::resume(WandbCursor cursor, const RunInfo& run, bool before_end) {
  const auto fail = [&](const std::string& why) {
    throw Error(why + ". Nothing was changed. To start a new run at W&B, remove the progress file: " +
                (cursor_file_.is_kept() ? cursor_file_.path() : kWandb.cursor));
  };
  WandbPlaceOfLog place;
  if (!parse_place_of_log(cursor.log, place)) {
    fail("wandb.json names " + cursor.log + ", which is not a W&B log of Takt");
  }
  files_ = std::make_shared<DirectoryFiles>(DirectoryFiles(place.root).directory(place.directory));
  if (!log_.open(files_, place.file)) { fail(wandb_error("continue", cursor.log, errno)); }
  WandbOldLog old;
  const std::string fault = wandb_old_log_error(log_, cursor.log, cursor, run, place.id, old);
  if (!fault.empty()) { fail(cursor.log + " has changed: " + fault); }
  summary_ = std::move(old.summary);
  if (before_end && old.rows_end != 0) {
    go_before_end(cursor, old);
    notes_ = std::move(old.notes);
    // Save first: after a kill, the next process finds the old end, which it removes, or none.
    if (!cursor_file_.save(format_wandb_cursor(cursor))) { fail(cursor_file_.problem()); }
  }
  if (!log_.go_on(cursor.bytes)) { fail(wandb_error("continue", cursor.log, errno)); }
  if (!cursor.ended) { files_->remove(place.file + ".synced"); }  // W&B's client would skip the log
  started_ = true;
  ended_ = finished_ = cursor.ended;
  cursor_ = resumed_ = cursor;
  directory_ = cursor.log.substr(0, cursor.log.rfind('/'));
  options_.every_step = cursor.every_step;
  records_.resume(cursor.records);
  rows_ = WandbRows(cursor.start_unix_ns);
  rows_.resume(cursor.rows);
  points_ = points_for(cursor.every_step);
  points_.begin_at(cursor.first_row, cursor.first_metric, cursor.first_sample);
  if (cursor.gap) {
    report_error("wandb.gap", "the exporter missed data while it was delayed; later data is not added to " +
                                  cursor.log + ". The run directory has all data");
  }
}

bool WandbRun::sending(const std::string& server, const std::string& run, const WandbBehind& behind) {
  cursor_.behind = behind;
  const bool there = server == cursor_.server;
  sent(server, run, there ? cursor_.lines : 0, there ? cursor_.sent_events : 0, false);
  return save();
}

void WandbRun::sent(const std::string& server, const std::string& run, std::uint64_t lines, std::uint64_t events,
                    bool complete) {
  if (run.empty()) { return; }  // the server has not answered yet
  cursor_.server = server;
  cursor_.run = run;
  cursor_.lines = lines;
  cursor_.sent_events = events;
  cursor_.complete = complete;
  save();
}

/// Saves the cursor, but only if the log has everything that was taken: a later process resumes from there. Returns
/// whether a later process would resume correctly.
bool WandbRun::save() {
  if (!cursor_file_.is_kept()) { return true; }
  if (cursor_.log.empty() || stopped_ || log_.backlog() != 0) { return false; }
  cursor_.bytes = log_.written();
  cursor_.records = records_.number();
  cursor_.rows = rows_.next();
  cursor_.first_row = points_.first_row();
  cursor_.first_metric = points_.first_metric();
  cursor_.first_sample = points_.first_sample();
  cursor_.ended = ended_;
  if (cursor_file_.save(format_wandb_cursor(cursor_))) { return true; }
  report_error("wandb.cursor", "takt sync will not know the state of W&B's log: " + cursor_file_.problem());
  return false;
}

void WandbRun::stop(const std::string& why) {
  stopped_ = true;
  backlog_.give_up(directory_.empty() ? root_ : directory_, why);
}

void WandbRun::open(const Snapshot& snapshot) {
  if (!started_ && begin(snapshot)) { flush(); }
}

bool WandbRun::take(const Snapshot& snapshot) {
  if (!started_ && !begin(snapshot)) { return false; }
  if (stopped_) { return false; }
  const WandbItems config = config_.changed(snapshot);
  if (!config.empty()) { log_.append(records_.config(config)); }
  add_rows(snapshot);
  if (const std::string& directory = snapshot.run.directory;
      !snapshot.spans.empty() || (snapshot.finished && !directory.empty() && may_exist(directory + "/trace.json"))) {
    trace_ = directory;
  }
  wall_ns_ = snapshot.wall_ns;
  exit_code_ = snapshot.killed ? kSigtermExit : snapshot.failed ? 1 : 0;
  if (snapshot.finished && !finished_) {
    finished_ = true;
    add_notes(snapshot);
    if (options_.files) {
      const DirectoryFiles directory = attachments();
      for (const char* const each : {"summary.json", "table.txt", "trace.json"}) { directory.remove(each); }
      attach("summary.json", write_new_file(directory, "summary.json", format_json(snapshot)));
      attach("table.txt", write_new_file(directory, "table.txt", format_table(snapshot, {kTableColumns, false})));
    }
  }
  output_.copy(files_->directory("files"), kMaxOutput);
  // The first summary waits for content.
  const bool is_first = summary_due_ns_ == 0 && wall_ns_ < kSummaryNs && !summary_.has_changed();
  if (finished_ || (wall_ns_ >= summary_due_ns_ && !is_first)) { add_summary(wall_ns_); }
  flush();
  return !stopped_;
}

bool WandbRun::take_killed(const Snapshot& snapshot, std::uint64_t journal_bytes) {
  cursor_.killed_bytes = journal_bytes;
  const bool taken = take(snapshot);
  cursor_.killed_rows = points_.before_end();
  save();
  return taken;
}

bool WandbRun::take_job(const Snapshot& snapshot) {
  if (stopped_ || ended_) { return !stopped_; }
  std::vector<MetricPoint> points;
  add_job(snapshot, points);
  append(points);
  if (!points.empty()) { add_summary(snapshot.wall_ns); }
  flush();
  return !stopped_;
}

void WandbRun::add_rows(const Snapshot& snapshot) {
  std::vector<MetricPoint> made;
  points_.take(snapshot, made);
  epochs_.take(snapshot);
  const auto system = std::stable_partition(
      made.begin(), made.end(), [](const MetricPoint& each) { return each.source != MetricPoint::Source::sample; });
  append_system(only_new({system, made.end()}));
  made.erase(system, made.end());
  sort_by_time(made);
  std::vector<MetricPoint> points = only_new(std::move(made));
  if (snapshot.finished && snapshot.job != nullptr) { add_job(snapshot, points); }
  append(points);
}

/// Appends system metrics as separate records, which belong to no step. Metrics with the same end share a record.
void WandbRun::append_system(const std::vector<MetricPoint>& points) {
  WandbItems items;
  for (auto each = points.begin(); each != points.end(); ++each) {
    items.push_back({points_.key(each->key), wandb_json(each->value)});
    const auto next = std::next(each);
    if (next != points.end() && next->timestamp_ms == each->timestamp_ms) { continue; }
    log_.append(records_.system(std::exchange(items, {}), each->timestamp_ms * kMillisecondNs));
    ++cursor_.events;
  }
}

void WandbRun::append(const std::vector<MetricPoint>& points) {
  for (const WandbRows::Row& row : rows_.take(points, points_, epochs_)) {
    log_.append(records_.history(row.items, row.number));
    summary_.add(row);
  }
  warn_renamed();
}

/// Adds the figures over ranks, unless the log has figures of as many ranks.
void WandbRun::add_job(const Snapshot& snapshot, std::vector<MetricPoint>& points) {
  const Job& job = *snapshot.job;
  if (job.wall.ranks <= cursor_.job_ranks) { return; }
  cursor_.job_ranks = job.wall.ranks;
  points_.take_job(snapshot, points);
  notes_[kWandbRanks] = wandb_json(job_text(job));
}

void WandbRun::warn_renamed() {
  MetricPoints::Renamed renamed = points_.take_renamed();
  for (auto& each : rows_.take_renamed()) { renamed.push_back(std::move(each)); }
  if (!renamed.empty()) { report_renamed("wandb.names.", "W&B allows only UTF-8 in names", renamed, renamed_lines_++); }
}

/// Keeps the points that are not in the previous process's log.
std::vector<MetricPoint> WandbRun::only_new(std::vector<MetricPoint> points) {
  points.erase(std::remove_if(points.begin(), points.end(), [&](const MetricPoint& each) { return !is_new(each); }),
               points.end());
  return points;
}

/// Returns whether the point is not in the previous process's log.
bool WandbRun::is_new(const MetricPoint& point) {
  const auto source = static_cast<std::size_t>(point.source);
  const bool of_end = point.source == MetricPoint::Source::total;
  if (point.index == MetricPoint::kNoIndex) {
    cursor_.gap = true;
    return !resumed_.gap;
  }
  if (point.index < resumed_.points[source] || (resumed_.gap && !of_end)) { return false; }
  cursor_.points[source] = std::max(cursor_.points[source], point.index + 1);
  return true;
}

void WandbRun::add_notes(const Snapshot& snapshot) {
  const LostRecords lost = lost_records(snapshot.losses);
  const std::string findings = findings_text(snapshot);
  if (lost.any()) { notes_[kWandbLost] = wandb_json(lost.words()); }
  if (!findings.empty()) { notes_[kWandbFindings] = wandb_json(findings); }
}

void WandbRun::add_summary(std::int64_t wall_ns) {
  summary_due_ns_ = wall_ns + kSummaryNs;
  WandbItems changed = summary_.changed();
  changed.push_back(
      {"_wandb", detail::format(R"({{"runtime":{}}})", wall_ns / kSecondNs)});  // shown as duration by W&B
  for (const auto& [name, json] : notes_) { changed.push_back({name, json}); }
  log_.append(records_.summary(changed));
}

DirectoryFiles WandbRun::attachments() {
  const DirectoryFiles files = files_->directory("files");
  files.make_directory("takt");
  return files.directory("takt");
}

/// Adds a written file to the log, or reports an error, with the reason in errno.
void WandbRun::attach(const char* name, bool written) {
  const std::string path = std::string("takt/") + name;
  if (written) {
    log_.append(records_.file(path));
  } else {
    missing_ = true;
    report_error("wandb.file", wandb_error("write", directory_ + "/files/" + path, errno) + ". It is not attached");
  }
}

/// Attaches trace.json. Another thread writes it; the file is complete when it has its name.
void WandbRun::attach_trace(Time until) {
  const std::string path = trace_ + "/trace.json";
  while (!may_exist(path) && steady_clock::now() + kTracePause < until) { std::this_thread::sleep_for(kTracePause); }
  if (!may_exist(path)) {
    missing_ = true;
    report_error("wandb.file",
                 path + " was not finished in time, and is not attached. Allow more time with TAKT_EXIT_MS");
    return;
  }
  // Uses the directory that the journal was read from, even if its path has changed meaning.
  const bool attached = attach_time_line(*cursor_file_.directory_at(trace_), attachments(), until);
  if (!attached && (errno == ENOEXEC || errno == ELOOP || errno == ENXIO)) {
    missing_ = true;
    report_error("wandb.file", path + " is not a time line written by Takt, and is not attached; remove it");
    return;
  }
  attach("trace.json", attached);
}

/// Attaches the output. The output of a killed process was already copied.
void WandbRun::attach_output() {
  const DirectoryFiles files = files_->directory("files");
  output_.copy(files, WandbOutput::kMaxBytes);
  struct stat status = {};
  if (files.look(WandbOutput::kName, status) && S_ISREG(status.st_mode)) {
    log_.append(records_.file(WandbOutput::kName));
  }
}

bool WandbRun::flush() {
  if (!started_ || log_.backlog() == 0) { return !stopped_; }
  if (stopped_) { return false; }
  if (backlog_.write(directory_)) {
    save();
    return true;
  }
  stopped_ = backlog_.is_given_up();
  return false;
}

bool WandbRun::finish(Time until) {
  if (!started_ || stopped_ || ended_) { return !stopped_; }
  if (finished_) {
    if (options_.files && !trace_.empty()) { attach_trace(until); }
    attach_output();
    ended_ = true;
    log_.append(records_.exit(exit_code_, wall_ns_ / kSecondNs));
  }
  const bool written = flush() && log_.sync();
  save();
  return written && ended_ && !missing_;
}

}  // namespace detail
TAKT_END_NAMESPACE
