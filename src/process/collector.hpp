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

struct AnsweredSpan;

/// What has been collected and is ready for exporters.
struct Drained {
  std::vector<Row> rows;
  std::vector<Metric> metrics;
  std::vector<Span> spans;
  std::vector<Row> early;       ///< that wait, as they stand; where that is new
  std::vector<Sample> samples;  ///< which others have taken
};

/// Turns the records of threads into rows, metrics and spans. A row waits here until its device values are in, or 1 024
/// later ones of its series are. One thread at a time (Registry's collect lock).
class Collector {
 public:
  static constexpr std::uint64_t kMaxLag = 1024;  ///< rows

  Collector(const Clock& clock, const KeyTable& keys) : clock_(clock), keys_(keys) {}

  /// Of rows, metrics and spans not yet harvested, in bytes.
  void set_limit(std::size_t bytes) noexcept { limit_ = bytes; }
  /// Half of the limit is ready: harvest before there is more.
  bool is_full() const noexcept { return ready_bytes() >= limit_ / 2; }

  enum class Much {
    some,   ///< until it is_full()
    all,    ///< beyond the limit the oldest go, counted
    whole,  ///< beyond the limit, too: the harvest follows at once
  };
  /// Takes what is before `end` out of `outbox`. `paths` maps nodes of the thread's tree to paths of the process.
  /// Returns whether that was all.
  bool drain(Outbox& outbox, std::uint64_t end, const Recorder* from, std::uint32_t thread,
             const std::vector<std::uint32_t>& paths, Much much = Much::all);
  /// Takes a result that its thread has not taken in yet, unless its row is not here.
  void take(AnsweredSpan& span, const std::vector<std::uint32_t>& paths);
  /// Nothing more will come from the thread that records with `recorder`.
  void forget(const Recorder* recorder) { open_spans_.erase(recorder); }
  /// Hands over what is ready; `all`: rows that still wait, too, incomplete.
  Drained drained(bool all);
  /// What was dropped because no Session took it.
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
    std::uint64_t number = 0;  ///< in its series
    std::uint32_t device_pending = 0;
    std::uint32_t device_spans = 0;
    bool is_new = true;  // has changed since it was harvested
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
  std::size_t row_bytes_ = 0;      // of rows_
  std::size_t waiting_bytes_ = 0;  // of waiting_
  std::uint64_t next_row_ = 0;
  std::uint64_t next_early_ = 1;
  std::uint64_t next_metric_ = 0;
  std::uint64_t next_span_ = 0;
  Dropped dropped_;
  std::uint64_t incomplete_ = 0;
  std::uint64_t lost_spans_ = 0;
  DeviceTimeLines time_lines_;
  std::unordered_map<const Recorder*, std::vector<OpenSpan>> open_spans_;  // by place in the arena
};

}  // namespace detail
TAKT_END_NAMESPACE
