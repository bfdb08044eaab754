// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libamdhip64 without a device. FAKE_HIP is its version, such as 6.2. HIP 6 sets the last error in every call,
// including successful ones; HIP 7 only on errors, and "not ready" is not an error. Since 6.2 an event query accesses
// the event's stream. Since 7 a capture query does not check that the stream exists.
#include "support/fake_driver.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

namespace {

using takt_test::FakeDriver;
using takt_test::FakeEvent;
using takt_test::FakeStream;
using Status = takt::EventStatus;

/// Returns the version in the format of hipRuntimeGetVersion(), without the patch.
int version_of(const char* text) {
  int major = 6;
  int minor = 0;
  if (text != nullptr) { std::sscanf(text, "%d.%d", &major, &minor); }
  return major * 10'000'000 + minor * 100'000;
}
const int version = version_of(std::getenv("FAKE_HIP"));
const bool before_7 = version < 70'000'000;
FakeDriver& driver() {
  static FakeDriver* const driver = [] {
    auto* const made = new FakeDriver;
    if (version >= 60'200'000) { made->check_streams(); }
    return made;
  }();
  return *driver;
}
/// A thread's default stream ends with the thread.
thread_local bool thread_stream_ended = false;
struct ThreadStream {
  FakeStream* stream = driver().stream();
  ~ThreadStream() {
    driver().destroy(stream);
    thread_stream_ended = true;
  }
};
FakeStream* known(FakeStream* stream) {
  static FakeStream* const legacy = driver().stream();
  if (stream == nullptr) { return legacy; }
  if (reinterpret_cast<std::uintptr_t>(stream) != 2) { return stream; }
  if (thread_stream_ended) { driver().note("the default stream of a thread that has ended"); }
  static thread_local const ThreadStream of_thread;
  return of_thread.stream;
}
thread_local int last_error = 0;
std::atomic<long> calls{0};

int set(int error) {
  ++calls;
  if (before_7 || (error != 0 && error != 600)) { last_error = error; }
  return error;
}
/// HIP since 6.2 dereferences hipStreamLegacy here.
void crash_on_legacy(const FakeStream* stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) == 1) { std::abort(); }
}
int answer(Status status) {
  switch (status) {
    case Status::done:
      return set(0);
    case Status::not_ready:
      return set(600);
    case Status::capturing:
      return set(900);
    default:
      return set(400);
  }
}

}  // namespace

extern "C" {

int hipPeekAtLastError() {
  ++calls;
  return last_error;
}
int hipGetLastError() {
  ++calls;
  return std::exchange(last_error, 0);
}
const char* hipGetErrorName(int) { return "hipError"; }
int hipGetDeviceCount(int* count) {
  *count = 1;
  return set(0);
}
int hipRuntimeGetVersion(int* number) {
  *number = version;
  return set(0);
}
int hipGetDevice(int* device) {
  *device = 0;
  return set(0);
}
int hipGetStreamDeviceId(FakeStream* stream) {
  crash_on_legacy(stream);
  return driver().is_gone(known(stream)) ? -1 : 0;
}
int hipStreamCreate(FakeStream** stream) {
  *stream = driver().stream();
  return set(0);
}
int hipStreamDestroy(FakeStream* stream) {
  driver().destroy(stream);
  return set(0);
}
int hipStreamQuery(FakeStream* stream) { return set(driver().queued(stream) == 0 ? 0 : 600); }
int hipStreamIsCapturing(FakeStream* stream, int* status) {
  stream = known(stream);
  if (driver().is_gone(stream)) {
    if (version >= 70'000'000) { driver().note("a question about a stream that is gone"); }
    return set(709);
  }
  takt::EventContextId id;
  const Status asked = driver().enter(stream, id);
  *status = asked == Status::capturing ? 1 : 0;
  return set(0);
}
int hipThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int current = 0;
  driver().relax((*mode == 2 ? 1 : 0) - (current == 2 ? 1 : 0));
  std::swap(current, *mode);
  return set(0);
}
int hipEventCreateWithFlags(FakeEvent** event, unsigned flags) {
  if ((flags & 0x20000000U) != 0) { return set(1); }  // before 5.3
  if ((flags & 1U) == 0) { driver().note("an event whose waiter spins"); }
  return answer(driver().create({&driver().context(), driver().context().number}, *event));
}
int hipEventRecord(FakeEvent* event, FakeStream* stream) {
  crash_on_legacy(stream);
  return answer(driver().record(event, known(stream)));
}
int hipEventQuery(FakeEvent* event) { return answer(driver().query(event)); }
int hipEventElapsedTime(float* ms, FakeEvent* begin, FakeEvent* end) {
  return answer(driver().elapsed(begin, end, *ms));
}

/// Makes a call of the application that fails.
int fake_fail(int error) { return set(error); }
void fake_work(FakeStream* stream, long long ns) { driver().work(known(stream), std::chrono::nanoseconds(ns)); }
void fake_begin_capture(FakeStream* stream) { driver().begin_capture(stream); }
/// Returns the number of nodes in the graph; -1: the capture was invalidated.
int fake_end_capture(FakeStream* stream) {
  return driver().end_capture(stream) ? static_cast<int>(driver().graph(stream).nodes.size()) : -1;
}
/// Creates a new stream at the address of a destroyed one.
void fake_make_again(FakeStream* stream) { driver().make_again(stream); }
long fake_calls() { return calls; }
void fake_hold(int on) { driver().hold(on != 0); }
int fake_misuses() {
  for (const std::string& each : driver().misuses()) { std::printf("misuse: %s\n", each.c_str()); }
  return static_cast<int>(driver().misuses().size());
}
}
