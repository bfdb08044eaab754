// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "record/outbox_pool.hpp"
#include "record/records.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// A queue of records with one writing and one reading thread, in blocks of a pool; never blocks, drops what there is
/// no room for and counts it by type.
class Outbox {
 public:
  static constexpr std::size_t kMostBytes = sizeof(OutboxPool::Block::data);  ///< of a record

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
    if (TAKT_LIKELY(written_ + bytes <= kMostBytes)) { return write_->data + written_; }
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
