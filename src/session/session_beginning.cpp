// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// What of a run is on the disk before anything is recorded, however early it is killed.
#include "session/session_impl.hpp"

#include "base/fault.hpp"
#include "base/quiet_signals.hpp"
#include "base/words.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// What making a Session, or adding an exporter, waits for a disk to take the beginning.
constexpr std::chrono::milliseconds kBeginning(1000);

}  // namespace

/// The exporters of the run folder.
void SessionImpl::begin_local() noexcept {
  const QuietSignals quiet;  // this may be a thread of the program's
  for (const auto& worker : local_) { worker->begin_once(); }
  const std::lock_guard<std::mutex> lock(state_);
  begun_ = true;
  changed_.notify_all();
}

/// From here on a kill leaves a run that can be read.
void SessionImpl::wait_for_beginning() noexcept {
  if (!background_) { return begin_local(); }
  std::unique_lock<std::mutex> lock(state_);
  if (changed_.wait_for(lock, kBeginning, [this] { return begun_; })) { return; }
  lock.unlock();
  report_fault("begin",
               Words("the disk of ", run_.directory,
                     " takes too long for the beginning of the journal; the run goes on without waiting for it, "
                     "and a kill before the disk answers loses the run"));
}

/// So that what the program has set it up with outlives a kill.
void SessionImpl::wait_for_beginning_of(ExportWorker& worker) noexcept {
  if (!worker.started) {
    const QuietSignals quiet;
    worker.begin_once();
  } else if (!worker.wait_begun(std::chrono::steady_clock::now() + kBeginning)) {
    report_fault(Words("begin.", worker.name()), Words("the exporter \"", worker.name(),
                                                       "\" takes too long to begin; the run goes on without waiting"));
  }
}

}  // namespace detail
TAKT_END_NAMESPACE
