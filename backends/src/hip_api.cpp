// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "hip_api.hpp"

#include "base/threads.hpp"

#include <takt/backends/event.hpp>
#include <takt/backends/hip.hpp>
#include <takt/detail/hot.hpp>
#include <takt/detail/library_version.hpp>

#include <atomic>
#include <cstdio>

#include <pthread.h>
#include <unistd.h>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr const char* kNoDeviceReason = "HIP finds no device";
constexpr int kFirstThatChecksStreams = 60'200'000;  // 6.2
constexpr const char* kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};

std::atomic<HipRuntime*> loaded{nullptr};  // for a fork's child: get() may be running in the parent

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

/// Adds the version to the run's libraries, once.
void add_hip_version(int number) noexcept {
  static char text[32];
  static LibraryVersion version{"hip_runtime", text};
  static std::atomic<bool> is_added{false};
  if (is_added.exchange(true, std::memory_order_relaxed)) { return; }
  std::snprintf(text, sizeof text, "%d.%d", number / 10'000'000, number / 100'000 % 100);
  add_library_version(version);
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
    add_hip_version(number);
    checks_streams_.store(number >= kFirstThatChecksStreams, std::memory_order_relaxed);
  }
  asked_.store(true, std::memory_order_release);  // pairs with the acquire above
  return error == 0 && count > 0;
}

bool HipRuntime::has_pending_error() noexcept {
  const int error = peek_last_error();
  if (error == 0) { return false; }
  // Without a device every call fails like this, this one too; no error needs to be kept.
  const bool may_be_none = error == kHipNoDevice || error == kHipInvalidDevice;
  if (may_be_none && !asked_.load(std::memory_order_relaxed) && ::access("/dev/kfd", F_OK) != 0) {
    availability.lose(kNoDeviceReason);
  }
  return true;
}

HipRuntime::Synchronize* HipRuntime::event_synchronize() noexcept { return made_once<find_synchronize>(); }

HipRuntime& HipRuntime::get() noexcept { return *made_once<load>(); }

namespace {

// hipError_t
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kNotInitialized = 3;
constexpr int kDeinitialized = 4;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;
constexpr int kContextIsDestroyed = 709;
constexpr int kAssert = 710;
constexpr int kLaunchFailure = 719;
constexpr int kFirstCapture = 900;
constexpr int kCapturedEvent = 907;
constexpr int kLastCapture = 908;
constexpr int kUnknown = 999;

std::atomic<const char*> last_error{"the device was lost"};

bool is_error(int error) noexcept {
  return error == kIllegalAddress || error == kContextIsDestroyed || error == kAssert || error == kLaunchFailure ||
         error == kDeinitialized || error == kUnknown;
}

EventStatus status_of(int error) noexcept {
  if (error == kSuccess) { return EventStatus::done; }
  HipRuntime& runtime = HipRuntime::get();
  runtime.get_last_error();  // no error was pending, so this one is Takt's
  if (error == kNotReady) { return EventStatus::not_ready; }
  if (error >= kFirstCapture && error <= kLastCapture) { return EventStatus::capturing; }
  if (error == kNotInitialized || error == kHipNoDevice || error == kHipInvalidDevice || error == kInvalidContext) {
    return EventStatus::no_context;
  }
  if (!is_error(error)) { return EventStatus::refused; }
  if (error == kDeinitialized) { runtime.availability.lose("the runtime has shut down"); }
  last_error.store(runtime.error_name(error), std::memory_order_relaxed);
  return EventStatus::lost;
}

/// Returns the status of a call with a stream. "The context is destroyed" then means that the stream was destroyed
/// (hipStreamIsCapturing and hipEventRecord in ROCm's clr).
EventStatus status_of_stream(int error) noexcept {
  if (error != kContextIsDestroyed) { return status_of(error); }
  HipRuntime::get().get_last_error();
  return EventStatus::stream_gone;
}

/// Returns the status of a query of an event. An event recorded into a capture that started meanwhile never gets a
/// time.
EventStatus status_of_event(int error) noexcept {
  const EventStatus status = status_of(error);
  return error == kCapturedEvent ? EventStatus::refused : status;
}

bool is_default(ihipStream_t* stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }
bool is_per_thread(ihipStream_t* stream) noexcept { return reinterpret_cast<std::uintptr_t>(stream) == 2; }

/// Set at the first region on hipStreamPerThread, for the report.
std::atomic<bool> per_thread_seen{false};

const void* handle_of(int device) noexcept {
  return reinterpret_cast<const void*>(static_cast<std::intptr_t>(device) + 1);
}

// Events need not make memory visible to the host. The flag for this depends on the version.
constexpr unsigned kDisableSystemFence = 0x20000000;
constexpr unsigned kReleaseToDevice = 0x40000000;
// A host that waits for the event sleeps: spinning on the runtime's lock delays other threads.
constexpr unsigned kBlockingSync = 1;
constexpr unsigned kFlags[] = {kDisableSystemFence | kBlockingSync, kReleaseToDevice | kBlockingSync, kBlockingSync};
std::atomic<unsigned> flag{0};  // the first of kFlags that was not refused

}  // namespace

const char* HipApi::error_text() noexcept { return last_error.load(std::memory_order_relaxed); }

const char* HipApi::caveat() noexcept {
  return per_thread_seen.load(std::memory_order_relaxed) ? "regions on hipStreamPerThread have no stream spans: that "
                                                           "stream ends with its thread, and no call reports that"
                                                         : nullptr;
}

std::uintptr_t HipApi::order_of(Stream stream) noexcept {
  return stream == nullptr ? 1 : reinterpret_cast<std::uintptr_t>(stream);
}

bool HipApi::keeps_context(Stream stream) noexcept { return !is_default(stream); }

EventStatus HipApi::check_capture(Stream stream) noexcept {
  HipRuntime& runtime = HipRuntime::get();
  int capture = 0;
  const EventStatus asked = status_of_stream(runtime.stream_is_capturing(stream, &capture));
  if (capture != 0) { return EventStatus::capturing; }
  const bool is_known = asked == EventStatus::done || asked == EventStatus::no_context;
  return is_known && !runtime.has_device() ? EventStatus::no_context : asked;
}

EventStatus HipApi::enter(Stream stream, EventContextId& id) noexcept {
  if (is_per_thread(stream)) {
    per_thread_seen.store(true, std::memory_order_relaxed);
    return EventStatus::refused;
  }
  // Must be first: nearly any other call invalidates a capture.
  if (const EventStatus status = check_capture(stream); status != EventStatus::done) { return status; }
  HipRuntime& runtime = HipRuntime::get();
  int device = -1;
  if (is_default(stream) || runtime.device_of_stream == nullptr) {
    if (const int error = runtime.current_device(&device); error != kSuccess) { return status_of(error); }
  } else {
    device = runtime.device_of_stream(stream);
  }
  if (device < 0) { return EventStatus::no_context; }
  id = EventContextId{handle_of(device), 0};
  runtime.availability.used();
  return EventStatus::done;
}

/// Only on the current device: Takt must not change that.
EventStatus HipApi::create(const EventContextId& id, Event& event) noexcept {
  HipRuntime& runtime = HipRuntime::get();
  int device = -1;
  if (const int error = runtime.current_device(&device); error != kSuccess) { return status_of(error); }
  if (handle_of(device) != id.handle) { return EventStatus::no_context; }
  for (;;) {
    unsigned which = flag.load(std::memory_order_relaxed);
    const int error = runtime.event_create(&event, kFlags[which]);
    if (error != kInvalidValue || kFlags[which] == kBlockingSync) { return status_of(error); }
    status_of(error);
    flag.compare_exchange_strong(which, which + 1, std::memory_order_relaxed);
  }
}

EventStatus HipApi::record(Event event, Stream stream) noexcept {
  return status_of_stream(HipRuntime::get().event_record(event, stream));
}

/// Since HIP 6.2, querying an event accesses its stream in any mode: a capturing stream loses its capture, and a
/// destroyed stream must not be queried. In all these versions, the stream's device shows if the stream exists; only an
/// existing stream can be asked if it is capturing.
EventStatus HipApi::check(Stream stream) noexcept {
  HipRuntime& runtime = HipRuntime::get();
  if (!runtime.checks_streams()) { return EventStatus::done; }
  if (runtime.device_of_stream != nullptr && runtime.device_of_stream(stream) < 0) { return EventStatus::stream_gone; }
  int capture = 0;
  const int error = runtime.stream_is_capturing(stream, &capture);
  if (capture != 0) { return EventStatus::capturing; }
  const EventStatus status = status_of(error);
  if (error == kContextIsDestroyed || status == EventStatus::refused) { return EventStatus::stream_gone; }
  return status;
}

EventStatus HipApi::query(Event event) noexcept { return status_of_event(HipRuntime::get().event_query(event)); }

EventStatus HipApi::elapsed(Event begin, Event end, float& ms) noexcept {
  return status_of_event(HipRuntime::get().event_elapsed(&ms, begin, end));
}

EventStatus HipApi::wait(Event event) noexcept {
  auto* const synchronize = HipRuntime::event_synchronize();
  return synchronize == nullptr ? EventStatus::unsupported : status_of_event(synchronize(event));
}

std::uint64_t HipApi::now_ns() noexcept { return posix_ns(CLOCK_MONOTONIC); }

bool HipApi::exchange_mode(int& mode) noexcept {
  return status_of(HipRuntime::get().exchange_capture_mode(&mode)) == EventStatus::done;
}

}  // namespace detail
namespace {

using Events = EventBackend<detail::HipApi>;

}  // namespace

bool HipBackend::mark(Mark& mark) noexcept { return Events(stream_).mark(mark); }
void HipBackend::retain(Mark mark) noexcept { Events(stream_).retain(mark); }
Elapsed HipBackend::elapsed(Mark begin, Mark end) noexcept { return Events(stream_).elapsed(begin, end); }
Elapsed HipBackend::elapsed(Mark begin, Mark end, Queries& queries) noexcept {
  return Events(stream_).elapsed(begin, end, queries);
}
void HipBackend::end_queries(Queries& queries) noexcept { Events(stream_).end_queries(queries); }
void HipBackend::release(Mark mark) noexcept { Events(stream_).release(mark); }
DeviceReport HipBackend::report() noexcept { return Events::report(); }
StreamRef HipBackend::ref() const noexcept { return {&event_ops<detail::HipApi>, stream_}; }

TAKT_END_NAMESPACE
