// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libamdhip64 that calls libcuda.so.1, so that the HIP backend's own code times streams of an NVIDIA GPU. A HIP
// stream or event is CUDA's own handle here. The last error behaves as in HIP 7 (set only on errors; "not ready" is not
// an error) or, with HIP_ON_CUDA=6, as in earlier versions (set by every call, including successful ones).
//
// Compiled a second time with HIP_HEADER and AMD's header, to check that every function matches its declaration there.
#include "hip_on_cuda.hpp"
#include "base/driver_library.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#ifdef HIP_HEADER
#include <hip/hip_runtime_api.h>
#else
using hipError_t = int;
using hipEvent_t = struct ihipEvent_t*;
using hipStream_t = struct ihipStream_t*;
using hipStreamCaptureMode = int;
using hipStreamCaptureStatus = int;
#endif

namespace {

using takt_test::CudaForHip;

constexpr int kInvalidValue = 1;
constexpr int kInvalidDevice = 101;
constexpr int kInvalidHandle = 400;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;
constexpr int kContextIsDestroyed = 709;
constexpr int kUnknown = 999;
// Errors with the same number in both; HIP knows no others.
constexpr int kShared[] = {0,   1,   2,   3,   4,   5,   100, 101, 200, 201, 214, 217, 301, 304,
                           400, 401, 500, 600, 700, 701, 702, 704, 705, 708, 709, 710, 712, 713,
                           719, 720, 801, 900, 901, 902, 903, 904, 905, 906, 907, 908, 910, 999};
constexpr unsigned kCudaFlags = 0x7;  // the other flags are about memory visibility

const CudaForHip* load() {
  static constexpr const char* kNames[] = {"libcuda.so.1"};
  static takt::detail::DriverLibrary library(kNames);
  static CudaForHip cuda;
  library.find(cuda.device_count, "cuDeviceGetCount");
  library.find(cuda.error_name, "cuGetErrorName");
  library.find(cuda.context_device, "cuCtxGetDevice");
  library.find(cuda.context_push, "cuCtxPushCurrent_v2");
  library.find(cuda.context_pop, "cuCtxPopCurrent_v2");
  library.find(cuda.stream_context, "cuStreamGetCtx");
  library.find(cuda.stream_is_capturing, "cuStreamIsCapturing");
  library.find(cuda.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  library.find(cuda.event_create, "cuEventCreate");
  library.find(cuda.event_record, "cuEventRecord");
  library.find(cuda.event_query, "cuEventQuery");
  library.find(cuda.event_elapsed, "cuEventElapsedTime");
  return library.missing() == nullptr ? &cuda : nullptr;
}
const CudaForHip* cuda() {
  static const CudaForHip* const loaded = load();
  return loaded;
}

bool is_before_7() {
  static const bool before = [] {
    const char* version = std::getenv("HIP_ON_CUDA");
    return version != nullptr && std::atoi(version) < 7;
  }();
  return before;
}
thread_local int last_error = 0;

hipError_t set(int error) {
  const int known = std::find(std::begin(kShared), std::end(kShared), error) != std::end(kShared) ? error : kUnknown;
  if (is_before_7() || (known != 0 && known != kNotReady)) { last_error = known; }
  return static_cast<hipError_t>(known);
}

/// Without a driver every call fails as HIP's calls do without a device.
template <class Call>
hipError_t forward(Call call) {
  return set(cuda() == nullptr ? kInvalidDevice : call(*cuda()));
}

CUevent_st* cuda_event(hipEvent_t event) { return reinterpret_cast<CUevent_st*>(event); }
/// HIP's null stream is CUDA's legacy one; the per-thread stream has the same number in both.
CUstream_st* cuda_stream(hipStream_t stream) {
  return reinterpret_cast<CUstream_st*>(stream == nullptr ? std::uintptr_t{1}
                                                          : reinterpret_cast<std::uintptr_t>(stream));
}

}  // namespace

extern "C" {

hipError_t hipPeekAtLastError() { return static_cast<hipError_t>(last_error); }
hipError_t hipGetLastError() { return static_cast<hipError_t>(std::exchange(last_error, 0)); }
const char* hipGetErrorName(hipError_t error) {
  const char* name = nullptr;
  return cuda() != nullptr && cuda()->error_name(error, &name) == 0 ? name : "an error that CUDA does not know";
}

hipError_t hipGetDeviceCount(int* count) {
  return forward([&](const CudaForHip& call) { return count == nullptr ? kInvalidValue : call.device_count(count); });
}
hipError_t hipGetDevice(int* device) {
  return forward(
      [&](const CudaForHip& call) { return device == nullptr ? kInvalidValue : call.context_device(device); });
}
int hipGetStreamDeviceId(hipStream_t stream) {
  CUctx_st* context = nullptr;
  if (cuda() == nullptr) { return -1; }
  const int unknown = cuda()->stream_context(cuda_stream(stream), &context);
  if (unknown >= kIllegalAddress && unknown != kContextIsDestroyed) { return 0; }  // HIP does its own bookkeeping
  if (unknown != 0 || cuda()->context_push(context) != 0) { return -1; }
  int device = -1;
  const int error = cuda()->context_device(&device);
  cuda()->context_pop(&context);
  return error == 0 ? device : -1;
}
hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
  return forward([&](const CudaForHip& call) {
    int capture = 0;
    const int error = call.stream_is_capturing(cuda_stream(stream), &capture);
    *status = static_cast<hipStreamCaptureStatus>(capture);
    return error;
  });
}
hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
  return forward([&](const CudaForHip& call) {
    int exchanged = *mode;
    const int error = call.exchange_capture_mode(&exchanged);
    *mode = static_cast<hipStreamCaptureMode>(exchanged);
    return error;
  });
}

hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
  return forward([&](const CudaForHip& call) {
    CUevent_st* made = nullptr;
    const int error = call.event_create(&made, flags & kCudaFlags);
    *event = reinterpret_cast<hipEvent_t>(made);
    return error;
  });
}
hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return forward([&](const CudaForHip& call) {
    return event == nullptr ? kInvalidHandle : call.event_record(cuda_event(event), cuda_stream(stream));
  });
}
hipError_t hipEventQuery(hipEvent_t event) {
  return forward(
      [&](const CudaForHip& call) { return event == nullptr ? kInvalidHandle : call.event_query(cuda_event(event)); });
}
hipError_t hipEventElapsedTime(float* ms, hipEvent_t begin, hipEvent_t end) {
  return forward([&](const CudaForHip& call) {
    return begin == nullptr || end == nullptr ? kInvalidHandle
                                              : call.event_elapsed(ms, cuda_event(begin), cuda_event(end));
  });
}
}

#ifdef HIP_HEADER
static_assert(hipSuccess == 0 && hipErrorInvalidValue == kInvalidValue && hipErrorInvalidDevice == kInvalidDevice);
static_assert(hipErrorInvalidContext == 201 && hipErrorInvalidHandle == kInvalidHandle);
static_assert(hipErrorNotReady == kNotReady && hipErrorIllegalAddress == 700 && hipErrorContextIsDestroyed == 709);
static_assert(hipErrorLaunchFailure == 719 && hipErrorStreamCaptureUnsupported == 900 && hipErrorUnknown == kUnknown);
static_assert(hipEventBlockingSync == 1 && hipEventDisableTiming == 2 && hipEventInterprocess == 4);
static_assert(hipStreamCaptureModeRelaxed == 2 && hipStreamCaptureStatusActive == 1);
#endif
