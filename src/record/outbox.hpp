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

/// Wakes a thread of Takt. ring() takes no lock, and is a system call only if a thread may be asleep and it
/// has not rung since the last clear(). Each ring is an exchange, also where it has rung: by a look alone the thread
/// that clears it could miss what was done before. Any thread.
class Alarm {
 public:
  void ring() noexcept {
    if (state_.exchange(kRung, std::memory_order_release) == kAsleep) { wake(); }  // pairs with clear()
  }
  /// The caller sees what happened before the ring. A thread that sleeps goes on sleeping.
  void clear() noexcept {
    std::uint32_t rung = kRung;
    state_.compare_exchange_strong(rung, kQuiet, std::memory_order_acquire);  // pairs with ring()
  }
  /// Sleeps until it has rung, for at most `most`. One thread at a time.
  void wait(std::chrono::milliseconds max) noexcept;

 private:
  static constexpr std::uint32_t kQuiet = 0;
  static constexpr std::uint32_t kAsleep = 1;
  static constexpr std::uint32_t kRung = 2;

  void wake() noexcept;

  std::atomic<std::uint32_t> state_{kQuiet};
};

/// The memory of all outboxes of a process, in blocks, so that a burst on one thread may take what others leave. A
/// block is taken and given back without a lock; memory for all of them is taken in one piece, when a limit is set or
/// the first block is taken, and touched only as far as it is used. Any thread.
class OutboxPool {
 public:
  static constexpr std::size_t kBlockBytes = 4096;

  struct Block {
    std::atomic<Block*> next{nullptr};  ///< the one that its outbox goes on with
    std::uint32_t index = 0;            ///< in the pool
    std::uint32_t bytes = 0;            ///< used of `data`; holds once there is a next one
    unsigned char data[kBlockBytes - 16];
  };
  static_assert(sizeof(Block) == kBlockBytes, "a page, as a rule");

  explicit OutboxPool(std::size_t limit) noexcept { set_limit(limit); }
  ~OutboxPool();
  OutboxPool(const OutboxPool&) = delete;
  OutboxPool& operator=(const OutboxPool&) = delete;

  /// How much may be taken from now on, in bytes; at most 256 MiB. Blocks that are taken already stay taken.
  void set_limit(std::size_t bytes) noexcept;
  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed) * kBlockBytes; }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed) * kBlockBytes; }

  /// nullptr where the limit is reached, or there is no memory.
  Block* take() noexcept;
  void give(Block* block) noexcept;

 private:
  // Memory is had in pieces: one when the first block is taken, one more for each higher limit.
  static constexpr unsigned kPieces = 16;
  static constexpr std::size_t kMaxBlocks = (std::size_t{256} << 20U) / kBlockBytes;
  static constexpr std::size_t kWords = kMaxBlocks / 64;

  struct Piece {
    std::atomic<unsigned char*> memory{nullptr};
    std::size_t first = 0;  // block
    std::size_t blocks = 0;
  };

  bool reserve() noexcept;
  unsigned char* place_of(std::size_t block) const noexcept;

  std::atomic<std::size_t> limit_{0};  // in blocks
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> reserved_{0};
  std::atomic<std::size_t> hint_{0};           // word in which a block was free
  std::atomic<std::uint64_t> free_[kWords]{};  // a bit a block
  std::mutex growing_;
  unsigned pieces_ = 0;  // under growing_
  Piece piece_[kPieces];
};

/// A queue of records with one writing and one reading thread, in blocks of a pool; never blocks, drops what there is
/// no room for and counts it by type.
class Outbox {
 public:
  static constexpr std::size_t kMaxBytes = sizeof(OutboxPool::Block::data);  ///< of a record

  /// \param pool outlives it.
  explicit Outbox(OutboxPool& pool) noexcept : pool_(pool), write_(pool.take()), read_(write_) {}
  ~Outbox() {
    while (read_ != nullptr) { next_block(); }
  }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  bool usable() const noexcept { return read_ != nullptr; }

  /// Writing thread: room for a record of `bytes` in one piece, nullptr (counted) where there is none. Fill it and
  /// push().
  void* reserve(std::size_t bytes, Record::Type type) noexcept {
    if (TAKT_LIKELY(written_ + bytes <= kMaxBytes)) { return write_->data + written_; }
    return grow(bytes, type) ? write_->data : nullptr;
  }
  void push(std::size_t bytes) noexcept {
    written_ += bytes;
    head_.store(head_.load(std::memory_order_relaxed) + bytes, std::memory_order_release);  // pairs with end()
  }
  /// Writing thread: a whole record.
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
  /// Writing thread: a metric, packed where it can be.
  bool put_metric(const MetricRecord& metric) noexcept;
  /// Writing thread: whether a block has filled up since this was last asked.
  bool take_grown() noexcept {
    if (TAKT_LIKELY(!grown_)) { return false; }
    grown_ = false;
    return true;
  }

  /// Reading thread: the place behind the newest record, for front().
  /// Acquire: pairs with push().
  std::uint64_t end() const noexcept { return head_.load(std::memory_order_acquire); }
  /// Reading thread: the oldest record before `end`, nullptr if there is none.
  const Record* front(std::uint64_t end) noexcept {
    if (tail_ == end) { return nullptr; }
    // What is before `end` and not in this block is in the next one.
    // Acquire: pairs with grow().
    if (read_->next.load(std::memory_order_acquire) != nullptr && read_bytes_ == read_->bytes) { next_block(); }
    return reinterpret_cast<const Record*>(read_->data + read_bytes_);
  }
  void pop() noexcept {
    const std::size_t bytes = reinterpret_cast<const Record*>(read_->data + read_bytes_)->bytes;
    read_bytes_ += bytes;
    tail_ += bytes;
  }
  /// Reading thread: the metric that stands at the front, of either type.
  const MetricRecord& metric(const Record& record) noexcept;

  /// Any thread: records dropped so far.
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
  // Of the writing thread.
  OutboxPool::Block* write_;
  std::size_t written_ = 0;    // in its block
  MetricRecord last_written_;  // metric
  bool grown_ = false;
  std::atomic<std::uint64_t> head_{0};  // bytes pushed
  std::atomic<std::uint64_t> dropped_[Record::kTypes] = {};
  // Of the reading thread.
  alignas(64) OutboxPool::Block* read_;
  std::size_t read_bytes_ = 0;
  std::uint64_t tail_ = 0;
  MetricRecord last_read_;
};

}  // namespace detail
TAKT_END_NAMESPACE
