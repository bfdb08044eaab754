// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/file.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "findings/findings.hpp"
#include "measure/trial_rate.hpp"
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

// How a Session takes what threads have recorded, and has its exporters see it.

TAKT_BEGIN_NAMESPACE
namespace detail {

std::atomic<const SessionImpl*> SessionImpl::collector_{nullptr};

/// Takes what is new from the threads, as much as should be in memory at once, and offers it to every exporter. Returns
/// whether there is more. Where memory runs out on the way nothing is lost, and nothing is offered twice: the next call
/// goes on from there.
bool SessionImpl::collect(bool last, std::shared_ptr<const Snapshot>* offered) {
  const std::lock_guard<std::mutex> one(collecting_);
  if (collector_.load(std::memory_order_relaxed) != this) { return false; }
  if (!last) {
    const std::lock_guard<std::mutex> lock(data_);
    if (ended_) { return false; }  // nothing may be shown after the last
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

/// Offers the harvest. Returns what it was offered with. Under collecting_.
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

/// Once for each harvest. Without memory for it, the run goes on without findings. Under collecting_.
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
                 "no memory is left for the history of steps: the report has no findings on them, and "
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

SessionImpl::Recorded SessionImpl::recorded() {
  constexpr int kMaxParts = 16;  // as in collect_all()
  Recorded recorded;
  for (int part = 0; part < kMaxParts && collect(false, &recorded.snapshot); ++part) {}
  if (recorded.snapshot == nullptr) { recorded.snapshot = std::make_shared<const Snapshot>(snapshot(false)); }
  const std::lock_guard<std::mutex> lock(polling_);
  recorded.steps = pack(steps_ != nullptr ? *steps_ : RankSteps());
  return recorded;
}

/// What the figures say.
void SessionImpl::conclude(Snapshot& snapshot) {
  std::shared_ptr<const StepHistory> history;
  {
    const std::lock_guard<std::mutex> lock(polling_);
    if (history_ != nullptr) { history = std::make_shared<const StepHistory>(history_->finished()); }
  }
  detail::conclude(snapshot, std::move(history));
  add_finding_of_trials(snapshot);
}

/// Says so as soon as steps or metrics have been lost, and remembers it for close(). Under collecting_.
void SessionImpl::report_lost(const Snapshot& snapshot) {
  lossy_ = lossy_ || lost_records(snapshot.losses).any();
  std::vector<Loss> unreported;  // of the others there was a line when they began
  std::copy_if(snapshot.losses.begin(), snapshot.losses.end(), std::back_inserter(unreported),
               [](const Loss& each) { return each.what != "not_in_journal" && each.what != "metrics_over_bound"; });
  const LostRecords lost = lost_records(unreported);
  if (!lost.any()) { return; }
  report_error("records.lost", "of what was recorded, " + lost.words() +
                                   " are lost so far: they came faster than they could be written down, or are beyond "
                                   "a bound. The report says which; TAKT_MEMORY_MB is the bound of memory");
}

/// All that has come, a part at a time; threads that record without a pause do not keep it for ever. Returns whether
/// there is more. \param deadline for the exporters that have no thread of their own.
bool SessionImpl::collect_all(Time deadline) {
  constexpr int kMaxParts = 16;  // half of the memory for rows, unpacked, is no more than that
  for (int part = 0; part < kMaxParts && std::chrono::steady_clock::now() < deadline; ++part) {
    if (!collect(false)) { return false; }
    run_local(deadline);
    const std::lock_guard<std::mutex> lock(state_);
    if (closing_ && deadline == Time::max()) { break; }  // the end has a deadline
  }
  return true;
}

bool SessionImpl::try_to_collect_all(Time deadline) noexcept {
  follow_directory();
  try {
    if (collect_all(deadline)) { registry().shared().alarm.ring(); }
    return true;
  } catch (const std::exception& error) {  // no memory, most likely: the next period may be luckier
    report_error("background", Words("results could not be collected: ", error.what()));
    return false;
  }
}

bool SessionImpl::try_to_collect(bool last) noexcept {
  try {
    collect(last);
    return true;
  } catch (const std::exception& error) {  // no memory, most likely: the next period may be luckier
    report_error("background", Words("results could not be collected: ", error.what()));
    return false;
  }
}

/// Calls every exporter that has no thread of its own, unless another thread is still at it by `deadline`. Returns
/// whether all of them have finished.
bool SessionImpl::run_local(Time deadline) noexcept {
  const QuietSignals quiet;  // this may be a thread of the program's
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

/// The exporters one after the other, those of the run directory and the terminal first; nullptr behind the last one.
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

/// Whether the background is to work now. It asks before it sleeps: a collection takes back the alarm that told it.
bool SessionImpl::is_wanted() noexcept {
  const std::lock_guard<std::mutex> lock(state_);
  return closing_ || due_ || dying_;
}

/// Until the period is over, or somebody rings.
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

// What of a run is on the disk before anything is recorded, however early it is killed.
namespace {

// What making a Session, or adding an exporter, waits for a disk to take the beginning.
constexpr std::chrono::milliseconds kBeginning(1000);

}  // namespace

/// The exporters of the run directory.
void SessionImpl::begin_local() noexcept {
  const QuietSignals quiet;  // this may be a thread of the program's
  for (const auto& worker : local_) { worker->begin_once(); }
  const std::lock_guard<std::mutex> lock(state_);
  started_ = true;
  changed_.notify_all();
}

/// From here on a kill leaves a run that can be read.
void SessionImpl::wait_for_beginning() noexcept {
  if (!background_) { return begin_local(); }
  std::unique_lock<std::mutex> lock(state_);
  if (changed_.wait_for(lock, kBeginning, [this] { return started_; })) { return; }
  lock.unlock();
  report_error("begin",
               Words("the disk of ", run_.directory,
                     " takes too long for the beginning of the journal; the run goes on without waiting for it, "
                     "and a kill before the disk answers loses the run"));
}

/// So that what the program has set it up with outlives a kill.
void SessionImpl::wait_for_beginning_of(ExportWorker& worker) noexcept {
  if (!worker.started) {
    const QuietSignals quiet;
    worker.begin_once();
  } else if (!worker.wait_started(std::chrono::steady_clock::now() + kBeginning)) {
    report_error(Words("begin.", worker.name()), Words("the exporter \"", worker.name(),
                                                       "\" takes too long to begin; the run goes on without waiting"));
  }
}

// How a Session ends: by its deadline, whatever its exporters do.
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
constexpr milliseconds kSearchRadius(1000);

milliseconds margin_of(milliseconds max) { return std::min(max / 20, kMargin); }

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
    while (each->started && !each->wait(steady_now() + kSearchRadius)) {
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

/// Returns whether each has taken everything.
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
                         can_sync ? ". What it has not sent is in the journal: takt sync " : "",
                         can_sync ? std::string_view(run_.directory) : std::string_view()));
    }
    all = each->delivered() && all;
  }
  return all;
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
  // A terminal that takes nothing leaves half of the time to the files behind it.
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
