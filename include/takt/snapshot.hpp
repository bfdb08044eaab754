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

/// Stands for no place in a list of a Snapshot. Cells and spans have such indices by the hundred thousand, and an
/// optional takes twice the memory.
inline constexpr std::uint32_t kNoIndex = 0xFFFFFFFF;

/// One column of a row.
struct Cell {
  /// Steps have many cells, which an optional would make a third longer.
  static constexpr std::int64_t kAbsent = -1;

  std::uint32_t path = kNoIndex;  ///< index into Snapshot::paths; kNoIndex: all paths beyond the 64th together
  std::uint32_t calls = 0;
  std::int64_t host_ns = 0;          ///< total of the calls in this step
  std::int64_t device_ns = kAbsent;  ///< total stream span, or kAbsent if there is none or it was lost
};

/// Sums over the stream spans of one step on one device, or of many steps. A span holds all work of its region, and
/// idle time as well, so that each sum is an upper bound. Only with tracing on.
struct Overlap {
  std::uint32_t time_line = 0;  ///< index into Snapshot::time_lines
  std::int64_t span_ns = 0;     ///< from the first begin to the last end
  std::int64_t compute_ns = 0;  ///< under spans of Kind::compute, what regions of other kinds inside them took left out
  std::int64_t comm_ns = 0;     ///< under spans of Kind::comm
  std::int64_t io_ns = 0;       ///< under spans of Kind::io
  std::uint64_t undecided = 0;  ///< communications inside one compute span: hidden or waited for, spans cannot tell
  // At most, if there are regions of Kind::wait: for what streams of this device waited.
  std::optional<std::int64_t> comm_exposed_ns;
  std::optional<std::int64_t> io_exposed_ns;
  std::optional<std::int64_t> other_exposed_ns;
};

/// One step: an outermost Batch of one thread. An exporter sees a row once, when all its device values are known, or
/// after 1 024 later rows, or at shutdown.
struct Row {
  std::uint64_t sequence = 0;  ///< number of this row in the process, from 0, without a break but for declared losses
  std::uint32_t series = 0;    ///< index into Snapshot::series
  std::int64_t step = 0;       ///< counts from 0 in each series; Session::step() sets it
  std::int64_t begin_ns = 0;   ///< since the start of the run
  std::int64_t host_ns = 0;    ///< length of the Batch
  /// Since the end of the Batch before; nothing if there is none, or it is left out of throughput.
  std::optional<std::int64_t> period_ns;
  std::int64_t items = 0;
  bool warmup = false;
  bool complete = true;  ///< false: device values are missing
  std::vector<Cell> cells;
  /// One a device; empty without tracing, and where a stream span has no place or is missing.
  std::vector<Overlap> overlaps;
  std::uint64_t early = 0;  ///< its number in Snapshot::early, from 1; 0: it was not there
};

/// A figure that a Finding rests on.
struct Evidence {
  std::string name;  ///< stable identifier such as "mean_excess"
  double value = 0;  ///< finite
  std::string unit;  ///< "ns", "steps", "windows"; empty: a number of its own, such as a share from 0 to 1
};

/// What something costs, in ns of the time that people wait: what is gained where it is mended.
struct Cost {
  double ns = 0;
  double low_ns = 0;  ///< 95 % interval; both ends are `ns` where that was measured, and not estimated
  double high_ns = 0;
  double share = 0;  ///< of the time of the whole, 0 to 1
};

/// What a report concludes: a sentence for people, the figures behind it, and what it costs where that is known. A
/// value; safe to keep.
struct Finding {
  std::string what;      ///< stable identifier such as "slow_rank"
  std::string sentence;  ///< one line of printable text
  std::vector<Evidence> evidence;
  std::optional<Cost> cost;
  std::string where = {};  ///< the region that it is about, as Snapshot::path_name(), or its key; empty: none
};

/// What a report does not conclude, because the figures do not carry it. A value; safe to keep.
struct SkippedRule {
  std::string what;  ///< the Finding that it would be
  std::string why;   ///< what the figures lack, as one line of printable text
};

/// Tells a process apart from a later one with the same number, and from the next program after exec.
struct ProcessMark {
  std::optional<std::uint64_t> boot;   ///< the first half of the kernel's boot id
  std::optional<std::uint64_t> start;  ///< when the process began, in clock ticks since the boot
  std::optional<std::uint64_t> image;  ///< where its stack begins, which each exec chooses again
};

/// Which run this is, and where. Rank and world size come from the API or the launcher.
struct RunInfo {
  std::string name;  ///< as given to Session; "takt" without one
  std::string id;    ///< shared by all ranks of the run
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int attempt = 0;          ///< restart count of an elastic launcher
  std::string rank_source;  ///< the variable or call that rank and world size were taken from
  std::string host;
  std::int64_t pid = 0;
  std::int64_t start_unix_ns = 0;              ///< wall clock at the start of the run
  std::string directory;                       ///< where files of this rank go; empty: in memory only
  std::optional<std::uint64_t> pid_namespace;  ///< of which `pid` is a number, as Linux numbers namespaces
  ProcessMark process_mark;                    ///< of the process `pid`
  /// As told by Session::group(), by name; in snapshots. Ranks of the same groups are compared with each other.
  std::vector<std::pair<std::string, int>> groups;
  std::string takt_version;  ///< of the library that recorded it, such as "0.1.0"; empty: not known
};

/// The clock that host times come from.
struct ClockInfo {
  std::string name;    ///< "tsc", "cntvct" or "clock_gettime(CLOCK_MONOTONIC)"
  std::string reason;  ///< why this one
  double frequency_hz = 0;
  double error_ppm = 0;  ///< bound on the rate error against CLOCK_MONOTONIC_RAW, as measured; since `error_since_ns`
  double worst_error_ppm = 0;            ///< the same for the time before, where it was least known
  std::int64_t error_since_ns = 0;       ///< of the clock, which starts with the first recording
  std::int64_t empty_region_ns = 0;      ///< the length that a region with nothing in it reports
  std::uint64_t fallbacks = 0;           ///< times the clock was changed while running
  std::optional<double> region_cost_ns;  ///< what a region with nothing in it takes of its thread's time
  std::optional<double> resolution_ns;   ///< the step in which it was seen to count, 1 at least
};

/// One region at one place in the call tree, over all threads.
struct PathStats {
  std::string name;  ///< of the key
  Kind kind = Kind::other;
  std::uint32_t parent =
      kNoIndex;             ///< index into Snapshot::paths, always smaller than the own one; kNoIndex at the top
  std::uint32_t depth = 0;  ///< 0 at the top
  Summary host;             ///< host time
  Summary device;  ///< stream span on a device, of the regions that have resolved; n() == 0 where there is none
  std::uint64_t self_ns = 0;  ///< host time in which it was the innermost open region of its thread
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;         ///< entered but not timed, because of every(n); n() + skipped were entered
  std::uint64_t device_pending = 0;  ///< device spans not resolved yet
  std::uint64_t device_lost = 0;     ///< device spans that failed or found no room
};

/// A kind of device whose streams were given to regions.
struct DeviceInfo {
  std::string name;         ///< of its backend, such as "cuda"
  std::string unavailable;  ///< why it times no stream spans; empty: it does
  std::string caveat;       ///< what its figures have to be read with, may be empty
};

/// A region that had not ended when the snapshot was taken.
struct OpenRegion {
  std::uint32_t path = 0;    ///< index into Snapshot::paths
  std::uint32_t thread = 0;  ///< index into Snapshot::threads
  std::int64_t open_ns = 0;  ///< how long it has been open
};

/// What the process died of: an exception that nobody caught, or std::terminate() without one.
struct Uncaught {
  bool happened = false;
  std::string type;     ///< "std::runtime_error"; empty: std::terminate() was called without an exception
  std::string message;  ///< what it says of itself, at most 1 000 bytes
  std::optional<std::uint32_t> thread;  ///< index into Snapshot::threads; nothing of one that had recorded nothing
  std::vector<std::uint32_t> open;      ///< regions of that thread, outermost first; indices into Snapshot::paths
};

/// A thread that has recorded something.
struct ThreadInfo {
  static constexpr const char* kFurther = "further threads";  ///< name of one that stands for all beyond the 4 095th

  std::uint32_t id = 0;  ///< number in the process, in the order of first recording
  std::string name;      ///< from name_thread(), or "thread <id>"
  bool ended = false;
};

namespace detail {

/// Appends a key to the name of a path (Snapshot::path_name).
inline void append_key(std::string& path, const std::string& key) {
  for (const char each : key) {
    if (each == '/' || each == '\\') { path += '\\'; }
    path += each;
  }
}

}  // namespace detail

/// Why a throughput has no interval.
enum class NoInterval : std::uint8_t {
  none,        ///< it has one
  few_steps,   ///< there are fewer than 128 step periods, or no items
  few_stalls,  ///< fewer than ten stalls make the scatter: how often they come is not known
  correlated   ///< windows are still like their neighbours: the run is too short for how slowly its pace changes
};

/// Throughput over the steps after warm-up. Periods run from the end of a Batch to the end of the one before.
struct Throughput {
  std::uint64_t steps = 0;           ///< step periods that count
  std::uint64_t items = 0;           ///< in these
  std::uint64_t period_ns = 0;       ///< sum of these
  std::uint64_t excluded_steps = 0;  ///< left out: an Epoch boundary, another Batch path or untimed steps inside
  std::uint64_t excluded_ns = 0;
  std::uint64_t first_ns = 0;  ///< begin of the first period that counts, in ns of the process's clock
  std::uint64_t last_ns = 0;   ///< end of the last one; 0 in journals of earlier versions
  std::uint64_t windows = 0;   ///< windows of consecutive steps that the interval rests on
  double items_per_s = 0;      ///< items / period; 0 without items
  double items_low = 0;        ///< 95 % interval of items_per_s; 0 where there is none
  double items_high = 0;
  double steps_per_s = 0;
  NoInterval no_interval = NoInterval::few_steps;
  std::uint64_t stalls = 0;  ///< with few_stalls: about so many make the scatter of the periods
};

/// The steps of one Batch path on one thread.
struct Series {
  std::uint32_t path = 0;          ///< of its Batch, index into Snapshot::paths
  std::uint32_t thread = 0;        ///< index into Snapshot::threads
  std::uint32_t process = 0;       ///< number of the process among those that the snapshot adds up
  std::uint64_t steps = 0;         ///< Batches ended
  std::uint64_t warmup_steps = 0;  ///< of these, warm-up
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
  std::string device;               ///< name of its backend, such as "cuda"
  std::uint32_t number = 0;         ///< among those of this backend, in the order in which they were first seen
  std::int64_t clock_error_ns = 0;  ///< by so much at most a span lies beside the host's time; grows, never shrinks
  std::uint64_t spans = 0;          ///< placed
  std::uint64_t clamped = 0;        ///< of these, moved to when the host had them submitted
  std::uint64_t steps = 0;          ///< in `overlap`
  Overlap overlap;                  ///< of all steps together
};

/// One stream of a device as a track of the time line: the spans that one thread put there.
struct StreamInfo {
  std::uint32_t time_line = 0;  ///< index into Snapshot::time_lines
  std::uint32_t number = 0;     ///< of the stream on its device, in the order in which they were first seen
  std::uint32_t thread = 0;     ///< index into Snapshot::threads
};

/// One timed region for a time line. Only with tracing on.
struct Span {
  std::uint64_t sequence = 0;
  std::uint32_t thread = 0;   ///< index into Snapshot::threads
  std::int64_t begin_ns = 0;  ///< since the start of the run
  std::int64_t duration_ns = 0;
  const char* name = "";  ///< of the key, valid for the life of the process
  Kind kind = Kind::other;
  std::uint32_t stream = kNoIndex;  ///< index into Snapshot::streams; kNoIndex: the region's host time
};

/// Something that a report does not contain, or that was used wrongly: what, where, and how often.
struct Loss {
  std::string what;   ///< stable identifier such as "end_without_start"
  std::string where;  ///< key or thread, may be empty
  std::uint64_t count = 0;
};

/// How the clock of this rank stood to that of another one of the job, which takt::mpi had asked for its time.
struct ClockReading {
  std::uint32_t rank = 0;     ///< whose clock it was compared with
  std::int64_t unix_ns = 0;   ///< when that was, by the own clock, in ns since 1970
  std::int64_t ahead_ns = 0;  ///< of the other clock
  std::int64_t error_ns = 0;  ///< that may be off by so much, up or down: half the way there and back
};

/// What the system says of the process as a whole, since the start of the run.
struct ProcessTimes {
  std::optional<std::int64_t> cpu_ns;  ///< processor time of all its threads
  std::int64_t stopped_ns = 0;    ///< at least so long it was due to run and did not: stopped, or without a processor
  std::int64_t suspended_ns = 0;  ///< in which the machine slept; not in `wall_ns`
  std::int64_t before_ns = 0;     ///< of `wall_ns`, from the first recording to the start of the Session
  /// Sessions of this process that have ended. What was recorded in them is in the totals, steps and throughput, too.
  std::int64_t earlier_sessions = 0;
  /// For how long the thread that made the Session was ready to run and had no processor, since then.
  std::optional<std::int64_t> waited_ns;
  std::optional<std::int64_t> processors;  ///< that the process may use, of those that are there
  /// For how long the Session's constructor, its add(), and close() so far, held up the threads that called them.
  std::int64_t blocked_ns = 0;
};

/// Whether the share `q` (0 to 1) of `n` values is another figure than the longest one: whether at least one value in
/// 1 / (1 - q) lies above it. So p90 is there from 10 values on, p95 from 20, p99 from 100, and the median always. Any
/// thread.
inline bool has_percentile(std::uint64_t n, double q) noexcept {
  const auto count = static_cast<double>(n);
  return q <= 0.5 ? n > 0 : count * (1 - q) > 1 - 1e-9;
}
/// The same of the calls after warm-up.
inline bool has_percentile(const Summary& summary, double q) noexcept {
  return has_percentile(summary.measured_n(), q);
}

struct Job;
struct Measurement;
struct TrialResults;

/// What reports of Takt's rest on. Opaque: defined in Takt's own sources only.
class StepHistory;

/// Finished values: all that an exporter sees. A value; safe to keep. Indices stay the same from one snapshot of a
/// process to the next; paths, threads and series are only ever appended.
struct Snapshot {
  RunInfo run;
  ClockInfo clock;
  std::int64_t wall_ns = 0;       ///< since the start of the run
  std::int64_t uncovered_ns = 0;  ///< of this, time on the Session's thread that no region covers
  /// Estimate of Takt's own cost in this time: regions, rows, background work, and process.blocked_ns.
  std::int64_t overhead_ns = 0;
  ProcessTimes process;
  bool finished = false;  ///< the last snapshot of the run
  bool failed =
      false;  ///< Session::fail() was called, the Session was unwound by an exception, `killed`, or `uncaught`
  bool killed = false;  ///< SIGTERM has ended the run; only with SessionOptions::end_on_sigterm
  Uncaught uncaught;    ///< of which the process died; only with SessionOptions::end_on_uncaught

  /// The figures of all ranks, of which this is rank 0, from takt::mpi::reduce() on; nullptr: there are none. The
  /// type is in <takt/job.hpp>.
  std::shared_ptr<const Job> job;

  /// What trials gave (takt/trial_results.hpp), from their end on; nullptr: there were none. They are in no other
  /// figure but wall_ns.
  std::shared_ptr<const TrialResults> trials;
  /// What takt::measure() found (takt/measurement.hpp), one for each name, in the order of the names' first
  /// measurements. Likewise in no other figure. With many samples those of later ones are left out.
  std::vector<std::shared_ptr<const Measurement>> measurements;

  /// What stands out in the run, what costs most first. In the last snapshot of a run, and where Takt prints; empty
  /// elsewhere, and where nothing stands out.
  std::vector<Finding> findings;
  std::vector<SkippedRule> skipped_rules;      ///< what is not told, as the figures lack something; likewise
  std::shared_ptr<const StepHistory> history;  ///< what they rest on; there where `findings` are

  std::vector<PathStats> paths;  ///< parents before children
  std::vector<ThreadInfo> threads;
  std::vector<Series> series;
  std::vector<EpochStats> epochs;     ///< in the order of their ends; at most 1 000
  std::uint64_t epochs_left_out = 0;  ///< later ones; trackers and the journal have their metrics
  std::vector<OpenRegion> open;
  std::vector<DeviceInfo> devices;
  std::vector<TimeLineInfo> time_lines;
  std::vector<StreamInfo> streams;
  // What SessionOptions::sample_period has sampled; empty without.
  std::vector<Sensor> sensors;  ///< only ever appended, with their figures so far
  std::vector<Unsampled> unsampled;
  std::vector<StepEnergy> step_energies;
  std::vector<RegionEnergy> region_energies;
  std::vector<Loss> losses;
  std::map<std::string, std::string> params;
  std::map<std::string, std::string> tags;
  /// From takt::mpi::options(), and the last one from takt::mpi::reduce(). `takt trace` aligns the ranks by them.
  std::vector<ClockReading> clock_readings;

  // Newer than what the exporter has acknowledged; empty in a snapshot taken by hand.
  std::vector<Row> rows;
  std::vector<Metric> metrics;
  std::vector<Span> spans;
  std::vector<Sample> samples;
  /// Rows that wait for device values, as they stand, where that is new: in `rows` they come once these are in. Without
  /// `sequence`, and not complete. For exporters that keep what a killed process would lose; others leave them alone.
  std::vector<Row> early;

  /// "Epoch/Batch/Forward". Before a '/' or a '\\' in a key stands a '\\', so that a key never reads as a path: the key
  /// "conv1/relu" in Forward is "Forward/conv1\\/relu". One thread at a time.
  std::string path_name(std::uint32_t path) const {
    const PathStats& here = paths[path];
    std::string name = here.parent == kNoIndex ? std::string() : path_name(here.parent) + "/";
    detail::append_key(name, here.name);
    return name;
  }
  /// ns in the regions at this place so far: of those that have ended, and of those that are open. What has ended
  /// inside an open one is part of this, and of no region that has ended. Any thread.
  std::uint64_t time_so_far_ns(std::uint32_t path) const noexcept {
    std::uint64_t sum = paths[path].host.total_ns();
    for (const OpenRegion& each : open) {
      if (each.path == path && each.open_ns > 0) {
        sum = detail::bounded_sum(sum, static_cast<std::uint64_t>(each.open_ns));
      }
    }
    return sum;
  }
  /// Whether regions here are longer than what is around them because they hold others of their key, which count here,
  /// too: a path has at most 64 keys, and a recursion goes on at the innermost place of its keys. Any thread.
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
  /// Of the time so far in the region around it, or at the top of the run's (of several ranks together: of each one's),
  /// by how much this place took: 0 to 1, more where threads add up; nothing where that is 0 ns, and where
  /// holds_repetitions() is true. Any thread.
  std::optional<double> share_of_parent(std::uint32_t path) const noexcept {
    const std::uint32_t parent = paths[path].parent;
    const double whole = parent == kNoIndex ? static_cast<double>(wall_ns) * (run.rank < 0 ? run.world_size : 1)
                                            : static_cast<double>(time_so_far_ns(parent));
    if (whole <= 0 || holds_repetitions(path)) { return std::nullopt; }
    return static_cast<double>(time_so_far_ns(path)) / whole;
  }
};

/// For how long, at most, streams stood still until something else was done: the stream spans of regions of Kind::wait,
/// the outermost where they nest. A span holds what lies between two events without work, too, and the time in which
/// a stream had nothing to do because the host had not come so far. Of several streams that wait at once, each counts;
/// so of several devices, which only on() keeps apart. A value; a snapshot may be read on any thread.
struct Exposed {
  /// What a region of Kind::wait waits for.
  enum class For : std::uint8_t {
    nothing,  ///< it is of another kind, or lies in another wait, which counts
    comm,     ///< CommWait, or a wait below a region of Kind::comm
    io,       ///< IOWait, or a wait below a region of Kind::io
    other
  };

  // Nothing if no region waited for this, or no span of one is known.
  std::optional<std::int64_t> comm_ns;
  std::optional<std::int64_t> io_ns;
  std::optional<std::int64_t> other_ns;

  bool any() const noexcept { return comm_ns || io_ns || other_ns; }

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
  /// The same of a region that is kept in another way.
  /// \param next (std::string_view& name, Kind& kind): the region, then what it lies in, from the inside; false: no
  /// more.
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

  /// Of one step, all devices together.
  static Exposed of(const Snapshot& snapshot, const Row& row) {
    Exposed exposed;
    for (const Cell& cell : row.cells) {
      if (cell.device_ns >= 0) { exposed.add(what(snapshot, cell.path), cell.device_ns); }
    }
    return exposed;
  }
  /// Of the whole run so far, warm-up and regions of other threads included.
  static Exposed of(const Snapshot& snapshot) {
    Exposed exposed;
    for (std::uint32_t path = 0; path < snapshot.paths.size(); ++path) {
      const Summary& device = snapshot.paths[path].device;
      if (device.n() != 0) { exposed.add(what(snapshot, path), static_cast<std::int64_t>(device.total_ns())); }
    }
    return exposed;
  }

  /// Of one device: in one step (an element of Row::overlaps), or in all (TimeLineInfo::overlap). Only with tracing on.
  static Exposed on(const Overlap& device) noexcept {
    return {device.comm_exposed_ns, device.io_exposed_ns, device.other_exposed_ns};
  }

 private:
  void add(For what, std::int64_t ns) noexcept {
    if (what == For::nothing) { return; }
    std::optional<std::int64_t>& known = what == For::comm ? comm_ns : what == For::io ? io_ns : other_ns;
    std::int64_t sum = 0;
    // A journal that somebody else wrote may hold any span.
    const bool is_bounded = !__builtin_add_overflow(known.value_or(0), ns, &sum);
    known = is_bounded ? sum : std::numeric_limits<std::int64_t>::max();
  }
};

TAKT_END_NAMESPACE
