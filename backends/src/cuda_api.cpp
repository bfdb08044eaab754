// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cuda_api.hpp"

#include "base/threads.hpp"

#include <takt/backends/cuda.hpp>
#include <takt/backends/detail/event_api.hpp>
#include <takt/backends/event.hpp>
#include <takt/detail/hot.hpp>
#include <takt/detail/library_version.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <pthread.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr int kStubLibrary = 34;
constexpr const char* kNames[] = {"libcuda.so.1"};

std::atomic<CudaDriver*> loaded{nullptr};  // for a fork's child: get() may be running in the parent

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
    static char text[32];
    static LibraryVersion library_version{"cuda_driver", text};
    std::snprintf(text, sizeof text, "%d.%d", version / 1000, version % 1000 / 10);
    add_library_version(library_version);
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

namespace {

// CUresult
constexpr int kSuccess = 0;
constexpr int kNotInitialized = 3;
constexpr int kDeinitialized = 4;
constexpr int kNoDevice = 100;
constexpr int kInvalidContext = 201;
constexpr int kEccUncorrectable = 214;
constexpr int kNvlinkUncorrectable = 220;
constexpr int kContained = 226;
constexpr int kInvalidHandle = 400;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;
constexpr int kLaunchTimeout = 702;
constexpr int kContextIsDestroyed = 709;
constexpr int kAssert = 710;
constexpr int kFirstError = 714;  // hardware stack error ... launch failed
constexpr int kLastError = 719;
constexpr int kTensorMemoryLeak = 721;
constexpr int kNotSupported = 801;
constexpr int kMpsClientTerminated = 810;
constexpr int kFirstCapture = 900;
constexpr int kCapturedEvent = 907;
constexpr int kLastCapture = 908;
constexpr int kUnknown = 999;

constexpr int kCaptureActive = 1;         // CUstreamCaptureStatus
constexpr unsigned kBlockingSync = 1U;    // CU_EVENT_BLOCKING_SYNC: a host that waits for the event sleeps
constexpr unsigned kRecordExternal = 1U;  // CU_EVENT_RECORD_EXTERNAL

std::atomic<const char*> last_error{"the context was destroyed"};

bool is_error(int error) noexcept {
  return error == kIllegalAddress || error == kLaunchTimeout || error == kContextIsDestroyed || error == kAssert ||
         (error >= kFirstError && error <= kLastError) || error == kEccUncorrectable || error == kNvlinkUncorrectable ||
         error == kContained || error == kTensorMemoryLeak || error == kMpsClientTerminated || error == kUnknown ||
         error == kDeinitialized;
}

EventStatus lose(int error) noexcept {
  CudaDriver& driver = CudaDriver::get();
  const char* name = nullptr;
  if (driver.error_name(error, &name) == kSuccess && name != nullptr) {
    last_error.store(name, std::memory_order_relaxed);
  }
  if (error == kDeinitialized) { driver.availability.lose("the driver has shut down"); }
  return EventStatus::lost;
}

EventStatus reset() noexcept {
  last_error.store("the context has been reset", std::memory_order_relaxed);
  return EventStatus::lost;
}

/// Returns the status of a call on a stream.
EventStatus status_of(int error) noexcept {
  if (error == kSuccess) { return EventStatus::done; }
  if (error == kNotReady) { return EventStatus::not_ready; }
  if (error >= kFirstCapture && error <= kLastCapture) { return EventStatus::capturing; }
  if (error == kNotInitialized || error == kNoDevice || error == kInvalidContext) { return EventStatus::no_context; }
  return is_error(error) ? lose(error) : EventStatus::refused;
}

/// Returns the status of a query of one of Takt's events: if the driver does not know the event, its context was reset.
/// An event recorded into a capture that started meanwhile never gets a time.
EventStatus status_of_event(int error) noexcept {
  if (error == kInvalidHandle) { return lose(error); }
  return error == kCapturedEvent ? EventStatus::refused : status_of(error);
}

CUctx_st* handle_of(const EventContextId& id) noexcept { return static_cast<CUctx_st*>(const_cast<void*>(id.handle)); }
bool is_default(CUstream_st* stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

/// Finds a stream's context, which exists as long as the stream: always a regular one. A stream of a green context (a
/// part of the device) also yields that, which must never be made current here. Drivers before CUDA 12.5 cannot return
/// both.
int find_context(CUstream_st* stream, CUctx_st*& context, CUgreenCtx_st*& green) noexcept {
  CudaDriver& driver = CudaDriver::get();
  if (driver.stream_contexts != nullptr) { return driver.stream_contexts(stream, &context, &green); }
  if (driver.stream_green_context != nullptr) {
    if (const int error = driver.stream_green_context(stream, &green); error != kSuccess) { return error; }
    if (green != nullptr) { return kNotSupported; }
  }
  return is_default(stream) ? driver.context_current(&context) : driver.stream_context(stream, &context);
}

/// Finds a stream's context and its number.
EventStatus context_of(CUstream_st* stream, EventContextId& id) noexcept {
  CudaDriver& driver = CudaDriver::get();
  CUctx_st* context = nullptr;
  CUgreenCtx_st* green = nullptr;
  if (const int error = find_context(stream, context, green); error != kSuccess) { return status_of(error); }
  if (context == nullptr) { return EventStatus::no_context; }
  unsigned long long number = 0;
  if (driver.context_id(context, &number) != kSuccess) { return EventStatus::no_context; }
  id = EventContextId{context, number, is_default(stream) ? reinterpret_cast<std::uintptr_t>(green) : 0, -1};
  driver.availability.used();
  return EventStatus::done;
}

bool is_per_thread(CUstream_st* stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) == 2; }

bool has_one_queue() noexcept {
  const char* connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  return connections != nullptr && std::strcmp(connections, "1") == 0;
}

}  // namespace

const char* CudaApi::caveat() noexcept {
  return made_once<has_one_queue>()
             ? "CUDA_DEVICE_MAX_CONNECTIONS=1 puts all streams into one queue, in which timing events prevent work of "
               "different streams from overlapping"
             : nullptr;
}

const char* CudaApi::error_text() noexcept { return last_error.load(std::memory_order_relaxed); }

std::uintptr_t CudaApi::order_of(Stream stream) noexcept {
  return is_per_thread(stream) ? static_cast<std::uintptr_t>(pthread_self()) : reinterpret_cast<std::uintptr_t>(stream);
}

bool CudaApi::keeps_context(Stream stream) noexcept { return !is_default(stream); }

EventStatus CudaApi::check_capture(Stream stream) noexcept {
  int capture = 0;
  const int error = CudaDriver::get().stream_is_capturing(stream, &capture);
  if (error != kSuccess) { return status_of(error); }
  return capture != 0 ? EventStatus::capturing : EventStatus::done;
}

EventStatus CudaApi::enter(Stream stream, EventContextId& id) noexcept {
  const EventStatus status = check_capture(stream);  // must be first: nearly any other call invalidates a capture
  return status == EventStatus::done ? context_of(stream, id) : status;
}

EventStatus CudaApi::enter_capture(Stream stream, EventContextId& id) noexcept {
  CudaDriver& driver = CudaDriver::get();
  if (driver.event_record_with_flags == nullptr) { return EventStatus::unsupported; }
  int capture = 0;
  if (const int error = driver.stream_is_capturing(stream, &capture); error != kSuccess) { return status_of(error); }
  return capture == kCaptureActive ? context_of(stream, id) : EventStatus::not_capturing;
}

EventStatus CudaApi::create(const EventContextId& id, Event& event) noexcept {
  CudaDriver& driver = CudaDriver::get();
  CUctx_st* const context = handle_of(id);
  CUctx_st* current = nullptr;
  if (const int error = driver.context_current(&current); error != kSuccess) { return status_of(error); }
  const bool other = current != context;
  if (other && driver.context_push(context) != kSuccess) { return EventStatus::no_context; }
  const int error = driver.event_create(&event, kBlockingSync);
  if (other) { driver.context_pop(&current); }
  return status_of(error);
}

EventStatus CudaApi::record(Event event, Stream stream) noexcept {
  return status_of(CudaDriver::get().event_record(event, stream));  // an invalid handle may also be the stream's
}

/// Without the flag, a record becomes a dependency of the capture instead of a node.
EventStatus CudaApi::record_in_graph(Event event, Stream stream) noexcept {
  return status_of(CudaDriver::get().event_record_with_flags(event, stream, kRecordExternal));
}

/// Queries the number of the current context only: a context that may be destroyed must not be queried. For a primary
/// context, its device is queried instead.
EventStatus CudaApi::alive(const EventContextId& id) noexcept {
  CudaDriver& driver = CudaDriver::get();
  unsigned flags = 0;
  int active = 1;
  if (id.device >= 0 && driver.primary_state(id.device, &flags, &active) == kSuccess && active == 0) { return reset(); }
  CUctx_st* current = nullptr;
  if (const int error = driver.context_current(&current); error != kSuccess) { return status_of(error); }
  if (current != id.handle) { return EventStatus::no_context; }
  unsigned long long number = 0;
  const int error = driver.context_id(current, &number);
  if (error == kSuccess && number == id.number) { return EventStatus::done; }
  return is_error(error) && error != kContextIsDestroyed ? lose(error) : reset();
}

/// Identifies the device's primary context, which can be queried later, or the application's own one. Retaining the
/// primary context creates nothing, because it is active.
void CudaApi::describe(EventContextId& id) noexcept {
  CudaDriver& driver = CudaDriver::get();
  const RelaxedMode<CudaApi> relaxed;
  if (driver.context_device == nullptr || driver.primary_state == nullptr || driver.primary_retain == nullptr ||
      driver.primary_release == nullptr || !visit(id)) {
    return;
  }
  int device = -1;
  const int error = driver.context_device(&device);
  leave();
  unsigned flags = 0;
  int active = 0;
  if (error != kSuccess || driver.primary_state(device, &flags, &active) != kSuccess || active == 0) { return; }
  CUctx_st* primary = nullptr;
  if (driver.primary_retain(&primary, device) != kSuccess) { return; }
  if (primary == id.handle) { id.device = device; }
  driver.primary_release(device);
}

EventStatus CudaApi::query(Event event) noexcept { return status_of_event(CudaDriver::get().event_query(event)); }

EventStatus CudaApi::elapsed(Event begin, Event end, float& ms) noexcept {
  CudaDriver& driver = CudaDriver::get();
  const int error = driver.event_elapsed(&ms, begin, end);
  if (error != kInvalidHandle) { return status_of_event(error); }
  // Query first: for an event that was never recorded, the driver reports finished.
  for (const Event each : {begin, end}) {
    if (const EventStatus status = query(each); status != EventStatus::done) { return status; }
  }
  return EventStatus::not_recorded;
}

EventStatus CudaApi::wait(Event event) noexcept {
  auto* const synchronize = CudaDriver::event_synchronize();
  return synchronize == nullptr ? EventStatus::unsupported : status_of_event(synchronize(event));
}

bool CudaApi::visit(const EventContextId& id) noexcept {
  return CudaDriver::get().context_push(handle_of(id)) == kSuccess;
}

bool CudaApi::visit_stream(Stream stream) noexcept {
  CUctx_st* context = nullptr;
  CUgreenCtx_st* green = nullptr;
  if (is_default(stream) || find_context(stream, context, green) != kSuccess || context == nullptr) { return false; }
  return CudaDriver::get().context_push(context) == kSuccess;
}

void CudaApi::leave() noexcept {
  CUctx_st* left = nullptr;
  CudaDriver::get().context_pop(&left);
}

std::uint64_t CudaApi::now_ns() noexcept { return posix_ns(CLOCK_MONOTONIC); }

}  // namespace detail
namespace {

using Events = EventBackend<detail::CudaApi>;

}  // namespace

bool CudaBackend::mark(Mark& mark) noexcept { return Events(stream_).mark(mark); }
void CudaBackend::retain(Mark mark) noexcept { Events(stream_).retain(mark); }
Elapsed CudaBackend::elapsed(Mark begin, Mark end) noexcept { return Events(stream_).elapsed(begin, end); }
Elapsed CudaBackend::elapsed(Mark begin, Mark end, Queries& queries) noexcept {
  return Events(stream_).elapsed(begin, end, queries);
}
void CudaBackend::end_queries(Queries& queries) noexcept { Events(stream_).end_queries(queries); }
void CudaBackend::release(Mark mark) noexcept { Events(stream_).release(mark); }
DeviceReport CudaBackend::report() noexcept { return Events::report(); }
StreamRef CudaBackend::ref() const noexcept { return {&event_ops<detail::CudaApi>, stream_}; }

TAKT_END_NAMESPACE
