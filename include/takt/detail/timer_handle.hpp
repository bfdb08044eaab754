// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>

#include <chrono>
#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {
struct Node;
struct ThreadLap;
struct TimerThread;
}  // namespace detail

/// A region that a Timer has started; may be ended on another thread. A value, of which copies are the same region; by
/// default none.
struct Handle {
  // Of a Timer with books of its own.
  detail::TimerThread* thread = nullptr;
  const detail::Node* node = nullptr;
  std::uint64_t begin_ns = 0;
  std::uint32_t id = 0;
  std::uint32_t place = 0;
  // Of one that joined the process: the region, what stands there while it is open, and whose lap it is, if it is one.
  detail::Region region = 0;
  detail::Event started = 0;
  detail::ThreadLap* lap = nullptr;
};

namespace detail {

/// A Timer that joined the process: its regions go where those of Scopes go. In the library, which is reached by
/// join_process() alone, so that Timers with books of their own need none. Any thread, but for leave().
class JoinedTimer {
 public:
  virtual Handle start(const Key& key) noexcept = 0;
  virtual void end(const Key& key) noexcept = 0;
  virtual void end(const Handle& handle) noexcept = 0;
  virtual Handle lap(const Key& key) noexcept = 0;
  virtual void record(const Key& key, std::chrono::nanoseconds duration) noexcept = 0;
  virtual void add_amount(const Handle& handle, Amount what, std::int64_t n) noexcept = 0;
  virtual std::uint64_t mistakes() const noexcept = 0;
  /// The last call: the Timer is gone.
  virtual void leave() noexcept = 0;

 protected:
  ~JoinedTimer() = default;
};

/// \param stream on which regions are marked as well; none: host time only. Never nullptr: without memory it times
/// nothing, and counts that.
TAKT_EXPORT JoinedTimer* join_process(StreamRef stream) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
