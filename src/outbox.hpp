// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/event.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What a thread hands to the collector, as plain records. Sizes are multiples of 8.
struct Record {
  enum class Type : std::uint32_t { padding, row, amendment, metric, events, span, device_span };
  std::uint32_t bytes = 0;  ///< of the whole record
  Type type = Type::padding;
};

/// One step; followed by `cells` CellRecords.
struct RowRecord : Record {
  std::uint32_t series = 0;
  std::uint32_t cells = 0;
  std::uint64_t row = 0;  ///< number in the series
  std::int64_t step = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::int64_t period_ns = -1;
  std::int64_t items = 0;
  std::uint32_t device_pending = 0;  ///< device spans of this row that amendments will bring
  std::uint32_t device_lost = 0;     ///< device spans of this row that are known not to come
  std::uint32_t warmup = 0;
  std::uint32_t device_spans = 0;  ///< that were begun in this row, whatever becomes of them
};
struct CellRecord {
  static constexpr std::uint32_t kOther = 0xFFFFFFFF;
  std::uint32_t node = kOther;  ///< index in the thread's tree; kOther: all paths without a column
  std::uint32_t calls = 0;
  std::int64_t host_ns = 0;
  std::int64_t device_ns = -1;  ///< -1: none yet
};
/// The outcome of one device span of a row that was handed over before.
struct AmendmentRecord : Record {
  std::uint32_t series = 0;
  std::uint32_t node = 0;  ///< as in CellRecord
  std::uint64_t row = 0;
  std::int64_t device_ns = -1;  ///< -1: lost
  std::uint64_t of_batch = 0;   ///< 1: the Batch's own
};
struct MetricRecord : Record {
  std::uint64_t name = 0;  ///< number of the name, see MetricNames
  double value = 0;
  std::int64_t step = 0;
  std::uint64_t ns = 0;  ///< on the clock of the process
};
/// Events as recorded, for the time line; followed by them.
struct EventsRecord : Record {
  std::uint64_t last_ticks = 0;  ///< of the event before
  std::uint32_t source = 0;      ///< ClockSource
  std::uint32_t place = 0;       ///< in the arena, of the first
};
class Recorder;
/// A region that ended on another thread, for the time line.
struct SpanRecord : Record {
  const Recorder* opener = nullptr;
  std::uint32_t region = 0;  ///< its id there
  std::uint32_t thread = 0;  ///< the opener's
  std::uint64_t key = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
};

/// A device span that has resolved, for the time line.
struct DeviceSpanRecord : Record {
  static constexpr std::uint32_t kNoSeries = 0xFFFFFFFF;
  const char* device = "";     ///< name of its backend
  const void* line = nullptr;  ///< its time line; nullptr: it has no place there, and the rest says nothing
  const void* stream = nullptr;
  double begin_ns = 0;  ///< on its time line
  double end_ns = 0;
  double error_ns = 0;
  std::uint64_t begin_submitted_ns = 0;  ///< on the clock of the process, both not after the mark was recorded
  std::uint64_t end_submitted_ns = 0;
  std::uint64_t seen_ns = 0;  ///< not before both were reached
  std::uint64_t key = 0;
  std::uint64_t row = 0;
  std::uint32_t series = kNoSeries;  ///< whose row it is in; kNoSeries: in none
  std::uint32_t thread = 0;
  std::uint64_t waits_for = 0;  ///< Exposed::For
};

/// A ring of records with one writing and one reading thread; never blocks, drops what does not fit and counts it.
/// The memory is reserved at once and touched only as far as it is used.
class Outbox {
 public:
  /// \param bytes capacity, a power of two.
  explicit Outbox(std::size_t bytes) noexcept
      : size_(bytes), memory_(static_cast<unsigned char*>(std::malloc(bytes))) {}
  ~Outbox() { std::free(memory_); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  bool usable() const noexcept { return memory_ != nullptr; }
  std::size_t size() const noexcept { return size_; }

  /// Writing thread: room for a record of `bytes` in one piece, nullptr (counted) where there is none. Fill it and push().
  void* reserve(std::size_t bytes) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    const std::size_t offset = head & (size_ - 1);
    const std::size_t padding = offset + bytes > size_ ? size_ - offset : 0;
    if (head + padding + bytes - tail_.load(std::memory_order_acquire) > size_) {  // partner: pop()
      dropped_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    if (padding != 0) {
      Record record;
      record.bytes = static_cast<std::uint32_t>(padding);
      std::memcpy(memory_ + offset, &record, sizeof(record));
      head_.store(head + padding, std::memory_order_release);
      return memory_;
    }
    return memory_ + offset;
  }
  void push(std::size_t bytes) noexcept {
    head_.store(head_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);  // partner: end()
  }
  /// Writing thread: a whole record.
  template <class T>
  bool put(T record, Record::Type type) noexcept {
    record.bytes = sizeof(T);
    record.type = type;
    void* place = reserve(sizeof(T));
    if (place == nullptr) { return false; }
    std::memcpy(place, &record, sizeof(T));
    push(sizeof(T));
    return true;
  }

  /// Reading thread: the place behind the newest record, for front().
  std::uint64_t end() const noexcept { return head_.load(std::memory_order_acquire); }
  /// Reading thread: the oldest record before `end`, nullptr if there is none.
  const Record* front(std::uint64_t end) noexcept {
    for (;;) {
      const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
      if (tail == end) { return nullptr; }
      const auto* record = reinterpret_cast<const Record*>(memory_ + (tail & (size_ - 1)));
      if (record->type != Record::Type::padding) { return record; }
      pop();
    }
  }
  void pop() noexcept {
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const auto* record = reinterpret_cast<const Record*>(memory_ + (tail & (size_ - 1)));
    tail_.store(tail + record->bytes, std::memory_order_release);
  }
  /// Any thread: records dropped so far.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

 private:
  std::size_t size_;
  unsigned char* memory_;
  std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> tail_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

}  // namespace detail
TAKT_END_NAMESPACE
