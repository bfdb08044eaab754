// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "export_worker.hpp"

#include "fault.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::size_t bytes_of(const Harvest& harvest) {
  std::size_t bytes = sizeof(Harvest) + harvest.metrics.size() * sizeof(Metric) + harvest.spans.size() * sizeof(Span);
  for (const std::vector<Row>* rows : {&harvest.rows, &harvest.early}) {
    for (const Row& row : *rows) {
      bytes += sizeof(Row) + row.cells.size() * sizeof(Cell) + row.overlaps.size() * sizeof(Overlap);
    }
  }
  return bytes;
}

/// Early rows come again.
std::size_t count_of(const Harvest& harvest) {
  return harvest.rows.size() + harvest.metrics.size() + harvest.spans.size();
}

std::chrono::milliseconds until(Time deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace

void ExportWorker::offer(const std::shared_ptr<const Snapshot>& snapshot,
                         const std::shared_ptr<const Harvest>& harvest) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (done_) { return; }
  snapshot_ = snapshot;
  if (count_of(*harvest) + harvest->early.size() != 0) {
    backlog_.push_back(harvest);
    backlog_bytes_ += bytes_of(*harvest);
    trim();
  }
  fresh_ = true;
  changed_.notify_all();
}

void ExportWorker::finish_by(Time deadline) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = true;
  deadline_ = deadline;
  changed_.notify_all();
}

/// Under the lock.
void ExportWorker::trim() {
  while (backlog_bytes_ > kMaxBacklog && backlog_.size() > 1) {
    lost_ += count_of(*backlog_.front());
    backlog_bytes_ -= bytes_of(*backlog_.front());
    backlog_.pop_front();
    report_fault(std::string("backlog.") + name(),
                 std::string("the exporter \"") + name() +
                     "\" takes too long; its oldest rows are dropped. They are in the run folder.");
  }
}

/// Calls the exporter with all it has not taken. Returns whether it wants to see the same again.
bool ExportWorker::show(const Snapshot& offered, const Harvests& shown) {
  Snapshot snapshot = offered;
  for (const auto& harvest : shown) {
    snapshot.rows.insert(snapshot.rows.end(), harvest->rows.begin(), harvest->rows.end());
    snapshot.metrics.insert(snapshot.metrics.end(), harvest->metrics.begin(), harvest->metrics.end());
    snapshot.spans.insert(snapshot.spans.end(), harvest->spans.begin(), harvest->spans.end());
    snapshot.early.insert(snapshot.early.end(), harvest->early.begin(), harvest->early.end());
  }
  ExportResult result = ExportResult::drop;
  try {
    result = exporter_->export_snapshot(snapshot);
  } catch (const std::exception& error) {
    report_fault(std::string("exporter.") + name(),
                 std::string("the exporter \"") + name() + "\" failed: " + error.what());
  } catch (...) {
    report_fault(std::string("exporter.") + name(), std::string("the exporter \"") + name() + "\" failed");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_again_ = result == ExportResult::retry;
  if (asked_again_) { return true; }
  for (const auto& harvest : shown) {
    if (result == ExportResult::drop) { lost_ += count_of(*harvest); }
    // What was shown may have been dropped from the front meanwhile.
    const auto found = std::find(backlog_.begin(), backlog_.end(), harvest);
    if (found == backlog_.end()) { continue; }
    backlog_bytes_ -= bytes_of(*harvest);
    backlog_.erase(found);
  }
  return false;
}

void ExportWorker::begin_once() {
  const std::lock_guard<std::mutex> one(beginning_);
  std::shared_ptr<const Snapshot> opening;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    opening.swap(opening_);
  }
  if (opening == nullptr) { return; }
  try {
    exporter_->begin(*opening);
  } catch (const std::exception& error) {
    report_fault(std::string("exporter.") + name(),
                 std::string("the exporter \"") + name() + "\" could not begin: " + error.what());
  } catch (...) {
    report_fault(std::string("exporter.") + name(), std::string("the exporter \"") + name() + "\" could not begin");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  begun_ = true;
  changed_.notify_all();
}

bool ExportWorker::wait_begun(Time deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return begun_; });
}

void ExportWorker::run_once() {
  begin_once();
  std::shared_ptr<const Snapshot> snapshot;
  Harvests shown;
  bool last = false;
  Time deadline;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_ || (!fresh_ && !last_)) { return; }
    snapshot = snapshot_;
    shown = backlog_;  // at one moment with the snapshot, whose indices its rows use
    fresh_ = false;
    last = last_;
    deadline = deadline_;
  }
  const bool again = snapshot != nullptr && show(*snapshot, shown);
  if (last && (!again || until(deadline).count() == 0)) { shut_down(deadline); }
}

void ExportWorker::shut_down(Time deadline) {
  bool delivered = false;
  try {
    delivered = exporter_->shutdown(until(deadline));
  } catch (...) {
    report_fault(std::string("exporter.") + name(),
                 std::string("the exporter \"") + name() + "\" failed while it shut down");
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& harvest : backlog_) { lost_ += count_of(*harvest); }
  delivered_ = delivered && backlog_.empty() && !asked_again_;
  if (!delivered_) {
    report_fault(std::string("exporter.") + name(),
                 std::string("the exporter \"") + name() + "\" could not deliver everything");
  }
  backlog_.clear();
  backlog_bytes_ = 0;
  done_ = true;
  changed_.notify_all();
}

void ExportWorker::run() {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return fresh_ || last_ || opening_ != nullptr; });
    }
    try {
      run_once();
    } catch (const std::exception& error) {  // no memory for the snapshot, most likely
      report_fault(std::string("exporter.") + name(),
                   std::string("the exporter \"") + name() + "\" could not be called: " + error.what());
    }
    std::unique_lock<std::mutex> lock(mutex_);
    if (done_) { return; }
    if (last_) { changed_.wait_for(lock, std::min(until(deadline_), kPause)); }
  }
}

bool ExportWorker::wait(Time deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return done_; });
}

bool ExportWorker::delivered() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return delivered_;
}

std::uint64_t ExportWorker::lost() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

}  // namespace detail
TAKT_END_NAMESPACE
