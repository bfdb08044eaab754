// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

// More than a process can have. A file that tells of more is not worth the memory.
constexpr std::uint32_t kMostPaths = 1U << 16U;
constexpr std::uint32_t kMostThreads = 1U << 20U;
constexpr std::uint32_t kMostSeries = 1U << 20U;

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

}  // namespace

void JournalState::clear() {
  // Rows that nobody has seen yet are still true.
  std::vector<Row> rows = std::move(rows_);
  std::vector<Metric> metrics = std::move(metrics_);
  *this = JournalState();
  rows_ = std::move(rows);
  metrics_ = std::move(metrics);
}

void JournalState::move_into(Snapshot& snapshot) {
  std::vector<Row> rows = std::move(snapshot.rows);
  std::vector<Metric> metrics = std::move(snapshot.metrics);
  move_to_end(rows_, rows);
  move_to_end(metrics_, metrics);
  snapshot = state_;
  snapshot.rows = std::move(rows);
  snapshot.metrics = std::move(metrics);
  if (gap_.rows != 0) { snapshot.losses.push_back({"not_in_journal", "rows", gap_.rows}); }
  if (gap_.metrics != 0) { snapshot.losses.push_back({"not_in_journal", "metrics", gap_.metrics}); }
}

JournalState::Answer JournalState::apply(const Frame& frame) {
  if (frame.type < static_cast<std::uint16_t>(FrameType::run) ||
      frame.type > static_cast<std::uint16_t>(FrameType::end)) {
    return Answer::unknown;
  }
  return dispatch(static_cast<FrameType>(frame.type), frame) ? Answer::taken : Answer::unreadable;
}

template <class Record>
bool JournalState::take(const Frame& frame, bool (JournalState::*into)(Record&)) {
  Record record;
  Decoder decoder(frame.payload);
  visit(decoder, record);
  return decoder.ok() && (this->*into)(record);
}

bool JournalState::dispatch(FrameType type, const Frame& frame) {
  switch (type) {
    case FrameType::run:
      return take<RunInfo>(frame, &JournalState::use);
    case FrameType::clock:
      return take<ClockInfo>(frame, &JournalState::use);
    case FrameType::path:
      return take<PathRecord>(frame, &JournalState::use);
    case FrameType::thread:
      return take<ThreadRecord>(frame, &JournalState::use);
    case FrameType::series:
      return take<SeriesRecord>(frame, &JournalState::use);
    case FrameType::param:
      return take<NoteRecord>(frame, &JournalState::use_param);
    case FrameType::tag:
      return take<NoteRecord>(frame, &JournalState::use_tag);
    case FrameType::totals:
      return take<TotalsRecord>(frame, &JournalState::use);
    case FrameType::losses:
      return take<LossesRecord>(frame, &JournalState::use);
    case FrameType::open:
      return take<OpenRecord>(frame, &JournalState::use);
    case FrameType::row:
      return take<Row>(frame, &JournalState::use);
    case FrameType::metric:
      return take<Metric>(frame, &JournalState::use);
    case FrameType::gap:
      return take<GapRecord>(frame, &JournalState::use);
    case FrameType::period:
      return take<PeriodRecord>(frame, &JournalState::use);
    case FrameType::end:
      return take<EndRecord>(frame, &JournalState::use);
  }
  return false;
}

bool JournalState::has_path(std::uint32_t index) {
  if (index >= kMostPaths) { return false; }
  for (std::size_t next = state_.paths.size(); next <= index; ++next) { state_.paths.emplace_back().name = kLost; }
  return true;
}

bool JournalState::has_thread(std::uint32_t index) {
  if (index >= kMostThreads) { return false; }
  for (std::size_t next = state_.threads.size(); next <= index; ++next) { state_.threads.emplace_back().name = kLost; }
  return true;
}

bool JournalState::has_series(std::uint32_t index) {
  if (index >= kMostSeries) { return false; }
  if (index >= state_.series.size()) {
    if (!has_path(0) || !has_thread(0)) { return false; }  // where the ones in between point to
    state_.series.resize(index + 1U);
  }
  return true;
}

bool JournalState::use(RunInfo& run) {
  state_.run = std::move(run);
  return true;
}

bool JournalState::use(ClockInfo& clock) {
  state_.clock = std::move(clock);
  return true;
}

bool JournalState::use(PathRecord& record) {
  // Parents stand before their children: whoever walks up comes to an end.
  const bool at_top = record.parent == PathStats::kNoParent;
  if ((!at_top && record.parent >= record.index) || !has_path(record.index)) { return false; }
  PathStats& path = state_.paths[record.index];
  path.name = std::move(record.name);
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
  PathStats& path = state_.paths[record.path];
  copy_numbers(record, path);
  restore(path.host, record.host);
  if (record.has_device) { restore(path.device, record.device); }
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

bool JournalState::use(Row& row) {
  const bool sound = has_series(row.series) &&
                     std::all_of(row.cells.begin(), row.cells.end(),
                                 [this](const Cell& each) { return each.path == Cell::kOther || has_path(each.path); });
  if (sound && row_sequences_.insert(row.sequence).second) { rows_.push_back(std::move(row)); }
  return sound;
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
  state_.failed = period.failed;
  last_time_unix_ns_ = period.time_unix_ns;
  row_sequences_.clear();
  metric_sequences_.clear();
  return true;
}

bool JournalState::use(EndRecord& end) {
  state_.finished = end.finished;
  state_.failed = end.failed;
  ended_ = true;
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
