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

/// A text as a function of Takt's takes it: what converts to std::string_view, and a null pointer, such as
/// std::getenv() returns, of which no std::string_view may be made. Points to the caller's text.
class TextArgument {
 public:
  constexpr TextArgument(const char* text) noexcept  // NOLINT(google-explicit-constructor)
      : is_null_(text == nullptr), view_(text == nullptr ? std::string_view() : std::string_view(text)) {}
  template <class S, std::enable_if_t<std::is_convertible_v<const S&, std::string_view> &&
                                          !std::is_convertible_v<const S&, const char*>,
                                      int> = 0>
  constexpr TextArgument(const S& text) noexcept : view_(text) {}  // NOLINT(google-explicit-constructor)

  constexpr bool is_null() const noexcept { return is_null_; }
  /// Empty where it is a null pointer.
  constexpr std::string_view view() const noexcept { return view_; }

 private:
  bool is_null_ = false;
  std::string_view view_;
};

class SessionImpl;
}  // namespace detail

/// How a Session is set up. from_env() starts from the variables in brackets; what is set in code wins.
struct SessionOptions {
  std::string directory = "takt-runs";  ///< [TAKT_DIR] where run directories go
  bool files = true;                    ///< [TAKT_FILES=0|1] write summary.json and steps.csv
  bool journal = true;                  ///< [TAKT_JOURNAL=0|1] with files: keep a journal that outlives a kill
  std::size_t journal_bytes =
      256U << 20U;                      ///< [TAKT_JOURNAL_MB] of the journal; beyond it steps and metrics are left out
  std::size_t csv_bytes = 256U << 20U;  ///< [TAKT_CSV_MB] of steps.csv; later steps are in the journal only
  bool table = true;                    ///< [TAKT_TABLE=0|1] print the table at the end; on rank 0 only
  /// [TAKT_PROGRESS=0|1] write to stderr how far the run is, and a line at the end of each Epoch; on rank 0 only.
  bool progress = false;
  bool trace = false;                      ///< [TAKT_TRACE=0|1] write trace.json
  bool html = false;                       ///< [TAKT_HTML=0|1] write run.html, the page of the run, at the end
  std::uint64_t trace_events = 1'000'000;  ///< [TAKT_TRACE_EVENTS] spans in trace.json; later ones are counted
  /// [TAKT_EXIT_MS] the most that closing may take, 0 to 2 147 483 647 ms.
  std::chrono::milliseconds exit_timeout{2000};
  /// [TAKT_PERIOD_MS] between two looks at what was recorded, 10 to 2 147 483 647 ms.
  std::chrono::milliseconds period{1000};
  bool background = true;  ///< false: no threads; the program calls poll() itself
  /// [TAKT_SIGTERM=0|1] SIGTERM ends the run as killed, within exit_timeout, and then the process, as always. Needs
  /// background threads. Where the program has a handler of its own, that one decides, and Takt only writes down what
  /// there is.
  bool end_on_sigterm = false;
  /// [TAKT_UNCAUGHT=0|1] an exception that nobody catches is written down, and ends the run as failed within
  /// exit_timeout; then the terminate handler that was there before is called, as always.
  bool end_on_uncaught = true;
  /// [TAKT_GPU_RECORDS] marks of regions that may be in flight on one stream of a GPU, of all threads, 8 to 65 536.
  /// Beyond it regions are skipped on the device and counted: a driver holds up the host where its own queue of about
  /// 1 000 entries is full, which the program's kernels share.
  int gpu_records = 256;
  /// [TAKT_SAMPLE_MS] threads of Takt's sample energy, memory and utilisation of devices, processors and the process so
  /// often, 10 to 60 000 ms; 0: they are not sampled. Needs background threads.
  std::chrono::milliseconds sample_period{0};
  int warmup = 10;                        ///< [TAKT_WARMUP] Batches of each Batch path that count as warm-up, 0 or more
  std::size_t memory_bytes = 32U << 20U;  ///< [TAKT_MEMORY_MB] for recording, the whole process
  std::string run_id;                     ///< [TAKT_RUN_ID] shared by all ranks; empty: from the launcher, or made up
  std::optional<int> rank;                ///< [TAKT_RANK] empty: from the launcher
  std::optional<int> world_size;          ///< [TAKT_WORLD_SIZE] empty: from the launcher
  std::optional<int> local_rank;          ///< among those of its node; empty: from the launcher
  bool all_ranks = false;                 ///< [TAKT_RANKS=0|all] every rank is a run of its own: each prints

  /// The defaults, changed by the environment. A value that is not understood is reported once with the values that
  /// are, and left at its default; so is a TAKT_ variable that does not exist.
  TAKT_EXPORT static SessionOptions from_env();
};

TAKT_END_NAMESPACE

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// One run: identity, files, threads, exporters. Make it first in main(). What was recorded before is adopted. Not
/// needed in order to time something. At most one at a time: a second one throws takt::Error.
class TAKT_EXPORT Session {
 public:
  /// \param name of the run or experiment, for people (a null pointer: "run"); also the start of the run directory's
  /// name.
  /// When it returns, the journal has begun; a disk that takes nothing holds it up for a second at most.
  /// \throws takt::Error if there is a Session already. Faults of the surroundings (a directory that cannot be
  /// written) do
  /// not
  ///         throw: they are reported, the run goes on in memory, and close() returns false.
  [[nodiscard]] explicit Session(detail::TextArgument name, SessionOptions options = SessionOptions::from_env());
  /// Closes the run; an exception on its way through marks it failed. Takes at most `exit_timeout`.
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds an exporter, by value or by unique_ptr. Its totals are those of the whole run; of rows and metrics it sees
  /// what nobody has collected yet, all of them if it is added within a period of the start. What it was set up with is
  /// written down when this returns; that takes a second at most. Any thread.
  /// \throws takt::Error for a nullptr, or after close().
  void add(std::unique_ptr<Exporter> exporter);
  template <class E, std::enable_if_t<std::is_base_of_v<Exporter, std::decay_t<E>>, int> = 0>
  void add(E&& exporter) {
    add(std::unique_ptr<Exporter>(new std::decay_t<E>(std::forward<E>(exporter))));
  }

  /// Hyper-parameters and tags that travel with the timings; a later value of the same name wins. Names are repaired as
  /// those of keys are, and the first such repair is reported. Where name or value is a null pointer that is reported,
  /// and nothing is kept. Any thread, takes a lock.
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
  /// Names what items() counts, in the plural, such as "tokens": the table and the page print tokens/s. It is the
  /// parameter "item_unit", so that trackers have it too. The default is "samples". Any thread, takes a lock.
  void unit(detail::TextArgument items) { param("item_unit", items); }

  /// Says which group this rank is in, such as stage 2 of a pipeline: reports compare it with the ranks of the same
  /// groups. The last call of a name wins. A group named "stage" is that of a pipeline; the parameter "micro_batches"
  /// tells what share of its steps a stage waits at best. Any thread, takes a lock.
  /// \param name 1 to 32 letters, digits, `_`, `-` and `.`, of ASCII.
  /// \param number from 0 on.
  /// \throws takt::Error for any other name or number, and for a 9th name.
  void group(detail::TextArgument name, int number);

  /// A number at the current step of the calling thread (the Batch that is open, else the one that ended last), or at
  /// `step`. NaN and infinities are kept. A null pointer for a name is reported, and its number is not kept. No lock
  /// and no system call after the first use of a name. Any thread.
  void metric(detail::TextArgument name, double value) noexcept;
  void metric(detail::TextArgument name, double value, std::int64_t step) noexcept;

  /// The step number that the calling thread's current or next Batch gets; counting goes on from there.
  void step(std::int64_t number) noexcept;

  /// Marks the run as failed. Any thread.
  void fail() noexcept;
  /// Prints the table of the run so far on stdout. Any thread.
  void print();
  /// The run so far, without rows. Any thread.
  Snapshot snapshot();
  /// Does at once what the background does each period: collects, and shows exporters what is new. With background
  /// threads it does not wait for the exporters. Any thread.
  void poll();
  /// Ends the run: last snapshot to every exporter, files, table. Further calls do nothing. Returns false if something
  /// was not done, or not taken by an exporter, within `exit_timeout`, if steps or metrics were lost on the way, or if
  /// files were wanted and there was no directory for them. Without background threads an exporter that does not come
  /// back
  /// holds it up. Any thread.
  bool close() noexcept;

  const RunInfo& run() const noexcept;

 private:
  void param_real(detail::TextArgument name, double value, bool single_precision);
  detail::SessionImpl* impl_;  // leaked: its threads may outlive the Session at exit
  int exceptions_;             // under way when the Session was made
};

/// What has been recorded in this process so far, without rows. Needs no Session. Any thread.
TAKT_EXPORT Snapshot snapshot();

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: does nothing.
class Session {
 public:
  // Templates, so that not even a string is made for them.
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
