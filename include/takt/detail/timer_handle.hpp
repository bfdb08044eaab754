// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/event.hpp>
#include <takt/detail/hot.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

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
  detail::Event begun = 0;
  detail::ThreadLap* lap = nullptr;
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
