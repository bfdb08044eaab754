// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "process/collector.hpp"

#include "record/device_queue.hpp"
#include "record/event_run.hpp"

#include <cstring>
#include <new>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::size_t bytes_of(const Row& row) noexcept {
  return sizeof(Row) + row.cells.capacity() * sizeof(Cell) + row.overlaps.capacity() * sizeof(Overlap);
}

std::uint32_t path_of(const std::vector<std::uint32_t>& paths, std::uint32_t node) noexcept {
  return node < paths.size() ? paths[node] : kNoIndex;
}

}  // namespace

bool Collector::drain(Outbox& outbox, std::uint64_t end, const Recorder* from, std::uint32_t thread, const Paths& paths,
                      Much much) {
  const Record* record = nullptr;
  while ((much != Much::some || !is_full()) && (record = outbox.front(end)) != nullptr) {
    // If memory runs out during a record, part of it was taken: it is not retried.
    try {
      take(outbox, *record, from, thread, paths);
    } catch (const std::bad_alloc&) { count_dropped(record->type); }
    outbox.pop();
    bound_waiting();
    if (much == Much::all && is_full()) { bound(); }
  }
  return outbox.front(end) == nullptr;
}

void Collector::count_dropped(Record::Type type) noexcept {
  const bool row = type == Record::Type::row || type == Record::Type::amendment;
  const bool metric = type == Record::Type::metric || type == Record::Type::packed_metric;
  ++(row ? dropped_.rows : metric ? dropped_.metrics : dropped_.spans);
}

void Collector::take(Outbox& outbox, const Record& record, const Recorder* from, std::uint32_t thread,
                     const Paths& paths) {
  switch (record.type) {
    case Record::Type::row:
      return take_row(static_cast<const RowRecord&>(record), paths);
    case Record::Type::amendment:
      return take_amendment(static_cast<const AmendmentRecord&>(record), paths);
    case Record::Type::metric:
    case Record::Type::packed_metric:
      return take_metric(outbox.metric(record));
    case Record::Type::events:
      return take_events(static_cast<const EventsRecord&>(record), from, thread);
    case Record::Type::span:
      return take_span(static_cast<const SpanRecord&>(record));
    case Record::Type::device_span:
      return take_device_span(static_cast<const DeviceSpanRecord&>(record));
  }
}

void Collector::take_row(const RowRecord& record, const Paths& paths) {
  Waiting waiting;
  Row& row = waiting.row;
  row.series = record.series;
  row.step = record.step;
  row.begin_ns = static_cast<std::int64_t>(record.begin_ns);
  row.host_ns = static_cast<std::int64_t>(record.end_ns - record.begin_ns);
  if (record.period_ns >= 0) { row.period_ns = record.period_ns; }
  row.items = record.items;
  row.warmup = (record.flags & RowRecord::kWarmup) != 0;
  waiting.number = record.row;
  const auto* word = reinterpret_cast<const std::uint64_t*>(&record + 1);
  const auto* const end = word + (record.bytes - sizeof(RowRecord)) / sizeof(std::uint64_t);
  if ((record.flags & RowRecord::kHasDevice) != 0) {
    RowDevice device;
    std::memcpy(static_cast<void*>(&device), word, sizeof(device));
    word += sizeof(device) / sizeof(std::uint64_t);
    row.complete = device.lost == 0;
    waiting.device_pending = device.pending;
    waiting.device_spans = static_cast<std::uint32_t>(device.spans);
  }
  row.cells.reserve(static_cast<std::size_t>(end - word));
  while (word != end) {
    CellRecord cell;
    word = PackedCell::get(word, cell);
    row.cells.push_back({cell.node == CellRecord::kOther ? kNoIndex : path_of(paths, cell.node), cell.calls,
                         cell.host_ns, cell.device_ns});
  }
  release_old(record.series, record.row);
  if (waiting.device_pending == 0) {
    finish(waiting, row.complete);
  } else {
    const std::size_t bytes = bytes_of(row);
    waiting_.emplace(std::make_pair(record.series, record.row), std::move(waiting));
    waiting_bytes_ += bytes;
  }
}

void Collector::take_amendment(const AmendmentRecord& record, const Paths& paths) {
  const auto found = waiting_.find({record.series, record.row});
  if (found == waiting_.end()) { return; }  // the row left without it, marked as incomplete
  Waiting& waiting = found->second;
  waiting.is_new = true;
  if (record.device_ns < 0) {
    waiting.row.complete = false;
  } else {
    const std::uint32_t path =
        record.node == CellRecord::kOther ? kNoIndex : path_of(paths, static_cast<std::uint32_t>(record.node));
    Cell* cell = nullptr;
    for (Cell& each : waiting.row.cells) {
      if (each.path == path) { cell = &each; }
    }
    if (cell == nullptr) {  // a span of the Batch itself, which has no column, or of a graph, which has no host time
      const std::size_t bytes = bytes_of(waiting.row);
      waiting.row.cells.push_back((record.flags & AmendmentRecord::kOfBatch) != 0
                                      ? Cell{path, 1, waiting.row.host_ns, Cell::kAbsent}
                                      : Cell{path, 0, 0, Cell::kAbsent});
      waiting_bytes_ += bytes_of(waiting.row) - bytes;
      cell = &waiting.row.cells.back();
    }
    cell->device_ns = (cell->device_ns < 0 ? 0 : cell->device_ns) + record.device_ns;
  }
  if (--waiting.device_pending == 0) {
    const std::size_t bytes = bytes_of(waiting.row);
    finish(waiting, waiting.row.complete);
    waiting_bytes_ -= bytes;
    waiting_.erase(found);
  }
}

void Collector::finish(Waiting& waiting, bool complete) {
  waiting.row.complete = complete;
  if (!complete) {
    time_lines_.leave_out(waiting.row.series, waiting.number);
  } else if (waiting.device_spans != 0) {
    waiting.row.overlaps = time_lines_.step(waiting.row.series, waiting.number, waiting.device_spans);
  }
  waiting.row.sequence = next_row_;
  const std::size_t bytes = bytes_of(waiting.row);
  rows_.push_back(std::move(waiting.row));
  row_bytes_ += bytes;
  ++next_row_;
  if (!complete) { ++incomplete_; }
}

void Collector::release_old(std::uint32_t series, std::uint64_t newest) {
  auto at = waiting_.lower_bound({series, 0});
  while (at != waiting_.end() && at->first.first == series && at->first.second + kMaxLag <= newest) { give_up(at++); }
}

/// Releases a row without its missing device values.
void Collector::give_up(std::map<std::pair<std::uint32_t, std::uint64_t>, Waiting>::iterator at) {
  const std::size_t bytes = bytes_of(at->second.row);
  finish(at->second, false);
  waiting_bytes_ -= bytes;
  waiting_.erase(at);
}

void Collector::take_metric(const MetricRecord& record) {
  Metric metric;
  metric.sequence = next_metric_++;
  metric.name = metric_names().name(record.name);
  metric.value = record.value;
  metric.step = record.step;
  metric.time_unix_ns = clock_.start_unix_ns() + static_cast<std::int64_t>(record.ns);
  metrics_.push_back(std::move(metric));
}

void Collector::take_span(const SpanRecord& record) {
  const auto open = open_spans_.find(record.opener);
  // Its place may belong to another region by now.
  if (open != open_spans_.end() && open->second[record.region].begin_ns == record.begin_ns) {
    open->second[record.region].key = 0;
  }
  add_span(record.thread, record.key, record.begin_ns, record.end_ns);
}

void Collector::take_device_span(const DeviceSpanRecord& record) {
  if (clock_.source() == ClockSource::monotonic) { time_lines_.host_may_be_slewed(); }
  time_lines_.add(record, keys_.kind(static_cast<KeyIndex>(record.key)));
}

void Collector::place_device_spans() {
  time_lines_.place(
      [this](const DeviceSpanRecord& record, std::uint32_t stream, std::int64_t begin_ns, std::int64_t end_ns) {
        add_span(record.thread, record.key, static_cast<std::uint64_t>(begin_ns), static_cast<std::uint64_t>(end_ns));
        spans_.back().stream = stream;
      });
}

/// Converts events to spans.
struct Collector::EventSpans : EventVisitor {
  EventSpans(Collector& owner, std::vector<OpenSpan>& started, const EventsRecord& record, std::uint32_t number)
      : collector(owner),
        open(started),
        source(static_cast<ClockSource>(record.source)),
        thread(number),
        ticks(record.last_ticks) {}

  bool begin(std::uint64_t place, Event event, std::uint64_t key) {
    open[place] = OpenSpan{key, source, ns_of(event)};
    return true;
  }
  bool end(std::uint64_t /*place*/, Event event, std::uint32_t id) {
    const OpenSpan span = std::exchange(open[id], OpenSpan{});
    if (span.key != 0 && span.source != source) {
      // The clock changed in between, and this may still be a reading of the old one.
      ++collector.lost_spans_;
      return true;
    }
    const std::uint64_t ns = ns_of(event);
    if (span.key != 0) {
      collector.add_span(thread, span.key, span.begin_ns, ns);
    } else {
      ++collector.lost_spans_;  // its start was dropped at a full outbox
    }
    return true;
  }
  std::uint64_t ns_of(Event event) {
    ticks = unwrap(event, ticks);
    return collector.clock_.to_ns(source, ticks);
  }

  Collector& collector;
  std::vector<OpenSpan>& open;
  const ClockSource source;
  const std::uint32_t thread;
  std::uint64_t ticks;
};

void Collector::take_events(const EventsRecord& record, const Recorder* from, std::uint32_t thread) {
  std::vector<OpenSpan>& open = open_spans_[from];
  open.resize(kBlocks * kBlockEvents);
  const auto count = static_cast<std::uint32_t>((record.bytes - sizeof(EventsRecord)) / sizeof(Event));
  const EventRun run{reinterpret_cast<const Event*>(&record + 1), count, record.place};
  visit_events(run, EventSpans(*this, open, record, thread));
}

void Collector::add_span(std::uint32_t thread, std::uint64_t key, std::uint64_t begin_ns, std::uint64_t end_ns) {
  Span span;
  span.sequence = next_span_++;
  span.thread = thread;
  span.begin_ns = static_cast<std::int64_t>(begin_ns);
  span.duration_ns = static_cast<std::int64_t>(end_ns - begin_ns);
  const auto index = static_cast<KeyIndex>(key);
  span.name = keys_.name(index);
  span.kind = keys_.kind(index);
  spans_.push_back(span);
}

/// Limits waiting data to half of the limit.
void Collector::bound_waiting() {
  while (waiting_bytes_ > limit_ / 2) { give_up(waiting_.begin()); }
  if (time_lines_.bytes() > limit_ / 2) { place_device_spans(); }
}

/// Drops the oldest data if no Session takes it.
void Collector::bound() {
  if (time_lines_.bytes() != 0 && bytes() > limit_) { place_device_spans(); }
  while (bytes() > limit_) {
    if (!rows_.empty()) {
      row_bytes_ -= bytes_of(rows_.front());
      rows_.pop_front();
      ++dropped_.rows;
    } else if (!spans_.empty()) {
      spans_.pop_front();
      ++dropped_.spans;
    } else if (!metrics_.empty()) {
      metrics_.pop_front();
      ++dropped_.metrics;
    } else {
      give_up(waiting_.begin());
    }
  }
}

Drained Collector::drained(bool all) {
  while (all && !waiting_.empty()) { give_up(waiting_.begin()); }
  place_device_spans();
  Drained drained;
  // Does everything that may throw before moving any row.
  drained.rows.reserve(rows_.size());
  drained.metrics.reserve(metrics_.size());
  drained.spans.reserve(spans_.size());
  for (const auto& [place, waiting] : waiting_) {
    if (waiting.is_new) { drained.early.push_back(waiting.row); }
  }
  drained.rows.assign(std::make_move_iterator(rows_.begin()), std::make_move_iterator(rows_.end()));
  drained.metrics.assign(std::make_move_iterator(metrics_.begin()), std::make_move_iterator(metrics_.end()));
  drained.spans.assign(spans_.begin(), spans_.end());
  rows_.clear();
  metrics_.clear();
  spans_.clear();
  row_bytes_ = 0;
  auto early = drained.early.begin();
  for (auto& [place, waiting] : waiting_) {
    if (!std::exchange(waiting.is_new, false)) { continue; }
    if (waiting.row.early == 0) { waiting.row.early = next_early_++; }
    early->early = waiting.row.early;
    early->complete = false;
    ++early;
  }
  return drained;
}

}  // namespace detail
TAKT_END_NAMESPACE
