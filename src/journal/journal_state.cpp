// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_state.hpp"

#include "journal/journal_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// Above any real process; larger files are rejected to limit memory.
constexpr std::size_t kMaxSensors = 1024;
constexpr std::size_t kMaxQuantities = 64;
constexpr std::size_t kMaxEnergies = std::size_t{1} << 16U;

void take_figures(const Sensor& from, Sensor& to) {
  to.samples = from.samples;
  to.first_ns = from.first_ns;
  to.last_ns = from.last_ns;
  to.figures = from.figures;
  to.energy = from.energy;
  to.slowed = from.slowed;
  to.slowed_ns = from.slowed_ns;
}

}  // namespace

bool SampledState::use(SensorsRecord& record) {
  const bool sound = record.sensors.size() <= kMaxSensors && record.unsampled.size() <= kMaxSensors &&
                     std::all_of(record.sensors.begin(), record.sensors.end(),
                                 [](const Sensor& each) { return each.quantities.size() <= kMaxQuantities; });
  if (!sound) { return false; }
  for (std::size_t at = 0; at < std::min(record.sensors.size(), sensors_.size()); ++at) {
    Sensor& now = record.sensors[at];
    if (now.quantities == sensors_[at].quantities) { take_figures(sensors_[at], now); }
  }
  sensors_ = std::move(record.sensors);
  unsampled_ = std::move(record.unsampled);
  // Energies of sensors that a corrupt file no longer lists.
  const auto is_gone = [this](const auto& energy) { return energy.sensor >= sensors_.size(); };
  steps_.erase(std::remove_if(steps_.begin(), steps_.end(), is_gone), steps_.end());
  regions_.erase(std::remove_if(regions_.begin(), regions_.end(), is_gone), regions_.end());
  return true;
}

bool SampledState::is_sound(const SampledRecord& record) const {
  const std::size_t count = record.sensors.size();
  const auto is_sensor = [count](const auto& energy) { return energy.sensor < count; };
  if (count > sensors_.size() || record.steps.size() > kMaxEnergies || record.regions.size() > kMaxEnergies) {
    return false;
  }
  for (std::size_t at = 0; at < count; ++at) {
    const Sensor& each = record.sensors[at];
    const bool fits = each.figures.empty() || each.figures.size() == sensors_[at].quantities.size();
    if (!fits || each.slowed.size() > kMaxQuantities) { return false; }
  }
  return std::all_of(record.steps.begin(), record.steps.end(), is_sensor) &&
         std::all_of(record.regions.begin(), record.regions.end(), is_sensor);
}

bool SampledState::use(SampledRecord& record) {
  if (!is_sound(record)) { return false; }
  for (std::size_t at = 0; at < record.sensors.size(); ++at) { take_figures(record.sensors[at], sensors_[at]); }
  steps_ = std::move(record.steps);
  regions_ = std::move(record.regions);
  return true;
}

bool SampledState::use_samples(const Frame& frame) {
  std::vector<Sample> samples;
  bool sound = read_samples(frame.payload, samples);
  for (Sample& sample : samples) {
    // Samples of a sensor without a frame cannot be interpreted.
    const bool known =
        sample.sensor < sensors_.size() && sample.values.size() == sensors_[sample.sensor].quantities.size();
    sound = sound && known;
    if (known && sequences_.insert(sample.sequence).second) { samples_.push_back(std::move(sample)); }
  }
  return sound;
}

void SampledState::move_into(Snapshot& snapshot) {
  snapshot.sensors = sensors_;
  snapshot.unsampled = unsampled_;
  snapshot.step_energies = steps_;
  snapshot.region_energies = regions_;
  snapshot.samples.insert(snapshot.samples.end(), std::make_move_iterator(samples_.begin()),
                          std::make_move_iterator(samples_.end()));
  samples_.clear();
}

namespace {

// Above any real process; larger files are rejected to limit memory.
constexpr std::uint32_t kMaxPaths = 1U << 16U;
constexpr std::uint32_t kMaxThreads = 1U << 20U;
constexpr std::uint32_t kMaxSeries = 1U << 20U;

constexpr std::uint32_t kMaxDepth = 128;
constexpr std::size_t kMaxSpelledBytes = std::size_t{4} << 20U;
constexpr std::size_t kLongestPathName = 200;

// An index implies all lower ones, whose frames may be lost. Limits indices to the number of frames that fit in the
// bytes so far, plus a few.
constexpr std::uint64_t kMinFrameBytes = kFrameHeaderBytes + kFrameAlignment;
constexpr std::uint64_t kMaxUnseen = 4096;
constexpr std::size_t kMaxEarly = std::size_t{1} << 20U;

constexpr std::size_t kMaxGroups = 64;
constexpr std::size_t kMaxClockReadings = 64;
constexpr std::size_t kMaxRegionMemories = 64;

constexpr const char* kLost = "(lost)";

bool has_buckets(const SummaryRecord& record) {
  std::uint64_t bucket = 0;
  for (const BucketRecord& each : record.buckets) {
    bucket += each.step;
    if (bucket >= Histogram::buckets()) { return false; }
  }
  return true;
}

void restore(Summary& summary, const SummaryRecord& record) {
  unsigned bucket = 0;
  for (const BucketRecord& each : record.buckets) {
    bucket += each.step;
    SummaryAccess::set_count(summary, bucket, each.count);
  }
  SummaryAccess::set_scalars(summary, record.scalars);
}

template <class T>
void move_to_end(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

/// Moves paths to the top if they are nested too deeply, or if all paths spelled out would take too much memory. Bounds
/// the work of readers that walk or print paths. Returns the number of paths moved.
std::uint64_t cut_depth(std::vector<PathStats>& paths) {
  std::uint64_t cut = 0;
  std::size_t all_bytes = 0;
  std::vector<std::size_t> bytes(paths.size());  // length of each full path
  for (std::size_t index = 0; index < paths.size(); ++index) {
    PathStats& path = paths[index];
    const bool at_top = path.parent == kNoIndex;
    path.depth = at_top ? 0 : paths[path.parent].depth + 1;
    bytes[index] = path.name.size() + (at_top ? 0 : 1 + bytes[path.parent]);
    if (path.depth >= kMaxDepth || (!at_top && all_bytes + bytes[index] > kMaxSpelledBytes)) {
      path.parent = kNoIndex;
      path.depth = 0;
      bytes[index] = path.name.size();
      ++cut;
    }
    all_bytes += bytes[index];
  }
  return cut;
}

}  // namespace

void JournalState::clear() {
  // Rows not delivered yet are still valid.
  release_early();
  std::vector<Row> rows = std::move(rows_);
  std::vector<Metric> metrics = std::move(metrics_);
  std::vector<Sample> samples = sampled_.take();
  *this = JournalState();
  rows_ = std::move(rows);
  metrics_ = std::move(metrics);
  sampled_.put(std::move(samples));
}

void JournalState::move_into(Snapshot& snapshot) {
  std::vector<Row> rows = std::move(snapshot.rows);
  std::vector<Metric> metrics = std::move(snapshot.metrics);
  move_to_end(rows_, rows);
  std::vector<Sample> samples = std::move(snapshot.samples);
  move_to_end(metrics_, metrics);
  snapshot = state_;
  const std::uint64_t cut = cut_depth(snapshot.paths);
  snapshot.rows = std::move(rows);
  snapshot.metrics = std::move(metrics);
  snapshot.samples = std::move(samples);
  sampled_.move_into(snapshot);
  if (gap_.rows != 0) { snapshot.losses.push_back({"not_in_journal", "rows", gap_.rows}); }
  if (cut != 0) { snapshot.losses.push_back({"nested_too_deep", "paths", cut}); }
  if (gap_.metrics != 0) { snapshot.losses.push_back({"not_in_journal", "metrics", gap_.metrics}); }
  if (gap_.samples != 0) { snapshot.losses.push_back({"not_in_journal", "samples", gap_.samples}); }
  if (gap_.totals != 0) { snapshot.losses.push_back({"not_in_journal", "totals", gap_.totals}); }
  if (gap_.changed != 0) { snapshot.losses.push_back({"journal_changed", "journal", gap_.changed}); }
  if (gap_.unconfirmed != 0) { snapshot.losses.push_back({"not_confirmed", "journal", gap_.unconfirmed}); }
}

template <class Record, bool (JournalState::*Into)(Record&)>
bool JournalState::take(const Frame& frame) {
  Record record;
  Decoder decoder(frame.payload);
  visit(decoder, record);
  return decoder.ok() && (this->*Into)(record);
}

JournalState::Answer JournalState::apply(const Frame& frame, std::uint64_t seen_bytes) {
  max_indices_ = kMaxUnseen + seen_bytes / kMinFrameBytes;
  struct Use {
    FrameType type;
    bool (JournalState::*of)(const Frame&);
  };
  static constexpr Use kUses[] = {
      {FrameType::run, &JournalState::take<RunInfo, &JournalState::use>},
      {FrameType::machine, &JournalState::take<MachineInfo, &JournalState::use>},
      {FrameType::clock, &JournalState::take<ClockInfo, &JournalState::use>},
      {FrameType::path, &JournalState::take<PathRecord, &JournalState::use>},
      {FrameType::thread, &JournalState::take<ThreadRecord, &JournalState::use>},
      {FrameType::series, &JournalState::take<SeriesRecord, &JournalState::use>},
      {FrameType::param, &JournalState::take<NoteRecord, &JournalState::use_param>},
      {FrameType::tag, &JournalState::take<NoteRecord, &JournalState::use_tag>},
      {FrameType::totals, &JournalState::take<TotalsRecord, &JournalState::use>},
      {FrameType::losses, &JournalState::take<LossesRecord, &JournalState::use>},
      {FrameType::open, &JournalState::take<OpenRecord, &JournalState::use>},
      {FrameType::row, &JournalState::take<Row, &JournalState::use>},
      {FrameType::metric, &JournalState::take<Metric, &JournalState::use>},
      {FrameType::gap, &JournalState::take<GapRecord, &JournalState::use>},
      {FrameType::period, &JournalState::take<PeriodRecord, &JournalState::use>},
      {FrameType::end, &JournalState::take<EndRecord, &JournalState::use>},
      {FrameType::devices, &JournalState::take<DevicesRecord, &JournalState::use>},
      {FrameType::early, &JournalState::take<EarlyRecord, &JournalState::use>},
      {FrameType::amendment, &JournalState::take<RowAmendment, &JournalState::use>},
      {FrameType::time_lines, &JournalState::take<TimeLinesRecord, &JournalState::use>},
      {FrameType::rows, &JournalState::use_rows},
      {FrameType::metrics, &JournalState::use_metrics},
      {FrameType::groups, &JournalState::take<GroupsRecord, &JournalState::use>},
      {FrameType::sensors, &JournalState::take<SensorsRecord, &JournalState::use>},
      {FrameType::sampled, &JournalState::take<SampledRecord, &JournalState::use>},
      {FrameType::samples, &JournalState::use_samples},
      {FrameType::exception, &JournalState::take<Uncaught, &JournalState::use>},
      {FrameType::clock_readings, &JournalState::take<ClockReadingsRecord, &JournalState::use>},
      {FrameType::region_memories, &JournalState::take<RegionMemoriesRecord, &JournalState::use>},
  };
  for (const Use& use : kUses) {
    if (static_cast<std::uint16_t>(use.type) != frame.type) { continue; }
    return (this->*use.of)(frame) ? Answer::taken : Answer::unreadable;
  }
  return Answer::unknown;
}

bool JournalState::has_path(std::uint32_t index) {
  if (index >= kMaxPaths || index >= max_indices_) { return false; }
  for (std::size_t next = state_.paths.size(); next <= index; ++next) { state_.paths.emplace_back().name = kLost; }
  return true;
}

bool JournalState::has_thread(std::uint32_t index) {
  if (index >= kMaxThreads || index >= max_indices_) { return false; }
  for (std::size_t next = state_.threads.size(); next <= index; ++next) { state_.threads.emplace_back().name = kLost; }
  return true;
}

bool JournalState::has_series(std::uint32_t index) {
  if (index >= kMaxSeries || index >= max_indices_) { return false; }
  if (index >= state_.series.size()) {
    if (!has_path(0) || !has_thread(0)) { return false; }  // default references of the skipped series
    state_.series.resize(index + 1U);
  }
  return true;
}

bool JournalState::use(RunInfo& run) {
  run.groups = std::move(state_.run.groups);  // they have their own frames
  run.machine = std::move(state_.run.machine);
  state_.run = std::move(run);
  return true;
}

bool JournalState::use(MachineInfo& machine) {
  state_.run.machine = std::move(machine);
  return true;
}

bool JournalState::use(ClockInfo& clock) {
  state_.clock = std::move(clock);
  return true;
}

bool JournalState::use(PathRecord& record) {
  // Parents precede children: walks towards the root terminate.
  const bool at_top = record.parent == kNoIndex;
  if ((!at_top && record.parent >= record.index) || !has_path(record.index)) { return false; }
  PathStats& path = state_.paths[record.index];
  path.name = record.name.substr(0, kLongestPathName);
  path.kind = record.kind;
  path.parent = record.parent;
  path.depth = record.depth;
  return true;
}

bool JournalState::use(ThreadRecord& record) {
  if (!has_thread(record.index)) { return false; }
  state_.threads[record.index] = std::move(record.thread);
  return true;
}

bool JournalState::use(SeriesRecord& record) {
  if (!has_path(record.series.path) || !has_thread(record.series.thread) || !has_series(record.index)) { return false; }
  state_.series[record.index] = record.series;
  return true;
}

bool JournalState::use_param(NoteRecord& note) {
  state_.params[note.name] = std::move(note.value);
  return true;
}

bool JournalState::use_tag(NoteRecord& note) {
  state_.tags[note.name] = std::move(note.value);
  return true;
}

bool JournalState::use(TotalsRecord& record) {
  if (!has_buckets(record.host) || !has_buckets(record.device) || !has_path(record.path)) { return false; }
  if (record.spread.threads != 0 && !has_thread(record.spread.longest)) { return false; }
  PathStats& path = state_.paths[record.path];
  numbers_of(path) = numbers_of(record);
  restore(path.host, record.host);
  if (record.has_device) { restore(path.device, record.device); }
  path.spread = record.spread;
  return true;
}

bool JournalState::use(LossesRecord& record) {
  state_.losses = std::move(record.losses);
  return true;
}

bool JournalState::use(OpenRecord& record) {
  const bool sound = std::all_of(record.open.begin(), record.open.end(), [this](const OpenRegion& each) {
    return has_path(each.path) && has_thread(each.thread);
  });
  if (sound) { state_.open = std::move(record.open); }
  return sound;
}

bool JournalState::has_all_of(const Row& row) {
  return has_series(row.series) && std::all_of(row.cells.begin(), row.cells.end(), [this](const Cell& each) {
           return each.path == kNoIndex || has_path(each.path);
         });
}

void JournalState::add(Row&& row) {
  if (!row_sequences_.insert(row.sequence).second) { return; }
  next_row_ = std::max(next_row_, row.sequence + 1);
  rows_.push_back(std::move(row));
}

bool JournalState::use(Row& row) {
  const bool sound = has_all_of(row);
  if (sound) { add(std::move(row)); }
  return sound;
}

bool JournalState::use_rows(const Frame& frame) {
  std::vector<Row> rows;
  bool sound = read_rows(frame.payload, rows);
  for (Row& row : rows) { sound = use(row) && sound; }
  return sound;
}

bool JournalState::use_metrics(const Frame& frame) {
  std::vector<Metric> metrics;
  const bool sound = read_metrics(frame.payload, metrics);
  for (Metric& metric : metrics) { use(metric); }
  return sound;
}

bool JournalState::use(EarlyRecord& record) {
  if (!has_all_of(record.row)) { return false; }
  record.row.complete = false;
  const std::uint64_t number = std::exchange(record.row.early, 0);
  early_.insert_or_assign(number, std::move(record.row));
  if (early_.size() > kMaxEarly) { release_early(); }  // no real process has that many waiting
  return true;
}

bool JournalState::use(RowAmendment& amendment) {
  const auto found = early_.find(amendment.early);
  if (found == early_.end()) { return true; }  // applied before, or its row is lost and counted
  Row& row = found->second;
  for (const AmendedCell& each : amendment.cells) {
    if (each.place > row.cells.size() || (each.path != kNoIndex && !has_path(each.path))) { return false; }
    if (each.place == row.cells.size()) { row.cells.push_back({each.path, 1, row.host_ns, Cell::kAbsent}); }
    row.cells[each.place].device_ns = each.device_ns;
  }
  if (amendment.settled) {
    row.sequence = amendment.sequence;
    row.complete = amendment.complete;
    add(std::move(row));
    early_.erase(found);
  }
  return true;
}

bool JournalState::release_early() {
  const bool any = !early_.empty();
  for (auto& [number, row] : early_) {
    row.sequence = next_row_;
    add(std::move(row));
  }
  early_.clear();
  return any;
}

bool JournalState::use(DevicesRecord& record) {
  state_.devices = std::move(record.devices);
  return true;
}

bool JournalState::use(TimeLinesRecord& record) {
  state_.time_lines = std::move(record.lines);
  std::uint32_t index = 0;
  for (TimeLineInfo& each : state_.time_lines) { each.overlap.time_line = index++; }
  return true;
}

bool JournalState::use(GroupsRecord& record) {
  if (record.groups.size() > kMaxGroups) { return false; }
  state_.run.groups = std::move(record.groups);
  return true;
}

bool JournalState::use(SensorsRecord& record) { return sampled_.use(record); }

bool JournalState::use(SampledRecord& record) {
  const bool sound = std::all_of(record.steps.begin(), record.steps.end(),
                                 [this](const StepEnergy& each) { return has_series(each.series); });
  return sound && sampled_.use(record);
}

bool JournalState::use_samples(const Frame& frame) { return sampled_.use_samples(frame); }

bool JournalState::use(ClockReadingsRecord& record) {
  if (record.readings.size() > kMaxClockReadings) { return false; }
  state_.clock_readings = std::move(record.readings);
  return true;
}

bool JournalState::use(RegionMemoriesRecord& record) {
  if (record.regions.size() > kMaxRegionMemories) { return false; }
  state_.region_memories = std::move(record.regions);
  return true;
}

bool JournalState::use(Metric& metric) {
  if (metric_sequences_.insert(metric.sequence).second) { metrics_.push_back(std::move(metric)); }
  return true;
}

bool JournalState::use(GapRecord& gap) {
  gap_ = gap;
  return true;
}

bool JournalState::use(PeriodRecord& period) {
  state_.wall_ns = period.wall_ns;
  state_.uncovered_ns = period.uncovered_ns;
  state_.overhead_ns = period.overhead_ns;
  state_.process = period.process;
  state_.failed = period.failed;
  last_time_unix_ns_ = period.time_unix_ns;
  if (++states_ == 1 && period.process.earlier_sessions != 0) {
    for (const Series& series : state_.series) { earlier_steps_.push_back(series.steps); }
  }
  row_sequences_.clear();
  metric_sequences_.clear();
  sampled_.end_export();
  return true;
}

bool JournalState::use(Uncaught& uncaught) {
  const bool sound =
      std::all_of(uncaught.open.begin(), uncaught.open.end(), [this](std::uint32_t path) { return has_path(path); }) &&
      (!uncaught.thread || has_thread(*uncaught.thread));
  if (!sound) { return false; }
  state_.uncaught = std::move(uncaught);
  state_.uncaught.happened = true;
  return true;
}

bool JournalState::use(EndRecord& end) {
  state_.finished = end.finished;
  state_.failed = end.failed;
  state_.killed = end.killed;
  ended_ = true;
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
