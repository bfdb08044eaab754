// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/driver_library.hpp"

#include <takt/backends/detail/event_api.hpp>

#include <atomic>
#include <cstdint>

struct ihipEvent_t;
struct ihipStream_t;

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kHipNoDevice = 100;
constexpr int kHipInvalidDevice = 101;

/// The functions of libamdhip64 that Takt uses. Enumerations are int here; tests/device checks each against the
/// vendor's header.
struct HipRuntime {
  int (*peek_last_error)() = nullptr;
  int (*get_last_error)() = nullptr;
  const char* (*error_name)(int error) = nullptr;
  int (*version)(int* version) = nullptr;  ///< may be missing
  int (*device_count)(int* count) = nullptr;
  int (*current_device)(int* device) = nullptr;
  int (*device_of_stream)(ihipStream_t* stream) = nullptr;  ///< may be missing
  int (*stream_is_capturing)(ihipStream_t* stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;
  int (*event_create)(ihipEvent_t** event, unsigned int flags) = nullptr;
  int (*event_record)(ihipEvent_t* event, ihipStream_t* stream) = nullptr;
  int (*event_query)(ihipEvent_t* event) = nullptr;
  int (*event_elapsed)(float* ms, ihipEvent_t* begin, ihipEvent_t* end) = nullptr;

  Availability availability;

  using Synchronize = int(ihipEvent_t* event);
  /// Resolved at the first call, because only trials and measurements wait. nullptr: missing.
  static Synchronize* event_synchronize() noexcept;

  /// Returns true if the calling thread has an error that the application has not read. Any call overwrites it, before
  /// HIP 7 even a successful one. Changes nothing.
  bool has_pending_error() noexcept;
  /// Returns true if a device exists; queries once. Call it only while no error is pending.
  bool has_device() noexcept;

  /// Returns true if querying an event accesses the stream it was last recorded on. Known after has_device().
  bool checks_streams() const noexcept { return checks_streams_.load(std::memory_order_relaxed); }

  /// Loads the library at the first call: the application's, else the newest one. Any thread.
  static HipRuntime& get() noexcept;

 private:
  std::atomic<bool> asked_{false};
  std::atomic<bool> checks_streams_{true};
};

/// HIP functions for EventBackend. A context is a device here. Makes no call while the application has an unread error,
/// and clears the error of a failed call at once, so that the last error is only the application's.
struct HipApi {
  using Stream = ihipStream_t*;
  using Event = ihipEvent_t*;
  static constexpr const char* name = "hip";

  static const char* unavailable() noexcept { return HipRuntime::get().availability.reason(); }
  static const char* caveat() noexcept;
  static const char* error_text() noexcept;
  static bool may_call() noexcept { return !HipRuntime::get().has_pending_error(); }
  static std::uintptr_t order_of(Stream stream) noexcept;
  static EventStatus enter(Stream stream, EventContextId& id) noexcept;
  static bool keeps_context(Stream stream) noexcept;
  static EventStatus check_capture(Stream stream) noexcept;
  static EventStatus create(const EventContextId& id, Event& event) noexcept;
  static EventStatus record(Event event, Stream stream) noexcept;
  // Graph events have no times in HIP: ROCm fails when asked for one (ROCm/rocm-systems issue 2380).
  static EventStatus enter_capture(Stream, EventContextId&) noexcept { return EventStatus::unsupported; }
  static EventStatus record_in_graph(Event, Stream) noexcept { return EventStatus::unsupported; }
  static EventStatus alive(const EventContextId&) noexcept { return EventStatus::done; }  // cannot be determined
  static EventStatus check(Stream stream) noexcept;
  static EventStatus query(Event event) noexcept;
  static EventStatus elapsed(Event begin, Event end, float& ms) noexcept;
  static EventStatus wait(Event event) noexcept;
  static std::uint64_t now_ns() noexcept;
  static bool exchange_mode(int& mode) noexcept;
  static bool pauses_at_captures() noexcept { return true; }  // check() does not detect captures of other streams
  static bool visit(const EventContextId&) noexcept { return false; }
  static void leave() noexcept {}
};

}  // namespace detail
TAKT_END_NAMESPACE
