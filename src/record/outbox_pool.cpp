// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/outbox_pool.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

OutboxPool::~OutboxPool() {
  for (Piece& piece : piece_) { std::free(piece.memory.load(std::memory_order_relaxed)); }
}

void OutboxPool::set_limit(std::size_t bytes) noexcept {
  limit_.store(std::clamp(bytes / kBlockBytes, std::size_t{1}, kMostBlocks), std::memory_order_relaxed);
  if (reserved_.load(std::memory_order_acquire) != 0) { (void)reserve(); }  // pairs with reserve()
}

/// Has memory for as many blocks as the limit is, or for half as many, and so on, where there is less.
bool OutboxPool::reserve() noexcept {
  const std::lock_guard<std::mutex> lock(growing_);
  const std::size_t reserved = reserved_.load(std::memory_order_relaxed);
  const std::size_t limit = limit_.load(std::memory_order_relaxed);
  if (reserved >= limit || pieces_ == kPieces) { return reserved != 0; }
  void* memory = nullptr;
  std::size_t blocks = limit - reserved;
  while (posix_memalign(&memory, kBlockBytes, blocks * kBlockBytes) != 0) {
    memory = nullptr;
    if ((blocks /= 2) == 0) { return reserved != 0; }
  }
  Piece& piece = piece_[pieces_++];
  piece.first = reserved;
  piece.blocks = blocks;
  piece.memory.store(static_cast<unsigned char*>(memory), std::memory_order_release);  // pairs with place_of()
  for (std::size_t block = reserved; block < reserved + blocks; ++block) {
    free_[block / 64].fetch_or(std::uint64_t{1} << (block % 64), std::memory_order_release);  // pairs with take()
  }
  reserved_.store(reserved + blocks, std::memory_order_release);  // pairs with take()
  return true;
}

unsigned char* OutboxPool::place_of(std::size_t block) const noexcept {
  for (const Piece& piece : piece_) {
    unsigned char* const memory = piece.memory.load(std::memory_order_acquire);  // pairs with reserve()
    if (memory == nullptr) { break; }
    if (block - piece.first < piece.blocks) { return memory + (block - piece.first) * kBlockBytes; }
  }
  return nullptr;
}

OutboxPool::Block* OutboxPool::take() noexcept {
  if (reserved_.load(std::memory_order_acquire) == 0 && !reserve()) { return nullptr; }  // pairs with reserve()
  if (used_.fetch_add(1, std::memory_order_relaxed) < limit_.load(std::memory_order_relaxed)) {
    const std::size_t words = (reserved_.load(std::memory_order_acquire) + 63) / 64;  // pairs with reserve()
    std::size_t word = hint_.load(std::memory_order_relaxed) % words;
    for (std::size_t tried = 0; tried < words; ++tried, word = (word + 1) % words) {
      std::uint64_t bits = free_[word].load(std::memory_order_acquire);  // pairs with give(), reserve()
      while (bits != 0) {
        const auto bit = static_cast<unsigned>(__builtin_ctzll(bits));
        if (!free_[word].compare_exchange_weak(bits, bits & (bits - 1), std::memory_order_acquire)) { continue; }
        hint_.store(word, std::memory_order_relaxed);
        auto* block = ::new (place_of(word * 64 + bit)) Block;
        block->index = static_cast<std::uint32_t>(word * 64 + bit);
        return block;
      }
    }
  }
  used_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

void OutboxPool::give(Block* block) noexcept {
  const std::uint32_t index = block->index;
  free_[index / 64].fetch_or(std::uint64_t{1} << (index % 64), std::memory_order_release);  // pairs with take()
  hint_.store(index / 64, std::memory_order_relaxed);
  used_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace detail
TAKT_END_NAMESPACE
