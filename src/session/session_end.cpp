// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// How a Session ends: by its deadline, whatever its exporters do.
#include "session/session_impl.hpp"

#include <takt/detail/not_cancelled.hpp>

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/words.hpp"
#include "base/write_patience.hpp"
#include "session/termination.hpp"
#include "session/uncaught.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

// Results of devices that come within this time after the end still enter the last rows.
constexpr milliseconds kDeviceGrace(200);

// For a last question to devices about what idle threads wait for, and for a last sample.
constexpr milliseconds kSamplerGrace(100);

// Left for close() to come back by its deadline when an exporter has used up the time, and before that for the exporter
// to say what it could not do.
constexpr milliseconds kMargin(50);

// How often an exporter that was left behind is looked at, and whether anybody else is still there.
constexpr milliseconds kLookAround(1000);

milliseconds margin_of(milliseconds most) { return std::min(most / 20, kMargin); }

Time steady_now() { return std::chrono::steady_clock::now(); }

}  // namespace

/// The main thread has gone by pthread_exit(), and so have all others: nobody else is left who could end the run, or be
/// sent a signal. The process ends as it would have with its last thread.
void SessionImpl::end_alone() noexcept {
  alone_ = true;
  end(false);
  std::exit(0);
}

/// An exporter that does not come back must not keep alive what pthread_exit() has ended.
void SessionImpl::stay_with_left_behind() noexcept {
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) {
    while (each->started && !each->wait(steady_now() + kLookAround)) {
      if (alone_in_process()) { std::exit(0); }
    }
  }
}

/// The last collection, and the end of every exporter.
void SessionImpl::finish() noexcept {
  try_to_collect_all(deadline_);
  {
    const std::lock_guard<std::mutex> lock(data_);
    ended_ = true;
  }
  bool all = !homeless_;
  while (!try_to_collect(true)) {
    all = all && steady_now() < deadline_;
    if (steady_now() >= deadline_) { break; }
    std::this_thread::sleep_for(ExportWorker::kPause);  // there may be memory in a moment
  }
  all = finish_workers() && all;
  leave_folder();
  const std::lock_guard<std::mutex> lock(state_);
  finished_ = true;
  delivered_ = all && !lossy_ && !has_left_out();
  changed_.notify_all();
}

/// Closes the folder. The Session itself stays in memory, as threads may still refer to it.
void SessionImpl::leave_folder() noexcept {
  const std::unique_lock<std::mutex> one(following_, std::try_to_lock);
  if (one.owns_lock()) { run_folder_ = FolderFiles(); }
}

/// Returns whether each has taken everything.
bool SessionImpl::finish_workers() noexcept {
  const Time end = deadline_ - margin_of(milliseconds(std::max(options_.exit_ms, 0)));
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) { each->finish_by(end); }
  while (!run_local(deadline_) && steady_now() < deadline_) { std::this_thread::sleep_for(ExportWorker::kPause); }
  tracing.store(false, std::memory_order_relaxed);
  bool all = true;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) {
    if (!each->wait(deadline_)) {
      const std::string_view name = each->name();
      const bool can_sync = journal_ != nullptr && (name == "mlflow" || name == "wandb");
      report_fault(Words("exit.", name),
                   Words("the exporter \"", name, "\" had not finished after ", limit(), " and was left behind",
                         can_sync ? ". What it has not sent is in the journal: takt sync " : "",
                         can_sync ? std::string_view(run_.directory) : std::string_view()));
    }
    all = each->delivered() && all;
  }
  return all;
}

bool SessionImpl::end(bool killed) noexcept {
  const NotCancelled whole;
  const milliseconds most(std::max(options_.exit_ms, 0));
  const Time deadline = steady_now() + most;
  {
    std::unique_lock<std::mutex> lock(state_);
    if (closed_) { return end_elsewhere(lock); }
    closed_ = true;
    closing_since_ns_.store(steady_ns(), std::memory_order_relaxed);
    deadline_ = deadline - margin_of(most);
    killed_.store(killed, std::memory_order_relaxed);
  }
  // A terminal that takes nothing leaves half of the time to the files behind it.
  table_patience.end_at(steady_now() + most / 2);
  fault_patience.end_at(deadline);
  if (!killed) { tell_open_trials(); }
  const bool done = end_by(deadline);
  table_patience.forget();
  fault_patience.forget();
  leave_sigterm(*this);
  leave_uncaught(*this);
  return done;
}

bool SessionImpl::end_by(Time deadline) noexcept {
  Recorder* const recorder = existing_recorder();
  const milliseconds most(std::max(options_.exit_ms, 0));
  const milliseconds grace = std::min(kDeviceGrace, most / 2);
  registry().complete(recorder, process_clock().now_ns() + static_cast<std::uint64_t>(grace.count()) * 1'000'000U);
  samples_.stop(steady_now() + std::min(kSamplerGrace, most / 4));
  if (recorder != nullptr) {
    const Recorder::Inside inside(*recorder);
    recorder->abandon_devices();
  }
  if (!background_ || dying_ || alone_) { finish(); }
  {
    std::unique_lock<std::mutex> lock(state_);
    closing_ = true;
    registry().shared().alarm.ring();
    if (changed_.wait_until(lock, deadline, [this] { return finished_; })) { return delivered_; }
  }
  report_fault("exit", Words("the end of the run was not finished within ", limit()));
  return false;
}

/// Another thread ends the run, or has ended it.
bool SessionImpl::end_elsewhere(std::unique_lock<std::mutex>& lock) noexcept {
  changed_.wait_until(lock, deadline_, [this] { return finished_; });
  // The signal is about to end the process. A thread that came here on the way to exit() would hide that from the
  // parent process.
  if (killed_.load(std::memory_order_relaxed)) {
    changed_.wait_until(lock, deadline_ + kMargin, [] { return false; });
  }
  return finished_ && delivered_;
}

}  // namespace detail
TAKT_END_NAMESPACE
