// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

struct CUctx_st;
struct CUevent_st;
struct CUstream_st;

namespace takt_test {

/// The functions of libcuda.so.1 that hip_on_cuda.cpp calls; cuda_prototypes.cpp checks them. Enumerations and devices
/// are int.
struct CudaForHip {
  int (*device_count)(int* count) = nullptr;
  int (*error_name)(int error, const char** name) = nullptr;
  int (*context_device)(int* device) = nullptr;
  int (*context_push)(CUctx_st* context) = nullptr;
  int (*context_pop)(CUctx_st** context) = nullptr;
  int (*stream_context)(CUstream_st* stream, CUctx_st** context) = nullptr;
  int (*stream_is_capturing)(CUstream_st* stream, int* status) = nullptr;
  int (*exchange_capture_mode)(int* mode) = nullptr;
  int (*event_create)(CUevent_st** event, unsigned int flags) = nullptr;
  int (*event_record)(CUevent_st* event, CUstream_st* stream) = nullptr;
  int (*event_query)(CUevent_st* event) = nullptr;
  int (*event_elapsed)(float* ms, CUevent_st* begin, CUevent_st* end) = nullptr;
};

}  // namespace takt_test
