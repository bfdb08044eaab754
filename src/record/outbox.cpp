// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "record/outbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <new>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

using std::chrono::steady_clock;

/// The futex word is the atomic's value.
long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* max) noexcept {
  static_assert(sizeof(word) == sizeof(std::uint32_t), "an atomic word is a word");
  return ::syscall(SYS_futex, &word, what | FUTEX_PRIVATE_FLAG, value, max, nullptr, 0);
}

}  // namespace

void Alarm::wait(std::chrono::milliseconds max) noexcept {
  const auto until = steady_clock::now() + max;
  std::uint32_t quiet = kQuiet;
  // Acquire, here and below: pairs with ring().
  if (!state_.compare_exchange_strong(quiet, kAsleep, std::memory_order_acquire) && quiet == kRung) { return; }
  while (state_.load(std::memory_order_acquire) == kAsleep) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - steady_clock::now()).count();
    if (left <= 0) { break; }
    timespec time = {};
    time.tv_sec = static_cast<time_t>(left / 1'000'000'000);
    time.tv_nsec = static_cast<long>(left % 1'000'000'000);
    if (futex(state_, FUTEX_WAIT, kAsleep, &time) != 0 && errno == ETIMEDOUT) { break; }
  }
  std::uint32_t asleep = kAsleep;
  state_.compare_exchange_strong(asleep, kQuiet, std::memory_order_acquire);  // pairs with ring()
}

/// Keeps errno, which the program may read next.
void Alarm::wake() noexcept {
  const int before = errno;
  futex(state_, FUTEX_WAKE, 1, nullptr);
  errno = before;
}

OutboxPool::~OutboxPool() {
  for (Piece& piece : piece_) { std::free(piece.memory.load(std::memory_order_relaxed)); }
}

void OutboxPool::set_limit(std::size_t bytes) noexcept {
  limit_.store(std::clamp(bytes / kBlockBytes, std::size_t{1}, kMaxBlocks), std::memory_order_relaxed);
  if (reserved_.load(std::memory_order_acquire) != 0) { (void)reserve(); }  // pairs with reserve()
}

/// Allocates memory up to the limit; on failure tries half as much, and so on.
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

bool Outbox::grow(std::size_t bytes, Record::Type type) noexcept {
  grown_ = true;
  OutboxPool::Block* const next = bytes > kMaxBytes ? nullptr : pool_.take();
  if (next == nullptr) {
    dropped_[static_cast<int>(type)].fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  write_->bytes = static_cast<std::uint32_t>(written_);
  write_->next.store(next, std::memory_order_release);  // pairs with front()
  write_ = next;
  written_ = 0;
  return true;
}

bool Outbox::put_metric(const MetricRecord& metric) noexcept {
  if (!PackedMetric::fits(metric, last_written_)) {
    if (!put(metric, Record::Type::metric)) { return false; }
  } else {
    void* const place = reserve(sizeof(PackedMetric), Record::Type::metric);
    if (place == nullptr) { return false; }
    const PackedMetric packed(metric, last_written_);
    std::memcpy(place, &packed, sizeof(packed));
    push(sizeof(packed));
  }
  last_written_ = metric;
  return true;
}

const MetricRecord& Outbox::metric(const Record& record) noexcept {
  if (record.type == Record::Type::packed_metric) {
    PackedMetric::get(&record, last_read_);
  } else {
    last_read_ = static_cast<const MetricRecord&>(record);
  }
  return last_read_;
}

}  // namespace detail
TAKT_END_NAMESPACE
