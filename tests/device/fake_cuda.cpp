// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libcuda.so.1 without a device: what Takt uses of the driver, on a FakeDriver, and what cuda_program.cpp does to it.
#include "support/fake_driver.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
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

/// FAKE_NO_DEVICE is what everything answers on a machine with this driver and without a device.
int no_device() {
  const char* text = std::getenv("FAKE_NO_DEVICE");
  return text == nullptr ? 0 : std::atoi(text);
}
std::atomic<int> sticky{no_device()};
std::atomic<long> calls{0};
std::atomic<long> destroyed{0};
std::atomic<long> synchronized{0};
unsigned long long on_device = 0;  // one address there

/// What is destroyed on the way out, the program's last look at the driver comes too early for.
struct OnTheWayOut {
  ~OnTheWayOut() {
    if (destroyed != 0) { std::printf("%ld events destroyed\n", destroyed.load()); }
  }
} on_the_way_out;

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

/// What the next calls of a function answer, as often as it says.
class Script {
 public:
  static Script& get() {
    static auto* const script = new Script;
    return *script;
  }
  void set(const char* function, int error, int times) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answers_[function] = {error, times};
  }
  int next(const char* function) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = answers_.find(function);
    if (found == answers_.end() || found->second.second == 0) { return 0; }
    --found->second.second;
    return found->second.first;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::pair<int, int>> answers_;
};

/// Every call counts; after a fault all fail alike.
template <class Use>
int call(Use use, const char* function = __builtin_FUNCTION()) {
  ++calls;
  const int fault = sticky.load();
  if (fault != 0) { return fault; }
  const int scripted = Script::get().next(function);
  return scripted != 0 ? scripted : use();
}

/// A call with an event; the driver notes it where the context of that is gone.
template <class Use>
int call(const FakeEvent* event, Use use, const char* function = __builtin_FUNCTION()) {
  return call(
      [&] {
        const int error = answer(use());
        return event->context_number != driver().context().number ? 709 : error;
      },
      function);
}

#ifdef FAKE_CUDA_11
constexpr int kVersion = 11080;
#else
constexpr int kVersion = 13000;
#endif

takt_test::FakeGraph& captured() {
  static auto* const graph = new takt_test::FakeGraph;
  return *graph;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return no_device() == 0 ? 0 : 100; }
int cuDriverGetVersion(int* version) {
  *version = kVersion;
  return 0;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return call([&] {
    *count = 1;
    return 0;
  });
}
int cuCtxGetDevice(int* device) {
  return call([&] {
    *device = 0;
    return 0;
  });
}
int cuCtxGetCurrent(FakeContext** context) {
  return call([&] {
    *context = &driver().context();
    return 0;
  });
}
int cuCtxPushCurrent_v2(FakeContext*) { return 0; }
int cuCtxPopCurrent_v2(FakeContext**) { return 0; }
#ifndef FAKE_CUDA_11
int cuCtxGetId(FakeContext*, unsigned long long* id) {
  return call([&] {
    *id = driver().context().number;
    return 0;
  });
}
#endif
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
      *status = driver().is_capture_valid(known(stream)) ? 1 : 2;
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
  return call([&] { return answer(driver().create({&driver().context(), driver().context().number}, *event)); });
}
int cuEventRecord(FakeEvent* event, FakeStream* stream) {
  return call(event, [&] { return driver().record(event, known(stream)); });
}
int cuEventRecordWithFlags(FakeEvent* event, FakeStream* stream, unsigned flags) {
  return flags == 1 ? call(event, [&] { return driver().record_in_graph(event, stream); }) : 1;
}
int cuEventQuery(FakeEvent* event) {
  return call(event, [&] { return driver().query(event); });
}
int cuEventElapsedTime(float* ms, FakeEvent* begin, FakeEvent* end) {
  return call(end, [&] { return driver().elapsed(begin, end, *ms); });
}
/// Of what is on the device, and of what the driver does not know.
int cuPointerGetAttribute(void* value, int attribute, unsigned long long address) {
  if (address != on_device) { return 1; }
  *static_cast<int*>(value) = attribute == 2 ? 2 : 0;
  return 0;
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
int cuEventSynchronize(FakeEvent* event) {
  ++synchronized;
  driver().allow_waiting();  // say_calls() of the program tells
  return call(event, [&] { return driver().wait(event); });
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
void fake_put_on_device(const void* address) { on_device = reinterpret_cast<std::uintptr_t>(address); }
void fake_hold(int on) { driver().hold(on != 0); }
void fake_stick(int error) { sticky = error; }
void fake_reset() { driver().reset(driver().context()); }
int fake_begin_capture(FakeStream* stream) {
  driver().begin_capture(stream);
  return 0;
}
/// What a call that no capture allows does to one.
void fake_break_capture(FakeStream* stream) { driver().break_capture(stream); }
void fake_answer(const char* function, int error, int times) { Script::get().set(function, error, times); }
int fake_end_capture(FakeStream* stream) {
  captured() = driver().graph(stream);
  return driver().end_capture(stream) ? 0 : 901;
}
/// Of the last capture.
int fake_nodes() { return static_cast<int>(captured().nodes.size()); }
int fake_launch(FakeStream* stream) {
  driver().launch(captured(), stream);
  return sticky.load();
}
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
