// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/key.hpp>
#include <takt/listener.hpp>

#include "base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Keys of regions that ended on another thread than they started on. Any thread. All of `count_` is relaxed: it
/// changes only under the mutex, and keys are read under the mutex. Only any() reads it without the mutex, and may see
/// a change late.
class EndedElsewhere {
 public:
  bool any() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  void add(const Key& key) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    const unsigned count = count_.load(std::memory_order_relaxed);
    if (count == kMax) { std::move(keys_ + 1, keys_ + kMax, keys_); }  // the thread of the oldest may have ended
    keys_[std::min(count, kMax - 1)] = &key;
    count_.store(std::min(count + 1, kMax), std::memory_order_relaxed);
  }
  /// Removes `key` and returns true if it was added, once per add(). May return false if another thread holds the
  /// mutex.
  bool take(const Key& key) noexcept {
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (!lock) { return false; }
    const Key** const end = keys_ + count_.load(std::memory_order_relaxed);
    const Key** const found = std::find_if(keys_, end, [&key](const Key* each) { return *each == key; });
    if (found == end) { return false; }
    std::move(found + 1, end, found);
    count_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr unsigned kMax = 64;
  std::mutex mutex_;
  const Key* keys_[kMax] = {};
  std::atomic<unsigned> count_{0};
};

/// The ranges that a profiler shows for this thread. Profilers only know push and pop, but regions may end in another
/// order or on another thread. Tool: `static void push(const Key&, std::int64_t batch)`, -1 for none yet, and `static
/// void pop()`.
template <class Tool>
class RangeStack {
 public:
  static Listener listener() noexcept {
    return {[](const Key& key, void*) noexcept { of_this_thread().begin(key); },
            [](const Key& key, void*) noexcept { of_this_thread().end(key); }, nullptr};
  }

 private:
  static constexpr unsigned kMax = 128;  // the recorder reports 64 open regions, plus one that ends at once
  struct Range {
    const Key* key;  // never destroyed
    std::int64_t batch;
  };

  static RangeStack& of_this_thread() noexcept {
    static thread_local RangeStack stack;
    return stack;
  }
  static EndedElsewhere make_keys() noexcept { return EndedElsewhere(); }
  static EndedElsewhere& elsewhere() noexcept { return made_once<make_keys>(); }

  void begin(const Key& key) noexcept {
    settle();
    if (key == Batch) { ++batch_; }
    if (depth_ == kMax) { return; }
    ranges_[depth_++] = {&key, batch_};
    Tool::push(key, batch_);
  }

  void end(const Key& key) noexcept {
    settle();
    unsigned at = depth_;
    while (at > 0 && *ranges_[at - 1].key != key) { --at; }
    if (at > 0) {
      remove(at - 1);
    } else {
      elsewhere().add(key);
    }
  }

  /// Removes ranges that other threads have ended.
  void settle() noexcept {
    if (!elsewhere().any()) { return; }
    for (unsigned at = depth_; at > 0; --at) {
      if (elsewhere().take(*ranges_[at - 1].key)) { remove(at - 1); }
    }
  }

  /// Removes a range. Inner ranges are ended with it, then pushed again.
  void remove(unsigned at) noexcept {
    for (unsigned each = at; each < depth_; ++each) { Tool::pop(); }
    std::move(ranges_ + at + 1, ranges_ + depth_, ranges_ + at);
    --depth_;
    for (unsigned each = at; each < depth_; ++each) { Tool::push(*ranges_[each].key, ranges_[each].batch); }
  }

  Range ranges_[kMax] = {};
  unsigned depth_ = 0;
  std::int64_t batch_ = -1;
};

}  // namespace detail
TAKT_END_NAMESPACE
