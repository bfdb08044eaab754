// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/driver_library.hpp"

#include <takt/backends/detail/event_api.hpp>

#include <cstdint>

struct CUctx_st;
struct CUevent_st;
struct CUgreenCtx_st;
struct CUstream_st;

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The functions of libcuda.so.1 that Takt uses. The driver API leaves the last error of the CUDA runtime to the
/// application. Enumerations are int here; tests/device checks each against the vendor's header.
struct CudaDriver {
  int (*driver_version)(int* version) = nullptr;
  int (*error_name)(int error, const char** name) = nullptr;
  int (*context_current)(CUctx_st** context) = nullptr;
  int (*context_push)(CUctx_st* context) = nullptr;
  int (*context_pop)(CUctx_st** context) = nullptr;
  int (*context_id)(CUctx_st* context, unsigned long long* id) = nullptr;  ///< since CUDA 12.0 (525)
  int (*context_device)(int* device) = nullptr;
  /// The next three: primary context of a device. Each may be missing.
  int (*primary_state)(int device, unsigned int* flags, int* active) = nullptr;
  int (*primary_retain)(CUctx_st** context, int device) = nullptr;
  int (*primary_release)(int device) = nullptr;
  int (*stream_context)(CUstream_st* stream, CUctx_st** context) = nullptr;
  /// Since CUDA 12.5: for a stream of a green context, the primary context and the green one.
  int (*stream_contexts)(CUstream_st* stream, CUctx_st** context, CUgreenCtx_st** green) = nullptr;
  int (*stream_green_context)(CUstream_st* stream, CUgreenCtx_st** green) = nullptr;  ///< since CUDA 12.4
  int (*stream_is_capturing)(CUstream_st* stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;
  int (*event_create)(CUevent_st** event, unsigned int flags) = nullptr;
  int (*event_record)(CUevent_st* event, CUstream_st* stream) = nullptr;
  int (*event_record_with_flags)(CUevent_st* event, CUstream_st* stream, unsigned int flags) = nullptr;  ///< CUDA 11.1
  int (*event_query)(CUevent_st* event) = nullptr;
  int (*event_elapsed)(float* ms, CUevent_st* begin, CUevent_st* end) = nullptr;
  int (*profiler_start)() = nullptr;  ///< may be missing, like the next one
  int (*profiler_stop)() = nullptr;

  Availability availability;

  using Synchronize = int(CUevent_st* event);
  /// Resolved at the first call, because only trials and measurements wait. nullptr: missing.
  static Synchronize* event_synchronize() noexcept;

  /// Loads the driver at the first call. This initializes nothing and creates no context, so a process may still fork
  /// before it uses CUDA. Any thread.
  static CudaDriver& get() noexcept;
};

/// CUDA functions for EventBackend.
struct CudaApi {
  using Stream = CUstream_st*;
  using Event = CUevent_st*;
  static constexpr const char* name = "cuda";

  static const char* unavailable() noexcept { return CudaDriver::get().availability.reason(); }
  static const char* caveat() noexcept;
  static const char* error_text() noexcept;
  static bool may_call() noexcept { return true; }  // the driver keeps no last error
  static std::uintptr_t order_of(Stream stream) noexcept;
  static EventStatus enter(Stream stream, EventContextId& id) noexcept;
  static bool keeps_context(Stream stream) noexcept;
  static EventStatus check_capture(Stream stream) noexcept;
  static EventStatus create(const EventContextId& id, Event& event) noexcept;
  static EventStatus record(Event event, Stream stream) noexcept;
  static EventStatus enter_capture(Stream stream, EventContextId& id) noexcept;
  static EventStatus record_in_graph(Event event, Stream stream) noexcept;
  static EventStatus alive(const EventContextId& id) noexcept;
  static EventStatus query(Event event) noexcept;
  static EventStatus elapsed(Event begin, Event end, float& ms) noexcept;
  static EventStatus wait(Event event) noexcept;
  static std::uint64_t now_ns() noexcept;
  static bool exchange_mode(int& mode) noexcept { return CudaDriver::get().exchange_capture_mode(&mode) == 0; }
  static bool pauses_at_captures() noexcept { return false; }  // the relaxed mode suffices
  static bool visit(const EventContextId& id) noexcept;
  static bool visit_stream(Stream stream) noexcept;
  static void describe(EventContextId& id) noexcept;
  static void leave() noexcept;
};

}  // namespace detail
TAKT_END_NAMESPACE
