// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/driver_library.hpp"

#include <atomic>

struct ihipEvent_t;
struct ihipStream_t;

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr int kHipNoDevice = 100;
constexpr int kHipInvalidDevice = 101;

/// The functions of libamdhip64 that Takt uses. Enumerations are int here; tests/device proves that each is as in the
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
  /// Looked for at the first call: a program that does not ask to wait has no business with it. nullptr: there is none.
  static Synchronize* event_synchronize() noexcept;

  /// Whether the calling thread has an error of the application's to read. Any call would overwrite that: before HIP 7
  /// even one that succeeds. Changes nothing.
  bool has_pending_error() noexcept;
  /// Whether there is a device; asks once. Only while no error is pending.
  bool has_device() noexcept;

  /// Whether a question about an event touches the stream that it was recorded on last. Known after has_device().
  bool looks_at_streams() const noexcept { return looks_at_streams_.load(std::memory_order_relaxed); }

  /// Loaded at the first call: the library that the application has, else the newest one. Any thread.
  static HipRuntime& get() noexcept;

 private:
  std::atomic<bool> asked_{false};
  std::atomic<bool> looks_at_streams_{true};
};

}  // namespace detail
TAKT_END_NAMESPACE
