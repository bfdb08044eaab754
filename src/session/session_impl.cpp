// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "session/session_impl.hpp"

#include <takt/detail/not_cancelled.hpp>

#include "base/file.hpp"
#include "base/region_memory.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"
#include "journal/journal_writer.hpp"
#include "process/diversion.hpp"
#include "record/names.hpp"
#include "report/text_table.hpp"
#include "session/crash.hpp"
#include "session/machine.hpp"
#include "session/own_cost.hpp"
#include "session/run_identity.hpp"

#include <takt/detail/hot.hpp>
#include <takt/exporters/console.hpp>
#include <takt/exporters/csv.hpp>
#include <takt/exporters/html.hpp>
#include <takt/exporters/json.hpp>
#include <takt/exporters/trace.hpp>
#include <takt/takt.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <utility>

#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::milliseconds;

std::atomic<bool> had_session{false};
// Number of Sessions of this process, with its generation: a forked child starts at zero.
std::atomic<std::uint64_t> sessions{0};

std::int64_t sessions_before(std::uint32_t generation) noexcept {
  const std::uint64_t had = sessions.load(std::memory_order_relaxed);
  return had >> 32U == generation ? static_cast<std::int64_t>(had & 0xFFFFFFFFU) : 0;
}

void count_session(std::uint32_t generation) noexcept {
  const auto had = static_cast<std::uint64_t>(sessions_before(generation));
  sessions.store(std::uint64_t{generation} << 32U | (had + 1), std::memory_order_relaxed);
}

/// Returns the options with times bounded so that they can be added to any other.
SessionOptions with_bounded_times(SessionOptions options) {
  constexpr milliseconds kMax(std::numeric_limits<std::int32_t>::max());
  options.exit_timeout = std::clamp(options.exit_timeout, milliseconds(0), kMax);
  options.period = std::clamp(options.period, milliseconds(10), kMax);
  return options;
}

}  // namespace

SessionImpl::SessionImpl(std::string name, SessionOptions options)
    : name_(std::move(name)),
      options_(with_bounded_times(std::move(options))),
      in_job_(rank_in_job(options_)),
      generation_(generation()),
      silent_(switched_off()),
      earlier_sessions_(sessions_before(generation_)) {
  const std::int64_t begin_ns = steady_ns();
  bound_memory();
  run_ = identify_run(name_, options_);
  if (!silent_) { run_.machine = read_machine(options_.command_line); }
  records_in_flight.store(static_cast<std::uint32_t>(std::clamp(options_.gpu_records, 8, 1 << 16)),
                          std::memory_order_relaxed);
  if (Recorder* recorder = this_recorder()) {
    const Recorder::ReentryGuard inside(*recorder);
    recorder->fold();
    recorder->tree().set_warmup(static_cast<std::uint64_t>(std::max(options_.warmup, 0)));
    registry().set_main_thread(recorder->thread());
  }
  begin_stats();
  open_directory();
  add_local_exporters();
  if (earlier_sessions_ != 0 && !silent_) {
    report_error("session.later",
                 "\"" + name_ +
                     "\" is not the first Session of this process: its totals, steps and "
                     "throughput include data recorded before. Give each run its own process or its own "
                     "keys.");
  }
  region_cost_ns();  // measured now rather than at the end
  row_cost();
  std::shared_ptr<const Snapshot> opening;
  if (!silent_) { opening = std::make_shared<const Snapshot>(snapshot(false)); }
  // Nothing throws from here on: threads know this Session.
  collector_.store(this, std::memory_order_relaxed);
  had_session.store(true, std::memory_order_relaxed);
  count_session(generation_);
  if (options_.trace && !run_.directory.empty()) { tracing.store(true, std::memory_order_relaxed); }
  if (silent_) { return; }
  for (const auto& worker : local_) { worker->open(opening); }
  start_threads();
  wait_for_beginning();
  blocked_ns_.fetch_add(steady_ns() - begin_ns, std::memory_order_relaxed);
}

/// Sets the memory limit of recording, and the warm-up.
void SessionImpl::bound_memory() {
  Registry& registry = detail::registry();
  // Reserves a quarter of the limit for outgoing rows, but at least 8 MiB (at most half of the limit).
  const std::size_t for_rows =
      std::max(options_.memory_bytes / 4, std::min<std::size_t>(8U << 20U, options_.memory_bytes / 2));
  registry.shared().budget.set_limit(options_.memory_bytes - for_rows);
  registry.set_row_limit(for_rows, options_.trace);
  registry.set_warmup(static_cast<std::uint64_t>(std::max(options_.warmup, 0)));
  if (silent_) { return; }
  if (options_.progress && run_.rank == 0) {
    const bool terminal = wants_color(stderr, ConsoleOptions::Color::automatic);
    progress_ = std::make_unique<Progress>(STDERR_FILENO, terminal, static_cast<std::size_t>(width_of(stderr, 0)));
  }
  history_ = std::make_shared<StepHistory>(std::min(options_.memory_bytes / 16, StepHistory::kMaxBytes));
  if (in_job_.compared_values != 0) { steps_ = std::make_unique<RankSteps>(in_job_.compared_values); }
}

/// Sets the start of the run and the baselines. The first Session adopts earlier data and its time; a later Session
/// starts now.
void SessionImpl::begin_stats() {
  Snapshot before;
  const std::uint64_t now_ns = process_clock().now_ns();
  registry().read(before, now_ns);
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
}

void SessionImpl::start_threads() noexcept {
  start_sampling();  // before any thread collects samples
  if (options_.background) {
    background_ = start_background(
        "takt", [](void* self) { static_cast<SessionImpl*>(self)->background(); }, this);
  }
  if (options_.background && !background_) {
    report_error("thread",
                 "cannot start a background thread: results are collected when the Session closes. Raise the "
                 "limit on threads (ulimit -u), or call Session::poll().");
  }
  if (options_.end_on_uncaught) { end_on_uncaught(*this, options_.exit_timeout); }
  if (!options_.end_on_sigterm) { return; }
  if (background_) { return end_on_sigterm(*this); }
  report_error_once("sigterm", "SIGTERM will not close the run: that needs background threads");
}

void SessionImpl::start_sampling() noexcept {
  if (options_.sample_period <= milliseconds(0)) { return; }
  if (!options_.background) {
    return report_error_once("sample", "nothing is sampled: sampling needs background threads");
  }
  RunSamples::Plan plan;
  plan.period = options_.sample_period;
  plan.now = [this] { return static_cast<std::int64_t>(process_clock().now_ns() - start_ns_); };
  plan.memory = options_.memory_bytes / 32;
  plan.traced = options_.trace && !run_.directory.empty();
  try {
    samples_.start(std::move(plan), RunSamples::sources(run_.host));
  } catch (const std::bad_alloc&) { report_error("sample.memory", "out of memory: nothing is sampled"); }
}

void SessionImpl::open_directory() {
  const bool wanted = options_.files || options_.trace || options_.html;
  if (!wanted || silent_) { return; }
  std::string error;
  run_.directory = make_run_directory(options_, run_, error);
  homeless_ = run_.directory.empty();
  if (homeless_) { return report_error("directory", error + ". The run continues in memory only."); }
  run_directory_ = DirectoryFiles(run_.directory);
  follow_directory();
}

/// Updates the path in case the directory was moved. A disk that does not answer blocks only one thread.
void SessionImpl::follow_directory() noexcept {
  const std::unique_lock<std::mutex> one(following_, std::try_to_lock);
  if (!one.owns_lock()) { return; }
  try {
    std::string now = run_directory_.current_path();
    const std::lock_guard<std::mutex> lock(data_);
    directory_now_.swap(now);
  } catch (const std::bad_alloc&) {
    // The known path may still be right.
  }
}

void SessionImpl::add_local_exporters() {
  const auto add_one = [this](std::unique_ptr<Exporter> exporter) {
    local_.push_back(std::make_shared<ExportWorker>(std::move(exporter)));
  };
  // The terminal comes first: users wait for it, and a blocked disk delays only the exporters after it.
  if (prints()) { add_one(std::make_unique<ConsoleExporter>()); }
  if (!run_.directory.empty() && options_.files && options_.journal) {
    JournalOptions journal;
    journal.threads = options_.background;
    journal.max_bytes = options_.journal_bytes;
    auto exporter = std::make_unique<JournalExporter>(run_.directory, journal);
    journal_ = exporter.get();
    add_one(std::move(exporter));
  }
  if (!run_.directory.empty() && options_.files) {
    add_one(std::make_unique<JsonExporter>());
    auto exporter = std::make_unique<CsvExporter>(run_.directory + "/steps.csv", options_.csv_bytes);
    csv_ = exporter.get();
    add_one(std::move(exporter));
  }
  if (!run_.directory.empty() && options_.trace) {
    add_one(std::make_unique<TraceExporter>(run_.directory + "/trace.json", options_.trace_events));
  }
  // Last: it takes longest, and the other exporters have the same data.
  if (!run_.directory.empty() && options_.html) { add_one(std::make_unique<HtmlExporter>()); }
}

void SessionImpl::add(std::unique_ptr<Exporter> exporter) {
  if (silent_) { return; }
  const NotCancelled whole;
  const std::int64_t begin_ns = steady_ns();
  auto worker = std::make_shared<ExportWorker>(std::move(exporter));
  worker->open(std::make_shared<const Snapshot>(snapshot(false)));
  {
    const std::lock_guard<std::mutex> lock(data_);
    if (ended_) {
      if (killed_.load(std::memory_order_relaxed)) { return; }  // the program is about to exit; no misuse
      throw Error(std::string("takt: the Session is closed; add the exporter \"") + worker->name() +
                  "\" before close()");
    }
    added_.push_back(worker);
    if (background_) { start_worker(worker); }
  }
  wait_for_beginning_of(*worker);
  blocked_ns_.fetch_add(steady_ns() - begin_ns, std::memory_order_relaxed);
}

/// Starts the exporter's thread; without one, the exporter is called with those of the run directory.
void SessionImpl::start_worker(const std::shared_ptr<ExportWorker>& worker) noexcept {
  // Separate ownership: the thread may outlive the list.
  auto* const share = new (std::nothrow) std::shared_ptr<ExportWorker>(worker);
  const auto run = [](void* argument) {
    const std::unique_ptr<std::shared_ptr<ExportWorker>> mine(static_cast<std::shared_ptr<ExportWorker>*>(argument));
    (*mine)->run();
  };
  worker->started = share != nullptr && start_background("takt-export", run, share);
  if (!worker->started) { delete share; }
}

void SessionImpl::set_param(std::string_view name, std::string_view value) {
  report_repaired("param_name", "parameter", name);
  std::string key = repaired_name(name);
  std::string text(value);
  const std::lock_guard<std::mutex> lock(data_);
  params_.insert_or_assign(std::move(key), std::move(text));
}

void SessionImpl::set_tag(std::string_view name, std::string_view value) {
  report_repaired("tag_name", "tag", name);
  std::string key = repaired_name(name);
  std::string text(value);
  const std::lock_guard<std::mutex> lock(data_);
  tags_.insert_or_assign(std::move(key), std::move(text));
}

void SessionImpl::set_group(std::string_view name, int number) {
  const std::lock_guard<std::mutex> lock(data_);
  groups_.set(name, number);
}

void SessionImpl::set_job(std::shared_ptr<GatheredJob> job) {
  const std::lock_guard<std::mutex> lock(data_);
  job_ = std::move(job);
}

void SessionImpl::add_clock_reading(const ClockReading& reading) {
  const std::lock_guard<std::mutex> lock(data_);
  clock_reading_ = reading;
}

void SessionImpl::metric(std::string_view name, double value, const std::int64_t* step) noexcept {
  if (silent_ || !ours() || is_excluded()) { return; }
  const std::uint64_t number = metric_names().number(name);
  Recorder* const recorder = this_recorder();
  if (recorder == nullptr) { return; }
  {
    const Recorder::ReentryGuard inside(*recorder);
    if (inside.nested()) { return registry().shared().count_nested(); }
    recorder->metric(number, value, step);
    if (step != nullptr || !recorder->lacks_steps()) { return; }
  }
  report_error_once("metric.step", Words("metric(\"", name,
                                         "\") was called without a step on a thread that has no "
                                         "Batch: the step is 0. Pass the step to metric()"));
}

void SessionImpl::print() {
  if (silent_) { return; }
  const NotCancelled whole;
  const QuietSignals quiet;
  Snapshot so_far = snapshot(false);
  conclude(so_far);
  ConsoleExporter().print(so_far);
}

std::int64_t SessionImpl::steady_ns() noexcept { return static_cast<std::int64_t>(posix_ns(CLOCK_MONOTONIC)); }

/// Returns the time for which the Session has blocked the program.
std::int64_t SessionImpl::blocked_ns() const noexcept {
  const std::int64_t closing_ns = closing_since_ns_.load(std::memory_order_relaxed);
  return blocked_ns_.load(std::memory_order_relaxed) + (closing_ns == 0 ? 0 : steady_ns() - closing_ns);
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
  if (const double cost_ns = region_cost_ns(); cost_ns > 0) { snapshot.clock.region_cost_ns = cost_ns; }
  snapshot.process = watch_.read();
  snapshot.process.blocked_ns = blocked_ns();
  snapshot.overhead_ns = overhead_ns(snapshot) - overhead_before_ns_ + snapshot.process.blocked_ns;
  samples_.report(snapshot);
  if (!silent_) { add_later(snapshot.sensors, snapshot.run.machine); }
  std::uint64_t not_noted = 0;
  snapshot.region_memories = region_memories(not_noted);
  if (not_noted != 0) { snapshot.losses.push_back({"memories_not_noted", "", not_noted}); }
  snapshot.process.earlier_sessions = earlier_sessions_;
  snapshot.finished = finished;
  snapshot.killed = killed_.load(std::memory_order_relaxed);
  snapshot.failed = snapshot.killed || failed_.load(std::memory_order_relaxed);
  if (in_job_.clock_reading) { snapshot.clock_readings.push_back(*in_job_.clock_reading); }
  snapshot.job = job();
  const std::lock_guard<std::mutex> lock(data_);
  snapshot.run.directory = directory_now_;
  if (clock_reading_) { snapshot.clock_readings.push_back(*clock_reading_); }
  snapshot.params = params_;
  snapshot.tags = tags_;
  snapshot.run.groups = groups_.list();
  snapshot.uncaught = uncaught_;
  snapshot.trials = trials_;
  snapshot.measurements = measurements_;
  epochs_.fill(snapshot);
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

/// Writes a complete file into the run directory, if there is one.
void SessionImpl::write_file(const char* name, const std::string& text) {
  if (!writes_files()) { return; }
  const NotCancelled whole;
  follow_directory();
  std::string path;
  {
    const std::lock_guard<std::mutex> lock(data_);
    path = directory_now_ + "/" + name;
  }
  WholeFile file;
  if (file.open(path) && file.write(text) && file.commit()) { return; }
  report_error(name, file.error());
  file.discard();
}

/// Returns the figures of the job, computed at the first call; nullptr: none.
std::shared_ptr<const Job> SessionImpl::job() {
  std::shared_ptr<GatheredJob> gathered;
  {
    const std::lock_guard<std::mutex> lock(data_);
    gathered = job_;
  }
  return gathered == nullptr ? nullptr : gathered->figures();
}

/// Adds data that files left out for lack of space.
void SessionImpl::add_left_out(Snapshot& snapshot) const {
  const auto add = [&](const char* what, const char* where, std::uint64_t count) {
    if (count != 0) { snapshot.losses.push_back({what, where, count}); }
  };
  if (journal_ != nullptr) {
    add("not_in_journal", "rows", journal_->left_out_rows());
    add("not_in_journal", "metrics", journal_->left_out_metrics());
    add("not_in_journal", "samples", journal_->left_out_samples());
    add("journal_changed", "journal", journal_->changed_files());
  }
  if (csv_ != nullptr) { add("not_in_csv", "", csv_->left_out()); }
}

/// Returns true if a file lacks steps or metrics.
bool SessionImpl::has_left_out() const noexcept {
  if (journal_ != nullptr) {
    return journal_->left_out_rows() + journal_->left_out_metrics() + journal_->changed_files() != 0;
  }
  return csv_ != nullptr && csv_->left_out() != 0;
}

}  // namespace detail
TAKT_END_NAMESPACE
