// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cerrno>
#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// A driver's answer to a call of EventBackend.
enum class EventStatus : std::uint8_t {
  done,
  not_ready,      ///< the device has not reached it yet
  capturing,      ///< not allowed while a stream is being captured
  not_capturing,  ///< allowed only while the stream is being captured
  unsupported,    ///< not available on this kind of device or driver
  no_context,     ///< the calling thread has no context for it
  stream_gone,    ///< the event's stream was destroyed: the event must not be queried
  pending_error,  ///< the application has not read its own last error, which a call overwrites
  not_recorded,   ///< the event was never recorded: its graph has not run
  refused,        ///< this call failed; others may succeed
  lost            ///< the context is destroyed or permanently broken: no further call
};

/// A context of a device. The number distinguishes it from a later one at the same address; 0 if the driver has none.
struct EventContextId {
  const void* handle = nullptr;
  std::uint64_t number = 0;
  std::uintptr_t part = 0;  ///< part of the context with the default stream; 0: all of it. Not in the identity
  int device = -1;          ///< device whose primary context it is, used to query it; -1: unknown. Not in the identity

  friend bool operator==(const EventContextId& a, const EventContextId& b) noexcept {
    return a.handle == b.handle && a.number == b.number;
  }
};

namespace detail {

/// Preserves the program's errno: a region may end between a failed call and the program's check of errno.
struct ErrnoKept {
  ErrnoKept() noexcept : kept(errno) {}
  ~ErrnoKept() { errno = kept; }
  ErrnoKept(const ErrnoKept&) = delete;
  ErrnoKept& operator=(const ErrnoKept&) = delete;
  const int kept;
};

constexpr int kRelaxedCaptureMode = 2;

/// Makes this thread's queries harmless to captures of any thread and mode, during its lifetime.
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
  int mode_ = kRelaxedCaptureMode;  // later the previous mode
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

/// Checks if events recorded on `stream` may be queried now, because a driver may access the stream: done, capturing or
/// stream_gone. Done if the Api has no check().
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
