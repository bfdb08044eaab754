// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "wandb_run.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/json.hpp>

#include "fault.hpp"
#include "file.hpp"
#include "wandb_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kSummaryNs = 5 * kNsPerS;
constexpr milliseconds kLook(20);
constexpr int kTableColumns = 120;

/// Epochs that have ended, -1 where there is no such region.
std::int64_t epochs(const Snapshot& snapshot) {
  const auto found = std::find_if(snapshot.paths.begin(), snapshot.paths.end(),
                                  [](const PathStats& path) { return path.name == "Epoch"; });
  return found == snapshot.paths.end() ? -1 : static_cast<std::int64_t>(found->host.n() + found->skipped);
}

}  // namespace

WandbRun::WandbRun(const WandbOptions& options, std::size_t most_backlog)
    : options_(options),
      root_(wandb_root(options.directory)),
      most_backlog_(most_backlog),
      points_(options.every_step),
      rows_(0) {
  points_.keep_nans();
}

bool WandbRun::begin(const Snapshot& snapshot) {
  begun_ = stopped_ = true;  // until there is something to write to
  const WandbIdentity identity = wandb_identity(snapshot.run, options_, new_wandb_id());
  std::string error;
  folder_ = make_wandb_folder(root_, identity.start_unix_ns, identity.id, error);
  const std::string file = folder_ + "/run-" + identity.id + ".wandb";
  if (error.empty() && !log_.create(file)) { error = wandb_fault("make", file, errno); }
  if (!error.empty()) {
    stop(error);
    return false;
  }
  stopped_ = false;
  rows_ = WandbRows(identity.start_unix_ns);
  log_.append(
      records_.header(fmt::format("takt-{}.{}.{}", TAKT_VERSION_MAJOR, TAKT_VERSION_MINOR, TAKT_VERSION_PATCH)));
  log_.append(records_.run(identity, config_.changed(snapshot)));
  log_.append(records_.axis(kWandbStep));
  log_.append(records_.axis(kWandbEpoch));
  log_.append(records_.drawn_over("*", kWandbStep));
  if (options_.mode == WandbMode::online && !options_.silent) {
    report_fault_once("wandb.online " + folder_,
                      "nothing is sent to W&B by the program itself; this uploads the run, now or later: "
                      "wandb sync " +
                          shell_word(folder_));
  }
  return true;
}

void WandbRun::stop(const std::string& why) {
  stopped_ = true;
  log_.discard();
  report_fault_once("wandb.stopped " + (folder_.empty() ? root_ : folder_),
                    why + ". Nothing more is written for W&B; the run goes on");
}

bool WandbRun::take(const Snapshot& snapshot) {
  if (!begun_ && !begin(snapshot)) { return false; }
  if (stopped_) { return false; }
  const WandbItems config = config_.changed(snapshot);
  if (!config.empty()) { log_.append(records_.config(config)); }
  add_rows(snapshot);
  if (!snapshot.spans.empty()) { trace_ = snapshot.run.directory + "/trace.json"; }
  wall_ns_ = snapshot.wall_ns;
  failed_ = snapshot.failed;
  if (snapshot.finished && !finished_) {
    finished_ = true;
    if (options_.files) {
      const std::string folder = folder_ + "/files/takt";
      const bool made = make_own_folder(folder);
      attach("summary.json", made && write_new_file(folder + "/summary.json", format_json(snapshot)));
      attach("table.txt", made && write_new_file(folder + "/table.txt", format_table(snapshot, kTableColumns, false)));
    }
  }
  if (finished_ || wall_ns_ >= summary_due_ns_) { add_summary(wall_ns_); }
  flush();
  return !stopped_;
}

void WandbRun::add_rows(const Snapshot& snapshot) {
  std::vector<MetricPoint> points;
  points_.take(snapshot, points);
  for (const WandbRows::Row& row : rows_.take(std::move(points), points_, epochs(snapshot))) {
    log_.append(records_.history(row.items, row.number));
    summary_.add(row);
  }
}

void WandbRun::add_summary(std::int64_t wall_ns) {
  summary_due_ns_ = wall_ns + kSummaryNs;
  WandbItems changed = summary_.changed();
  changed.push_back({"_wandb", fmt::format(R"({{"runtime":{}}})", wall_ns / kNsPerS)});  // what W&B shows as duration
  log_.append(records_.summary(changed));
}

/// errno is that of what was written.
void WandbRun::attach(const char* name, bool written) {
  const std::string path = std::string("takt/") + name;
  if (written) {
    log_.append(records_.file(path));
  } else {
    missing_ = true;
    report_fault("wandb.file", wandb_fault("write", folder_ + "/files/" + path, errno) + ". It is not attached");
  }
}

/// Another thread writes it; it has its name when it is whole.
void WandbRun::attach_trace(Time until) {
  while (!may_exist(trace_) && steady_clock::now() + kLook < until) { std::this_thread::sleep_for(kLook); }
  if (!may_exist(trace_)) {
    missing_ = true;
    report_fault("wandb.file", trace_ + " was not finished in time, and is not attached. More time: TAKT_EXIT_MS");
    return;
  }
  attach("trace.json", link_or_copy(trace_, folder_ + "/files/takt/trace.json", until));
}

bool WandbRun::flush() {
  if (!begun_ || log_.backlog() == 0) { return !stopped_; }
  if (stopped_) { return false; }
  if (log_.flush()) { return true; }
  const std::string why = wandb_fault("write", folder_, errno);
  if (log_.backlog() > most_backlog_) {
    stop(why);
  } else {
    report_fault_once("wandb.write " + folder_, why + ". What is missing is kept, and written when that can be done");
  }
  return false;
}

bool WandbRun::finish(Time until) {
  if (!begun_ || stopped_ || ended_) { return !stopped_; }
  if (finished_) {
    if (options_.files && !trace_.empty()) { attach_trace(until); }
    ended_ = true;
    log_.append(records_.exit(failed_ ? 1 : 0, wall_ns_ / kNsPerS));
  }
  return flush() && log_.sync() && ended_ && !missing_;
}

}  // namespace detail
TAKT_END_NAMESPACE
