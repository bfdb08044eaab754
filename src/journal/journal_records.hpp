// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/summary_coding.hpp"

#include <takt/sample.hpp>
#include <takt/snapshot.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// The contents of journal frames. One function per record both encodes and decodes it, so that the two cannot differ:
// an Encoder takes a const record, a Decoder fills it in. Fields may be added at the end of a record. Readers ignore
// unknown fields, and check more() before fields added later. Every record has absolute values: reading one twice, or
// missing an earlier one, is harmless.

TAKT_BEGIN_NAMESPACE
namespace detail {

struct PathRecord {
  std::uint32_t index = 0;
  std::string name;
  Kind kind = Kind::other;
  std::uint32_t parent = kNoIndex;
  std::uint32_t depth = 0;
};

struct ThreadRecord {
  std::uint32_t index = 0;
  ThreadInfo thread;
};

struct SeriesRecord {
  std::uint32_t index = 0;
  Series series;
};

/// A parameter or a tag.
struct NoteRecord {
  std::string name;
  std::string value;
};

struct BucketRecord {
  std::uint32_t step = 0;  ///< distance from the previous bucket, or from bucket 0
  std::uint64_t count = 0;
};

struct SummaryRecord {
  SummaryScalars scalars;
  std::vector<BucketRecord> buckets;  ///< buckets whose count changed since the last record in the segment
};

/// All numbers of one path.
struct TotalsRecord {
  std::uint32_t path = 0;
  std::uint64_t self_ns = 0;
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;
  std::uint64_t device_pending = 0;
  std::uint64_t device_lost = 0;
  SummaryRecord host;
  bool has_device = false;
  SummaryRecord device;
  ThreadSpread spread;
};

/// Returns references to the numbers of a TotalsRecord or PathStats, without the summaries, in the order of the frame.
template <class Path>
auto numbers_of(Path& path) noexcept {
  return std::tie(path.self_ns, path.items, path.bytes, path.skipped, path.device_pending, path.device_lost);
}

struct LossesRecord {
  std::vector<Loss> losses;
};

struct OpenRecord {
  std::vector<OpenRegion> open;
};

struct DevicesRecord {
  std::vector<DeviceInfo> devices;
};

struct GroupsRecord {
  std::vector<std::pair<std::string, int>> groups;
};

struct ClockReadingsRecord {
  std::vector<ClockReading> readings;
};

struct RegionMemoriesRecord {
  std::vector<RegionMemory> regions;
};

struct TimeLinesRecord {
  std::vector<TimeLineInfo> lines;
};

/// A row that waits for device values, in its state when first recorded.
struct EarlyRecord {
  Row row;
};

struct AmendedCell {
  std::uint32_t place = 0;  ///< index in the row's cells; past the last: a new cell for its Batch
  std::uint32_t path = 0;
  std::int64_t device_ns = 0;
};

/// The current values of a row that waited for device values.
struct RowAmendment {
  std::uint64_t early = 0;
  bool settled = false;  ///< no further amendment follows
  std::uint64_t sequence = 0;
  bool complete = false;
  std::vector<AmendedCell> cells;  ///< cells with a device value
};

/// Data that the journal omits, or may lose in a power failure, since the start of the run.
struct GapRecord {
  std::uint64_t rows = 0;
  std::uint64_t metrics = 0;
  std::uint64_t unconfirmed = 0;  ///< segments not confirmed by the disk
  std::uint64_t samples = 0;
  std::uint64_t changed = 0;  ///< segments removed or changed by others
  std::uint64_t totals = 0;   ///< 1: the final totals are missing
};

/// The last frame of each export.
struct PeriodRecord {
  std::int64_t wall_ns = 0;
  std::int64_t uncovered_ns = 0;
  std::int64_t overhead_ns = 0;
  std::int64_t time_unix_ns = 0;
  bool failed = false;
  ProcessTimes process;
};

struct EndRecord {
  bool finished = false;
  bool failed = false;
  bool killed = false;
};

/// Restricts a template to `Record` and `const Record`.
template <class T, class Record>
using OnlyFor = std::enable_if_t<std::is_same_v<std::remove_const_t<T>, Record>, int>;

template <class Coder, class... Numbers>
void visit_numbers(Coder& coder, Numbers&... numbers) {
  (coder.number(numbers), ...);
}

template <class Coder, class Record, OnlyFor<Record, RunInfo> = 0>
void visit(Coder& coder, Record& run) {
  coder.text(run.name);
  coder.text(run.id);
  visit_numbers(coder, run.rank, run.world_size, run.local_rank, run.attempt);
  coder.text(run.rank_source);
  coder.text(run.host);
  visit_numbers(coder, run.pid, run.start_unix_ns);
  coder.text(run.directory);
  if (coder.more()) { visit_known(coder, run.pid_namespace, 0); }
  if (coder.more()) { coder.text(run.takt_version); }
  if (!coder.more()) { return; }
  for (auto* each : {&run.process_mark.boot, &run.process_mark.start, &run.process_mark.image}) {
    visit_known(coder, *each, 0);
  }
}

template <class Coder, class Record, OnlyFor<Record, MachineInfo> = 0>
void visit(Coder& coder, Record& machine) {
  const auto text = [](auto& inner, auto& each) { inner.text(each); };
  coder.text(machine.cpu);
  for (auto* each : {&machine.cores, &machine.logical_cpus, &machine.host_memory_bytes}) {
    visit_known(coder, *each, -1);
  }
  coder.list(machine.gpus, text);
  coder.text(machine.commit);
  coder.list(machine.command, text);
  coder.text(machine.compiler);
  coder.list(machine.libraries, [](auto& inner, auto& library) {
    inner.text(library.first);
    inner.text(library.second);
  });
}

template <class Coder, class Record, OnlyFor<Record, ClockInfo> = 0>
void visit(Coder& coder, Record& clock) {
  coder.text(clock.name);
  coder.text(clock.reason);
  coder.real(clock.frequency_hz);
  coder.real(clock.error_ppm);
  visit_numbers(coder, clock.empty_region_ns, clock.fallbacks);
  if (!coder.more()) { return; }  // the first version ended here
  coder.real(clock.worst_error_ppm);
  coder.number(clock.error_since_ns);
  visit_known(coder, clock.region_cost_ns, 0);
  if (coder.more()) { visit_known(coder, clock.resolution_ns, 0); }
}

template <class Coder, class Record, OnlyFor<Record, PathRecord> = 0>
void visit(Coder& coder, Record& path) {
  coder.number(path.index);
  coder.text(path.name);
  coder.kind(path.kind);
  visit_numbers(coder, path.parent, path.depth);
}

template <class Coder, class Record, OnlyFor<Record, ThreadRecord> = 0>
void visit(Coder& coder, Record& record) {
  visit_numbers(coder, record.index, record.thread.id);
  coder.text(record.thread.name);
  coder.number(record.thread.ended);
}

/// Derives the reason for journals of earlier versions, which have only the windows.
inline NoInterval interval_by_windows(const Throughput& throughput) noexcept {
  return throughput.windows < 3 ? NoInterval::few_steps : NoInterval::none;
}

template <class Coder, class Record, OnlyFor<Record, SeriesRecord> = 0>
void visit(Coder& coder, Record& record) {
  auto& series = record.series;
  auto& through = series.throughput;
  visit_numbers(coder, record.index, series.path, series.thread, series.steps, series.warmup_steps);
  visit_rates(coder, through);
  if (coder.more()) {
    visit_no_interval(coder, through);
  } else if constexpr (!std::is_const_v<Record>) {
    through.no_interval = interval_by_windows(through);  // first version
  }
  if (coder.more()) { visit_extent(coder, through); }
}

template <class Coder, class Record, OnlyFor<Record, NoteRecord> = 0>
void visit(Coder& coder, Record& note) {
  coder.text(note.name);
  coder.text(note.value);
}

template <class Coder, class Record, OnlyFor<Record, SummaryRecord> = 0>
void visit(Coder& coder, Record& summary) {
  auto& scalars = summary.scalars;
  visit_numbers(coder, scalars.n, scalars.total, scalars.squares_low, scalars.squares_high, scalars.min, scalars.max,
                scalars.first_n, scalars.first_total, scalars.first_max, scalars.warmup_n, scalars.warmup_total,
                scalars.unbinned);
  coder.list(summary.buckets, [](auto& inner, auto& bucket) { visit_numbers(inner, bucket.step, bucket.count); });
}

template <class Coder, class Record, OnlyFor<Record, TotalsRecord> = 0>
void visit(Coder& coder, Record& totals) {
  coder.number(totals.path);
  std::apply([&coder](auto&... numbers) { visit_numbers(coder, numbers...); }, numbers_of(totals));
  visit(coder, totals.host);
  coder.number(totals.has_device);
  if (totals.has_device) { visit(coder, totals.device); }
  if (!coder.more()) { return; }  // the first version ended here
  visit_numbers(coder, totals.spread.threads, totals.spread.longest, totals.spread.longest_ns);
}

template <class Coder, class Record, OnlyFor<Record, LossesRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.losses, [](auto& inner, auto& loss) {
    inner.text(loss.what);
    inner.text(loss.where);
    inner.number(loss.count);
  });
}

template <class Coder, class Record, OnlyFor<Record, OpenRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.open, [](auto& inner, auto& open) { visit_numbers(inner, open.path, open.thread, open.open_ns); });
}

template <class Coder, class Record, OnlyFor<Record, DevicesRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.devices, [](auto& inner, auto& device) {
    inner.text(device.name);
    inner.text(device.unavailable);
    inner.text(device.caveat);
  });
}

template <class Coder, class Record, OnlyFor<Record, GroupsRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.groups, [](auto& inner, auto& group) {
    inner.text(group.first);
    inner.number(group.second);
  });
}

template <class Coder, class Record, OnlyFor<Record, ClockReadingsRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.readings, [](auto& inner, auto& reading) {
    visit_numbers(inner, reading.rank, reading.unix_ns, reading.ahead_ns, reading.error_ns);
  });
}

template <class Coder, class Record, OnlyFor<Record, RegionMemoriesRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.regions, [](auto& inner, auto& region) {
    inner.text(region.name);
    for (auto* each : {&region.resident, &region.allocator}) {
      visit_numbers(inner, each->calls, each->change_bytes, each->max_change_bytes, each->peak_bytes);
    }
  });
}

template <class Coder, class Record, OnlyFor<Record, TimeLinesRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.lines, [](auto& inner, auto& line) {
    auto& overlap = line.overlap;
    std::int64_t removed = 0;  // lower bounds in earlier versions
    inner.text(line.device);
    visit_numbers(inner, line.number, line.clock_error_ns, line.spans, line.clamped, line.steps);
    visit_numbers(inner, overlap.span_ns, overlap.compute_ns, overlap.comm_ns, overlap.io_ns, removed, removed, removed,
                  overlap.undecided);
  });
  if (!coder.more()) { return; }  // the first version ended here
  for (auto& line : record.lines) {
    auto& overlap = line.overlap;
    for (auto* each : {&overlap.comm_exposed_ns, &overlap.io_exposed_ns, &overlap.other_exposed_ns}) {
      visit_known(coder, *each, -1);
    }
  }  // one later version had another number for each line, which is skipped
}

/// Encodes or decodes a period; a negative number means none.
template <class Coder, class Period>
void visit_period(Coder& coder, Period& period) {
  std::int64_t ns = period.value_or(-1);
  coder.number(ns);
  if constexpr (!std::is_const_v<Period>) { period = ns < 0 ? std::nullopt : Period(ns); }
}

/// Encodes or decodes a row; an early row has its own number.
template <class Coder, class Number, class Record>
void visit_row(Coder& coder, Number& number, Record& row) {
  visit_numbers(coder, number, row.series, row.step, row.begin_ns, row.host_ns);
  visit_period(coder, row.period_ns);
  visit_numbers(coder, row.items, row.warmup, row.complete);
  coder.list(row.cells, [](auto& inner, auto& cell) {
    visit_numbers(inner, cell.path, cell.calls, cell.host_ns, cell.device_ns);
  });
}

template <class Coder, class Record, OnlyFor<Record, Row> = 0>
void visit(Coder& coder, Record& row) {
  visit_row(coder, row.sequence, row);
}

template <class Coder, class Record, OnlyFor<Record, EarlyRecord> = 0>
void visit(Coder& coder, Record& record) {
  visit_row(coder, record.row.early, record.row);
}

template <class Coder, class Record, OnlyFor<Record, RowAmendment> = 0>
void visit(Coder& coder, Record& record) {
  visit_numbers(coder, record.early, record.settled, record.sequence, record.complete);
  coder.list(record.cells,
             [](auto& inner, auto& cell) { visit_numbers(inner, cell.place, cell.path, cell.device_ns); });
}

template <class Coder, class Record, OnlyFor<Record, Metric> = 0>
void visit(Coder& coder, Record& metric) {
  coder.number(metric.sequence);
  coder.text(metric.name);
  coder.real(metric.value);
  visit_numbers(coder, metric.step, metric.time_unix_ns);
}

template <class Coder, class Record, OnlyFor<Record, PeriodRecord> = 0>
void visit(Coder& coder, Record& period) {
  visit_numbers(coder, period.wall_ns, period.uncovered_ns, period.overhead_ns, period.time_unix_ns, period.failed);
  if (!coder.more()) { return; }  // the first version ended here
  auto& process = period.process;
  visit_known(coder, process.cpu_ns, -1);
  visit_numbers(coder, process.stopped_ns, process.suspended_ns, process.before_ns);
  if (coder.more()) { coder.number(process.earlier_sessions); }
  if (coder.more()) {
    visit_known(coder, process.waited_ns, -1);
    visit_known(coder, process.processors, 0);
  }
  if (coder.more()) { coder.number(process.blocked_ns); }
}

template <class Coder, class Record, OnlyFor<Record, GapRecord> = 0>
void visit(Coder& coder, Record& gap) {
  visit_numbers(coder, gap.rows, gap.metrics);
  if (coder.more()) { coder.number(gap.unconfirmed); }
  if (coder.more()) { coder.number(gap.samples); }
  if (coder.more()) { coder.number(gap.changed); }
  if (coder.more()) { coder.number(gap.totals); }
}

template <class Coder, class Record, OnlyFor<Record, Uncaught> = 0>
void visit(Coder& coder, Record& uncaught) {
  coder.text(uncaught.type);
  coder.text(uncaught.message);
  visit_known(coder, uncaught.thread, kNoIndex);
  coder.list(uncaught.open, [](auto& inner, auto& path) { inner.number(path); });
}

template <class Coder, class Record, OnlyFor<Record, EndRecord> = 0>
void visit(Coder& coder, Record& end) {
  visit_numbers(coder, end.finished, end.failed);
  if (coder.more()) { coder.number(end.killed); }
}

// Frames about samples, except the samples themselves; same rules as in journal_records.hpp.

/// Sensors without figures, and what is not sampled.
struct SensorsRecord {
  std::vector<Sensor> sensors;
  std::vector<Unsampled> unsampled;
};

/// Results of the samples so far: figures of each sensor, by index, and energies.
struct SampledRecord {
  std::vector<Sensor> sensors;
  std::vector<StepEnergy> steps;
  std::vector<RegionEnergy> regions;
};

/// Encodes or decodes an enumerator. Readers keep unknown values.
template <class Coder, class Enum>
void visit_enum(Coder& coder, Enum& value) {
  auto number = static_cast<std::uint32_t>(value);
  coder.number(number);
  if constexpr (!std::is_const_v<Enum>) { value = static_cast<Enum>(std::min<std::uint32_t>(number, 255)); }
}

template <class Coder, class Record, OnlyFor<Record, SensorsRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.sensors, [](auto& inner, auto& sensor) {
    visit_enum(inner, sensor.kind);
    inner.number(sensor.number);
    for (auto* text : {&sensor.name, &sensor.model, &sensor.id, &sensor.caveat, &sensor.lost}) { inner.text(*text); }
    inner.list(sensor.quantities, [](auto& innermost, auto& quantity) { visit_enum(innermost, quantity); });
    visit_known(inner, sensor.memory_bytes, 0);
    visit_known(inner, sensor.power_limit_mw, 0);
    visit_known(inner, sensor.processors, 0);
    inner.number(sensor.interval_ns);
  });
  coder.list(record.unsampled, [](auto& inner, auto& each) {
    inner.text(each.what);
    inner.text(each.why);
  });
  if (!coder.more()) { return; }  // the first version ended here
  for (auto& sensor : record.sensors) { visit_known(coder, sensor.reserved_bytes, -1); }
}

template <class Coder, class Figures>
void visit_figures(Coder& coder, Figures& figures) {
  coder.real(figures.mean);
  visit_numbers(coder, figures.min, figures.max, figures.change);
}

/// Encodes or decodes the energy of a StepEnergy or RegionEnergy.
template <class Coder, class Energy>
void visit_energy(Coder& coder, Energy& energy) {
  coder.number(energy.time_ns);
  coder.real(energy.joules);
  coder.real(energy.error_joules);
}

template <class Coder, class Record, OnlyFor<Record, SampledRecord> = 0>
void visit(Coder& coder, Record& record) {
  coder.list(record.sensors, [](auto& inner, auto& sensor) {
    visit_numbers(inner, sensor.samples, sensor.first_ns, sensor.last_ns, sensor.slowed_ns);
    visit_enum(inner, sensor.energy.source);
    inner.real(sensor.energy.joules);
    visit_known(inner, sensor.energy.by_power_joules, -1);
    inner.number(sensor.energy.step_ns);
    inner.list(sensor.figures, [](auto& innermost, auto& figures) { visit_figures(innermost, figures); });
    inner.list(sensor.slowed, [](auto& innermost, auto& slowed) {
      visit_enum(innermost, slowed.why);
      innermost.number(slowed.ns);
    });
  });
  coder.list(record.steps, [](auto& inner, auto& steps) {
    visit_numbers(inner, steps.series, steps.sensor, steps.steps, steps.items);
    visit_energy(inner, steps);
  });
  coder.list(record.regions, [](auto& inner, auto& region) {
    inner.text(region.name);
    visit_numbers(inner, region.sensor, region.calls);
    visit_energy(inner, region);
  });
}

}  // namespace detail
TAKT_END_NAMESPACE
