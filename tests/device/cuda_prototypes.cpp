// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Checks at compile time that Takt's table of the CUDA driver matches NVIDIA's header.
#include "cuda_api.hpp"
#include "device/hip_on_cuda.hpp"
#include "device/same_prototype.hpp"

#include <takt/backends/cuda.hpp>

#include <cuda.h>
#include <cudaProfiler.h>
#include <driver_types.h>

using takt::detail::CudaDriver;
using takt_test::CudaForHip;
using takt_test::same_prototype;

static_assert(same_prototype(&CudaDriver::driver_version, &cuDriverGetVersion));
static_assert(same_prototype(&CudaDriver::error_name, &cuGetErrorName));
static_assert(same_prototype(&CudaDriver::context_current, &cuCtxGetCurrent));
static_assert(same_prototype(&CudaDriver::context_push, &cuCtxPushCurrent));
static_assert(same_prototype(&CudaDriver::context_pop, &cuCtxPopCurrent));
#if CUDA_VERSION >= 12000
static_assert(same_prototype(&CudaDriver::context_id, &cuCtxGetId));
#endif
static_assert(same_prototype(&CudaDriver::context_device, &cuCtxGetDevice));
static_assert(same_prototype(&CudaDriver::primary_state, &cuDevicePrimaryCtxGetState));
static_assert(same_prototype(&CudaDriver::primary_retain, &cuDevicePrimaryCtxRetain));
static_assert(same_prototype(&CudaDriver::primary_release, &cuDevicePrimaryCtxRelease));
static_assert(same_prototype(&CudaDriver::stream_context, &cuStreamGetCtx));
#if CUDA_VERSION >= 12050
static_assert(same_prototype(&CudaDriver::stream_contexts, &cuStreamGetCtx_v2));
static_assert(same_prototype(&CudaDriver::stream_green_context, &cuStreamGetGreenCtx));
#endif
static_assert(same_prototype(&CudaDriver::stream_is_capturing, &cuStreamIsCapturing));
static_assert(same_prototype(&CudaDriver::exchange_capture_mode, &cuThreadExchangeStreamCaptureMode));
static_assert(same_prototype(&CudaDriver::event_create, &cuEventCreate));
static_assert(same_prototype(&CudaDriver::event_record, &cuEventRecord));
static_assert(same_prototype(&CudaDriver::event_record_with_flags, &cuEventRecordWithFlags));
static_assert(same_prototype(&CudaDriver::event_query, &cuEventQuery));
static_assert(same_prototype(&CudaDriver::event_elapsed, &cuEventElapsedTime));
static_assert(same_prototype(&CudaDriver::event_synchronize, &cuEventSynchronize));
static_assert(same_prototype(&CudaDriver::profiler_start, &cuProfilerStart));
static_assert(same_prototype(&CudaDriver::profiler_stop, &cuProfilerStop));
static_assert(!same_prototype(&CudaDriver::event_query, &cuEventRecord));

// The same for the functions that HIP on CUDA calls.
static_assert(same_prototype(&CudaForHip::device_count, &cuDeviceGetCount));
static_assert(same_prototype(&CudaForHip::error_name, &cuGetErrorName));
static_assert(same_prototype(&CudaForHip::context_device, &cuCtxGetDevice));
static_assert(same_prototype(&CudaForHip::context_push, &cuCtxPushCurrent));
static_assert(same_prototype(&CudaForHip::context_pop, &cuCtxPopCurrent));
static_assert(same_prototype(&CudaForHip::stream_context, &cuStreamGetCtx));
static_assert(same_prototype(&CudaForHip::stream_is_capturing, &cuStreamIsCapturing));
static_assert(same_prototype(&CudaForHip::exchange_capture_mode, &cuThreadExchangeStreamCaptureMode));
static_assert(same_prototype(&CudaForHip::event_create, &cuEventCreate));
static_assert(same_prototype(&CudaForHip::event_record, &cuEventRecord));
static_assert(same_prototype(&CudaForHip::event_query, &cuEventQuery));
static_assert(same_prototype(&CudaForHip::event_elapsed, &cuEventElapsedTime));

// Constants that src/cuda_api.cpp relies on.
static_assert(CU_STREAM_CAPTURE_MODE_RELAXED == 2 && CU_STREAM_CAPTURE_STATUS_NONE == 0 && CU_EVENT_DEFAULT == 0);
static_assert(CU_STREAM_CAPTURE_STATUS_ACTIVE == 1 && CU_EVENT_RECORD_EXTERNAL == 1);
static_assert(CUDA_SUCCESS == 0 && CUDA_ERROR_NOT_INITIALIZED == 3 && CUDA_ERROR_DEINITIALIZED == 4);
static_assert(CUDA_ERROR_STUB_LIBRARY == 34 && CUDA_ERROR_NO_DEVICE == 100 && CUDA_ERROR_INVALID_CONTEXT == 201);
static_assert(CUDA_ERROR_ECC_UNCORRECTABLE == 214 && CUDA_ERROR_NVLINK_UNCORRECTABLE == 220);
static_assert(CUDA_ERROR_INVALID_HANDLE == 400 && CUDA_ERROR_NOT_READY == 600 && CUDA_ERROR_ILLEGAL_ADDRESS == 700);
static_assert(CUDA_ERROR_LAUNCH_TIMEOUT == 702 && CUDA_ERROR_CONTEXT_IS_DESTROYED == 709 && CUDA_ERROR_ASSERT == 710);
static_assert(CUDA_ERROR_HARDWARE_STACK_ERROR == 714 && CUDA_ERROR_LAUNCH_FAILED == 719);
static_assert(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED == 900 && CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD == 908);
static_assert(CUDA_ERROR_UNKNOWN == 999);

// A Scope takes streams of the runtime and of the driver; 1 and 2 are the default streams.
static_assert(takt::detail::HasStreamRef<cudaStream_t>::value && takt::detail::HasStreamRef<CUstream>::value);
static_assert(std::is_convertible_v<cudaStream_t, takt::CudaBackend>);
bool default_streams_are_as_takt_thinks() {
  return CU_STREAM_LEGACY == reinterpret_cast<CUstream>(1) && CU_STREAM_PER_THREAD == reinterpret_cast<CUstream>(2);
}
