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
#include "session/job.hpp"
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

/// What a Session is made of. Leaked: its threads may still be in an exporter when the process exits.
///
/// Exporters of the run directory and the terminal are `local`: they share one thread, in order. Each one that the user
/// adds has a thread of its own, so that none delays another. Without background threads all are called by poll() and
/// close().
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
  /// What is recorded by now has been offered to all exporters when this returns.
  struct Recorded {
    std::shared_ptr<const Snapshot> snapshot;
    std::string steps;  ///< that were kept: bytes of RankSteps
  };
  Recorded recorded();
  /// What the trials of a loop have given: from now on in snapshots, in trials.json, and, where the table is printed,
  /// on stdout. The thread of the loop.
  void set_trials(const std::shared_ptr<const TrialResults>& trials);
  /// nullptr: there were none.
  std::shared_ptr<const TrialResults> trials();
  /// Measures a function, and writes down what all measurements have found so far. The thread of the function.
  /// \throws Error where something else is being measured, and whatever the function throws.
  Measurement measure(std::string name, StreamRef stream, const std::function<void()>& function,
                      const MeasureOptions& options);
  /// From now on this Session, of rank 0, speaks for the job. Any thread.
  void set_job(std::shared_ptr<GatheredJob> job);
  /// The newest one counts, beside the one that the options brought. Any thread.
  void add_clock_reading(const ClockReading& reading);
  /// TAKT_DISABLE=1.
  bool is_silent() const noexcept { return silent_; }
  void poll();
  bool close() noexcept { return end(false); }
  /// The process dies of an exception that nobody caught, or of std::terminate(): the run ends as failed, unless it has
  /// ended. Not on the thread that dies, which may hold any lock.
  void end_uncaught(Uncaught death) noexcept;
  /// Has the background thread do that, where no other can be had. Returns false where there is none.
  bool die_in_background() noexcept;
  /// SIGTERM ends the process as soon as this is over: the run ends as killed, unless it has ended already.
  void end_killed() noexcept { end(true); }

  const RunInfo& run() const noexcept { return run_; }
  /// False in a forked child: this is the parent's run.
  bool ours() const noexcept { return generation_ == generation(); }

  const SessionImpl* older = nullptr;  ///< the Session before, so that leak checkers know that none is forgotten

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
  bool prints() const noexcept { return options_.table && !silent_ && (run_.rank == 0 || options_.all_ranks); }
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

  // The Session that takes what is recorded. One that could not finish in time leaves it to its successor.
  static std::atomic<const SessionImpl*> collector_;

  const std::string name_;
  const SessionOptions options_;
  const RankInJob in_job_;
  const std::uint32_t generation_;
  RunInfo run_;
  std::uint64_t start_ns_ = 0;  // on the clock of the process
  std::int64_t uncovered_before_ns_ = 0;
  std::int64_t overhead_before_ns_ = 0;
  std::vector<Loss> losses_before_;  // of earlier runs of the process
  std::atomic<bool> lossy_{false};   // steps or metrics were lost since
  bool background_ = false;
  bool homeless_ = false;  // files are wanted, and there is no directory for them
  bool alone_ = false;     // see end_alone()
  const bool silent_;      // TAKT_DISABLE=1: no thread, no file, no exporter, no table
  const std::int64_t earlier_sessions_;
  std::atomic<bool> failed_{false};
  // Of threads of the program: in the constructor and in add(); and since when in close(), by monotonic time, 0: not
  // yet.
  std::atomic<std::int64_t> blocked_ns_{0};
  std::atomic<std::int64_t> closing_since_ns_{0};
  RunSamples samples_;
  ProcessWatch watch_;
  std::atomic<bool> killed_{false};
  std::atomic<bool> dying_{false};  // the background is to write down of what

  std::mutex following_;  // run_directory_
  DirectoryFiles run_directory_;

  std::mutex data_;            // params, tags, groups, the list of workers
  std::string directory_now_;  // where the run directory was when it was last looked for
  RunGroups groups_;
  std::map<std::string, std::string> params_;
  std::map<std::string, std::string> tags_;
  std::vector<std::shared_ptr<ExportWorker>> local_;
  const JournalExporter* journal_ = nullptr;  // among them, for what they leave out
  const CsvExporter* csv_ = nullptr;
  std::vector<std::shared_ptr<ExportWorker>> added_;
  std::shared_ptr<const TrialResults> trials_;
  MeasurementList measurements_;
  std::shared_ptr<GatheredJob> job_;  // from reduce() on
  std::optional<ClockReading> clock_reading_;
  bool ended_ = false;  // too late for another exporter
  Uncaught uncaught_;   // of which the process dies

  EpochTable epochs_;

  std::mutex writing_results_;
  ResultsText results_text_;

  std::mutex polling_;                    // at the history; behind collecting_
  std::shared_ptr<StepHistory> history_;  // none: switched off, or there was no memory for it
  std::unique_ptr<RankSteps> steps_;      // likewise; for reduce()

  std::mutex collecting_;  // one collection at a time, so that exporters see rows in order
  // Taken from the threads, and, for want of memory, not offered to every exporter yet. Under collecting_.
  std::shared_ptr<Drained> drained_;
  bool in_epochs_ = false;              // likewise, in epochs_
  bool in_history_ = false;             // what is in harvest_
  bool took_last_ = false;              // nothing more is to be taken
  std::unique_ptr<Progress> progress_;  // none: not wanted. Under collecting_
  std::mutex state_;
  std::condition_variable changed_;
  bool started_ = false;    // the exporters of the run directory
  bool due_ = false;        // the background is to work now
  bool showing_ = false;    // a thread is calling the exporters that have none of their own
  bool closed_ = false;     // close() was called
  bool closing_ = false;    // the background is to do its last work
  bool finished_ = false;   // the last work has been done
  bool delivered_ = false;  // all of it
  Time deadline_;           // of closing; constant from closed_ on
};

/// The Session that has begun and is not closed; nullptr: there is none. Any thread.
SessionImpl* running_session() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
