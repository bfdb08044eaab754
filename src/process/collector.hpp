// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "process/device_time_lines.hpp"
#include "record/clock.hpp"
#include "record/names.hpp"
#include "record/outbox.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Collected data, ready for exporters.
struct Drained {
  std::vector<Row> rows;
  std::vector<Metric> metrics;
  std::vector<Span> spans;
  std::vector<Row> early;       ///< rows that still wait, in their current state, if it changed
  std::vector<Sample> samples;  ///< filled in by other code
};

/// Converts the records of threads to rows, metrics and spans. A row waits here for its device values, at most until 1
/// 024 later rows of its series have arrived. Not thread-safe (Registry's collect lock).
class Collector {
 public:
  static constexpr std::uint64_t kMaxLag = 1024;  ///< in rows

  Collector(const Clock& clock, const KeyTable& keys) : clock_(clock), keys_(keys) {}

  /// Sets the limit for rows, metrics and spans that are not drained yet, in bytes.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  /// Returns true if the data that is ready reaches half of the limit: drain it first.
  bool is_full() const noexcept { return ready_bytes() >= limit_ / 2; }

  enum class Much {
    some,   ///< stop when is_full()
    all,    ///< drop the oldest data above the limit, counted
    whole,  ///< ignore the limit: drained() follows immediately
  };
  /// Takes the records before `end` from `outbox`. `paths` maps nodes of the thread's tree to paths of the process.
  /// Returns true if none is left.
  bool drain(Outbox& outbox, std::uint64_t end, const Recorder* from, std::uint32_t thread,
             const std::vector<std::uint32_t>& paths, Much much = Much::all);
  /// Forgets a recorder that will send nothing more.
  void forget(const Recorder* recorder) { open_spans_.erase(recorder); }
  /// Returns the data that is ready; `all`: also rows that still wait, as incomplete.
  Drained drained(bool all);
  /// Numbers of records dropped because no Session took them.
  struct Dropped {
    std::uint64_t rows = 0;
    std::uint64_t metrics = 0;
    std::uint64_t spans = 0;
  };
  const Dropped& dropped() const noexcept { return dropped_; }
  std::uint64_t incomplete_rows() const noexcept { return incomplete_; }
  std::uint64_t lost_spans() const noexcept { return lost_spans_; }
  const DeviceTimeLines& time_lines() const noexcept { return time_lines_; }

 private:
  struct Waiting {
    Row row;
    std::uint64_t number = 0;  ///< row number in its series
    std::uint32_t device_pending = 0;
    std::uint32_t device_spans = 0;
    bool is_new = true;  // changed since it was drained
  };
  struct OpenSpan {
    std::uint64_t key = 0;
    ClockSource source = ClockSource::counter;
    std::uint64_t begin_ns = 0;
  };
  struct EventSpans;
  using Paths = std::vector<std::uint32_t>;

  void count_dropped(Record::Type type) noexcept;
  void take(Outbox& outbox, const Record& record, const Recorder* from, std::uint32_t thread, const Paths& paths);
  void take_row(const RowRecord& record, const Paths& paths);
  void take_amendment(const AmendmentRecord& record, const Paths& paths);
  void take_metric(const MetricRecord& record);
  void take_events(const EventsRecord& record, const Recorder* from, std::uint32_t thread);
  void take_span(const SpanRecord& record);
  void take_device_span(const DeviceSpanRecord& record);
  void place_device_spans();
  void add_span(std::uint32_t thread, std::uint64_t key, std::uint64_t begin_ns, std::uint64_t end_ns);
  void finish(Waiting& waiting, bool complete);
  void release_old(std::uint32_t series, std::uint64_t newest);
  void give_up(std::map<std::pair<std::uint32_t, std::uint64_t>, Waiting>::iterator at);
  void bound_waiting();
  void bound();
  std::size_t ready_bytes() const noexcept {
    return row_bytes_ + metrics_.size() * sizeof(Metric) + spans_.size() * sizeof(Span);
  }
  std::size_t bytes() const noexcept { return ready_bytes() + waiting_bytes_ + time_lines_.bytes(); }

  const Clock& clock_;
  const KeyTable& keys_;
  std::size_t limit_ = 4U << 20U;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Waiting> waiting_;  // by series and row
  std::deque<Row> rows_;
  std::deque<Metric> metrics_;
  std::deque<Span> spans_;
  std::size_t row_bytes_ = 0;      // size of rows_
  std::size_t waiting_bytes_ = 0;  // size of waiting_
  std::uint64_t next_row_ = 0;
  std::uint64_t next_early_ = 1;
  std::uint64_t next_metric_ = 0;
  std::uint64_t next_span_ = 0;
  Dropped dropped_;
  std::uint64_t incomplete_ = 0;
  std::uint64_t lost_spans_ = 0;
  DeviceTimeLines time_lines_;
  std::unordered_map<const Recorder*, std::vector<OpenSpan>> open_spans_;  // open spans by place in the arena
};

}  // namespace detail
TAKT_END_NAMESPACE
