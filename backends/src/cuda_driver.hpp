// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/driver_library.hpp"

struct CUctx_st;
struct CUevent_st;
struct CUgreenCtx_st;
struct CUstream_st;

TAKT_BEGIN_NAMESPACE
namespace detail {

/// The functions of libcuda.so.1 that Takt uses: those of the driver, so that the last error of the CUDA runtime stays
/// the application's. Enumerations are int here; tests/device proves that each is as in the vendor's header.
struct CudaDriver {
  int (*driver_version)(int* version) = nullptr;
  int (*error_name)(int error, const char** name) = nullptr;
  int (*context_current)(CUctx_st** context) = nullptr;
  int (*context_push)(CUctx_st* context) = nullptr;
  int (*context_pop)(CUctx_st** context) = nullptr;
  int (*context_id)(CUctx_st* context, unsigned long long* id) = nullptr;  ///< since CUDA 12.0 (525)
  int (*context_device)(int* device) = nullptr;
  /// Of the primary context of a device. Each may be missing.
  int (*primary_state)(int device, unsigned int* flags, int* active) = nullptr;
  int (*primary_retain)(CUctx_st** context, int device) = nullptr;
  int (*primary_release)(int device) = nullptr;
  int (*stream_context)(CUstream_st* stream, CUctx_st** context) = nullptr;
  /// Since CUDA 12.5: of a stream of a green context the primary one, and that.
  int (*stream_contexts)(CUstream_st* stream, CUctx_st** context, CUgreenCtx_st** green) = nullptr;
  int (*stream_green_context)(CUstream_st* stream, CUgreenCtx_st** green) = nullptr;  ///< since CUDA 12.4
  int (*stream_is_capturing)(CUstream_st* stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;
  int (*event_create)(CUevent_st** event, unsigned int flags) = nullptr;
  int (*event_record)(CUevent_st* event, CUstream_st* stream) = nullptr;
  int (*event_record_with_flags)(CUevent_st* event, CUstream_st* stream, unsigned int flags) = nullptr;  ///< CUDA 11.1
  int (*event_query)(CUevent_st* event) = nullptr;
  int (*event_elapsed)(float* ms, CUevent_st* begin, CUevent_st* end) = nullptr;
  int (*profiler_start)() = nullptr;  ///< may be missing, as the next one
  int (*profiler_stop)() = nullptr;

  Availability availability;

  using Synchronize = int(CUevent_st* event);
  /// Looked for at the first call: only trials and measurements wait. nullptr: there is none.
  static Synchronize* event_synchronize() noexcept;

  /// Loaded at the first call. That initialises nothing and makes no context: a process that forks before it uses CUDA
  /// may do so afterwards. Any thread.
  static CudaDriver& get() noexcept;
};

}  // namespace detail
TAKT_END_NAMESPACE
