// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/detail/thread_table.hpp>
#include <takt/detail/timer_handle.hpp>

#include "process/diversion.hpp"

#include <atomic>
#include <new>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The region that the last lap() of a thread began; 0: none. Any thread may end it by its handle.
struct ThreadLap {
  const ThreadToken* token = nullptr;
  std::atomic<std::uint64_t> number{0};
  ThreadLap* next = nullptr;
  std::atomic<Region> region{0};

  /// Resets the last lap if it is the region that ended.
  void forget(Region ended) noexcept {
    Region last = region.load(std::memory_order_relaxed);
    if (((last ^ ended) & ~kRegionFlags) == 0) { region.compare_exchange_strong(last, 0, std::memory_order_relaxed); }
  }
};

namespace {

/// Forwards to the process; owns only the laps.
class TimerInProcess final : public JoinedTimer {
 public:
  explicit TimerInProcess(StreamRef stream) noexcept : stream_(stream) {}

  Handle start(const Key& key) noexcept override { return handle_of(begin(key), nullptr); }
  void end(const Key& key) noexcept override {
    const Region ended = end_innermost(key);
    if (ThreadLap* lap = here()) { lap->forget(ended); }
  }
  void end(const Handle& handle) noexcept override {
    if (handle.region == 0) { return; }
    const bool is_here = event_at(handle.region) == handle.started;  // else another region began at this place
    if (is_here && handle.lap != nullptr) { handle.lap->forget(handle.region); }
    count_unless(end_handle(handle.region, handle.started));
  }
  Handle lap(const Key& key) noexcept override {
    ThreadLap* lap = here();
    if (lap == nullptr) { lap = laps_.add(this_thread_token()); }
    count_unless(lap != nullptr);
    if (lap == nullptr) { return {}; }
    lap->number.store(lap->token->number, std::memory_order_relaxed);
    const Region last = lap->region.load(std::memory_order_relaxed);
    const Handle handle = handle_of(follow(last, key), lap);
    lap->region.store(handle.region, std::memory_order_relaxed);
    return handle;
  }
  void record(const Key& key, std::chrono::nanoseconds duration) noexcept override {
    record_ns(key, static_cast<std::uint64_t>(duration.count()));
  }
  void add_amount(const Handle& handle, Amount what, std::int64_t n) noexcept override {
    count_unless(handle.region == 0 || note_amount_of(handle.region, handle.started, what, n));
  }
  std::uint64_t mistakes() const noexcept override { return mistakes_.load(std::memory_order_relaxed); }
  void leave() noexcept override { delete this; }

 private:
  /// Begins a region without a handle or listeners if trials exclude it: an end by key would not find it.
  Region begin(const Key& key) const noexcept {
    const Region region = begin_recorded(key, stream_);
    if (TAKT_UNLIKELY(region == 0 && is_excluded())) { diversion().note(stream_); }
    return region;
  }
  Region follow(Region last, const Key& key) const noexcept {
    if (TAKT_LIKELY(last != 0 && !is_excluded())) { return lap_slow(last, key); }
    if (last != 0) { end_slow(last); }
    return begin(key);
  }
  static Handle handle_of(Region region, ThreadLap* lap) noexcept {
    Handle handle;
    handle.region = region;
    handle.started = event_at(region);
    handle.lap = lap;
    return handle;
  }
  /// Returns the lap of the calling thread, or nullptr if it has none. Resets one left by a thread that has ended.
  ThreadLap* here() noexcept {
    const ThreadToken& token = this_thread_token();
    ThreadLap* found = nullptr;
    laps_.each_at(token, [&found](ThreadLap& lap) {
      found = &lap;
      return true;
    });
    if (found != nullptr && found->number.load(std::memory_order_relaxed) != token.number) {
      found->region.store(0, std::memory_order_relaxed);
      found->number.store(token.number, std::memory_order_relaxed);
    }
    return found;
  }
  void count_unless(bool done) noexcept {
    if (!done) { mistakes_.fetch_add(1, std::memory_order_relaxed); }
  }

  const StreamRef stream_;
  ThreadTable<ThreadLap> laps_;
  std::atomic<std::uint64_t> mistakes_{0};
};

/// Replaces timers for which no memory was available.
class TimerOfNothing final : public JoinedTimer {
 public:
  Handle start(const Key&) noexcept override { return lose(); }
  void end(const Key&) noexcept override {}
  void end(const Handle&) noexcept override {}
  Handle lap(const Key&) noexcept override { return lose(); }
  void record(const Key&, std::chrono::nanoseconds) noexcept override { lose(); }
  void add_amount(const Handle&, Amount, std::int64_t) noexcept override {}
  std::uint64_t mistakes() const noexcept override { return mistakes_.load(std::memory_order_relaxed); }
  void leave() noexcept override {}

 private:
  Handle lose() noexcept {
    mistakes_.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

  std::atomic<std::uint64_t> mistakes_{0};
};

TimerOfNothing timer_of_nothing;

}  // namespace

JoinedTimer* join_process(StreamRef stream) noexcept {
  JoinedTimer* const joined = new (std::nothrow) TimerInProcess(stream);
  return joined != nullptr ? joined : &timer_of_nothing;
}

}  // namespace detail
TAKT_END_NAMESPACE
