// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "record/records.hpp"

#include <takt/config.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Wakes a thread of Takt. ring() takes no lock, and makes a system call only if a thread may be asleep and ring() was
/// not called since the last clear(). Each ring() is an exchange even if already rung: after a plain load, the thread
/// that clears could miss earlier writes. Any thread.
class Alarm {
 public:
  void ring() noexcept {
    if (state_.exchange(kRung, std::memory_order_release) == kAsleep) { wake(); }  // pairs with clear()
  }
  /// Resets the alarm; the caller sees all writes before ring(). Does not wake a sleeping thread.
  void clear() noexcept {
    std::uint32_t rung = kRung;
    state_.compare_exchange_strong(rung, kQuiet, std::memory_order_acquire);  // pairs with ring()
  }
  /// Sleeps until ring(), for at most `max`. Not thread-safe.
  void wait(std::chrono::milliseconds max) noexcept;

 private:
  static constexpr std::uint32_t kQuiet = 0;
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kRung = 2;

  void wake() noexcept;

  std::atomic<std::uint32_t> state_{kQuiet};
};

/// Memory of all outboxes of a process, in blocks, so that a burst on one thread can use what others do not. Taking and
/// returning a block is lock-free. Memory is allocated in one piece when a limit is set or the first block is taken,
/// and touched only when used. Any thread.
class OutboxPool {
 public:
  static constexpr std::size_t kBlockBytes = 4096;

  struct Block {
    std::atomic<Block*> next{nullptr};  ///< the next block of the same outbox
    std::uint32_t index = 0;            ///< index in the pool
    std::uint32_t bytes = 0;            ///< bytes used in `data`; valid once `next` is set
    unsigned char data[kBlockBytes - 16];
  };
  static_assert(sizeof(Block) == kBlockBytes, "a page, as a rule");

  explicit OutboxPool(std::size_t limit) noexcept { set_limit(limit); }
  ~OutboxPool();
  OutboxPool(const OutboxPool&) = delete;
  OutboxPool& operator=(const OutboxPool&) = delete;

  /// Sets the limit, in bytes; at most 256 MiB. Blocks in use stay in use.
  void set_limit(std::size_t bytes) noexcept;
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed) * kBlockBytes; }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed) * kBlockBytes; }

  /// Returns nullptr at the limit or without memory.
  Block* take() noexcept;
  void give(Block* block) noexcept;

 private:
  // One piece for the first block taken, and one more for each higher limit.
  static constexpr unsigned kPieces = 16;
  static constexpr std::size_t kMaxBlocks = (std::size_t{256} << 20U) / kBlockBytes;
  static constexpr std::size_t kWords = kMaxBlocks / 64;

  struct Piece {
    std::atomic<unsigned char*> memory{nullptr};
    std::size_t first = 0;  // index of the first block
    std::size_t blocks = 0;
  };

  bool reserve() noexcept;
  unsigned char* place_of(std::size_t block) const noexcept;

  std::atomic<std::size_t> limit_{0};  // in blocks
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> reserved_{0};
  std::atomic<std::size_t> hint_{0};           // a word that had a free block
  std::atomic<std::uint64_t> free_[kWords]{};  // one bit per block
  std::mutex growing_;
  unsigned pieces_ = 0;  // guarded by growing_
  Piece piece_[kPieces];
};

/// A queue of records with one writing and one reading thread, in blocks of a pool. Never blocks; drops records without
/// space and counts them by type.
class Outbox {
 public:
  static constexpr std::size_t kMaxBytes = sizeof(OutboxPool::Block::data);  ///< maximum size of a record

  /// \param pool must outlive the outbox.
  explicit Outbox(OutboxPool& pool) noexcept : pool_(pool), write_(pool.take()), read_(write_) {}
  ~Outbox() {
    while (read_ != nullptr) { next_block(); }
  }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  bool usable() const noexcept { return read_ != nullptr; }

  /// Writing thread: returns contiguous space for a record of `bytes`, or nullptr (counted). Fill it, then push().
  void* reserve(std::size_t bytes, Record::Type type) noexcept {
    if (TAKT_LIKELY(written_ + bytes <= kMaxBytes)) { return write_->data + written_; }
    return grow(bytes, type) ? write_->data : nullptr;
  }
  void push(std::size_t bytes) noexcept {
    written_ += bytes;
    head_.store(head_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);  // pairs with end()
  }
  /// Writing thread: adds a whole record.
  template <class T>
  bool put(T record, Record::Type type) noexcept {
    record.bytes = sizeof(T);
    record.type = type;
    void* place = reserve(sizeof(T), type);
    if (place == nullptr) { return false; }
    std::memcpy(place, &record, sizeof(T));
    push(sizeof(T));
    return true;
  }
  /// Writing thread: adds a metric, packed if possible.
  bool put_metric(const MetricRecord& metric) noexcept;
  /// Writing thread: returns true if a block filled since the last call.
  bool take_grown() noexcept {
    if (TAKT_LIKELY(!grown_)) { return false; }
    grown_ = false;
    return true;
  }

  /// Reading thread: returns the position after the newest record, for front(). Acquire: pairs with push().
  std::uint64_t end() const noexcept { return head_.load(std::memory_order_acquire); }
  /// Reading thread: returns the oldest record before `end`, or nullptr.
  const Record* front(std::uint64_t end) noexcept {
    if (tail_ == end) { return nullptr; }
    // Data before `end` that is not in this block is in the next one. Acquire: pairs with grow().
    if (read_->next.load(std::memory_order_acquire) != nullptr && read_bytes_ == read_->bytes) { next_block(); }
    return reinterpret_cast<const Record*>(read_->data + read_bytes_);
  }
  void pop() noexcept {
    const std::size_t bytes = reinterpret_cast<const Record*>(read_->data + read_bytes_)->bytes;
    read_bytes_ += bytes;
    tail_ += bytes;
  }
  /// Reading thread: decodes the metric at the front, packed or not.
  const MetricRecord& metric(const Record& record) noexcept;

  /// Any thread: returns the number of dropped records.
  std::uint64_t dropped(Record::Type type) const noexcept {
    return dropped_[static_cast<int>(type)].load(std::memory_order_relaxed);
  }

 private:
  TAKT_COLD bool grow(std::size_t bytes, Record::Type type) noexcept;
  void next_block() noexcept {
    OutboxPool::Block* const done = read_;
    read_ = done->next.load(std::memory_order_acquire);  // pairs with grow()
    read_bytes_ = 0;
    pool_.give(done);
  }

  OutboxPool& pool_;
  // Used by the writing thread.
  OutboxPool::Block* write_;
  std::size_t written_ = 0;    // bytes written in its block
  MetricRecord last_written_;  // the previous metric
  bool grown_ = false;
  std::atomic<std::uint64_t> head_{0};  // bytes pushed
  std::atomic<std::uint64_t> dropped_[Record::kTypes] = {};
  // Used by the reading thread.
  alignas(64) OutboxPool::Block* read_;
  std::size_t read_bytes_ = 0;
  std::uint64_t tail_ = 0;
  MetricRecord last_read_;
};

}  // namespace detail
TAKT_END_NAMESPACE
