// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

TAKT_BEGIN_NAMESPACE

/// A clock for tests, advanced by hand. As a device it can hold back results, return them in any order, fail them, or
/// refuse readings. It counts its timestamps, so that a test can detect leaks. Must outlive all users. Any thread.
class ManualClock {
 public:
  ManualClock() = default;
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  void advance(std::chrono::nanoseconds by) noexcept {
    now_ns_.fetch_add(static_cast<std::uint64_t>(by.count()), std::memory_order_relaxed);
  }
  std::uint64_t now_ns() const noexcept { return now_ns_.load(std::memory_order_relaxed); }

  /// From now on, results whose end is recorded stay pending (true), or are ready at once (false).
  void hold(bool on) noexcept { hold_.store(on, std::memory_order_relaxed); }
  /// From now on, readings fail (true).
  void refuse(bool on) noexcept { refuse_.store(on, std::memory_order_relaxed); }

  /// Returns the timestamps held back now, in the order of their readings.
  std::vector<Mark> held() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Mark> marks;
    for (std::size_t at = 0; at < marks_.size(); ++at) {
      if (marks_[at].references > 0 && marks_[at].state == Elapsed::State::pending) { marks.push_back(at); }
    }
    return marks;
  }
  /// Makes one timestamp, or all, ready.
  void resolve(Mark mark) noexcept { set(mark, Elapsed::State::ready); }
  void resolve_all() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);  // all at once: resolving releases timestamps
    for (Reading& each : marks_) {
      if (each.references > 0 && each.state == Elapsed::State::pending) { each.state = Elapsed::State::ready; }
    }
  }
  /// Makes every result that starts or ends at `mark` fail.
  void fail(Mark mark) noexcept { set(mark, Elapsed::State::failed); }

  /// Returns the number of timestamps that are not fully released.
  std::size_t outstanding() const noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::size_t count = 0;
    for (const Reading& each : marks_) { count += each.references > 0 ? 1 : 0; }
    return count;
  }
  /// Returns the number of misuses of this clock: releases and queries of timestamps that were not held.
  std::uint64_t misuses() const noexcept { return misuses_.load(std::memory_order_relaxed); }

 private:
  friend class ManualBackend;
  struct Reading {
    std::uint64_t ns = 0;
    int references = 0;
    Elapsed::State state = Elapsed::State::ready;
  };

  bool mark(Mark& mark) noexcept {
    if (refuse_.load(std::memory_order_relaxed)) { return false; }
    const std::lock_guard<std::mutex> lock(mutex_);
    const Reading reading{now_ns(), 1,
                          hold_.load(std::memory_order_relaxed) ? Elapsed::State::pending : Elapsed::State::ready};
    if (!free_.empty()) {
      mark = free_.back();
      free_.pop_back();
      marks_[mark] = reading;
    } else {
      mark = marks_.size();
      marks_.push_back(reading);
    }
    return true;
  }
  bool known(Mark mark) noexcept {
    const bool good = mark < marks_.size() && marks_[mark].references > 0;
    if (!good) { misuses_.fetch_add(1, std::memory_order_relaxed); }
    return good;
  }
  void retain(Mark mark) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known(mark)) { ++marks_[mark].references; }
  }
  void release(Mark mark) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known(mark) && --marks_[mark].references == 0) { free_.push_back(mark); }
  }
  Elapsed elapsed(Mark begin, Mark end) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!known(begin) || !known(end)) { return Elapsed::failed(); }
    const Reading& from = marks_[begin];
    const Reading& to = marks_[end];
    if (from.state == Elapsed::State::failed || to.state == Elapsed::State::failed) { return Elapsed::failed(); }
    if (to.state == Elapsed::State::pending) { return Elapsed::pending(); }
    return Elapsed::ready(static_cast<std::int64_t>(to.ns - from.ns));
  }
  bool locate(Mark mark, DevicePlace& place) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!known(mark)) { return false; }
    place = {this, static_cast<double>(marks_[mark].ns), 0};
    return true;
  }
  void set(Mark mark, Elapsed::State state) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (known(mark)) { marks_[mark].state = state; }
  }

  std::atomic<std::uint64_t> now_ns_{0};
  std::atomic<bool> hold_{false};
  std::atomic<bool> refuse_{false};
  std::atomic<std::uint64_t> misuses_{0};
  mutable std::mutex mutex_;
  std::vector<Reading> marks_;
  std::vector<Mark> free_;
};

/// The Backend of a ManualClock, and a stream that Scope takes. Any thread.
class ManualBackend {
 public:
  static constexpr const char* name = "manual";
  static constexpr bool immediate = false;

  /// \param clock not owned. Implicit, so that a clock converts to a Timer.
  ManualBackend(ManualClock& clock) noexcept : clock_(&clock) {}  // NOLINT(google-explicit-constructor)

  bool mark(Mark& mark) noexcept { return clock_->mark(mark); }
  void retain(Mark mark) noexcept { clock_->retain(mark); }
  Elapsed elapsed(Mark begin, Mark end) noexcept { return clock_->elapsed(begin, end); }
  void release(Mark mark) noexcept { clock_->release(mark); }
  bool locate(Mark mark, DevicePlace& place) noexcept { return clock_->locate(mark, place); }
  std::uint64_t host_ns() noexcept { return clock_->now_ns(); }

  StreamRef stream() const noexcept { return StreamRef{&device_ops<ManualBackend, ManualClock>, clock_}; }

 private:
  ManualClock* clock_;
};

static_assert(is_backend<ManualBackend>);

/// Lets a Scope take a backend, whose clock acts as a stream.
template <>
struct StreamTraits<ManualBackend> {
  static StreamRef ref(const ManualBackend& backend) noexcept { return backend.stream(); }
};

TAKT_END_NAMESPACE
