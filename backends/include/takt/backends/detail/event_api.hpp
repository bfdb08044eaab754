// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cerrno>
#include <cstdint>

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

namespace detail {

/// The program's errno: a region may end between a call that failed and the program's question why.
struct ErrnoKept {
  ErrnoKept() noexcept : kept(errno) {}
  ~ErrnoKept() { errno = kept; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;
  const int kept;
};

constexpr int kRelaxedCaptureMode = 2;

/// While it lives, questions of this thread do no harm to captures, of whichever thread and mode.
template <class Api>
class RelaxedMode {
 public:
  RelaxedMode() noexcept : exchanged_(Api::exchange_mode(mode_)) {}
  ~RelaxedMode() {
    if (exchanged_) { Api::exchange_mode(mode_); }
  }
  RelaxedMode(const RelaxedMode&) = delete;
  RelaxedMode& operator=(const RelaxedMode&) = delete;

 private:
  int mode_ = kRelaxedCaptureMode;  // then what it was before
  const bool exchanged_;
};

template <class Api>
auto check_stream(typename Api::Stream stream, int) noexcept -> decltype(Api::check(stream)) {
  return Api::check(stream);
}
template <class Api>
EventStatus check_stream(typename Api::Stream, long) noexcept {
  return EventStatus::done;
}

/// Returns whether events recorded on `stream` may be queried now, as a driver may access the stream for that: done,
/// capturing or stream_gone. Done if the Api does not say.
template <class Api>
EventStatus check_stream(typename Api::Stream stream) noexcept {
  return check_stream<Api>(stream, 0);
}

template <class Api>
auto visit_stream(typename Api::Stream stream, int) noexcept -> decltype(Api::visit_stream(stream)) {
  return Api::visit_stream(stream);
}
template <class Api>
bool visit_stream(typename Api::Stream, long) noexcept {
  return false;
}

}  // namespace detail
TAKT_END_NAMESPACE
