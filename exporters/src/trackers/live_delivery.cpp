// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "trackers/live_delivery.hpp"

#include <takt/snapshot.hpp>

#include "base/fault.hpp"
#include "base/file.hpp"

#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {

LiveDelivery::LiveDelivery(const Tracker& tracker, bool all_ranks, std::unique_ptr<LiveRun> run)
    : tracker_(tracker), all_ranks_(all_ranks), run_(std::move(run)), pid_(::getpid()) {}

LiveDelivery::~LiveDelivery() {
  if (is_forked()) {
    (void)run_.release();
  } else {
    lease_.release();
  }
}

bool LiveDelivery::is_forked() const { return ::getpid() != pid_; }

Claim LiveDelivery::claim(std::string& why) {
  if (directory_.empty()) { return Claim::ours; }
  if (tracker_.cursor != nullptr && may_exist(tracker_.cursor_file(directory_))) {
    why = tracker_.cursor_file(directory_);
    return Claim::begun;
  }
  if (lease_.take(tracker_.lease_file(directory_))) { return Claim::ours; }
  why = lease_.problem();
  return Claim::taken;
}

void LiveDelivery::begin(const Snapshot& snapshot) {
  if (is_forked()) { return; }
  if (snapshot.run.rank != 0 && !all_ranks_) { run_.reset(); }
  if (run_ == nullptr || std::exchange(begun_, true)) { return; }
  directory_ = snapshot.run.directory;
  try {
    std::string why;
    const Claim claimed = claim(why);
    if (!run_->begin(snapshot, claimed, why, lease_.held() ? &lease_ : nullptr)) { return leave(); }
  } catch (...) {  // no memory: what has half begun is not shown anything
    leave();
    throw;
  }
  if (run_->stopped()) { lease_.release(); }
}

/// Others deliver it.
void LiveDelivery::leave() noexcept {
  left_ = true;
  run_.reset();
  lease_.release();
}

/// Whether there is something to deliver, and the lease, if there was one, is still this process's.
bool LiveDelivery::may_deliver() {
  if (run_ == nullptr) { return false; }
  if (!lease_.held() || lease_.refresh()) { return true; }
  report_fault_once(tracker_.cause("taken"), lease_.problem() + ". Nothing more is delivered to " + tracker_.title +
                                                 " from here; " + tracker_.sync + " " + directory_ +
                                                 " delivers what lacks");
  leave();
  return false;
}

ExportResult LiveDelivery::export_snapshot(const Snapshot& snapshot) {
  if (is_forked()) { return ExportResult::drop; }  // the run is the parent's
  begin(snapshot);
  directory_ = snapshot.run.directory;  // it may have been moved
  if (!may_deliver()) { return ExportResult::ok; }
  const ExportResult result = run_->take(snapshot);
  if (run_->stopped()) { lease_.release(); }
  return result;
}

bool LiveDelivery::flush(std::chrono::milliseconds deadline) {
  if (is_forked()) { return false; }
  if (!may_deliver()) { return !left_; }
  return !begun_ || run_->flush(deadline);
}

bool LiveDelivery::shutdown(std::chrono::milliseconds deadline) {
  if (is_forked()) { return false; }
  if (!may_deliver()) { return !left_; }
  const bool delivered = !begun_ || run_->finish(deadline);
  // The Session stays in memory, as threads know it: files and connections do not.
  run_.reset();
  lease_.release();
  left_ = !delivered;
  return delivered;
}

}  // namespace detail
TAKT_END_NAMESPACE
