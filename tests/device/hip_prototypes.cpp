// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Checks at compile time that Takt's table of the HIP runtime matches AMD's header.
#include "device/same_prototype.hpp"
#include "hip_api.hpp"

#include <takt/backends/hip.hpp>

#include <hip/hip_runtime_api.h>

using takt::detail::HipRuntime;
using takt_test::same_prototype;

static_assert(same_prototype(&HipRuntime::peek_last_error, &hipPeekAtLastError));
static_assert(same_prototype(&HipRuntime::get_last_error, &hipGetLastError));
static_assert(same_prototype(&HipRuntime::error_name, &hipGetErrorName));
static_assert(same_prototype(&HipRuntime::device_count, &hipGetDeviceCount));
static_assert(same_prototype(&HipRuntime::current_device, &hipGetDevice));
static_assert(same_prototype(&HipRuntime::device_of_stream, &hipGetStreamDeviceId));
static_assert(same_prototype(&HipRuntime::stream_is_capturing, &hipStreamIsCapturing));
static_assert(same_prototype(&HipRuntime::exchange_capture_mode, &hipThreadExchangeStreamCaptureMode));
static_assert(same_prototype(&HipRuntime::event_create, &hipEventCreateWithFlags));
static_assert(same_prototype(&HipRuntime::event_record,
                             static_cast<hipError_t (*)(hipEvent_t, hipStream_t)>(&hipEventRecord)));
static_assert(same_prototype(&HipRuntime::event_query, &hipEventQuery));
static_assert(same_prototype(&HipRuntime::event_elapsed, &hipEventElapsedTime));
static_assert(same_prototype(&HipRuntime::event_synchronize, &hipEventSynchronize));

// Constants that src/hip_api.cpp relies on.
static_assert(hipStreamCaptureModeRelaxed == 2 && hipStreamCaptureStatusNone == 0);
static_assert(hipEventReleaseToDevice == 0x40000000 && hipEventDefault == 0);
static_assert(hipSuccess == 0 && hipErrorInvalidValue == 1 && hipErrorNotInitialized == 3);
static_assert(hipErrorDeinitialized == 4 && hipErrorNoDevice == 100 && hipErrorInvalidDevice == 101);
static_assert(hipErrorInvalidContext == 201 && hipErrorInvalidHandle == 400 && hipErrorNotReady == 600);
static_assert(hipErrorIllegalAddress == 700 && hipErrorContextIsDestroyed == 709 && hipErrorAssert == 710);
static_assert(hipErrorLaunchFailure == 719 && hipErrorStreamCaptureUnsupported == 900);
static_assert(hipErrorStreamCaptureWrongThread == 908 && hipErrorUnknown == 999);

static_assert(takt::detail::HasStreamRef<hipStream_t>::value);
static_assert(std::is_convertible_v<hipStream_t, takt::HipBackend>);
