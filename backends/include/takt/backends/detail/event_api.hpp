// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

/// What a driver answers to a call of EventBackend's.
enum class EventStatus : std::uint8_t {
  done,
  not_ready,      ///< the device has not come so far
  capturing,      ///< not while a stream is being captured
  not_capturing,  ///< only while the stream is being captured
  unsupported,    ///< this kind of device, or its driver, has no such thing
  no_context,     ///< the calling thread has no context for it
  stream_gone,    ///< the stream on which the event was recorded has been destroyed: nothing is to be asked about it
  pending_error,  ///< the application has not read its own last error yet, which a call would overwrite
  not_recorded,   ///< the event was never recorded: the graph that does so has not run
  refused,        ///< this call failed; others may not
  lost            ///< the context is gone or broken for good: no further call
};

/// A context of a device. The number tells it from a later one at the same address; 0 where the driver has none.
struct EventContextId {
  const void* handle = nullptr;
  std::uint64_t number = 0;
  std::uintptr_t part = 0;  ///< of the context, whose default stream was asked for; 0: all of it. Not of the identity
  int device = -1;          ///< that it is the one context of, by which it can be asked for; -1: not known. Likewise

  friend bool operator==(const EventContextId& a, const EventContextId& b) noexcept {
    return a.handle == b.handle && a.number == b.number;
  }
};

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
