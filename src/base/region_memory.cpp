// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/region_memory.hpp"

#include "base/text.hpp"

#include <takt/detail/not_cancelled.hpp>
#include <takt/memory.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>

#include <fcntl.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

std::atomic<MemoryQuery> allocator_memory{nullptr};

/// The bytes in use at one time; below 0: unknown.
struct MemoryNow {
  std::int64_t resident = resident_bytes();
  std::int64_t allocator = -1;
};

MemoryNow memory_now() noexcept {
  MemoryNow now;
  if (const MemoryQuery query =
          allocator_memory.load(std::memory_order_acquire)) {  // pairs with set_allocator_memory()
    now.allocator = query();
  }
  return now;
}

void add_call(MemoryFigures& figures, std::int64_t begin, std::int64_t end, std::int64_t peak) noexcept {
  if (begin < 0 || end < 0) { return; }
  const std::int64_t change = end - begin;
  figures.max_change_bytes = figures.calls == 0 ? change : std::max(figures.max_change_bytes, change);
  figures.peak_bytes = std::max(figures.peak_bytes, peak);
  figures.change_bytes += change;
  ++figures.calls;
}

/// The regions of one process. Any thread.
class MemoryOfRegions {
 public:
  std::uint32_t begin(const Key& key) noexcept {
    const MemoryNow now = memory_now();
    const std::lock_guard<std::mutex> lock(mutex_);
    auto* const free = std::find_if(open_, open_ + kMaxOpen, [](const Open& each) { return each.key == 0; });
    const std::uint32_t number = free == open_ + kMaxOpen ? 0 : number_of(key);
    if (number == 0) {
      ++lost_;
      return 0;
    }
    *free = {number, now, now.resident};
    return static_cast<std::uint32_t>(free - open_) + 1;
  }
  void end(std::uint32_t number) noexcept {
    const MemoryNow now = memory_now();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (number > kMaxOpen || open_[number - 1].key == 0) { return; }  // of the parent, before a fork
    Open& open = open_[number - 1];
    RegionMemory& sum = sums_[open.key - 1];
    const MemoryNow& begin = open.begin;
    add_call(sum.resident, begin.resident, now.resident, std::max(open.peak, now.resident));
    add_call(sum.allocator, begin.allocator, now.allocator, std::max(begin.allocator, now.allocator));
    open.key = 0;
  }
  void sample(std::int64_t bytes) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Open& each : open_) { each.peak = std::max(each.peak, bytes); }
  }
  std::vector<RegionMemory> read(std::uint64_t& lost) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lost = lost_;
    return sums_;
  }

 private:
  static constexpr std::size_t kMaxOpen = 64;
  static constexpr std::size_t kMaxKeys = 64;

  struct Open {
    std::uint32_t key = 0;  // number in sums_, from 1; 0: free
    MemoryNow begin{-1, -1};
    std::int64_t peak = -1;
  };

  /// Returns 0 beyond the bound or without memory.
  std::uint32_t number_of(const Key& key) noexcept try {
    const auto found = std::find(keys_.begin(), keys_.end(), key.hash());
    const auto number = static_cast<std::uint32_t>(found - keys_.begin()) + 1;
    if (found != keys_.end()) { return number; }
    if (keys_.size() == kMaxKeys) { return 0; }
    RegionMemory sum;
    sum.name = repaired_name(key.name());
    keys_.reserve(keys_.size() + 1);
    sums_.push_back(std::move(sum));
    keys_.push_back(key.hash());
    return number;
  } catch (const std::bad_alloc&) { return 0; }

  std::mutex mutex_;
  Open open_[kMaxOpen];
  std::vector<std::uint64_t> keys_;  // hashes of the keys of sums_
  std::vector<RegionMemory> sums_;
  std::uint64_t lost_ = 0;
};

/// Never destroyed, because static destructors may still use it. nullptr: no MemoryScope yet.
std::atomic<MemoryOfRegions*> memory_of_process{nullptr};

/// Returns nullptr if out of memory.
MemoryOfRegions* memory_to_note() noexcept {
  MemoryOfRegions* there = memory_of_process.load(std::memory_order_acquire);  // pairs with the exchange below
  if (there != nullptr) { return there; }
  auto* const made = new (std::nothrow) MemoryOfRegions;
  if (made == nullptr || memory_of_process.compare_exchange_strong(there, made, std::memory_order_acq_rel)) {
    return made;
  }
  delete made;
  return there;
}

}  // namespace

std::int64_t resident_bytes() noexcept {
  const NotCancelled whole;
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) { return -1; }
  char text[128] = {};
  const ssize_t count = ::read(file, text, sizeof text - 1);
  ::close(file);
  char* second = nullptr;  // "size resident ...", in pages
  std::strtoll(text, &second, 10);
  char* end = nullptr;
  const long long pages = std::strtoll(second, &end, 10);
  return count <= 0 || end == second ? -1 : pages * ::sysconf(_SC_PAGESIZE);
}

void note_resident_sample(std::int64_t bytes) noexcept {
  MemoryOfRegions* const regions = memory_of_process.load(std::memory_order_acquire);  // pairs with memory_to_note()
  if (regions != nullptr) { regions->sample(bytes); }
}

std::vector<RegionMemory> region_memories(std::uint64_t& lost) {
  MemoryOfRegions* const regions = memory_of_process.load(std::memory_order_acquire);  // pairs with memory_to_note()
  return regions == nullptr ? std::vector<RegionMemory>() : regions->read(lost);
}

void memory_after_fork() noexcept { memory_of_process.store(nullptr, std::memory_order_relaxed); }

std::uint32_t begin_memory(const Key& key) noexcept {
  if (!enabled()) { return 0; }
  MemoryOfRegions* const regions = memory_to_note();
  return regions == nullptr ? 0 : regions->begin(key);
}

void end_memory(std::uint32_t number) noexcept {
  MemoryOfRegions* const regions = memory_of_process.load(std::memory_order_acquire);  // pairs with memory_to_note()
  if (number != 0 && regions != nullptr) { regions->end(number); }
}

}  // namespace detail

void set_allocator_memory(MemoryQuery query) noexcept {
  detail::allocator_memory.store(query, std::memory_order_release);  // pairs with memory_now()
}

TAKT_END_NAMESPACE
