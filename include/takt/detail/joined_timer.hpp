// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/hot.hpp>
#include <takt/detail/timer_handle.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>

#include <chrono>
#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
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

#include <takt/detail/macros_end.hpp>
