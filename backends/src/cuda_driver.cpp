// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cuda_driver.hpp"

#include "base/made_once.hpp"

#include <pthread.h>
#include <atomic>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kStubLibrary = 34;
constexpr const char* kNames[] = {"libcuda.so.1"};

std::atomic<CudaDriver*> loaded{nullptr};  // for the child of a fork: get() may be under way in the parent

DriverLibrary open_library() noexcept { return DriverLibrary(kNames); }

CudaDriver* load() noexcept {
  DriverLibrary& library = made_once<open_library>();
  auto* driver = new CudaDriver;  // never destroyed
  library.find(driver->driver_version, "cuDriverGetVersion");
  library.find(driver->error_name, "cuGetErrorName");
  library.find(driver->context_current, "cuCtxGetCurrent");
  library.find(driver->context_push, "cuCtxPushCurrent_v2");
  library.find(driver->context_pop, "cuCtxPopCurrent_v2");
  library.find(driver->context_id, "cuCtxGetId");
  library.find(driver->context_device, "cuCtxGetDevice", true);
  library.find(driver->primary_state, "cuDevicePrimaryCtxGetState", true);
  library.find(driver->primary_retain, "cuDevicePrimaryCtxRetain", true);
  library.find(driver->primary_release, "cuDevicePrimaryCtxRelease_v2", true);
  library.find(driver->stream_context, "cuStreamGetCtx");
  library.find(driver->stream_contexts, "cuStreamGetCtx_v2", true);
  library.find(driver->stream_green_context, "cuStreamGetGreenCtx", true);
  library.find(driver->stream_is_capturing, "cuStreamIsCapturing");
  library.find(driver->exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  library.find(driver->event_create, "cuEventCreate");
  library.find(driver->event_record, "cuEventRecord");
  library.find(driver->event_record_with_flags, "cuEventRecordWithFlags", true);
  library.find(driver->event_query, "cuEventQuery");
  library.find(driver->event_elapsed, "cuEventElapsedTime");
  library.find(driver->profiler_start, "cuProfilerStart", true);
  library.find(driver->profiler_stop, "cuProfilerStop", true);
  int version = 0;
  if (library.missing() != nullptr) {
    driver->availability.lose(library.missing());
  } else if (const int error = driver->driver_version(&version); error != 0) {
    driver->availability.lose(error == kStubLibrary ? "libcuda.so.1 is the stub for linking, not a driver"
                                                    : "the driver does not work");
  } else {
    loaded.store(driver, std::memory_order_release);  // pairs with the load after a fork
    pthread_atfork(nullptr, nullptr, []() noexcept { loaded.load()->availability.after_fork_in_child(); });
  }
  return driver;
}

CudaDriver::Synchronize* find_synchronize() noexcept {
  CudaDriver::Synchronize* found = nullptr;
  made_once<open_library>().find(found, "cuEventSynchronize", true);
  return found;
}

}  // namespace

CudaDriver::Synchronize* CudaDriver::event_synchronize() noexcept { return made_once<find_synchronize>(); }

CudaDriver& CudaDriver::get() noexcept { return *made_once<load>(); }

}  // namespace detail
TAKT_END_NAMESPACE
