// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {

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
  static constexpr std::size_t kMostBlocks = (std::size_t{256} << 20U) / kBlockBytes;
  static constexpr std::size_t kWords = kMostBlocks / 64;

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

}  // namespace detail
TAKT_END_NAMESPACE
