// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/session_impl.hpp"

#include "base/background.hpp"
#include "base/fault.hpp"
#include "base/not_cancelled.hpp"
#include "base/quiet_signals.hpp"
#include "base/repaired_name.hpp"
#include "base/words.hpp"
#include "base/write_patience.hpp"
#include "journal/journal_writer.hpp"
#include "record/key_table.hpp"
#include "report/losses.hpp"
#include "session/own_cost.hpp"
#include "session/run_directory.hpp"
#include "session/run_identity.hpp"
#include "session/termination.hpp"
#include "session/uncaught.hpp"

#include <takt/exporters/console.hpp>
#include <takt/exporters/csv.hpp>
#include <takt/exporters/json.hpp>
#include <takt/exporters/trace.hpp>
#include <takt/takt.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

// Results of devices that come within this time after the end still enter the last rows.
constexpr milliseconds kDeviceGrace(200);

// For a last look at what threads wait for that idle.
constexpr milliseconds kPollerGrace(100);

// Left for close() to come back by its deadline when an exporter has used up the time, and before that for the exporter to say
// what it could not do.
constexpr milliseconds kMargin(50);

// Between two looks whether anybody but an exporter that was left behind is still there.
constexpr milliseconds kLookAround(1000);

milliseconds margin_of(milliseconds most) { return std::min(most / 20, kMargin); }

Time now() { return std::chrono::steady_clock::now(); }

std::atomic<bool> had_session{false};
// Sessions that this process has had, behind its generation: a forked child begins with empty books.
std::atomic<std::uint64_t> sessions{0};

std::int64_t sessions_before(std::uint32_t generation) noexcept {
  const std::uint64_t had = sessions.load(std::memory_order_relaxed);
  return had >> 32U == generation ? static_cast<std::int64_t>(had & 0xFFFFFFFFU) : 0;
}

void count_session(std::uint32_t generation) noexcept {
  const auto had = static_cast<std::uint64_t>(sessions_before(generation));
  sessions.store(std::uint64_t{generation} << 32U | (had + 1), std::memory_order_relaxed);
}

// The Session that takes what is recorded. One that could not finish in time leaves it to its successor.
std::atomic<const SessionImpl*> collector{nullptr};

}  // namespace

SessionImpl::SessionImpl(std::string name, SessionOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      generation_(generation()),
      silent_(switched_off()),
      earlier_sessions_(sessions_before(generation_)) {
  Registry& registry = detail::registry();
  // Of the bound, a quarter is for rows on their way out, and no less than 8 MiB (half of it, where it is small).
  const std::size_t for_rows =
      std::max(options_.memory_bytes / 4, std::min<std::size_t>(8U << 20U, options_.memory_bytes / 2));
  registry.shared().budget.set_limit(options_.memory_bytes - for_rows);
  registry.set_row_limit(for_rows, options_.trace);
  registry.set_warmup(static_cast<std::uint64_t>(std::max(options_.warmup, 0)));
  run_ = identify_run(name_, options_);
  wait_when_full.store(options_.gpu_wait, std::memory_order_relaxed);
  if (Recorder* recorder = this_recorder()) {
    const Recorder::Inside inside(*recorder);
    recorder->fold();
    recorder->tree().set_warmup(static_cast<std::uint64_t>(std::max(options_.warmup, 0)));
    registry.set_main_thread(recorder->thread());
  }
  // What was recorded before the first Session is adopted, and with it the time; any other one begins here.
  Snapshot before;
  const std::uint64_t now_ns = process_clock().now_ns();
  registry.read(before, now_ns);
  const bool recorded = !before.paths.empty() || !before.open.empty() || !before.losses.empty();
  if (had_session.load(std::memory_order_relaxed) || !recorded) {
    start_ns_ = now_ns;
    uncovered_before_ns_ = before.uncovered_ns;
    overhead_before_ns_ = overhead_ns(before);
    losses_before_ = std::move(before.losses);
    watch_.begin_at_cpu(posix_ns(CLOCK_PROCESS_CPUTIME_ID));
  } else {
    watch_.begin_at_cpu(cpu_ns_at_start());
    watch_.set_before(static_cast<std::int64_t>(now_ns));
  }
  run_.start_unix_ns = process_clock().start_unix_ns() + static_cast<std::int64_t>(start_ns_);
  open_folder();
  add_local_exporters();
  if (earlier_sessions_ != 0 && !silent_) {
    report_fault("session.later",
                 "\"" + name_ +
                     "\" is not the first Session of this process: its totals, steps and "
                     "throughput go on with what was recorded before. Give each run a process, or keys, "
                     "of its own.");
  }
  region_cost_ns();  // measured now rather than at the end
  row_cost();
  std::shared_ptr<const Snapshot> opening;
  if (!silent_) { opening = std::make_shared<const Snapshot>(snapshot(false)); }
  // From here on nothing throws: threads know this Session.
  collector.store(this, std::memory_order_relaxed);
  had_session.store(true, std::memory_order_relaxed);
  count_session(generation_);
  if (options_.trace && !run_.directory.empty()) { tracing.store(true, std::memory_order_relaxed); }
  if (silent_) { return; }
  for (const auto& worker : local_) { worker->open(opening); }
  start_threads();
  wait_for_beginning();
}

void SessionImpl::start_threads() noexcept {
  if (!options_.background) {
    if (options_.gpu_poll_ms > 0) { gpu_poller_.start_by_hand(); }
  } else {
    if (options_.gpu_poll_ms > 0 && !gpu_poller_.start(milliseconds(options_.gpu_poll_ms))) {
      report_fault("thread",
                   "no thread can be started to ask GPUs for results; threads that record ask for their own. Raise the "
                   "limit on threads (ulimit -u).");
    }
    background_ = start_background(
        "takt", [](void* self) { static_cast<SessionImpl*>(self)->background(); }, this);
  }
  if (options_.background && !background_) {
    report_fault("thread",
                 "no background thread can be started; results are collected when the Session closes. Raise the "
                 "limit on threads (ulimit -u), or call Session::poll().");
  }
  if (options_.end_on_uncaught) { end_on_uncaught(*this, milliseconds(std::max(options_.exit_ms, 0))); }
  if (!options_.end_on_sigterm) { return; }
  if (background_) { return end_on_sigterm(*this); }
  report_fault_once("sigterm", "SIGTERM does not end the run: that needs background threads");
}

void SessionImpl::open_folder() {
  const bool wanted = options_.files || options_.trace;
  if (!wanted || silent_) { return; }
  std::string error;
  run_.directory = make_run_folder(options_, run_, error);
  homeless_ = run_.directory.empty();
  if (homeless_) { report_fault("directory", error + ". The run goes on in memory."); }
}

void SessionImpl::add_local_exporters() {
  const auto add_one = [this](std::unique_ptr<Exporter> exporter) {
    local_.push_back(std::make_shared<ExportWorker>(std::move(exporter)));
  };
  // First what people wait for; and a disk that takes nothing holds up the others only.
  if (options_.table && !silent_ && (run_.rank == 0 || options_.all_ranks)) {
    add_one(std::make_unique<ConsoleExporter>());
  }
  if (!run_.directory.empty() && options_.files && options_.journal) {
    JournalOptions journal;
    journal.threads = options_.background;
    journal.max_bytes = options_.journal_bytes;
    auto exporter = std::make_unique<JournalExporter>(run_.directory, journal);
    journal_ = exporter.get();
    add_one(std::move(exporter));
  }
  if (!run_.directory.empty() && options_.files) {
    add_one(std::make_unique<JsonExporter>(run_.directory + "/summary.json"));
    auto exporter = std::make_unique<CsvExporter>(run_.directory + "/steps.csv", options_.csv_bytes);
    csv_ = exporter.get();
    add_one(std::move(exporter));
  }
  if (!run_.directory.empty() && options_.trace) {
    add_one(std::make_unique<TraceExporter>(run_.directory + "/trace.json", options_.trace_events));
  }
}

void SessionImpl::add(std::unique_ptr<Exporter> exporter) {
  if (silent_) { return; }
  auto worker = std::make_shared<ExportWorker>(std::move(exporter));
  worker->open(std::make_shared<const Snapshot>(snapshot(false)));
  {
    const std::lock_guard<std::mutex> lock(data_);
    if (ended_) {
      if (killed_.load(std::memory_order_relaxed)) {
        return;
      }  // no mistake of the program's, which is about to be gone
      throw Error(std::string("takt: the Session is closed; add the exporter \"") + worker->name() +
                  "\" before close()");
    }
    added_.push_back(worker);
    if (background_) { start_worker(worker); }
  }
  wait_for_beginning_of(*worker);
}

/// Without a thread of its own it is called with those of the run folder.
void SessionImpl::start_worker(const std::shared_ptr<ExportWorker>& worker) noexcept {
  // A share of its own: the thread may outlive the list.
  auto* const share = new (std::nothrow) std::shared_ptr<ExportWorker>(worker);
  const auto run = [](void* argument) {
    const std::unique_ptr<std::shared_ptr<ExportWorker>> mine(static_cast<std::shared_ptr<ExportWorker>*>(argument));
    (*mine)->run();
  };
  worker->started = share != nullptr && start_background("takt-export", run, share);
  if (!worker->started) { delete share; }
}

void SessionImpl::set_param(std::string_view name, std::string_view value) {
  tell_repaired("param_name", "parameter", name);
  std::string key = repaired_name(name);
  std::string text(value);
  const std::lock_guard<std::mutex> lock(data_);
  params_.insert_or_assign(std::move(key), std::move(text));
}

void SessionImpl::set_tag(std::string_view name, std::string_view value) {
  tell_repaired("tag_name", "tag", name);
  std::string key = repaired_name(name);
  std::string text(value);
  const std::lock_guard<std::mutex> lock(data_);
  tags_.insert_or_assign(std::move(key), std::move(text));
}

void SessionImpl::metric(std::string_view name, double value, const std::int64_t* step) noexcept {
  if (silent_ || !ours()) { return; }
  const std::uint64_t number = metric_names().number(name);
  if (Recorder* recorder = this_recorder()) {
    const Recorder::Inside inside(*recorder);
    if (inside.interrupts()) { return registry().shared().count_interrupted(); }
    recorder->metric(number, value, step);
  }
}

void SessionImpl::print() {
  if (silent_) { return; }
  const QuietSignals quiet;
  ConsoleExporter().print(snapshot(false));
}

Snapshot SessionImpl::snapshot(bool finished) {
  Snapshot snapshot;
  snapshot.run = run_;
  snapshot.clock = process_clock().info();
  const std::uint64_t now_ns = process_clock().now_ns();
  registry().read(snapshot, now_ns);
  leave_out_lost(snapshot.losses, losses_before_);
  snapshot.wall_ns = static_cast<std::int64_t>(now_ns - start_ns_);
  snapshot.uncovered_ns = std::clamp<std::int64_t>(snapshot.uncovered_ns - uncovered_before_ns_, 0, snapshot.wall_ns);
  snapshot.overhead_ns = overhead_ns(snapshot) - overhead_before_ns_;
  snapshot.clock.region_cost_ns = region_cost_ns();
  snapshot.process = watch_.read();
  snapshot.process.earlier_sessions = earlier_sessions_;
  snapshot.finished = finished;
  snapshot.killed = killed_.load(std::memory_order_relaxed);
  snapshot.failed = snapshot.killed || failed_.load(std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(data_);
  snapshot.params = params_;
  snapshot.tags = tags_;
  snapshot.uncaught = uncaught_;
  name_open_regions(snapshot);
  for (const auto* workers : {&local_, &added_}) {
    for (const auto& worker : *workers) {
      if (const std::uint64_t lost = worker->lost()) {
        snapshot.losses.push_back({"not_exported", worker->name(), lost});
      }
    }
  }
  add_left_out(snapshot);
  return snapshot;
}

/// What files have no room for.
void SessionImpl::add_left_out(Snapshot& snapshot) const {
  const auto add = [&](const char* what, const char* where, std::uint64_t count) {
    if (count != 0) { snapshot.losses.push_back({what, where, count}); }
  };
  if (journal_ != nullptr) {
    add("not_in_journal", "rows", journal_->left_out_rows());
    add("not_in_journal", "metrics", journal_->left_out_metrics());
  }
  if (csv_ != nullptr) { add("not_in_csv", "", csv_->left_out()); }
}

/// Whether there are steps or metrics in no file.
bool SessionImpl::has_left_out() const noexcept {
  if (journal_ != nullptr) { return journal_->left_out_rows() + journal_->left_out_metrics() != 0; }
  return csv_ != nullptr && csv_->left_out() != 0;
}

/// Takes what is new from the threads, as much as should be in memory at once, and offers it to every exporter. Returns whether there
/// is more. Where memory runs out on the way nothing is lost, and nothing is offered twice: the next call goes on from there.
bool SessionImpl::collect(bool last) {
  const std::lock_guard<std::mutex> one(collecting_);
  if (collector.load(std::memory_order_relaxed) != this) { return false; }
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
  took_last_ = last;
  const auto shift = static_cast<std::int64_t>(start_ns_);
  for (std::vector<Row>* rows : {&harvest_->rows, &harvest_->early}) {
    for (Row& row : *rows) { row.begin_ns -= shift; }
  }
  for (Span& span : harvest_->spans) { span.begin_ns -= shift; }
  deliver();
  return more;
}

/// Offers the harvest. Under collecting_.
void SessionImpl::deliver() {
  const auto snapshot = std::make_shared<const Snapshot>(this->snapshot(took_last_));
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

/// All that has come, a part at a time; threads that record without a pause do not keep it for ever. Returns whether there is
/// more. \param deadline for the exporters that have no thread of their own.
bool SessionImpl::collect_all(Time deadline) {
  constexpr int kMostParts = 16;  // half of the memory for rows, unpacked, is no more than that
  for (int part = 0; part < kMostParts && now() < deadline; ++part) {
    if (!collect(false)) { return false; }
    run_local(deadline);
    const std::lock_guard<std::mutex> lock(state_);
    if (closing_ && deadline == Time::max()) { break; }  // the end has a deadline
  }
  return true;
}

bool SessionImpl::try_to_collect_all(Time deadline) noexcept {
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

/// Calls every exporter that has no thread of its own, unless another thread is still at it by `deadline`. Returns whether
/// all of them have finished.
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
  if (!options_.background && options_.gpu_poll_ms > 0) { GpuPoller::ask(); }
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
  const milliseconds period(std::max(options_.period_ms, 10));
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

/// The main thread has gone by pthread_exit(), and so have all others: nobody else is left who could end the run, or be sent a
/// signal. The process ends as it would have with its last thread.
void SessionImpl::end_alone() noexcept {
  alone_ = true;
  end(false);
  std::exit(0);
}

/// An exporter that does not come back must not keep alive what pthread_exit() has ended.
void SessionImpl::stay_with_left_behind() noexcept {
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) {
    while (each->started && !each->wait(now() + kLookAround)) {
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
    all = all && now() < deadline_;
    if (now() >= deadline_) { break; }
    std::this_thread::sleep_for(ExportWorker::kPause);  // there may be memory in a moment
  }
  all = finish_workers() && all;
  const std::lock_guard<std::mutex> lock(state_);
  finished_ = true;
  delivered_ = all && !lossy_ && !has_left_out();
  changed_.notify_all();
}

/// Returns whether each has taken everything.
bool SessionImpl::finish_workers() noexcept {
  const Time end = deadline_ - margin_of(milliseconds(std::max(options_.exit_ms, 0)));
  std::shared_ptr<ExportWorker> each;
  for (std::size_t index = 0; (each = worker(index)) != nullptr; ++index) { each->finish_by(end); }
  while (!run_local(deadline_) && now() < deadline_) { std::this_thread::sleep_for(ExportWorker::kPause); }
  tracing.store(false, std::memory_order_relaxed);
  wait_when_full.store(false, std::memory_order_relaxed);
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
  const Time deadline = now() + most;
  {
    std::unique_lock<std::mutex> lock(state_);
    if (closed_) { return end_elsewhere(lock); }
    closed_ = true;
    deadline_ = deadline - margin_of(most);
    killed_.store(killed, std::memory_order_relaxed);
  }
  // A terminal that takes nothing leaves half of the time to the files behind it.
  table_patience.end_at(now() + most / 2);
  fault_patience.end_at(deadline);
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
  if (!options_.background && options_.gpu_poll_ms > 0) { GpuPoller::ask(); }
  gpu_poller_.stop(now() + std::min(kPollerGrace, most / 4));  // of threads that idle: nobody else asks for theirs
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

/// Another thread is at it, or was.
bool SessionImpl::end_elsewhere(std::unique_lock<std::mutex>& lock) noexcept {
  changed_.wait_until(lock, deadline_, [this] { return finished_; });
  // The signal is about to end the process. Who came here on the way to exit() would hide that from whoever waits for it.
  if (killed_.load(std::memory_order_relaxed)) {
    changed_.wait_until(lock, deadline_ + kMargin, [] { return false; });
  }
  return finished_ && delivered_;
}

}  // namespace detail
TAKT_END_NAMESPACE
