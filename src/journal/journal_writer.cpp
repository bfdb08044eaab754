// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_writer.hpp"

#include "base/file.hpp"
#include "base/report_error.hpp"
#include "base/text.hpp"
#include "journal/journal_blocks.hpp"
#include "journal/journal_records.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <tuple>
#include <utility>

#include <sys/random.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

RowAmendment amendment_of(const Row& row, bool settled) {
  RowAmendment amendment;
  amendment.early = row.early;
  amendment.settled = settled;
  amendment.sequence = row.sequence;
  amendment.complete = row.complete;
  for (std::size_t place = 0; place < row.cells.size(); ++place) {
    const Cell& cell = row.cells[place];
    if (cell.device_ns == Cell::kAbsent) { continue; }
    amendment.cells.push_back({static_cast<std::uint32_t>(place), cell.path, cell.device_ns});
  }
  return amendment;
}

}  // namespace

std::size_t JournalRows::owed(const Snapshot& snapshot) const {
  return static_cast<std::size_t>(
      std::count_if(snapshot.rows.begin(), snapshot.rows.end(), [this](const Row& row) { return has(row); }));
}

void JournalRows::add(FrameBuffer& out, const Snapshot& snapshot, bool thin) {
  started_.clear();
  settled_.clear();
  RowBlocks blocks(out);
  for (const Row& row : snapshot.rows) {
    if (has(row)) {
      blocks.flush();  // rows are read in the order of their numbers
      out.add(FrameType::amendment, amendment_of(row, true));
    } else if (!thin) {
      blocks.add(row);
    }
    if (row.early != 0) { settled_.push_back(row.early); }
  }
  blocks.flush();
  add_early(out, snapshot, thin);
}

/// Uses the newest state of each row: after a refused export a row may occur several times, and may be settled.
void JournalRows::add_early(FrameBuffer& out, const Snapshot& snapshot, bool thin) {
  std::map<std::uint64_t, const Row*> newest;
  for (const Row& row : snapshot.early) { newest[row.early] = &row; }
  for (const std::uint64_t each : settled_) { newest.erase(each); }
  for (const auto& [number, row] : newest) {
    if (has(*row)) {
      out.add(FrameType::amendment, amendment_of(*row, false));
    } else if (!thin) {
      out.add(FrameType::early, EarlyRecord{*row});
      started_.insert(number);
    }
  }
  early_.reserve(early_.size() + started_.size());
}

void JournalRows::written() noexcept {
  early_.merge(started_);
  for (const std::uint64_t each : settled_) { early_.erase(each); }
}

namespace {

constexpr std::int64_t kSampledPeriodNs = 10 * kSecondNs;

template <class Record>
std::string spelled(const Record& record) {
  std::string text;
  Encoder encoder(text);
  visit(encoder, record);
  return text;
}

/// Adds a record if its encoding changed.
template <class Record>
void add_changed(FrameBuffer& out, FrameType type, const Record& record, std::string& said) {
  std::string now = spelled(record);
  if (now == said) { return; }
  out.add(type, record);
  said = std::move(now);
}

SummaryRecord changes(const Summary& now, const Summary& said) {
  SummaryRecord record;
  record.scalars = SummaryAccess::scalars(now);
  unsigned last = 0;
  SummaryAccess::each_change(now.histogram(), said.histogram(), [&](unsigned bucket, std::uint64_t count) {
    record.buckets.push_back({bucket - last, count});
    last = bucket;
  });
  return record;
}

/// Every duration increments n, so this detects histogram changes too.
bool same(const Summary& a, const Summary& b) {
  return a.n() == b.n() && a.total_ns() == b.total_ns() && a.warmup_n() == b.warmup_n() && a.first_n() == b.first_n() &&
         a.sum_of_squares() == b.sum_of_squares();
}

bool same(const PathStats& a, const PathStats& b) {
  return same(a.host, b.host) && same(a.device, b.device) && numbers_of(a) == numbers_of(b);
}

}  // namespace

void JournalChanges::clear() { *this = JournalChanges(); }

void JournalChanges::add_state(FrameBuffer& out, const Snapshot& snapshot) {
  add_run(out, snapshot);
  add_paths(out, snapshot);
  add_threads(out, snapshot);
  add_series(out, snapshot);
  add_notes(out, FrameType::param, snapshot.params, params_);
  add_notes(out, FrameType::tag, snapshot.tags, tags_);
  add_totals(out, snapshot);
  add_lists(out, snapshot);
  add_sampled(out, snapshot);
}

void JournalChanges::add_run(FrameBuffer& out, const Snapshot& snapshot) {
  if (!std::exchange(has_run_, true)) { out.add(FrameType::run, snapshot.run); }
  add_changed(out, FrameType::machine, snapshot.run.machine, machine_);
  add_changed(out, FrameType::clock, snapshot.clock, clock_);
}

void JournalChanges::add_paths(FrameBuffer& out, const Snapshot& snapshot) {
  for (std::size_t index = paths_.size(); index < snapshot.paths.size(); ++index) {
    const PathStats& path = snapshot.paths[index];
    out.add(FrameType::path,
            PathRecord{static_cast<std::uint32_t>(index), path.name, path.kind, path.parent, path.depth});
    paths_.emplace_back();
  }
}

void JournalChanges::add_totals(FrameBuffer& out, const Snapshot& snapshot) {
  for (std::size_t index = 0; index < snapshot.paths.size(); ++index) {
    const PathStats& now = snapshot.paths[index];
    PathStats& said = paths_[index];
    const bool is_new = index >= totals_;
    if (!is_new && same(now, said)) { continue; }
    TotalsRecord record;
    record.path = static_cast<std::uint32_t>(index);
    numbers_of(record) = numbers_of(now);
    record.host = changes(now.host, said.host);
    record.has_device = now.device.n() != 0;
    if (record.has_device) { record.device = changes(now.device, said.device); }
    record.spread = now.spread;  // changes with the host's summary alone
    out.add(FrameType::totals, record);
    numbers_of(said) = numbers_of(now);
    said.host = now.host;
    said.device = now.device;
  }
  totals_ = snapshot.paths.size();
}

void JournalChanges::add_threads(FrameBuffer& out, const Snapshot& snapshot) {
  for (std::size_t index = 0; index < snapshot.threads.size(); ++index) {
    const ThreadInfo& now = snapshot.threads[index];
    const bool is_new = index >= threads_.size();
    if (is_new) { threads_.emplace_back(); }
    ThreadInfo& said = threads_[index];
    if (!is_new && now.id == said.id && now.name == said.name && now.ended == said.ended) { continue; }
    out.add(FrameType::thread, ThreadRecord{static_cast<std::uint32_t>(index), now});
    said = now;
  }
}

void JournalChanges::add_series(FrameBuffer& out, const Snapshot& snapshot) {
  series_.resize(snapshot.series.size());
  for (std::size_t index = 0; index < snapshot.series.size(); ++index) {
    add_changed(out, FrameType::series, SeriesRecord{static_cast<std::uint32_t>(index), snapshot.series[index]},
                series_[index]);
  }
}

void JournalChanges::add_notes(FrameBuffer& out, FrameType type, const Notes& now, Notes& said) {
  for (const auto& [name, value] : now) {
    const auto [place, is_new] = said.try_emplace(name);
    if (!is_new && place->second == value) { continue; }
    out.add(type, NoteRecord{name, value});
    place->second = value;
  }
}

void JournalChanges::add_lists(FrameBuffer& out, const Snapshot& snapshot) {
  LossesRecord losses;
  for (const Loss& each : snapshot.losses) {
    if (each.what != "not_in_journal") { losses.losses.push_back(each); }  // recorded in GapRecord
  }
  add_changed(out, FrameType::losses, losses, losses_);
  add_changed(out, FrameType::devices, DevicesRecord{snapshot.devices}, devices_);
  add_changed(out, FrameType::time_lines, TimeLinesRecord{snapshot.time_lines}, time_lines_);
  add_changed(out, FrameType::groups, GroupsRecord{snapshot.run.groups}, groups_);
  add_changed(out, FrameType::clock_readings, ClockReadingsRecord{snapshot.clock_readings}, clock_readings_);
  if (!snapshot.region_memories.empty()) {
    add_changed(out, FrameType::region_memories, RegionMemoriesRecord{snapshot.region_memories}, region_memories_);
  }
  if (open_ || !snapshot.open.empty()) { out.add(FrameType::open, OpenRecord{snapshot.open}); }
  open_ = !snapshot.open.empty();
}

/// Figures change with each sample, so they are written periodically and at the end.
void JournalChanges::add_sampled(FrameBuffer& out, const Snapshot& snapshot) {
  add_changed(out, FrameType::sensors, SensorsRecord{snapshot.sensors, snapshot.unsampled}, sensors_);
  if (snapshot.sensors.empty()) { return; }
  const bool due = snapshot.finished || snapshot.wall_ns - sampled_ns_ >= kSampledPeriodNs;
  if (!due) { return; }
  out.add(FrameType::sampled, SampledRecord{snapshot.sensors, snapshot.step_energies, snapshot.region_energies});
  sampled_ns_ = snapshot.wall_ns;
}

void JournalChanges::add_gap(FrameBuffer& out, const GapRecord& gap) {
  const auto numbers = [](const GapRecord& of) {
    return std::tie(of.rows, of.metrics, of.unconfirmed, of.samples, of.changed, of.totals);
  };
  if (numbers(gap) == numbers(gap_)) { return; }
  out.add(FrameType::gap, gap);
  gap_ = gap;
}

namespace {

constexpr std::int64_t kSyncPeriodNs = 10 * kSecondNs;
constexpr std::int64_t kPollPeriodNs = 10 * kSecondNs;
constexpr std::int64_t kThinPeriodNs = 60 * kSecondNs;
constexpr double kMaxKeptFree = 1U << 30U;  // limit for large disks

// Maximum wait for the disk at the end of a run; the kernel continues without the process.
constexpr std::chrono::milliseconds kLastSync(200);

std::uint64_t random_number() noexcept {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof number)) { return number; }
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) ^
         (static_cast<std::uint64_t>(::getpid()) << 48U);
}

PeriodRecord period_record(const Snapshot& snapshot) {
  PeriodRecord period;
  period.wall_ns = snapshot.wall_ns;
  period.uncovered_ns = snapshot.uncovered_ns;
  period.overhead_ns = snapshot.overhead_ns;
  period.time_unix_ns = snapshot.run.start_unix_ns + snapshot.wall_ns;
  period.failed = snapshot.failed;
  period.process = snapshot.process;
  return period;
}

}  // namespace

JournalExporter::JournalExporter(std::string directory, JournalOptions options)
    : directory_(std::move(directory)),
      files_(directory_),
      options_(options),
      journal_(random_number()),
      sync_(directory_, options.threads) {}

JournalExporter::~JournalExporter() = default;

/// Reports an unwritable disk immediately: a run killed early leaves nothing else.
void JournalExporter::begin(const Snapshot& snapshot) {
  if (export_snapshot(snapshot) != ExportResult::retry) { return; }
  report_error(name(), segment_.error() + ". Until it can be written, a killed run loses its data");
}

ExportResult JournalExporter::export_snapshot(const Snapshot& snapshot) {
  if (ended_) { return ExportResult::drop; }
  try {
    return write(snapshot);
  } catch (const std::exception&) {
    // Out of memory: the segment may differ from the recorded state.
    leave_segment();
    return ExportResult::retry;
  }
}

ExportResult JournalExporter::write(const Snapshot& snapshot) {
  check_space(snapshot);
  GapRecord gap = gap_;
  const bool thin = last_words_ || no_space_ || closed_bytes_ + segment_.bytes() >= options_.max_bytes;
  if (thin) {
    const std::size_t owed = rows_.owed(snapshot);
    gap.rows += snapshot.rows.size() - owed;
    gap.metrics += snapshot.metrics.size();
    gap.samples += snapshot.samples.size();
    report_error_once("journal.full", "the journal in " + directory_ +
                                          (last_words_ ? " found no space on the disk"
                                           : no_space_ ? " keeps the rest of the disk free"
                                                       : " has used up its budget (TAKT_JOURNAL_MB)") +
                                          ": from now on it omits steps and metrics, but not totals");
    if (!snapshot.finished && owed == 0 && snapshot.wall_ns - written_at_ns_ < kThinPeriodNs) {
      set_gap(gap);
      return ExportResult::ok;
    }
  }
  FrameBuffer frames(next_sequence_);
  if (!begin_segment(snapshot, frames)) { return refuse(snapshot); }
  gap.unconfirmed = gap_.unconfirmed;
  gap.changed = gap_.changed;
  changes_.add_state(frames, snapshot);
  add_records(frames, snapshot, thin);
  changes_.add_gap(frames, gap);
  if (snapshot.uncaught.happened) { frames.add(FrameType::exception, snapshot.uncaught); }
  if (snapshot.finished) { frames.add(FrameType::end, EndRecord{true, snapshot.failed, snapshot.killed}); }
  frames.add(FrameType::period, period_record(snapshot));
  if (!segment_.append(frames.bytes())) { return refuse(snapshot); }
  rows_.written();
  set_gap(gap);
  next_sequence_ = frames.next_sequence();
  written_at_ns_ = snapshot.wall_ns;
  ended_ = snapshot.finished;
  failures_ = 0;
  sync_at_times(snapshot);
  return ExportResult::ok;
}

void JournalExporter::add_records(FrameBuffer& frames, const Snapshot& snapshot, bool thin) {
  rows_.add(frames, snapshot, thin);
  if (thin) { return; }
  add_metrics(frames, snapshot.metrics);
  add_samples(frames, snapshot.samples);
}

void JournalExporter::set_gap(const GapRecord& gap) noexcept {
  gap_ = gap;
  left_out_rows_.store(gap.rows, std::memory_order_relaxed);
  left_out_metrics_.store(gap.metrics, std::memory_order_relaxed);
  left_out_samples_.store(gap.samples, std::memory_order_relaxed);
}

/// Ensures that a usable segment is open. Opens a new one if necessary and puts its header in `frames`.
bool JournalExporter::begin_segment(const Snapshot& snapshot, FrameBuffer& frames) {
  if (segment_.is_open()) {
    const bool closed = !segment_.is_ours();
    if (closed) { report_closed_file(segment_.path()); }
    const bool changed = !closed && !segment_.is_whole();
    if (changed) {
      gap_.changed += 1;
      changed_files_.store(gap_.changed, std::memory_order_relaxed);
      report_error_once("journal.changed", segment_.path() +
                                               " was removed or changed while it was written; steps and metrics in it "
                                               "may be lost, totals are not");
    }
    // After a failed sync, the data on the disk is unknown: the new segment repeats everything except rows and metrics.
    const bool unconfirmed = sync_.take_failure();
    gap_.unconfirmed += unconfirmed ? 1 : 0;
    if (closed || changed || unconfirmed || segment_.bytes() >= options_.segment_bytes) { leave_segment(); }
  }
  if (segment_.is_open()) { return true; }
  reserve_.take(directory_);
  changes_.clear();
  // Numbers are never reused, so a reader's open file always remains the same one.
  SegmentHeader header;
  header.number = next_segment_++;
  if (!segment_.open(files_, header.number)) { return false; }
  header.journal = journal_;
  header.start_unix_ns = snapshot.run.start_unix_ns;
  header.first_sequence = next_sequence_;
  frames.add_header(header);
  return true;
}

/// Leaves the segment; the next export starts a new one.
void JournalExporter::leave_segment() noexcept {
  if (!segment_.is_open()) { return; }
  if (segment_.bytes() == 0) {
    segment_.remove(files_);
    return;
  }
  closed_bytes_ += segment_.bytes();
  sync_.adopt(segment_.release());
}

/// At the end of the run, uses the reserved space for the totals and the counts of omitted data.
ExportResult JournalExporter::refuse(const Snapshot& snapshot) {
  if (snapshot.finished && !last_words_ && reserve_.give()) {
    last_words_ = true;
    leave_segment();
    return write(snapshot);
  }
  ++failures_;
  if (snapshot.finished || failures_ == kFailuresToReport) { report_error(name(), segment_.error()); }
  leave_segment();
  if (snapshot.finished) { write_end(snapshot); }
  return ExportResult::retry;
}

/// Writes only the end of the run if the totals do not fit, so that it does not appear killed.
void JournalExporter::write_end(const Snapshot& snapshot) {
  if (std::exchange(end_written_, true)) { return; }
  FrameBuffer frames(next_sequence_);
  if (!begin_segment(snapshot, frames)) { return; }
  GapRecord gap = gap_;
  gap.totals = 1;
  gap.rows += snapshot.rows.size();
  gap.metrics += snapshot.metrics.size();
  gap.samples += snapshot.samples.size();
  changes_.add_gap(frames, gap);
  frames.add(FrameType::end, EndRecord{true, snapshot.failed, snapshot.killed});
  frames.add(FrameType::period, period_record(snapshot));
  if (segment_.append(frames.bytes())) { next_sequence_ = frames.next_sequence(); }
  leave_segment();
}

void JournalExporter::check_space(const Snapshot& snapshot) {
  if (snapshot.wall_ns - checked_ns_ < kPollPeriodNs) { return; }
  checked_ns_ = snapshot.wall_ns;
  struct statvfs disk = {};
  // Some file systems report no size.
  if (options_.disk(directory_.c_str(), &disk) != 0 || disk.f_blocks == 0) { return; }
  const double unit = static_cast<double>(disk.f_frsize);
  const double kept = std::min(static_cast<double>(disk.f_blocks) * unit * options_.keep_free, kMaxKeptFree);
  no_space_ = static_cast<double>(disk.f_bavail) * unit < kept;
}

void JournalExporter::sync_at_times(const Snapshot& snapshot) {
  if (snapshot.wall_ns - synced_at_ns_ < kSyncPeriodNs) { return; }
  synced_at_ns_ = snapshot.wall_ns;
  sync_.start(segment_.descriptor());
}

bool JournalExporter::shutdown(std::chrono::milliseconds deadline) {
  try {
    leave_segment();
    sync_.start(-1);
    sync_.wait(std::min(deadline / 4, kLastSync));
  } catch (const std::exception&) {
    // Out of memory: data already written is kept.
  }
  // Closes descriptors: the Session stays in memory because threads refer to it.
  reserve_.give();
  files_ = DirectoryFiles(directory_);
  return !last_words_;
}

}  // namespace detail
TAKT_END_NAMESPACE
