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

/// A region that a Timer has started; may be ended on another thread. A value; copies refer to the same region;
/// default: none.
struct Handle {
  // For a Timer with its own statistics.
  detail::TimerThread* thread = nullptr;
  const detail::Node* node = nullptr;
  std::uint64_t begin_ns = 0;
  std::uint32_t id = 0;
  std::uint32_t place = 0;
  // For a joined Timer: the region, its event while it is open, and its lap, if any.
  detail::Region region = 0;
  detail::Event started = 0;
  detail::ThreadLap* lap = nullptr;
};

namespace detail {

/// A Timer that joined the process: records where Scopes record. In the library, reached only through join_process(),
/// so that other Timers need no library. Any thread, except for leave().
class JoinedTimer {
 public:
  virtual Handle start(const Key& key) noexcept = 0;
  virtual void end(const Key& key) noexcept = 0;
  virtual void end(const Handle& handle) noexcept = 0;
  virtual Handle lap(const Key& key) noexcept = 0;
  virtual void record(const Key& key, std::chrono::nanoseconds duration) noexcept = 0;
  virtual void add_amount(const Handle& handle, Amount what, std::int64_t n) noexcept = 0;
  virtual std::uint64_t mistakes() const noexcept = 0;
  /// The last call, from the Timer's destructor.
  virtual void leave() noexcept = 0;

 protected:
  ~JoinedTimer() = default;
};

/// Returns a joined Timer, never nullptr; if out of memory, one that times nothing and counts that.
/// \param stream stream to time as well; none: host time only.
TAKT_EXPORT JoinedTimer* join_process(StreamRef stream) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
