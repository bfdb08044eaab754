// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "journal/journal_blocks.hpp"

#include "base/encoding.hpp"
#include "base/text.hpp"
#include "journal/journal_records.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Flags for values that a row omits. "Before" is the last row of its series in the frame.
enum RowFlag : std::uint32_t {
  kSameSeries = 1,   ///< same as the previous row of any series
  kNextStep = 2,     ///< its step follows the row before
  kWholePeriod = 4,  ///< its period starts at the end of the row before
  kSameItems = 8,    ///< same as the row before
  kSameCells = 16,   ///< same paths and calls as the row before
  kWarmup = 32,
  kComplete = 64,
  kDevice = 128,  ///< its cells have device times
};

std::int64_t end_of_row(const Row& row) noexcept { return wrapped_sum(row.begin_ns, row.host_ns); }

bool same_cells(const Row& a, const Row& b) {
  return std::equal(
      a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(),
      [](const Cell& one, const Cell& other) { return one.path == other.path && one.calls == other.calls; });
}

/// The preceding rows in a frame: the last one of all, and of each series.
class Before {
 public:
  const Row* same_series(std::uint32_t series) const {
    const auto found = last_.find(series);
    return found == last_.end() ? nullptr : found->second;
  }
  const Row* last() const noexcept { return newest_; }
  void add(const Row& row) {
    newest_ = &row;
    last_[row.series] = &row;
  }

 private:
  const Row* newest_ = nullptr;
  std::map<std::uint32_t, const Row*> last_;
};

std::uint32_t row_flags(const Row& row, const Row* before, const Row* newest) {
  std::uint32_t flags = (row.warmup ? kWarmup : 0U) | (row.complete ? kComplete : 0U);
  const bool device =
      std::any_of(row.cells.begin(), row.cells.end(), [](const Cell& each) { return each.device_ns != Cell::kAbsent; });
  flags |= device ? kDevice : 0U;
  flags |= newest != nullptr && newest->series == row.series ? kSameSeries : 0U;
  if (before == nullptr) { return flags; }
  flags |= row.step == wrapped_sum(before->step, 1) ? kNextStep : 0U;
  flags |= row.period_ns.value_or(-1) == wrapped_difference(end_of_row(row), end_of_row(*before)) ? kWholePeriod : 0U;
  flags |= row.items == before->items ? kSameItems : 0U;
  flags |= same_cells(row, *before) ? kSameCells : 0U;
  return flags;
}

void write_row(Encoder& out, const Row& row, const Row* before, const Row* newest) {
  const std::uint32_t flags = row_flags(row, before, newest);
  out.number(flags);
  if ((flags & kSameSeries) == 0) { out.number(row.series); }
  if ((flags & kNextStep) == 0) { out.number(row.step); }
  out.number(wrapped_difference(row.begin_ns, before == nullptr ? 0 : end_of_row(*before)));
  out.number(static_cast<std::uint64_t>(row.host_ns));
  if ((flags & kWholePeriod) == 0) { visit_period(out, row.period_ns); }
  if ((flags & kSameItems) == 0) { out.number(row.items); }
  if ((flags & kSameCells) == 0) {
    out.number(row.cells.size());
    for (const Cell& cell : row.cells) {
      out.number(cell.path);
      out.number(cell.calls);
    }
  }
  for (const Cell& cell : row.cells) {
    out.number(static_cast<std::uint64_t>(cell.host_ns));
    if ((flags & kDevice) != 0) { out.number(cell.device_ns); }
  }
}

std::int64_t read_time(Decoder& in) {
  std::uint64_t ns = 0;
  in.number(ns);
  return static_cast<std::int64_t>(ns);
}

bool read_cells(Decoder& in, std::uint32_t flags, const Row* before, std::vector<Cell>& cells) {
  if ((flags & kSameCells) != 0) {
    if (before == nullptr) { return false; }
    cells = before->cells;
  } else {
    in.list(cells, [](Decoder& inner, Cell& cell) {
      inner.number(cell.path);
      inner.number(cell.calls);
    });
  }
  for (Cell& cell : cells) {
    cell.host_ns = read_time(in);
    cell.device_ns = Cell::kAbsent;
    if ((flags & kDevice) != 0) { in.number(cell.device_ns); }
    if (!in.ok()) { return false; }
  }
  return true;
}

bool read_row(Decoder& in, const Before& rows, Row& row) {
  std::uint32_t flags = 0;
  in.number(flags);
  if ((flags & kSameSeries) == 0) {
    in.number(row.series);
  } else if (rows.last() != nullptr) {
    row.series = rows.last()->series;
  } else {
    return false;
  }
  const Row* const before = rows.same_series(row.series);
  if (before == nullptr && (flags & (kNextStep | kWholePeriod | kSameItems | kSameCells)) != 0) { return false; }
  const Row none;
  const Row& last = before == nullptr ? none : *before;
  if ((flags & kNextStep) != 0) {
    row.step = wrapped_sum(last.step, 1);
  } else {
    in.number(row.step);
  }
  in.number(row.begin_ns);
  row.begin_ns = wrapped_sum(row.begin_ns, end_of_row(last));
  row.host_ns = read_time(in);
  if ((flags & kWholePeriod) != 0) {
    const std::int64_t period_ns = wrapped_difference(end_of_row(row), end_of_row(last));
    if (period_ns >= 0) { row.period_ns = period_ns; }
  } else {
    visit_period(in, row.period_ns);
  }
  if ((flags & kSameItems) != 0) {
    row.items = last.items;
  } else {
    in.number(row.items);
  }
  row.warmup = (flags & kWarmup) != 0;
  row.complete = (flags & kComplete) != 0;
  return in.ok() && read_cells(in, flags, before, row.cells);
}

/// The metrics of one frame.
struct MetricsBlock {
  const Metric* first;
  std::size_t count;
};

void visit(Encoder& out, const MetricsBlock& block) {
  std::unordered_map<std::string_view, std::uint32_t> number;
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at < block.count; ++at) {
    const auto added = number.emplace(block.first[at].name, static_cast<std::uint32_t>(names.size()));
    if (added.second) { names.push_back(block.first[at].name); }
  }
  out.number(block.first->sequence);
  out.list(names, [](Encoder& inner, std::string_view name) { inner.text(name); });
  out.number(block.count);
  const Metric none;
  const Metric* before = &none;
  for (std::size_t at = 0; at < block.count; ++at) {
    const Metric& metric = block.first[at];
    out.number(number[metric.name]);
    out.real(metric.value);
    out.number(wrapped_difference(metric.step, before->step));
    out.number(wrapped_difference(metric.time_unix_ns, before->time_unix_ns));
    before = &metric;
  }
}

/// The rows of one frame.
struct RowsBlock {
  const std::vector<const Row*>& rows;
};

void visit(Encoder& out, const RowsBlock& block) {
  out.number(block.rows.front()->sequence);
  out.number(block.rows.size());
  Before before;
  for (const Row* row : block.rows) {
    write_row(out, *row, before.same_series(row->series), before.last());
    before.add(*row);
  }
}

/// The samples of one frame.
struct SamplesBlock {
  const Sample* first;
  std::size_t count;
};

void visit(Encoder& out, const SamplesBlock& block) {
  out.number(block.first->sequence);
  out.number(block.count);
  std::map<std::uint32_t, const Sample*> before;  // by sensor
  const Sample none;
  for (std::size_t at = 0; at < block.count; ++at) {
    const Sample& sample = block.first[at];
    const Sample* const last = before.emplace(sample.sensor, &none).first->second;
    out.number(sample.sensor);
    out.number(wrapped_difference(sample.time_ns, last->time_ns));
    out.number(sample.values.size());
    for (std::size_t place = 0; place < sample.values.size(); ++place) {
      out.number(wrapped_difference(sample.values[place], place < last->values.size() ? last->values[place] : 0));
    }
    before[sample.sensor] = &sample;
  }
}

/// Adds a frame for each run of consecutive numbers.
/// \param max maximum number of items in a frame.
template <class Block, class Item>
void add_blocks(FrameBuffer& out, FrameType type, const std::vector<Item>& items, std::size_t max) {
  for (std::size_t at = 0; at < items.size();) {
    Block block{&items[at], 1};
    while (at + block.count < items.size() && block.count < max &&
           items[at + block.count].sequence == block.first->sequence + block.count) {
      ++block.count;
    }
    out.add(type, block);
    at += block.count;
  }
}

}  // namespace

void RowBlocks::add(const Row& row) {
  if (!rows_.empty() && (row.sequence != rows_.back()->sequence + 1 || rows_.size() == kMaxRows)) { flush(); }
  rows_.push_back(&row);
}

void RowBlocks::flush() {
  if (rows_.empty()) { return; }
  out_.add(FrameType::rows, RowsBlock{rows_});
  rows_.clear();
}

void add_metrics(FrameBuffer& out, const std::vector<Metric>& metrics) {
  add_blocks<MetricsBlock>(out, FrameType::metrics, metrics, 1024);
}

void add_samples(FrameBuffer& out, const std::vector<Sample>& samples) {
  add_blocks<SamplesBlock>(out, FrameType::samples, samples, 512);
}

bool read_rows(std::string_view payload, std::vector<Row>& rows) {
  Decoder in(payload);
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  in.number(sequence);
  in.number(count);
  constexpr std::size_t kMinRow = 3;  // minimum bytes of a row: flags, begin and time
  if (!in.ok() || count > payload.size() / kMinRow) { return false; }
  rows.reserve(static_cast<std::size_t>(count));  // keeps row addresses stable
  Before before;
  for (std::uint64_t at = 0; at < count; ++at) {
    Row row;
    if (!read_row(in, before, row)) { return false; }
    row.sequence = sequence + at;
    rows.push_back(std::move(row));
    before.add(rows.back());
  }
  return true;
}

bool read_metrics(std::string_view payload, std::vector<Metric>& metrics) {
  Decoder in(payload);
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::vector<std::string> names;
  in.number(sequence);
  in.list(names, [](Decoder& inner, std::string& name) {
    inner.text(name);
    name = name.substr(0, RepairedName::kMaxBytes);  // maximum length of a metric name
  });
  in.number(count);
  if (!in.ok() || count > payload.size()) { return false; }
  Metric metric;
  for (std::uint64_t at = 0; at < count; ++at) {
    std::uint32_t name = 0;
    std::int64_t step = 0;
    std::int64_t time = 0;
    in.number(name);
    in.real(metric.value);
    in.number(step);
    in.number(time);
    if (!in.ok() || name >= names.size()) { return false; }
    metric.sequence = sequence + at;
    metric.name = names[name];
    metric.step = wrapped_sum(metric.step, step);
    metric.time_unix_ns = wrapped_sum(metric.time_unix_ns, time);
    metrics.push_back(metric);
  }
  return true;
}

bool read_samples(std::string_view payload, std::vector<Sample>& samples) {
  Decoder in(payload);
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  in.number(sequence);
  in.number(count);
  if (!in.ok() || count > payload.size()) { return false; }
  std::map<std::uint32_t, Sample> before;  // by sensor
  for (std::uint64_t at = 0; at < count; ++at) {
    Sample sample;
    in.number(sample.sensor);
    in.number(sample.time_ns);
    in.list(sample.values, [](Decoder& inner, std::int64_t& value) { inner.number(value); });
    if (!in.ok()) { return false; }
    Sample& last = before[sample.sensor];
    sample.sequence = sequence + at;
    sample.time_ns = wrapped_sum(sample.time_ns, last.time_ns);
    for (std::size_t place = 0; place < std::min(sample.values.size(), last.values.size()); ++place) {
      sample.values[place] = wrapped_sum(sample.values[place], last.values[place]);
    }
    last = sample;
    samples.push_back(std::move(sample));
  }
  return true;
}

}  // namespace detail
TAKT_END_NAMESPACE
