// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {

class Recorder;

/// Plain records that a thread sends to the collector. Sizes are multiples of 8. Rows and metrics have high rates, so
/// theirs are packed (RowRecord, PackedMetric).
struct Record {
  enum class Type : std::uint8_t { row, amendment, metric, packed_metric, events, span, device_span };
  static constexpr int kTypes = 7;

  std::uint16_t bytes = 0;  ///< size of the whole record
  Type type = Type::row;
  std::uint8_t flags = 0;
  std::uint32_t series = 0;  ///< for rows and amendments
};
static_assert(sizeof(Record) == 8, "records are counted in words");

/// One step; followed by a RowDevice if kHasDevice is set, and by cells up to the end of the record.
struct RowRecord : Record {
  static constexpr std::uint8_t kWarmup = 1;
  static constexpr std::uint8_t kHasDevice = 2;

  std::uint64_t row = 0;  ///< number in the series
  std::int64_t step = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::int64_t period_ns = -1;
  std::int64_t items = 0;
};
/// Part of a row in which a device span began.
struct RowDevice {
  std::uint32_t pending = 0;  ///< device spans of this row that amendments will report
  std::uint32_t lost = 0;     ///< device spans of this row that are known to be missing
  std::uint64_t spans = 0;    ///< device spans that began in this row, whatever their outcome
};

/// One column of a row.
struct CellRecord {
  static constexpr std::uint32_t kOther = 0xFFFFFFFF;
  std::uint32_t node = kOther;  ///< index in the thread's tree; kOther: all paths without a column
  std::uint32_t calls = 0;
  std::int64_t host_ns = 0;
  std::int64_t device_ns = -1;  ///< -1: none yet
};

/// Encodes a cell in one word if it fits: 12 bits of node, 16 of calls, 36 of time (68 s). Otherwise calls are 0 in
/// that word, and three words with the values follow.
class PackedCell {
 public:
  static constexpr std::size_t kMaxWords = 4;

  /// Returns the position after the cell.
  static std::uint64_t* put(std::uint64_t* to, const CellRecord& cell) noexcept {
    if (fits(cell)) {
      *to = word(cell.node, cell.calls, static_cast<std::uint64_t>(cell.host_ns));
      return to + 1;
    }
    to[0] = 0;
    to[1] = std::uint64_t{cell.node} << 32U | cell.calls;
    to[2] = static_cast<std::uint64_t>(cell.host_ns);
    to[3] = static_cast<std::uint64_t>(cell.device_ns);
    return to + kMaxWords;
  }
  /// Writes a cell without device time, the usual case. REQUIRES: `calls` is not 0.
  static std::uint64_t* put_host(std::uint64_t* to, std::uint32_t node, std::uint64_t calls,
                                 std::uint64_t ns) noexcept {
    if (TAKT_LIKELY(((calls >> kCallBits) | (ns >> kTimeBits)) == 0)) {
      *to = word(node, calls, ns);
      return to + 1;
    }
    return put(to, CellRecord{node, static_cast<std::uint32_t>(calls), static_cast<std::int64_t>(ns), -1});
  }
  /// Returns the position after the cell.
  static const std::uint64_t* get(const std::uint64_t* from, CellRecord& cell) noexcept {
    if (from[0] != 0) {
      cell.node = static_cast<std::uint32_t>(from[0] & ((1U << kNodeBits) - 1));
      cell.calls = static_cast<std::uint32_t>(from[0] >> kNodeBits & ((1U << kCallBits) - 1));
      cell.host_ns = static_cast<std::int64_t>(from[0] >> (kNodeBits + kCallBits));
      cell.device_ns = -1;
      return from + 1;
    }
    cell.node = static_cast<std::uint32_t>(from[1] >> 32U);
    cell.calls = static_cast<std::uint32_t>(from[1]);
    cell.host_ns = static_cast<std::int64_t>(from[2]);
    cell.device_ns = static_cast<std::int64_t>(from[3]);
    return from + kMaxWords;
  }

 private:
  static constexpr unsigned kNodeBits = 12;  // Tree::kMaxNodes
  static constexpr unsigned kCallBits = 16;
  static constexpr unsigned kTimeBits = 36;

  static std::uint64_t word(std::uint64_t node, std::uint64_t calls, std::uint64_t ns) noexcept {
    return node | calls << kNodeBits | ns << (kNodeBits + kCallBits);
  }
  static bool fits(const CellRecord& cell) noexcept {
    return cell.node >> kNodeBits == 0 && cell.calls >> kCallBits == 0 && cell.calls != 0 && cell.host_ns >= 0 &&
           cell.host_ns >> kTimeBits == 0 && cell.device_ns < 0;
  }
};

/// The outcome of one device span of a row that was sent before.
struct AmendmentRecord : Record {
  static constexpr std::uint8_t kOfBatch = 1;  ///< a span of the Batch itself
  std::uint64_t node = 0;                      ///< as in CellRecord
  std::uint64_t row = 0;
  std::int64_t device_ns = -1;  ///< -1: dropped
};

struct MetricRecord : Record {
  std::uint64_t name = 0;  ///< number of the name, see MetricNames
  double value = 0;
  std::int64_t step = 0;
  std::uint64_t ns = 0;  ///< on the clock of the process
};
/// A metric soon after another one with the same step, in two words: the first has 16 bits of size, 8 of type, 12 of
/// name and 28 of the time since the previous metric.
struct PackedMetric {
  static constexpr unsigned kNameBits = 12;
  static constexpr unsigned kTimeBits = 28;

  std::uint64_t head = 0;
  double value = 0;

  static bool fits(const MetricRecord& metric, const MetricRecord& before) noexcept {
    return metric.step == before.step && metric.name >> kNameBits == 0 && metric.ns - before.ns < 1U << kTimeBits;
  }
  PackedMetric(const MetricRecord& metric, const MetricRecord& before) noexcept
      : head(sizeof(PackedMetric) | static_cast<std::uint64_t>(Record::Type::packed_metric) << 16U |
             metric.name << 24U | (metric.ns - before.ns) << (24U + kNameBits)),
        value(metric.value) {}
  /// \param record of type packed_metric.
  /// \param metric the previous metric; becomes this one.
  static void get(const Record* record, MetricRecord& metric) noexcept {
    std::uint64_t head = 0;
    std::memcpy(&head, record, sizeof(head));
    metric.name = head >> 24U & ((1U << kNameBits) - 1);
    metric.ns += head >> (24U + kNameBits);
    std::memcpy(&metric.value, record + 1, sizeof(metric.value));
  }
};
static_assert(sizeof(PackedMetric) == 16, "two words");

/// Events as recorded, for the time line; the events follow.
struct EventsRecord : Record {
  std::uint64_t last_ticks = 0;  ///< time of the event before
  std::uint32_t source = 0;      ///< ClockSource
  std::uint32_t place = 0;       ///< arena index of the first event
};
/// A region that ended on another thread, for the time line.
struct SpanRecord : Record {
  const Recorder* opener = nullptr;
  std::uint32_t region = 0;  ///< its id in the opener
  std::uint32_t thread = 0;  ///< number of the opener's thread
  std::uint64_t key = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// A resolved device span, for the time line. `series` is that of its row; kNoSeries: it is in no row.
struct DeviceSpanRecord : Record {
  static constexpr std::uint32_t kNoSeries = 0xFFFFFFFF;
  DeviceSpanRecord() noexcept { series = kNoSeries; }
  const char* device = "";     ///< name of the backend
  const void* line = nullptr;  ///< device clock; nullptr: unknown, and the device times are invalid
  const void* stream = nullptr;
  double begin_ns = 0;  ///< on that device clock
  double end_ns = 0;
  double error_ns = 0;
  std::uint64_t begin_submitted_ns = 0;  ///< both not later than the event's submission, on the process's clock
  std::uint64_t end_submitted_ns = 0;
  std::uint64_t seen_ns = 0;  ///< not before both events completed
  std::uint64_t key = 0;
  std::uint64_t row = 0;
  std::uint32_t thread = 0;
  std::uint64_t waits_for = 0;  ///< Exposed::For
};

}  // namespace detail
TAKT_END_NAMESPACE
