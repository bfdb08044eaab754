// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/error.hpp>
#include <takt/exporter.hpp>
#include <takt/snapshot.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A text argument that may be a null pointer, such as the result of std::getenv(). Accepts anything that converts to
/// std::string_view. Points to the caller's text.
class TextArgument {
 public:
  constexpr TextArgument(const char* text) noexcept  // NOLINT(google-explicit-constructor)
      : is_null_(text == nullptr), view_(text == nullptr ? std::string_view() : std::string_view(text)) {}
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view> &&
                                          !std::is_convertible_v<const S&, const char*>,
                                      int> = 0>
  constexpr TextArgument(const S& text) noexcept : view_(text) {}  // NOLINT(google-explicit-constructor)

  constexpr bool is_null() const noexcept { return is_null_; }
  /// Returns the text, or an empty view for a null pointer.
  constexpr std::string_view view() const noexcept { return view_; }

 private:
  bool is_null_ = false;
  std::string_view view_;
};

class SessionImpl;
}  // namespace detail

/// Options of a Session. from_env() reads the variables in brackets; values set in code win.
struct SessionOptions {
  std::string directory = "takt-runs";  ///< [TAKT_DIR] parent of the run directories
  bool files = true;                    ///< [TAKT_FILES=0|1] write summary.json and steps.csv
  bool journal = true;                  ///< [TAKT_JOURNAL=0|1] with files: keep a journal that survives a kill
  std::size_t journal_bytes =
      256U << 20U;  ///< [TAKT_JOURNAL_MB] maximum bytes of the journal; further steps and metrics are dropped
  std::size_t csv_bytes = 256U << 20U;  ///< [TAKT_CSV_MB] maximum bytes of steps.csv; later steps: journal only
  bool table = true;                    ///< [TAKT_TABLE=0|1] print the table at the end; rank 0 only
  /// [TAKT_PROGRESS=0|1] Write progress to stderr, and a line at the end of each Epoch; rank 0 only.
  bool progress = false;
  bool trace = false;                      ///< [TAKT_TRACE=0|1] write trace.json
  bool html = false;                       ///< [TAKT_HTML=0|1] write run.html, the page of the run, at the end
  std::uint64_t trace_events = 1'000'000;  ///< [TAKT_TRACE_EVENTS] maximum spans in trace.json; later ones are counted
  /// [TAKT_EXIT_MS] Maximum time that closing takes, 0 to 2,147,483,647 ms.
  std::chrono::milliseconds exit_timeout{2000};
  /// [TAKT_PERIOD_MS] Collection interval, 10 to 2,147,483,647 ms.
  std::chrono::milliseconds period{1000};
  bool background = true;  ///< false: no threads; the program calls poll() itself
  /// [TAKT_SIGTERM=0|1] SIGTERM closes the run as killed within exit_timeout; then it ends the process as usual. Needs
  /// background threads. If the program has its own handler, that handler decides; Takt only saves the data so far.
  bool end_on_sigterm = false;
  /// [TAKT_UNCAUGHT=0|1] An uncaught exception is recorded and closes the run as failed within exit_timeout. Then the
  /// previous terminate handler is called as usual.
  bool end_on_uncaught = true;
  /// [TAKT_GPU_RECORDS] Maximum events in flight on one GPU stream, over all threads, 8 to 65,536. Further regions are
  /// skipped on the device and counted. The driver's queue (about 1,000 entries) is shared with the program's kernels
  /// and blocks the host when it is full.
  int gpu_records = 256;
  /// [TAKT_SAMPLE_MS] Sampling interval of energy, memory and utilization of devices, processors and the process, 10 to
  /// 60,000 ms; 0: no sampling. Needs background threads.
  std::chrono::milliseconds sample_period{0};
  int warmup = 10;                        ///< [TAKT_WARMUP] Batches of each Batch path that count as warm-up (>= 0)
  std::size_t memory_bytes = 32U << 20U;  ///< [TAKT_MEMORY_MB] memory for recording in the whole process, in bytes
  std::string run_id;                     ///< [TAKT_RUN_ID] shared by all ranks; empty: from the launcher, or generated
  std::optional<int> rank;                ///< [TAKT_RANK] empty: from the launcher
  std::optional<int> world_size;          ///< [TAKT_WORLD_SIZE] empty: from the launcher
  std::optional<int> local_rank;          ///< rank on its node; empty: from the launcher
  bool all_ranks = false;                 ///< [TAKT_RANKS=0|all] every rank is a run of its own and prints
  bool command_line = true;               ///< [TAKT_COMMAND_LINE=0|1] record the program's arguments

  /// Returns the defaults, overridden by the environment. An invalid value is reported once, with the valid values, and
  /// ignored. An unknown TAKT_ variable is reported, too.
  TAKT_EXPORT static SessionOptions from_env();
};

TAKT_END_NAMESPACE

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// One run: identity, files, threads, exporters. Create it first in main(). Earlier recordings in the process are
/// included. Timing works without a Session. Only one may exist at a time: a second one throws takt::Error.
class TAKT_EXPORT Session {
 public:
  /// The journal is open when the constructor returns; an unresponsive disk delays it by at most one second.
  /// \param name display name of the run or experiment, and the start of its directory's name; a null pointer means
  ///         "run".
  /// \throws takt::Error if a Session exists already. Environment errors, such as a directory that cannot be written,
  ///         do not throw: they are reported, the run continues in memory, and close() returns false.
  [[nodiscard]] explicit Session(detail::TextArgument name, SessionOptions options = SessionOptions::from_env());
  /// Closes the run within `exit_timeout`. Marks it failed if an exception unwinds the Session.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds an exporter, by value or by unique_ptr. It gets the totals of the whole run, and the rows and metrics that
  /// were not yet collected; these are complete if it is added within one period of the start. Waits for its start(),
  /// at most one second. Any thread.
  /// \throws takt::Error for a nullptr, or after close().
  void add(std::unique_ptr<Exporter> exporter);
  template <class E, std::enable_if_t<std::is_base_of_v<Exporter, std::decay_t<E>>, int> = 0>
  void add(E&& exporter) {
    add(std::unique_ptr<Exporter>(new std::decay_t<E>(std::forward<E>(exporter))));
  }

  /// Records a hyper-parameter or tag of the run; a later value of the same name wins. Invalid names are repaired like
  /// those of keys; the first repair is reported. A null pointer as name or value is reported and ignored. Any thread;
  /// takes a lock.
  void param(detail::TextArgument name, detail::TextArgument value);
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  void param(detail::TextArgument name, T value) {
    if constexpr (std::is_same_v<T, bool>) {
      param(name, value ? "true" : "false");
    } else if constexpr (std::is_integral_v<T>) {
      param(name, std::to_string(value));
    } else {
      param_real(name, static_cast<double>(value), std::is_same_v<T, float>);
    }
  }
  void tag(detail::TextArgument name, detail::TextArgument value);
  /// Sets the plural name of what items() counts, such as "tokens"; the table and the page then print tokens/s. Stored
  /// as the parameter "item_unit", which trackers receive, too. The default is "samples". Any thread; takes a lock.
  void unit(detail::TextArgument items) { param("item_unit", items); }

  /// Sets the group of this rank, such as stage 2 of a pipeline. Reports compare ranks of the same groups. The last
  /// call for a name wins. "stage" is the pipeline stage; with the parameter "micro_batches", reports include its ideal
  /// share of waiting. Any thread; takes a lock.
  /// \param name 1 to 32 ASCII letters, digits, `_`, `-` and `.`.
  /// \param number 0 or more.
  /// \throws takt::Error for any other name or number, and for a ninth name.
  void group(detail::TextArgument name, int number);

  /// Records a number at `step`, or at the current step of the calling thread: its open Batch, else the last one that
  /// ended. Keeps NaN and infinities. A null pointer as name is reported and ignored. No lock and no system call after
  /// the first use of a name. Any thread.
  void metric(detail::TextArgument name, double value) noexcept;
  void metric(detail::TextArgument name, double value, std::int64_t step) noexcept;

  /// Sets the step number of the calling thread's current or next Batch; counting continues from it.
  void step(std::int64_t number) noexcept;

  /// Marks the run as failed. Any thread.
  void fail() noexcept;
  /// Prints the table of the run so far on stdout. Any thread.
  void print();
  /// Returns the run so far, without rows. Any thread.
  Snapshot snapshot();
  /// Does the periodic background work now: collects, and passes new data to the exporters. With background threads it
  /// does not wait for the exporters. Any thread.
  void poll();
  /// Ends the run: passes the last snapshot to every exporter, writes files, prints the table. Further calls do
  /// nothing. Returns false if work or an exporter did not finish within `exit_timeout`, if steps or metrics were
  /// dropped, or if files were wanted without a directory for them. Without background threads, a stuck exporter blocks
  /// it. Any thread.
  bool close() noexcept;

  const RunInfo& run() const noexcept;

 private:
  void param_real(detail::TextArgument name, double value, bool single_precision);
  detail::SessionImpl* impl_;  // leaked: its threads may outlive the Session at exit
  int exceptions_;             // uncaught exceptions when the Session was made
};

/// Returns what this process has recorded so far, without rows. Needs no Session. Any thread.
TAKT_EXPORT Snapshot snapshot();

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: does nothing.
class Session {
 public:
  // Templates, so that not even a string is constructed.
  template <class Name>
  [[nodiscard]] explicit Session(const Name&) noexcept {}
  template <class Name>
  [[nodiscard]] Session(const Name&, const SessionOptions&) noexcept {}
  ~Session() noexcept {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  template <class E>
  void add(E&&) {}
  template <class T>
  void param(detail::TextArgument, const T&) {}
  void tag(detail::TextArgument, detail::TextArgument) {}
  void unit(detail::TextArgument) {}
  void group(detail::TextArgument, int) {}
  void metric(detail::TextArgument, double) noexcept {}
  void metric(detail::TextArgument, double, std::int64_t) noexcept {}
  void step(std::int64_t) noexcept {}
  void fail() noexcept {}
  void print() {}
  Snapshot snapshot() { return {}; }
  void poll() {}
  bool close() noexcept { return true; }
  const RunInfo& run() const noexcept {
    static const RunInfo none;
    return none;
  }
};

inline Snapshot snapshot() { return {}; }

TAKT_END_OFF_NAMESPACE

#endif
