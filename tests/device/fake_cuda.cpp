// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libcuda.so.1 without a device: what Takt uses of the driver, on a FakeDriver, and what cuda_program.cpp does to it.
#include "support/fake_driver.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

namespace {

using takt_test::FakeContext;
using takt_test::FakeDriver;
using takt_test::FakeEvent;
using takt_test::FakeStream;
using Status = takt::EventStatus;

FakeDriver& driver() {
  static auto* const driver = new FakeDriver;
  return *driver;
}
FakeStream* legacy() {
  static FakeStream* const stream = [] {
    FakeStream* made = driver().stream();
    made->is_legacy = true;
    return made;
  }();
  return stream;
}
FakeStream* known(FakeStream* stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2 ? legacy() : stream; }

std::atomic<int> sticky{0};
std::atomic<long> calls{0};
std::atomic<long> destroyed{0};
std::atomic<long> synchronized{0};
std::atomic<unsigned long long> context_number{1};

int answer(Status status) {
  switch (status) {
    case Status::done:
      return 0;
    case Status::not_ready:
      return 600;
    case Status::capturing:
      return 906;
    case Status::no_context:
      return 201;
    default:
      return 400;
  }
}

/// Every call counts; after a fault all fail alike.
template <class Use>
int call(Use use) {
  ++calls;
  const int fault = sticky.load();
  return fault != 0 ? fault : use();
}

}  // namespace

extern "C" {

int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
int cuCtxGetCurrent(FakeContext** context) {
  return call([&] {
    *context = &driver().context();
    return 0;
  });
}
int cuCtxPushCurrent_v2(FakeContext*) { return 0; }
int cuCtxPopCurrent_v2(FakeContext**) { return 0; }
int cuCtxGetId(FakeContext*, unsigned long long* id) {
  return call([&] {
    *id = context_number.load();
    return 0;
  });
}
int cuStreamCreate(FakeStream** stream, unsigned) {
  *stream = driver().stream();
  return sticky.load();
}
int cuStreamQuery(FakeStream* stream) {
  const int fault = sticky.load();
  return fault != 0 ? fault : driver().queued(stream) == 0 ? 0 : 600;
}
int cuStreamGetCtx(FakeStream*, FakeContext** context) { return cuCtxGetCurrent(context); }
int cuStreamIsCapturing(FakeStream* stream, int* status) {
  return call([&] {
    takt::EventContextId id;
    const Status asked = driver().enter(known(stream), id);
    if (asked == Status::capturing && known(stream) != legacy()) {
      *status = 1;
      return 0;
    }
    return answer(asked);
  });
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  static thread_local int current = 0;
  driver().relax((*mode == 2 ? 1 : 0) - (current == 2 ? 1 : 0));
  std::swap(current, *mode);
  return 0;
}
int cuEventCreate(FakeEvent** event, unsigned) {
  return call([&] {
    if (const Status status = driver().create(*event); status != Status::done) { return answer(status); }
    (*event)->context = context_number.load();
    return 0;
  });
}
int cuEventRecord(FakeEvent* event, FakeStream* stream) {
  return call([&] { return event->context != context_number ? 400 : answer(driver().record(event, known(stream))); });
}
int cuEventQuery(FakeEvent* event) {
  return call([&] { return event->context != context_number ? 709 : answer(driver().query(event)); });
}
int cuEventElapsedTime(float* ms, FakeEvent* begin, FakeEvent* end) {
  return call([&] { return end->context != context_number ? 709 : answer(driver().elapsed(begin, end, *ms)); });
}
int cuProfilerStart() {
  std::printf("profiler on\n");
  return sticky.load();
}
int cuProfilerStop() {
  std::printf("profiler off\n");
  return sticky.load();
}
int cuEventDestroy_v2(FakeEvent*) {
  ++destroyed;
  return 0;
}
int cuEventSynchronize(FakeEvent*) {
  ++synchronized;
  return 0;
}
int cuStreamSynchronize(FakeStream*) {
  ++synchronized;
  return 0;
}
int cuCtxSynchronize() {
  ++synchronized;
  return 0;
}

void fake_work(FakeStream* stream, long long ns) { driver().work(known(stream), std::chrono::nanoseconds(ns)); }
void fake_run(FakeStream* stream) { driver().run(known(stream), ~std::size_t{0}); }
void fake_hold(int on) { driver().hold(on != 0); }
void fake_stick(int error) { sticky = error; }
void fake_reset() { ++context_number; }
int fake_begin_capture(FakeStream* stream) {
  driver().begin_capture(stream);
  return 0;
}
int fake_end_capture(FakeStream* stream) { return driver().end_capture(stream) ? 0 : 901; }
long fake_calls(const char* what) {
  return std::strcmp(what, "all") == 0           ? calls.load()
         : std::strcmp(what, "synchronize") == 0 ? synchronized.load()
                                                 : destroyed.load();
}
int fake_misuses() {
  for (const std::string& each : driver().misuses()) { std::printf("misuse: %s\n", each.c_str()); }
  return static_cast<int>(driver().misuses().size());
}
}
