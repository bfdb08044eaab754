// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "hip_runtime.hpp"

#include "base/made_once.hpp"

#include <pthread.h>
#include <unistd.h>
#include <atomic>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kNoDeviceReason = "HIP finds no device";
constexpr int kFirstThatLooksAtStreams = 60'200'000;  // 6.2
constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

std::atomic<HipRuntime*> loaded{nullptr};  // for the child of a fork: get() may be under way in the parent

DriverLibrary open_library() noexcept { return DriverLibrary(kNames); }

HipRuntime* load() noexcept {
  DriverLibrary& library = made_once<open_library>();
  auto* runtime = new HipRuntime;  // never destroyed
  library.find(runtime->peek_last_error, "hipPeekAtLastError");
  library.find(runtime->get_last_error, "hipGetLastError");
  library.find(runtime->error_name, "hipGetErrorName");
  library.find(runtime->version, "hipRuntimeGetVersion", true);
  library.find(runtime->device_count, "hipGetDeviceCount");
  library.find(runtime->current_device, "hipGetDevice");
  library.find(runtime->device_of_stream, "hipGetStreamDeviceId", true);
  library.find(runtime->stream_is_capturing, "hipStreamIsCapturing");
  library.find(runtime->exchange_capture_mode, "hipThreadExchangeStreamCaptureMode");
  library.find(runtime->event_create, "hipEventCreateWithFlags");
  library.find(runtime->event_record, "hipEventRecord");
  library.find(runtime->event_query, "hipEventQuery");
  library.find(runtime->event_elapsed, "hipEventElapsedTime");
  if (library.missing() != nullptr) {
    runtime->availability.lose(library.missing());
    return runtime;
  }
  loaded.store(runtime, std::memory_order_release);  // pairs with the load after a fork
  pthread_atfork(nullptr, nullptr, []() noexcept { loaded.load()->availability.after_fork_in_child(); });
  return runtime;
}

HipRuntime::Synchronize* find_synchronize() noexcept {
  HipRuntime::Synchronize* found = nullptr;
  made_once<open_library>().find(found, "hipEventSynchronize", true);
  return found;
}

}  // namespace

bool HipRuntime::has_device() noexcept {
  // Pairs with the release below.
  if (asked_.load(std::memory_order_acquire)) { return availability.reason() == nullptr; }
  int count = 0;
  const int error = device_count(&count);
  if (error != 0) { get_last_error(); }
  if (error != 0 || count == 0) { availability.lose(kNoDeviceReason); }
  int number = 0;
  if (version != nullptr && version(&number) == 0 && number != 0) {
    looks_at_streams_.store(number >= kFirstThatLooksAtStreams, std::memory_order_relaxed);
  }
  asked_.store(true, std::memory_order_release);  // pairs with the acquire above
  return error == 0 && count > 0;
}

bool HipRuntime::has_pending_error() noexcept {
  const int error = peek_last_error();
  if (error == 0) { return false; }
  // Without a device every call fails so, this one too, and there is nothing to be kept.
  const bool may_be_none = error == kHipNoDevice || error == kHipInvalidDevice;
  if (may_be_none && !asked_.load(std::memory_order_relaxed) && ::access("/dev/kfd", F_OK) != 0) {
    availability.lose(kNoDeviceReason);
  }
  return true;
}

HipRuntime::Synchronize* HipRuntime::event_synchronize() noexcept { return made_once<find_synchronize>(); }

HipRuntime& HipRuntime::get() noexcept { return *made_once<load>(); }

}  // namespace detail
TAKT_END_NAMESPACE
