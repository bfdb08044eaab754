// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// How a Session takes what threads have recorded, and has its exporters see it.
#include "session/session_impl.hpp"

#include <takt/detail/not_cancelled.hpp>

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/losses.hpp"
#include "base/quiet_signals.hpp"
#include "base/words.hpp"
#include "findings/findings.hpp"
#include "session/uncaught.hpp"
#include "trials/trial_finding.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <new>
#include <utility>

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
  if (harvest_ != nullptr) { deliver(); }
  if (took_last_) { return false; }
  bool more = false;
  auto harvest = std::make_shared<Harvest>();
  *harvest = registry().collect(last, &more);
  harvest_ = std::move(harvest);
  in_history_ = false;
  took_last_ = last;
  const auto shift = static_cast<std::int64_t>(start_ns_);
  for (std::vector<Row>* rows : {&harvest_->rows, &harvest_->early}) {
    for (Row& row : *rows) { row.begin_ns -= shift; }
  }
  for (Span& span : harvest_->spans) { span.begin_ns -= shift; }
  samples_.keep(*harvest_, last);
  const auto snapshot = deliver();
  if (offered != nullptr) { *offered = snapshot; }
  return more;
}

/// Offers the harvest. Returns what it was offered with. Under collecting_.
std::shared_ptr<const Snapshot> SessionImpl::deliver() {
  Snapshot now = this->snapshot(took_last_);
  keep_history(now);
  if (took_last_) { conclude(now); }
  auto snapshot = std::make_shared<const Snapshot>(std::move(now));
  tell_lost(*snapshot);
  std::vector<std::shared_ptr<ExportWorker>> workers;
  {
    const std::lock_guard<std::mutex> lock(data_);
    workers = local_;
    workers.insert(workers.end(), added_.begin(), added_.end());
  }
  for (const auto& worker : workers) { worker->make_room(); }
  for (const auto& worker : workers) { worker->offer(snapshot, harvest_); }
  harvest_.reset();
  return snapshot;
}

/// Once for each harvest. Without memory for it, the run goes on without findings. Under collecting_.
void SessionImpl::keep_history(const Snapshot& snapshot) noexcept {
  if (std::exchange(in_history_, true)) { return; }
  const std::lock_guard<std::mutex> lock(looking_);
  try {
    if (history_ != nullptr) { history_->add(snapshot, harvest_->rows, harvest_->metrics); }
    if (steps_ != nullptr) { steps_->add(snapshot, harvest_->rows); }
  } catch (const std::bad_alloc&) {
    history_.reset();
    steps_.reset();
    report_fault("history",
                 "no memory is left for the history of steps: the report has no findings on them, and "
                 "takt::mpi::reduce() does not compare this rank");
  }
}

SessionImpl::Recorded SessionImpl::recorded() {
  constexpr int kMostParts = 16;  // as in collect_all()
  Recorded recorded;
  for (int part = 0; part < kMostParts && collect(false, &recorded.snapshot); ++part) {}
  if (recorded.snapshot == nullptr) { recorded.snapshot = std::make_shared<const Snapshot>(snapshot(false)); }
  const std::lock_guard<std::mutex> lock(looking_);
  recorded.steps = pack(steps_ != nullptr ? *steps_ : RankSteps());
  return recorded;
}

/// What the figures say.
void SessionImpl::conclude(Snapshot& snapshot) {
  std::shared_ptr<const StepHistory> history;
  {
    const std::lock_guard<std::mutex> lock(looking_);
    if (history_ != nullptr) { history = std::make_shared<const StepHistory>(history_->finished()); }
  }
  detail::conclude(snapshot, std::move(history));
  add_finding_of_trials(snapshot);
}

/// Says so as soon as steps or metrics have been lost, and remembers it for close(). Under collecting_.
void SessionImpl::tell_lost(const Snapshot& snapshot) {
  lossy_ = lossy_ || lost_records(snapshot.losses).any();
  std::vector<Loss> untold;  // of the others there was a line when they began
  std::copy_if(snapshot.losses.begin(), snapshot.losses.end(), std::back_inserter(untold),
               [](const Loss& each) { return each.what != "not_in_journal" && each.what != "metrics_over_bound"; });
  const LostRecords lost = lost_records(untold);
  if (!lost.any()) { return; }
  report_fault("records.lost", "of what was recorded, " + lost.words() +
                                   " are lost so far: they came faster than they could be written down, or are beyond "
                                   "a bound. The report says which; TAKT_MEMORY_MB is the bound of memory");
}

/// All that has come, a part at a time; threads that record without a pause do not keep it for ever. Returns whether
/// there is more. \param deadline for the exporters that have no thread of their own.
bool SessionImpl::collect_all(Time deadline) {
  constexpr int kMostParts = 16;  // half of the memory for rows, unpacked, is no more than that
  for (int part = 0; part < kMostParts && std::chrono::steady_clock::now() < deadline; ++part) {
    if (!collect(false)) { return false; }
    run_local(deadline);
    const std::lock_guard<std::mutex> lock(state_);
    if (closing_ && deadline == Time::max()) { break; }  // the end has a deadline
  }
  return true;
}

bool SessionImpl::try_to_collect_all(Time deadline) noexcept {
  follow_folder();
  try {
    if (collect_all(deadline)) { registry().shared().alarm.ring(); }
    return true;
  } catch (const std::exception& error) {  // no memory, most likely: the next period may be luckier
    report_fault("background", Words("results could not be collected: ", error.what()));
    return false;
  }
}

bool SessionImpl::try_to_collect(bool last) noexcept {
  try {
    collect(last);
    return true;
  } catch (const std::exception& error) {  // no memory, most likely: the next period may be luckier
    report_fault("background", Words("results could not be collected: ", error.what()));
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

/// The exporters one after the other, those of the run folder and the terminal first; nullptr behind the last one.
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
  const std::chrono::milliseconds period(std::max(options_.period_ms, 10));
  watch_.sleeps();
  registry().shared().alarm.wait(period);
  watch_.wakes(static_cast<std::uint64_t>(std::chrono::nanoseconds(period).count()));
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

}  // namespace detail
TAKT_END_NAMESPACE
