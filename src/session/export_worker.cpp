// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/export_worker.hpp"

#include "base/report_error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <string_view>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::size_t bytes_of_drained(const Drained& drained) noexcept {
  std::size_t bytes = sizeof(Drained) + drained.metrics.size() * sizeof(Metric) + drained.spans.size() * sizeof(Span);
  for (const std::vector<Row>* rows : {&drained.rows, &drained.early}) {
    for (const Row& row : *rows) {
      bytes += sizeof(Row) + row.cells.size() * sizeof(Cell) + row.overlaps.size() * sizeof(Overlap);
    }
  }
  for (const Sample& sample : drained.samples) {
    bytes += sizeof(Sample) + sample.values.size() * sizeof(std::int64_t);
  }
  return bytes;
}

/// Returns the number of records. Early rows are excluded: they are delivered again.
std::size_t count_of(const Drained& drained) noexcept {
  return drained.rows.size() + drained.metrics.size() + drained.spans.size() + drained.samples.size();
}

std::chrono::milliseconds until(Time deadline) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace

void ExportWorker::make_space() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (backlog_.size() == backlog_.capacity()) { backlog_.reserve(std::max<std::size_t>(2 * backlog_.size(), 16)); }
}

void ExportWorker::offer(const std::shared_ptr<const Snapshot>& snapshot,
                         const std::shared_ptr<const Drained>& drained) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (done_) { return; }
  snapshot_ = snapshot;
  if (count_of(*drained) + drained->early.size() != 0) {
    backlog_.push_back(drained);
    backlog_bytes_ += bytes_of_drained(*drained);
    trim();
  }
  fresh_ = true;
  changed_.notify_all();
}

void ExportWorker::finish_by(Time deadline) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_ = true;
  deadline_ = deadline;
  changed_.notify_all();
}

/// REQUIRES: mutex_ is held.
void ExportWorker::trim() noexcept {
  std::size_t dropped = 0;
  for (; backlog_bytes_ > kMaxBacklog && dropped + 1 < backlog_.size(); ++dropped) {
    lost_ += count_of(*backlog_[dropped]);
    backlog_bytes_ -= bytes_of_drained(*backlog_[dropped]);
  }
  if (dropped == 0) { return; }
  backlog_.erase(backlog_.begin(), backlog_.begin() + static_cast<std::ptrdiff_t>(dropped));
  const bool is_journal = std::string_view(name()) == "journal";
  report_error(Words("backlog.", name()),
               Words("the exporter \"", name(), "\" is too slow: its oldest rows are dropped. ",
                     is_journal ? "They are lost. Check whether the disk is full or slow."
                                : "The rows in the journal are kept."));
}

/// Calls the exporter with everything that it has not acknowledged.
ExportResult ExportWorker::show(const Snapshot& offered, const Drains& shown) {
  Snapshot snapshot = offered;
  for (const auto& drained : shown) {
    snapshot.rows.insert(snapshot.rows.end(), drained->rows.begin(), drained->rows.end());
    snapshot.metrics.insert(snapshot.metrics.end(), drained->metrics.begin(), drained->metrics.end());
    snapshot.spans.insert(snapshot.spans.end(), drained->spans.begin(), drained->spans.end());
    snapshot.samples.insert(snapshot.samples.end(), drained->samples.begin(), drained->samples.end());
    snapshot.early.insert(snapshot.early.end(), drained->early.begin(), drained->early.end());
  }
  try {
    return exporter_->export_snapshot(snapshot);
  } catch (const std::bad_alloc&) {
    throw;  // show_or_wait() retries
  } catch (const std::exception& error) {
    report_error(Words("exporter.", name()), Words("the exporter \"", name(), "\" failed: ", error.what()));
  } catch (...) { report_error(Words("exporter.", name()), Words("the exporter \"", name(), "\" failed")); }
  return ExportResult::drop;
}

/// Handles the exporter's answer. Returns true if the same data must be shown again.
bool ExportWorker::answered(ExportResult result, const Drains& shown) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  asked_again_ = result == ExportResult::retry;
  dropped_ = result == ExportResult::drop;
  if (asked_again_) { return true; }
  for (const auto& drained : shown) {
    if (result == ExportResult::drop) { lost_ += count_of(*drained); }
    // The data may meanwhile have been dropped from the front.
    const auto found = std::find(backlog_.begin(), backlog_.end(), drained);
    if (found == backlog_.end()) { continue; }
    backlog_bytes_ -= bytes_of_drained(*drained);
    backlog_.erase(found);
  }
  return false;
}

void ExportWorker::begin_once() noexcept {
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
    report_error(Words("exporter.", name()), Words("the exporter \"", name(), "\" could not start: ", error.what()));
  } catch (...) { report_error(Words("exporter.", name()), Words("the exporter \"", name(), "\" could not start")); }
  const std::lock_guard<std::mutex> lock(mutex_);
  started_ = true;
  changed_.notify_all();
}

bool ExportWorker::wait_started(Time deadline) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return started_; });
}

/// Without memory for the snapshot, behaves as if the exporter had asked for a retry.
bool ExportWorker::show_or_wait(Drains& shown) noexcept {
  std::shared_ptr<const Snapshot> snapshot;
  ExportResult result = ExportResult::retry;
  try {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      fresh_ = false;
      snapshot = snapshot_;
      shown = backlog_;  // consistent with the snapshot, whose indices its rows use
    }
    if (snapshot == nullptr) { return false; }
    result = show(*snapshot, shown);
  } catch (const std::bad_alloc&) {
    report_error(Words("exporter.", name()),
                 Words("out of memory while calling the exporter \"", name(), "\"; its new data is sent later"));
  }
  return answered(result, shown);
}

void ExportWorker::run_once() noexcept {
  begin_once();
  bool last = false;
  bool is_taken = false;  // the latest offer was taken; the thread may take it before finish_by() marks it as the last
  Time deadline;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (done_ || (!fresh_ && !last_)) { return; }
    is_taken = !fresh_ && !asked_again_;
    last = last_;
    deadline = deadline_;
  }
  Drains shown;
  const bool again = !is_taken && show_or_wait(shown);
  if (last && (!again || until(deadline).count() == 0)) { shut_down(deadline); }
}

void ExportWorker::shut_down(Time deadline) noexcept {
  bool delivered = false;
  try {
    delivered = exporter_->shutdown(until(deadline));
  } catch (const std::exception& error) {
    report_error(Words("exporter.", name()),
                 Words("the exporter \"", name(), "\" failed during shutdown: ", error.what()));
  } catch (...) {
    report_error(Words("exporter.", name()), Words("the exporter \"", name(), "\" failed during shutdown"));
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& drained : backlog_) { lost_ += count_of(*drained); }
  delivered_ = delivered && backlog_.empty() && !asked_again_;
  if (!delivered_) {
    report_error(Words("exporter.", name()), Words("the exporter \"", name(), "\" could not deliver all data"));
  }
  delivered_ = delivered_ && !dropped_;  // the exporter has reported dropped data itself
  backlog_.clear();
  backlog_bytes_ = 0;
  done_ = true;
  changed_.notify_all();
}

void ExportWorker::run() noexcept {
  for (;;) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return fresh_ || last_ || opening_ != nullptr; });
    }
    run_once();
    std::unique_lock<std::mutex> lock(mutex_);
    if (done_) { return; }
    if (last_) { changed_.wait_for(lock, std::min(until(deadline_), kPause)); }
  }
}

bool ExportWorker::wait(Time deadline) noexcept {
  std::unique_lock<std::mutex> lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return done_; });
}

bool ExportWorker::delivered() noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  return delivered_;
}

std::uint64_t ExportWorker::lost() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

}  // namespace detail
TAKT_END_NAMESPACE
