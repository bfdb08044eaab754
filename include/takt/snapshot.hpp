// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/key.hpp>
#include <takt/sample.hpp>
#include <takt/summary.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// No index into a list of a Snapshot. A constant rather than an optional, because cells and spans hold such indices by
/// the hundred thousand and an optional doubles their memory.
inline constexpr std::uint32_t kNoIndex = 0xFFFFFFFF;

/// One column of a row.
struct Cell {
  /// A constant rather than an optional: steps have many cells, and an optional makes each a third larger.
  static constexpr std::int64_t kAbsent = -1;

  std::uint32_t path = kNoIndex;  ///< index into Snapshot::paths; kNoIndex: all paths beyond the 64th together
  std::uint32_t calls = 0;
  std::int64_t host_ns = 0;          ///< total of the calls in this step
  std::int64_t device_ns = kAbsent;  ///< total stream span, or kAbsent if none exists or it was dropped
};

/// Sums over the stream spans of one step on one device, or of many steps. A span covers all work of its region and
/// idle time, so each sum is an upper bound. Needs tracing.
struct Overlap {
  std::uint32_t time_line = 0;  ///< index into Snapshot::time_lines
  std::int64_t span_ns = 0;     ///< from the first start to the last end
  std::int64_t compute_ns = 0;  ///< under spans of Kind::compute, without regions of other kinds inside them
  std::int64_t comm_ns = 0;     ///< under spans of Kind::comm
  std::int64_t io_ns = 0;       ///< under spans of Kind::io
  std::uint64_t undecided = 0;  ///< communications inside one compute span: hidden or waited for, unknown
  // Upper bounds of the time that streams of this device waited; need regions of Kind::wait.
  std::optional<std::int64_t> comm_exposed_ns;
  std::optional<std::int64_t> io_exposed_ns;
  std::optional<std::int64_t> other_exposed_ns;
};

/// One step: an outermost Batch of one thread. An exporter sees a row once: when all its device values are known, after
/// 1,024 later rows, or at shutdown.
struct Row {
  std::uint64_t sequence = 0;  ///< row number in the process, from 0; missing ones are reported as dropped
  std::uint32_t series = 0;    ///< index into Snapshot::series
  std::int64_t step = 0;       ///< counts from 0 in each series; Session::step() sets it
  std::int64_t begin_ns = 0;   ///< since the start of the run
  std::int64_t host_ns = 0;    ///< length of the Batch
  /// Time since the end of the previous Batch; empty for the first one, or if the step is excluded from throughput.
  std::optional<std::int64_t> period_ns;
  std::int64_t items = 0;
  bool warmup = false;
  bool complete = true;  ///< false: device values are missing
  std::vector<Cell> cells;
  /// One per device; empty without tracing, or if a stream span is missing or has no place on the time line.
  std::vector<Overlap> overlaps;
  std::uint64_t early = 0;  ///< its number in Snapshot::early, from 1; 0: it was not there
};

/// A figure that supports a Finding.
struct Evidence {
  std::string name;  ///< stable identifier such as "mean_excess"
  double value = 0;  ///< finite
  std::string unit;  ///< "ns", "steps", "windows"; empty: dimensionless, such as a share from 0 to 1
};

/// Cost of a problem, in ns of elapsed time: the gain if it is fixed.
struct Cost {
  double ns = 0;
  double low_ns = 0;  ///< 95 % interval; both ends equal `ns` if it was measured rather than estimated
  double high_ns = 0;
  double share = 0;  ///< share of the total time, 0 to 1
};

/// A conclusion of a report: a sentence for people, its evidence, and its cost if known. A value; safe to keep.
struct Finding {
  std::string what;      ///< stable identifier such as "slow_rank"
  std::string sentence;  ///< one line of printable text
  std::vector<Evidence> evidence;
  std::optional<Cost> cost;
  std::string where = {};  ///< the region concerned, as Snapshot::path_name(), or its key; may be empty
};

/// A conclusion that the data do not support. A value; safe to keep.
struct SkippedRule {
  std::string what;  ///< stable identifier of the Finding
  std::string why;   ///< missing data, as one line of printable text
};

/// Distinguishes a process from a later one with the same number, and from the next program after exec.
struct ProcessMark {
  std::optional<std::uint64_t> boot;   ///< first half of the kernel's boot id
  std::optional<std::uint64_t> start;  ///< start time of the process, in clock ticks since the boot
  std::optional<std::uint64_t> image;  ///< start address of its stack, which each exec chooses again
};

/// The machine and the program of a run, read once at the start of the Session. Empty: unknown.
struct MachineInfo {
  std::string cpu;                                ///< model of the processors
  std::optional<std::int64_t> cores;              ///< physical cores
  std::optional<std::int64_t> logical_cpus;       ///< online logical CPUs; ProcessTimes::processors: usable ones
  std::optional<std::int64_t> host_memory_bytes;  ///< memory of the machine; in a container, of its host
  std::vector<std::string> gpus;                  ///< model of each GPU that the drivers list
  std::string commit;                             ///< git commit of the sources, hexadecimal
  /// Program and arguments without likely secrets, at most 4,096 bytes; a longer command ends in "...".
  std::vector<std::string> command;
  std::string compiler;  ///< compiler of libtakt, such as "g++ 12.2.0"
  /// Name and version of libraries that the program uses with Takt, such as "mpi" and "libtorch".
  std::vector<std::pair<std::string, std::string>> libraries;
};

/// Identity of a run. Rank and world size are from the API or the launcher.
struct RunInfo {
  std::string name;  ///< as given to Session; "takt" without a Session
  std::string id;    ///< shared by all ranks of the run
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int attempt = 0;          ///< restart count of an elastic launcher
  std::string rank_source;  ///< variable or call that set rank and world size
  std::string host;
  std::int64_t pid = 0;
  std::int64_t start_unix_ns = 0;              ///< wall clock at the start of the run
  std::string directory;                       ///< directory for files of this rank; empty: in memory only
  std::optional<std::uint64_t> pid_namespace;  ///< namespace of `pid`, as Linux numbers namespaces
  ProcessMark process_mark;                    ///< identifies the process `pid`
  /// From Session::group(), by name; in snapshots. Ranks of the same groups are compared with each other.
  std::vector<std::pair<std::string, int>> groups;
  std::string takt_version;  ///< version of the library that recorded it, such as "0.1.0"; empty: unknown
  MachineInfo machine;       ///< in snapshots
};

/// The clock that host times use.
struct ClockInfo {
  std::string name;    ///< "tsc", "cntvct" or "clock_gettime(CLOCK_MONOTONIC)"
  std::string reason;  ///< reason for this choice
  double frequency_hz = 0;
  double error_ppm = 0;  ///< measured upper bound of the rate error against CLOCK_MONOTONIC_RAW, since `error_since_ns`
  double worst_error_ppm = 0;            ///< largest bound of the time before that
  std::int64_t error_since_ns = 0;       ///< in ns of the clock, which starts with the first recording
  std::int64_t empty_region_ns = 0;      ///< length that an empty region reports
  std::uint64_t fallbacks = 0;           ///< number of clock changes while running
  std::optional<double> region_cost_ns;  ///< cost of an empty region, in ns of its thread's time
  std::optional<double> resolution_ns;   ///< observed counting step, in ns (>= 1)
};

/// Spread of a region's time over the threads that ended calls of it. A region counts on the thread that ends it.
struct ThreadSpread {
  std::uint32_t threads = 0;         ///< number of these threads; 0: unknown
  std::uint32_t longest = kNoIndex;  ///< index into Snapshot::threads of the one with the longest time in all calls
  std::uint64_t longest_ns = 0;      ///< its time

  /// Adds one thread's time in all calls.
  void add(std::uint32_t thread, std::uint64_t ns) noexcept {
    if (threads++ != 0 && ns <= longest_ns) { return; }
    longest = thread;
    longest_ns = ns;
  }
};

/// One region at one place in the call tree, over all threads.
struct PathStats {
  std::string name;  ///< key name
  Kind kind = Kind::other;
  std::uint32_t parent = kNoIndex;  ///< index into Snapshot::paths, always smaller than its own; kNoIndex at the top
  std::uint32_t depth = 0;          ///< 0 at the top
  Summary host;                     ///< host time
  Summary device;                   ///< stream span on a device, of the regions that have resolved; n() == 0 if none
  std::uint64_t self_ns = 0;        ///< host time in which it was the innermost open region of its thread
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;         ///< entered but not timed, because of every(n); n() + skipped were entered
  std::uint64_t device_pending = 0;  ///< device spans not resolved yet
  std::uint64_t device_lost = 0;     ///< device spans that failed or exceeded a capacity
  ThreadSpread spread;               ///< host time by thread; unknown for all regions without space together

  /// Returns the mean host time of a thread in all calls; 0 if unknown.
  double ns_a_thread() const noexcept {
    return spread.threads == 0 ? 0 : static_cast<double>(host.total_ns()) / spread.threads;
  }
};

/// Changes of memory in calls of a region, in bytes.
struct MemoryFigures {
  std::uint64_t calls = 0;            ///< ended calls with both readings; 0: the rest means nothing
  std::int64_t change_bytes = 0;      ///< reading at the end minus that at the start, summed over the calls
  std::int64_t max_change_bytes = 0;  ///< largest change in one call; negative if all have decreased
  std::int64_t peak_bytes = 0;        ///< highest reading of the calls
};

/// Memory of the regions of one key, from takt::MemoryScope. Includes what other threads allocated meanwhile.
struct RegionMemory {
  std::string name;         ///< key name
  MemoryFigures resident;   ///< resident memory of the process; its peak includes samples while a call was open
  MemoryFigures allocator;  ///< what set_allocator_memory() tells, at start and end alone
};

/// A kind of device whose streams were passed to regions.
struct DeviceInfo {
  std::string name;         ///< backend name, such as "cuda"
  std::string unavailable;  ///< reason why it times no stream spans; empty: it does
  std::string caveat;       ///< limits of its figures; may be empty
};

/// A region that had not ended when the snapshot was taken.
struct OpenRegion {
  std::uint32_t path = 0;    ///< index into Snapshot::paths
  std::uint32_t thread = 0;  ///< index into Snapshot::threads
  std::int64_t open_ns = 0;  ///< time since its start, in ns
};

/// Cause of the process's death: an uncaught exception, or std::terminate() without one.
struct Uncaught {
  bool happened = false;
  std::string type;     ///< "std::runtime_error"; empty: std::terminate() was called without an exception
  std::string message;  ///< the exception's what(), at most 1,000 bytes
  std::optional<std::uint32_t> thread;  ///< index into Snapshot::threads; empty if the thread had recorded nothing
  std::vector<std::uint32_t> open;      ///< regions of that thread, outermost first; indices into Snapshot::paths
};

/// A thread that has recorded something.
struct ThreadInfo {
  static constexpr const char* kFurther = "further threads";  ///< name of the entry for all threads beyond the 4,095th

  std::uint32_t id = 0;  ///< number in the process, in the order of first recording
  std::string name;      ///< from name_thread(), or "thread <id>"
  bool ended = false;
};

namespace detail {

/// Appends a key to a path name (Snapshot::path_name).
inline void append_key(std::string& path, const std::string& key) {
  for (const char each : key) {
    if (each == '/' || each == '\\') { path += '\\'; }
    path += each;
  }
}

}  // namespace detail

/// Reason why a throughput has no interval.
enum class NoInterval : std::uint8_t {
  none,        ///< it has one
  few_steps,   ///< fewer than 128 step periods, or no items
  few_stalls,  ///< fewer than ten stalls cause the variation, so their frequency is unknown
  correlated   ///< neighbouring windows are correlated: the run is too short for its slow changes of pace
};

/// Throughput over the steps after warm-up. A period lasts from the end of one Batch to the end of the next.
struct Throughput {
  std::uint64_t steps = 0;           ///< step periods that count
  std::uint64_t items = 0;           ///< items in these periods
  std::uint64_t period_ns = 0;       ///< sum of these periods
  std::uint64_t excluded_steps = 0;  ///< excluded: an Epoch boundary, another Batch path or untimed steps inside
  std::uint64_t excluded_ns = 0;
  std::uint64_t first_ns = 0;  ///< start of the first counted period, in ns of the process's clock
  std::uint64_t last_ns = 0;   ///< end of the last one; 0 in journals of earlier versions
  std::uint64_t windows = 0;   ///< windows of consecutive steps behind the interval
  double items_per_s = 0;      ///< items / period; 0 without items
  double items_low = 0;        ///< 95 % interval of items_per_s; 0 if none
  double items_high = 0;
  double steps_per_s = 0;
  NoInterval no_interval = NoInterval::few_steps;
  std::uint64_t stalls = 0;  ///< with few_stalls: approximate number of stalls that cause the variation
};

/// The steps of one Batch path on one thread.
struct Series {
  std::uint32_t path = 0;          ///< index into Snapshot::paths of its Batch
  std::uint32_t thread = 0;        ///< index into Snapshot::threads
  std::uint32_t process = 0;       ///< number of the process among those that the snapshot sums up
  std::uint64_t steps = 0;         ///< Batches ended
  std::uint64_t warmup_steps = 0;  ///< warm-up Batches among them
  Throughput throughput;
};

/// A number the user logged.
struct Metric {
  std::uint64_t sequence = 0;
  std::string name;
  double value = 0;  ///< may be NaN or infinite
  std::int64_t step = 0;
  std::int64_t time_unix_ns = 0;
};

/// The figures of one Epoch that ended on the thread that began it.
struct EpochStats {
  std::int64_t last_step = 0;             ///< number of the step that ended last
  std::int64_t end_unix_ns = 0;           ///< wall clock at the end
  double seconds = 0;                     ///< duration
  std::optional<double> steps;            ///< Batches inside, on the same thread; none: unknown, or there are none
  std::optional<double> samples_per_s;    ///< their items per second of the Epoch; none: they counted no items
  std::map<std::string, double> metrics;  ///< last value of each metric logged since the Epoch before; at most 64
};

/// The time line of one device. Only with tracing on.
struct TimeLineInfo {
  std::string device;               ///< backend name, such as "cuda"
  std::uint32_t number = 0;         ///< number among devices of this backend, in order of first use
  std::int64_t clock_error_ns = 0;  ///< upper bound of a span's offset from host time, in ns; never shrinks
  std::uint64_t spans = 0;          ///< spans placed on it
  std::uint64_t clamped = 0;        ///< spans moved to their submission on the host
  std::uint64_t steps = 0;          ///< in `overlap`
  Overlap overlap;                  ///< all steps together
};

/// One stream of a device as a track of the time line: the spans that one thread recorded there.
struct StreamInfo {
  std::uint32_t time_line = 0;  ///< index into Snapshot::time_lines
  std::uint32_t number = 0;     ///< number of the stream on its device, in order of first use
  std::uint32_t thread = 0;     ///< index into Snapshot::threads
};

/// One timed region for a time line. Only with tracing on.
struct Span {
  std::uint64_t sequence = 0;
  std::uint32_t thread = 0;   ///< index into Snapshot::threads
  std::int64_t begin_ns = 0;  ///< since the start of the run
  std::int64_t duration_ns = 0;
  const char* name = "";  ///< key name, valid for the life of the process
  Kind kind = Kind::other;
  std::uint32_t stream = kNoIndex;  ///< index into Snapshot::streams; kNoIndex: the region's host time
};

/// Data that a report lacks, or misuse of the API: kind, place and count.
struct Loss {
  std::string what;   ///< stable identifier such as "end_without_start"
  std::string where;  ///< key or thread, may be empty
  std::uint64_t count = 0;
};

/// Offset of another rank's clock from this rank's, measured by takt::mpi.
struct ClockReading {
  std::uint32_t rank = 0;     ///< rank of the other clock
  std::int64_t unix_ns = 0;   ///< time of the measurement by this rank's clock, in ns since 1970
  std::int64_t ahead_ns = 0;  ///< lead of the other clock; below 0: it is behind
  std::int64_t error_ns = 0;  ///< error bound in both directions: half the round trip
};

/// System figures of the whole process since the start of the run.
struct ProcessTimes {
  std::optional<std::int64_t> cpu_ns;  ///< processor time of all its threads
  std::int64_t stopped_ns = 0;         ///< minimum time ready to run but not running: stopped, or no processor
  std::int64_t suspended_ns = 0;       ///< time in which the machine slept; not in `wall_ns`
  std::int64_t before_ns = 0;          ///< part of `wall_ns` from the first recording to the start of the Session
  /// Earlier Sessions of this process. Their data are in the totals, steps and throughput, too.
  std::int64_t earlier_sessions = 0;
  /// Time that the Session's thread waited for a processor while ready to run, since it made the Session.
  std::optional<std::int64_t> waited_ns;
  std::optional<std::int64_t> processors;  ///< number of processors that the process may use
  /// Time that the Session's constructor, add() and close() have blocked their callers so far.
  std::int64_t blocked_ns = 0;
};

/// Returns true if at least one of `n` values lies above the percentile `q` (0 to 1). Otherwise the percentile equals
/// the maximum. p90 needs 10 values, p95 20, p99 100; the median always exists. Any thread.
inline bool has_percentile(std::uint64_t n, double q) noexcept {
  const auto count = static_cast<double>(n);
  return q <= 0.5 ? n > 0 : count * (1 - q) > 1 - 1e-9;
}
/// Same, for the calls after warm-up.
inline bool has_percentile(const Summary& summary, double q) noexcept {
  return has_percentile(summary.measured_n(), q);
}

struct Job;
struct Measurement;
struct TrialResults;

/// Data behind Takt's reports. Opaque: defined only in Takt's sources.
class StepHistory;

/// Finished values: everything an exporter sees. A value; safe to keep. Indices are stable across snapshots of a
/// process; paths, threads and series are only ever appended.
struct Snapshot {
  RunInfo run;
  ClockInfo clock;
  std::int64_t wall_ns = 0;       ///< since the start of the run
  std::int64_t uncovered_ns = 0;  ///< part of this on the Session's thread that no region covers
  /// Estimated cost of Takt itself in this time: regions, rows, background work, and process.blocked_ns.
  std::int64_t overhead_ns = 0;
  ProcessTimes process;
  bool finished = false;  ///< the last snapshot of the run
  bool failed = false;    ///< Session::fail() was called, an exception unwound the Session, `killed`, or `uncaught`
  bool killed = false;    ///< SIGTERM ended the run; needs SessionOptions::end_on_sigterm
  Uncaught uncaught;      ///< exception that ended the process; needs SessionOptions::end_on_uncaught

  /// Figures of all ranks, set on rank 0 by takt::mpi::reduce(); otherwise nullptr. The type is in <takt/job.hpp>.
  std::shared_ptr<const Job> job;

  /// Results of trials (takt/trial_results.hpp), set at their end; otherwise nullptr. They are in no other figure but
  /// wall_ns.
  std::shared_ptr<const TrialResults> trials;
  /// Results of takt::measure() (takt/measurement.hpp), one per name, in order of the names' first measurements. They
  /// are in no other figure. Beyond 100,000 runs in all, later ones keep only their figures.
  std::vector<std::shared_ptr<const Measurement>> measurements;

  /// Notable results of the run, highest cost first. Set in the last snapshot of a run and when Takt prints; otherwise
  /// empty.
  std::vector<Finding> findings;
  std::vector<SkippedRule> skipped_rules;      ///< rules skipped for lack of data; set with `findings`
  std::shared_ptr<const StepHistory> history;  ///< data behind them; set with `findings`

  std::vector<PathStats> paths;  ///< parents before children
  std::vector<ThreadInfo> threads;
  std::vector<Series> series;
  std::vector<EpochStats> epochs;     ///< in the order of their ends; at most 1 000
  std::uint64_t epochs_left_out = 0;  ///< later ones; trackers and the journal have their metrics
  std::vector<OpenRegion> open;
  std::vector<DeviceInfo> devices;
  std::vector<TimeLineInfo> time_lines;
  std::vector<StreamInfo> streams;
  // Results of SessionOptions::sample_period; otherwise empty.
  std::vector<Sensor> sensors;  ///< only ever appended, with their figures so far
  std::vector<Unsampled> unsampled;
  std::vector<StepEnergy> step_energies;
  std::vector<RegionEnergy> region_energies;
  std::vector<RegionMemory> region_memories;  ///< of takt::MemoryScope, in the order of the first calls; at most 64
  std::vector<Loss> losses;
  std::map<std::string, std::string> params;
  std::map<std::string, std::string> tags;
  /// From takt::mpi::options(), and the last one from takt::mpi::reduce(). `takt trace` aligns the ranks with them.
  std::vector<ClockReading> clock_readings;

  // Newer than what the exporter has acknowledged; empty in a snapshot from snapshot().
  std::vector<Row> rows;
  std::vector<Metric> metrics;
  std::vector<Span> spans;
  std::vector<Sample> samples;
  /// New or changed rows that still wait for device values, as known so far. They appear in `rows` when complete.
  /// Without `sequence`, and not complete. For exporters that save what a killed process loses; others ignore them.
  std::vector<Row> early;

  /// Returns a path such as "Epoch/Batch/Forward". A '/' or '\\' in a key gets a '\\' before it, so that a key never
  /// reads as a path: the key "conv1/relu" in Forward is "Forward/conv1\\/relu". Not thread-safe.
  std::string path_name(std::uint32_t path) const {
    const PathStats& here = paths[path];
    std::string name = here.parent == kNoIndex ? std::string() : path_name(here.parent) + "/";
    detail::append_key(name, here.name);
    return name;
  }
  /// Returns the ns so far in the regions at this place, ended and open ones. For an open region this includes regions
  /// inside it that have ended. Any thread.
  std::uint64_t time_so_far_ns(std::uint32_t path) const noexcept {
    std::uint64_t sum = paths[path].host.total_ns();
    for (const OpenRegion& each : open) {
      if (each.path == path && each.open_ns > 0) {
        sum = detail::bounded_sum(sum, static_cast<std::uint64_t>(each.open_ns));
      }
    }
    return sum;
  }
  /// Returns true if regions at this place include nested ones of their own key, which count here, too, and so can
  /// exceed their parent. A path has at most 64 keys; deeper recursion counts at the innermost place of its keys. Any
  /// thread.
  bool holds_repetitions(std::uint32_t path) const noexcept {
    constexpr std::uint32_t kMaxKeys = 64;
    const std::uint32_t parent = paths[path].parent;
    if (parent == kNoIndex || time_so_far_ns(path) <= time_so_far_ns(parent)) { return false; }
    std::uint32_t above = parent;
    while (above != kNoIndex && paths[above].name != paths[path].name) { above = paths[above].parent; }
    for (std::uint32_t deepest = path; above != kNoIndex && deepest < paths.size(); ++deepest) {
      if (paths[deepest].depth + 1 < kMaxKeys) { continue; }
      std::uint32_t at = deepest;
      while (at != kNoIndex && at != path) { at = paths[at].parent; }
      if (at == path) { return true; }
    }
    return false;
  }
  /// Returns this place's share of the time so far in its parent, or of the run at the top (with several ranks, of
  /// their sum). 0 to 1; above 1 if threads add up. Empty if that time is 0 ns or holds_repetitions() is true. Any
  /// thread.
  std::optional<double> share_of_parent(std::uint32_t path) const noexcept {
    const std::uint32_t parent = paths[path].parent;
    const double whole = parent == kNoIndex ? static_cast<double>(wall_ns) * (run.rank < 0 ? run.world_size : 1)
                                            : static_cast<double>(time_so_far_ns(parent));
    if (whole <= 0 || holds_repetitions(path)) { return std::nullopt; }
    return static_cast<double>(time_so_far_ns(path)) / whole;
  }
};

/// Upper bounds of the time that streams waited for other work: stream spans of regions of Kind::wait, the outermost of
/// nested ones. A span also covers idle time between two events, including time in which the host had not submitted
/// work. Streams that wait at once all count, also across devices; only on() separates devices. A value; a snapshot may
/// be read on any thread.
struct Exposed {
  /// The work that a region of Kind::wait waits for.
  enum class For : std::uint8_t {
    nothing,  ///< another kind, or inside another wait, which counts
    comm,     ///< CommWait, or a wait below a region of Kind::comm
    io,       ///< IOWait, or a wait below a region of Kind::io
    other
  };

  // Empty if no region waited for this, or if no span of one is known.
  std::optional<std::int64_t> comm_ns;
  std::optional<std::int64_t> io_ns;
  std::optional<std::int64_t> other_ns;

  bool any() const noexcept { return comm_ns || io_ns || other_ns; }

  /// Returns the work that a region waits for.
  /// \param path index into Snapshot::paths; others wait for nothing.
  static For what(const Snapshot& snapshot, std::uint32_t path) {
    return what([&](std::string_view& name, Kind& kind) {
      if (path >= snapshot.paths.size()) { return false; }
      const PathStats& here = snapshot.paths[path];
      name = here.name;
      kind = here.kind;
      path = here.parent;
      return true;
    });
  }
  /// Same, for a region stored in another form.
  /// \param next (std::string_view& name, Kind& kind): yields the region, then its parents outwards; false at the end.
  template <class Next>
  static For what(Next next) {
    std::string_view name;
    Kind kind = Kind::other;
    if (!next(name, kind) || kind != Kind::wait) { return For::nothing; }
    For result = name == CommWait.name() ? For::comm : name == IOWait.name() ? For::io : For::other;
    while (next(name, kind)) {
      if (kind == Kind::wait) { return For::nothing; }
      if (result == For::other && kind == Kind::comm) { result = For::comm; }
      if (result == For::other && kind == Kind::io) { result = For::io; }
    }
    return result;
  }

  /// Returns the waits of one step, all devices together.
  static Exposed of(const Snapshot& snapshot, const Row& row) {
    Exposed exposed;
    for (const Cell& cell : row.cells) {
      if (cell.device_ns >= 0) { exposed.add(what(snapshot, cell.path), cell.device_ns); }
    }
    return exposed;
  }
  /// Returns the waits of the whole run so far, with warm-up and regions of other threads.
  static Exposed of(const Snapshot& snapshot) {
    Exposed exposed;
    for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
      const Summary& device = snapshot.paths[path].device;
      if (device.n() != 0) { exposed.add(what(snapshot, path), static_cast<std::int64_t>(device.total_ns())); }
    }
    return exposed;
  }

  /// Returns the waits of one device: in one step (an element of Row::overlaps), or in all (TimeLineInfo::overlap).
  /// Needs tracing.
  static Exposed on(const Overlap& device) noexcept {
    return {device.comm_exposed_ns, device.io_exposed_ns, device.other_exposed_ns};
  }

 private:
  void add(For what, std::int64_t ns) noexcept {
    if (what == For::nothing) { return; }
    std::optional<std::int64_t>& known = what == For::comm ? comm_ns : what == For::io ? io_ns : other_ns;
    std::int64_t sum = 0;
    // A journal from another writer may hold any span.
    const bool is_bounded = !__builtin_add_overflow(known.value_or(0), ns, &sum);
    known = is_bounded ? sum : std::numeric_limits<std::int64_t>::max();
  }
};

TAKT_END_NAMESPACE
