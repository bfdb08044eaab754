// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "findings/findings.hpp"
#include "session/crash.hpp"
#include "session/session_impl.hpp"

#include <takt/detail/not_cancelled.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

// Collection: a Session drains the threads' data and offers it to its exporters.

TAKT_BEGIN_NAMESPACE
namespace detail {

std::atomic<const SessionImpl*> SessionImpl::collector_{nullptr};

/// Drains new data from the threads, up to a memory limit, and offers it to every exporter. Returns true if there is
/// more. If memory runs out, nothing is dropped or offered twice: the next call continues from there.
bool SessionImpl::collect(bool last, std::shared_ptr<const Snapshot>* offered) {
  const std::lock_guard<std::mutex> one(collecting_);
  if (collector_.load(std::memory_order_relaxed) != this) { return false; }
  if (!last) {
    const std::lock_guard<std::mutex> lock(data_);
    if (ended_) { return false; }  // nothing may be offered after the last snapshot
  }
  process_clock().recheck();
  if (drained_ != nullptr) { deliver(); }
  if (took_last_) { return false; }
  bool more = false;
  auto drained = std::make_shared<Drained>();
  *drained = registry().collect(last, &more);
  drained_ = std::move(drained);
  in_history_ = false;
  in_epochs_ = false;
  took_last_ = last;
  const auto shift = static_cast<std::int64_t>(start_ns_);
  for (std::vector<Row>* rows : {&drained_->rows, &drained_->early}) {
    for (Row& row : *rows) { row.begin_ns -= shift; }
  }
  for (Span& span : drained_->spans) { span.begin_ns -= shift; }
  samples_.keep(*drained_, last);
  const auto snapshot = deliver();
  if (offered != nullptr) { *offered = snapshot; }
  return more;
}

/// Offers the drained data. Returns the snapshot that was offered with it. REQUIRES: collecting_ is held.
std::shared_ptr<const Snapshot> SessionImpl::deliver() {
  Snapshot now = this->snapshot(took_last_);
  keep_history(now);
  keep_epochs(now);
  if (took_last_) { conclude(now); }
  auto snapshot = std::make_shared<const Snapshot>(std::move(now));
  report_lost(*snapshot);
  std::vector<std::shared_ptr<ExportWorker>> workers;
  {
    const std::lock_guard<std::mutex> lock(data_);
    workers = local_;
    workers.insert(workers.end(), added_.begin(), added_.end());
  }
  for (const auto& worker : workers) { worker->make_space(); }
  for (const auto& worker : workers) { worker->offer(snapshot, drained_); }
  drained_.reset();
  return snapshot;
}

/// Adds the drained data to the history, once per batch. Without memory the run has no findings. REQUIRES: collecting_.
void SessionImpl::keep_history(const Snapshot& snapshot) noexcept {
  if (std::exchange(in_history_, true)) { return; }
  const std::lock_guard<std::mutex> lock(polling_);
  try {
    if (history_ != nullptr) { history_->add(snapshot, drained_->rows, drained_->metrics); }
    if (steps_ != nullptr) { steps_->add(snapshot, drained_->rows); }
  } catch (const std::bad_alloc&) {
    history_.reset();
    steps_.reset();
    report_error("history",
                 "out of memory for the history of steps: the report has no findings on steps, and "
                 "takt::mpi::reduce() does not compare this rank");
  }
}

/// Adds the Epochs that have ended to `snapshot` and to their file, once for each batch. Called under collecting_.
void SessionImpl::keep_epochs(Snapshot& snapshot) {
  if (std::exchange(in_epochs_, true)) { return; }
  std::size_t ended = 0;
  {
    const std::lock_guard<std::mutex> lock(data_);
    ended = epochs_.add(drained_->metrics);
    epochs_.fill(snapshot);
  }
  if (ended != 0 && snapshot.epochs_left_out != 0) {
    report_error_once("epochs.bound",
                      "epochs.csv and summary.json have the first 1 000 Epochs of this run; metrics of later "
                      "ones are in the journal and sent to trackers");
  }
  if (progress_ == nullptr) { return; }
  progress_->add(snapshot, drained_->rows, drained_->metrics, std::chrono::steady_clock::now());
  if (took_last_) { progress_->finish(); }
}

/// Adds the findings to the snapshot.
void SessionImpl::conclude(Snapshot& snapshot) {
  std::shared_ptr<const StepHistory> history;
  {
    const std::lock_guard<std::mutex> lock(polling_);
    if (history_ != nullptr) { history = std::make_shared<const StepHistory>(history_->finished()); }
  }
  detail::conclude(snapshot, std::move(history));
}

/// Reports dropped steps or metrics at once and remembers them for close(). REQUIRES: collecting_ is held.
void SessionImpl::report_lost(const Snapshot& snapshot) {
  lossy_ = lossy_ || lost_records(snapshot.losses).any();
  std::vector<Loss> unreported;  // the others were reported when they started
  std::copy_if(snapshot.losses.begin(), snapshot.losses.end(), std::back_inserter(unreported),
               [](const Loss& each) { return each.what != "not_in_journal" && each.what != "metrics_over_bound"; });
  const LostRecords lost = lost_records(unreported);
  if (!lost.any()) { return; }
  report_error("records.lost", "dropped so far: " + lost.words() +
                                   ". They were recorded faster than they could be written, or exceed a limit. "
                                   "The report says which limit; TAKT_MEMORY_MB limits the memory");
}

/// Collects all data in parts; bounded, as threads may record without a pause. Returns true if there is more.
/// \param deadline for exporters without a thread.
bool SessionImpl::collect_all(Time deadline) {
  constexpr int kMaxParts = 16;  // enough for half of the row memory, unpacked
  for (int part = 0; part < kMaxParts && std::chrono::steady_clock::now() < deadline; ++part) {
    if (!collect(false)) { return false; }
    run_local(deadline);
    const std::lock_guard<std::mutex> lock(state_);
    if (closing_ && deadline == Time::max()) { break; }  // closing has a deadline
  }
  return true;
}

bool SessionImpl::try_to_collect_all(Time deadline) noexcept {
  follow_directory();
  try {
    if (collect_all(deadline)) { registry().shared().alarm.ring(); }
    return true;
  } catch (const std::exception& error) {  // most likely out of memory: the next period may succeed
    report_error("background", Words("cannot collect results: ", error.what()));
    return false;
  }
}

bool SessionImpl::try_to_collect(bool last) noexcept {
  try {
    collect(last);
    return true;
  } catch (const std::exception& error) {  // most likely out of memory: the next period may succeed
    report_error("background", Words("cannot collect results: ", error.what()));
    return false;
  }
}

/// Calls every exporter without a thread, unless another thread is still doing so at `deadline`. Returns true if all of
/// them have finished.
bool SessionImpl::run_local(Time deadline) noexcept {
  const QuietSignals quiet;  // this may be a thread of the program
  {
    std::unique_lock<std::mutex> lock(state_);
    if (!changed_.wait_until(lock, deadline, [this] { return !showing_; })) { return false; }
    showing_ = true;
  }
  const bool finished = show_local();
  const std::lock_guard<std::mutex> lock(state_);
  showing_ = false;
  changed_.notify_all();
  return finished;
}

/// Returns the exporter at an index, those of the run directory and the terminal first; nullptr after the last one.
std::shared_ptr<ExportWorker> SessionImpl::worker(std::size_t index) noexcept {
  const std::lock_guard<std::mutex> lock(data_);
  if (index < local_.size()) { return local_[index]; }
  index -= local_.size();
  return index < added_.size() ? added_[index] : nullptr;
}

bool SessionImpl::show_local() noexcept {
  bool finished = true;
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) {
    if (each->started) { continue; }
    each->run_once();
    finished = each->wait(Time()) && finished;
  }
  return finished;
}

void SessionImpl::poll() {
  const NotCancelled whole;
  {
    const std::lock_guard<std::mutex> lock(data_);
    if (ended_) { return; }
  }
  if (!background_) {
    try_to_collect_all(Time::max());
    run_local(Time::max());
    return;
  }
  try_to_collect(false);
  {
    const std::lock_guard<std::mutex> lock(state_);
    due_ = true;
  }
  registry().shared().alarm.ring();
}

/// Returns true if the background thread has work. It checks before it sleeps: a collection resets the alarm.
bool SessionImpl::is_wanted() noexcept {
  const std::lock_guard<std::mutex> lock(state_);
  return closing_ || due_ || dying_;
}

/// Sleeps until the period is over or the alarm rings.
void SessionImpl::sleep() noexcept {
  watch_.sleeps();
  registry().shared().alarm.wait(options_.period);
  watch_.wakes(static_cast<std::uint64_t>(std::chrono::nanoseconds(options_.period).count()));
}

void SessionImpl::background() noexcept {
  begin_local();
  for (;;) {
    if (!is_wanted()) { sleep(); }
    {
      const std::lock_guard<std::mutex> lock(state_);
      due_ = false;
      if (closing_) { break; }
    }
    if (dying_) { return write_down_death(*this); }
    try_to_collect_all(Time::max());
    run_local(Time::max());
    if (alone_in_process()) { end_alone(); }
  }
  finish();
  stay_with_left_behind();
}

// Start of a run: data that is on the disk before anything is recorded, however early the process is killed.
namespace {

// Maximum time that creating a Session, or adding an exporter, waits for the disk.
constexpr std::chrono::milliseconds kBeginning(1000);

}  // namespace

/// Starts the exporters of the run directory.
void SessionImpl::begin_local() noexcept {
  const QuietSignals quiet;  // this may be a thread of the program
  for (const auto& worker : local_) { worker->begin_once(); }
  const std::lock_guard<std::mutex> lock(state_);
  started_ = true;
  changed_.notify_all();
}

/// Waits for the start of the journal: from then on a killed run can be read.
void SessionImpl::wait_for_beginning() noexcept {
  if (!background_) { return begin_local(); }
  std::unique_lock<std::mutex> lock(state_);
  if (changed_.wait_for(lock, kBeginning, [this] { return started_; })) { return; }
  lock.unlock();
  report_error("begin", Words("the disk of ", run_.directory,
                              " takes too long to start the journal; the run continues without waiting for it, "
                              "but is lost if it is killed before the disk answers"));
}

/// Waits for the exporter's start, so that the program's setup survives a kill.
void SessionImpl::wait_for_beginning_of(ExportWorker& worker) noexcept {
  if (!worker.started) {
    const QuietSignals quiet;
    worker.begin_once();
  } else if (!worker.wait_started(std::chrono::steady_clock::now() + kBeginning)) {
    report_error(
        Words("begin.", worker.name()),
        Words("the exporter \"", worker.name(), "\" takes too long to start; the run continues without waiting"));
  }
}

// End of a Session: within its deadline, regardless of its exporters.
namespace {

using std::chrono::milliseconds;

// Grace time for device results after the end; they still enter the last rows.
constexpr milliseconds kDeviceGrace(200);

// Time for a last query to devices about waiting threads, and for a last sample.
constexpr milliseconds kSamplerGrace(100);

// Reserved at the end so that close() returns by its deadline if an exporter has used up the time; another margin lets
// the exporter report unsent data.
constexpr milliseconds kMargin(50);

// Polling interval for an exporter that was left behind, and for other threads of the process.
constexpr milliseconds kSearchRadius(1000);

milliseconds margin_of(milliseconds max) { return std::min(max / 20, kMargin); }

Time steady_now() { return std::chrono::steady_clock::now(); }

}  // namespace

/// Ends the run after the main thread and all others ended by pthread_exit(): no thread is left to do so or to receive
/// a signal. The process then exits as it would have with its last thread.
void SessionImpl::end_alone() noexcept {
  alone_ = true;
  end(false);
  std::exit(0);
}

/// Waits for exporters that were left behind. Exits once only they keep the process alive.
void SessionImpl::stay_with_left_behind() noexcept {
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) {
    while (each->started && !each->wait(steady_now() + kSearchRadius)) {
      if (alone_in_process()) { std::exit(0); }
    }
  }
}

/// Does the last collection and ends every exporter.
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
    std::this_thread::sleep_for(ExportWorker::kPause);  // memory may be available soon
  }
  all = finish_workers() && all;
  leave_directory();
  const std::lock_guard<std::mutex> lock(state_);
  finished_ = true;
  delivered_ = all && !lossy_ && !has_left_out();
  changed_.notify_all();
}

/// Closes the directory. The Session itself stays in memory, as threads may still refer to it.
void SessionImpl::leave_directory() noexcept {
  const std::unique_lock<std::mutex> one(following_, std::try_to_lock);
  if (one.owns_lock()) { run_directory_ = DirectoryFiles(); }
}

/// Returns true if each exporter has taken all data.
bool SessionImpl::finish_workers() noexcept {
  const Time end = deadline_ - margin_of(options_.exit_timeout);
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) { each->finish_by(end); }
  while (!run_local(deadline_) && steady_now() < deadline_) { std::this_thread::sleep_for(ExportWorker::kPause); }
  tracing.store(false, std::memory_order_relaxed);
  bool all = true;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) {
    if (!each->wait(deadline_)) {
      const std::string_view name = each->name();
      const bool can_sync = journal_ != nullptr && (name == "mlflow" || name == "wandb");
      report_error(Words("exit.", name),
                   Words("the exporter \"", name, "\" had not finished after ", limit(), " and was left behind",
                         can_sync ? ". Unsent data is in the journal; send it with: takt sync " : "",
                         can_sync ? std::string_view(run_.directory) : std::string_view()));
    }
    all = each->delivered() && all;
  }
  return all;
}

/// Reports trials that are open when the run ends: a killed run never finishes them.
void SessionImpl::report_open_trials() noexcept {
  if (!trials_open_.load(std::memory_order_relaxed)) { return; }
  {
    const std::lock_guard<std::mutex> lock(data_);
    if (uncaught_.happened) { return; }
  }
  report_error("trials.open",
               "trials were still open when the run ended: its figures exclude everything recorded since they "
               "started. If the program left the loop, put the object of takt::trials() into its own scope, so that "
               "it ends with the loop");
}

bool SessionImpl::end(bool killed) noexcept {
  const NotCancelled whole;
  const milliseconds max = options_.exit_timeout;
  const Time deadline = steady_now() + max;
  {
    std::unique_lock<std::mutex> lock(state_);
    if (closed_) { return end_elsewhere(lock); }
    closed_ = true;
    closing_since_ns_.store(steady_ns(), std::memory_order_relaxed);
    deadline_ = deadline - margin_of(max);
    killed_.store(killed, std::memory_order_relaxed);
  }
  // A blocked terminal leaves half of the time to the files.
  table_timeout.end_at(steady_now() + max / 2);
  error_timeout.end_at(deadline);
  if (!killed) { report_open_trials(); }
  const bool done = end_by(deadline);
  table_timeout.forget();
  error_timeout.forget();
  leave_sigterm(*this);
  leave_uncaught(*this);
  return done;
}

bool SessionImpl::end_by(Time deadline) noexcept {
  Recorder* const recorder = existing_recorder();
  const milliseconds max = options_.exit_timeout;
  const milliseconds grace = std::min(kDeviceGrace, max / 2);
  registry().complete(recorder, process_clock().now_ns() + static_cast<std::uint64_t>(grace.count()) * 1'000'000U);
  samples_.stop(steady_now() + std::min(kSamplerGrace, max / 4));
  if (recorder != nullptr) {
    const Recorder::ReentryGuard inside(*recorder);
    recorder->drop_devices();
  }
  if (!background_ || dying_ || alone_) { finish(); }
  {
    std::unique_lock<std::mutex> lock(state_);
    closing_ = true;
    registry().shared().alarm.ring();
    if (changed_.wait_until(lock, deadline, [this] { return finished_; })) { return delivered_; }
  }
  report_error("exit", Words("the end of the run was not finished within ", limit()));
  return false;
}

/// Waits until another thread has ended the run.
bool SessionImpl::end_elsewhere(std::unique_lock<std::mutex>& lock) noexcept {
  changed_.wait_until(lock, deadline_, [this] { return finished_; });
  // SIGTERM is about to end the process. A thread on its way to exit() waits for it: otherwise the parent process would
  // not see the signal.
  if (killed_.load(std::memory_order_relaxed)) {
    changed_.wait_until(lock, deadline_ + kMargin, [] { return false; });
  }
  return finished_ && delivered_;
}

}  // namespace detail
TAKT_END_NAMESPACE
