// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/measure.hpp>
#include <takt/measurement.hpp>
#include <takt/session.hpp>

#include "base/directory_files.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "findings/step_history.hpp"
#include "process/process.hpp"
#include "ranks/rank_steps.hpp"
#include "report/epochs.hpp"
#include "report/results_text.hpp"
#include "session/export_worker.hpp"
#include "session/gathered_job.hpp"
#include "session/own_cost.hpp"
#include "session/progress.hpp"
#include "session/run_identity.hpp"
#include "session/run_samples.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

TAKT_BEGIN_NAMESPACE
class CsvExporter;

namespace detail {

class JournalExporter;
using MeasurementList = std::vector<std::shared_ptr<const Measurement>>;

/// Implementation of a Session. Leaked: its threads may still be in an exporter when the process exits.
///
/// Exporters of the run directory and the terminal are `local`: they share one thread, in order. Each exporter that the
/// user adds has its own thread, so that none delays another. Without background threads, poll() and close() call all
/// of them.
class SessionImpl {
 public:
  SessionImpl(std::string name, SessionOptions options);

  void add(std::unique_ptr<Exporter> exporter);
  void set_param(std::string_view name, std::string_view value);
  void set_tag(std::string_view name, std::string_view value);
  void set_group(std::string_view name, int number);
  void fail() noexcept { failed_.store(true, std::memory_order_relaxed); }
  void metric(std::string_view name, double value, const std::int64_t* step) noexcept;
  Snapshot snapshot(bool finished);
  void print();
  /// Data recorded so far; offered to all exporters before recorded() returns.
  struct Recorded {
    std::shared_ptr<const Snapshot> snapshot;
    std::string steps;  ///< kept steps, as bytes of RankSteps
  };
  Recorded recorded();
  /// Returns true if this rank prints tables. Any thread.
  bool prints() const noexcept { return options_.table && !silent_ && (run_.rank == 0 || options_.all_ranks); }
  /// Sets the results of a loop's trials: they go into later snapshots, into trials.json and, if the table is printed,
  /// to stdout. Call it on the loop's thread.
  void set_trials(const std::shared_ptr<const TrialResults>& trials);
  /// Returns nullptr if there were none.
  std::shared_ptr<const TrialResults> trials();
  /// Sets whether trials are running. Any thread.
  void set_trials_open(bool open) noexcept { trials_open_.store(open, std::memory_order_relaxed); }
  /// Measures a function and writes all measurements so far. Call it on the function's thread.
  /// \throws Error if another measurement or trials run, and whatever the function throws.
  Measurement measure(std::string name, StreamRef stream, const std::function<void()>& function,
                      const MeasureOptions& options);
  /// Makes this Session, of rank 0, report for the job. Any thread.
  void set_job(std::shared_ptr<GatheredJob> job);
  /// Adds a clock reading; the latest counts, besides the one in the options. Any thread.
  void add_clock_reading(const ClockReading& reading);
  /// Returns true if TAKT_DISABLE=1.
  bool is_silent() const noexcept { return silent_; }
  void poll();
  bool close() noexcept { return end(false); }
  /// Ends the run as failed because of an uncaught exception or std::terminate(), unless it has ended. Not on the dying
  /// thread, which may hold any lock.
  void end_uncaught(Uncaught death) noexcept;
  /// Makes the background thread call end_uncaught(). Returns false if there is none.
  bool die_in_background() noexcept;
  /// Ends the run as killed, unless it has ended; SIGTERM then ends the process.
  void end_killed() noexcept { end(true); }

  const RunInfo& run() const noexcept { return run_; }
  /// Returns false in a forked child: the run belongs to the parent.
  bool ours() const noexcept { return generation_ == generation(); }

  const SessionImpl* older = nullptr;  ///< previous Session, so that leak checkers can reach all of them

 private:
  static std::int64_t steady_ns() noexcept;
  std::int64_t blocked_ns() const noexcept;
  void bound_memory();
  void begin_stats();
  void open_directory();
  void follow_directory() noexcept;
  void leave_directory() noexcept;
  void add_local_exporters();
  void start_threads() noexcept;
  void start_sampling() noexcept;
  void start_worker(const std::shared_ptr<ExportWorker>& worker) noexcept;
  void begin_local() noexcept;
  void wait_for_beginning() noexcept;
  static void wait_for_beginning_of(ExportWorker& worker) noexcept;
  void background() noexcept;
  void sleep() noexcept;
  bool collect(bool last, std::shared_ptr<const Snapshot>* offered = nullptr);
  bool collect_all(Time deadline);
  bool try_to_collect(bool last) noexcept;
  bool try_to_collect_all(Time deadline) noexcept;
  std::shared_ptr<const Snapshot> deliver();
  void keep_history(const Snapshot& snapshot) noexcept;
  void keep_epochs(Snapshot& snapshot);
  void conclude(Snapshot& snapshot);
  std::shared_ptr<const Job> job();
  bool writes_files() const noexcept { return options_.files && !run_.directory.empty(); }
  void write_file(const char* name, const std::string& text);
  bool keep_measurement(Measurement measurement);
  MeasurementList measurements();
  void add_left_out(Snapshot& snapshot) const;
  bool has_left_out() const noexcept;
  void report_lost(const Snapshot& snapshot);
  void report_open_trials() noexcept;
  bool is_wanted() noexcept;
  bool end(bool killed) noexcept;
  bool end_by(Time deadline) noexcept;
  bool end_elsewhere(std::unique_lock<std::mutex>& lock) noexcept;
  [[noreturn]] void end_alone() noexcept;
  void stay_with_left_behind() noexcept;
  void finish() noexcept;
  bool finish_workers() noexcept;
  bool run_local(Time deadline) noexcept;
  bool show_local() noexcept;
  std::shared_ptr<ExportWorker> worker(std::size_t index) noexcept;
  Words limit() const noexcept { return Words("TAKT_EXIT_MS=", options_.exit_timeout.count(), " ms"); }

  // The Session that collects data. One that could not finish in time leaves it to its successor.
  static std::atomic<const SessionImpl*> collector_;

  const std::string name_;
  const SessionOptions options_;
  const RankInJob in_job_;
  const std::uint32_t generation_;
  RunInfo run_;
  std::uint64_t start_ns_ = 0;  // on the clock of the process
  std::int64_t uncovered_before_ns_ = 0;
  std::int64_t overhead_before_ns_ = 0;
  std::vector<Loss> losses_before_;  // dropped data of earlier runs in this process
  std::atomic<bool> lossy_{false};   // steps or metrics were dropped since
  bool background_ = false;
  bool homeless_ = false;  // files are wanted but there is no directory
  bool alone_ = false;     // see end_alone()
  const bool silent_;      // TAKT_DISABLE=1: no thread, no file, no exporter, no table
  const std::int64_t earlier_sessions_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> trials_open_{false};
  // Time for which program threads were blocked: in the constructor and in add(); and the start of close(), by
  // monotonic time, 0: not yet.
  std::atomic<std::int64_t> blocked_ns_{0};
  std::atomic<std::int64_t> closing_since_ns_{0};
  RunSamples samples_;
  ProcessWatch watch_;
  std::atomic<bool> killed_{false};
  std::atomic<bool> dying_{false};  // the background thread must record the exception

  std::mutex following_;  // run_directory_
  DirectoryFiles run_directory_;

  std::mutex data_;            // params, tags, groups, the list of workers
  std::string directory_now_;  // last known path of the run directory
  RunGroups groups_;
  std::map<std::string, std::string> params_;
  std::map<std::string, std::string> tags_;
  std::vector<std::shared_ptr<ExportWorker>> local_;
  const JournalExporter* journal_ = nullptr;  // one of local_; for data that it leaves out
  const CsvExporter* csv_ = nullptr;
  std::vector<std::shared_ptr<ExportWorker>> added_;
  std::shared_ptr<const TrialResults> trials_;
  MeasurementList measurements_;
  std::shared_ptr<GatheredJob> job_;  // set by reduce()
  std::optional<ClockReading> clock_reading_;
  bool ended_ = false;  // no further exporter may be added
  Uncaught uncaught_;   // exception that ended the process

  EpochTable epochs_;

  std::mutex writing_results_;
  ResultsText results_text_;

  std::mutex polling_;                    // guards the history; locked after collecting_
  std::shared_ptr<StepHistory> history_;  // null: off, or out of memory
  std::unique_ptr<RankSteps> steps_;      // likewise; for reduce()

  std::mutex collecting_;  // one collection at a time, so that exporters see rows in order
  // Drained from the threads but, for lack of memory, not yet offered to every exporter. Guarded by collecting_.
  std::shared_ptr<Drained> drained_;
  bool in_epochs_ = false;              // drained_ is in epochs_
  bool in_history_ = false;             // drained_ is in the history
  bool took_last_ = false;              // all data has been drained
  std::unique_ptr<Progress> progress_;  // nullptr: off; under collecting_
  std::mutex state_;
  std::condition_variable changed_;
  bool started_ = false;    // exporters of the run directory have started
  bool due_ = false;        // the background thread has work
  bool showing_ = false;    // a thread is calling the exporters without a thread
  bool closed_ = false;     // close() was called
  bool closing_ = false;    // the background thread must do its last work
  bool finished_ = false;   // the last work has been done
  bool delivered_ = false;  // all data was delivered
  Time deadline_;           // end of closing; constant once closed_ is set
};

/// Returns the open Session, or nullptr. Any thread.
SessionImpl* running_session() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
