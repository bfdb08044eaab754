// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libcuda.so.1 without a device: the driver functions that Takt uses, on a FakeDriver, and the test controls for
// cuda_program.cpp.
#include "support/fake_driver.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
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

/// With FAKE_NO_DEVICE every call fails as on a machine with this driver but without a device.
int no_device() {
  const char* text = std::getenv("FAKE_NO_DEVICE");
  return text == nullptr ? 0 : std::atoi(text);
}
/// The driver's contexts. A context is current to a thread, and threads start without one. The first use through the
/// runtime makes the primary context current. A destroyed context may only be queried on threads where it is current.
class Contexts {
 public:
  static Contexts& get() {
    static auto* const contexts = new Contexts;
    return *contexts;
  }
  FakeContext& primary() { return driver().context(); }

  void use() {
    active_ = true;
    if (stack().empty()) { stack().push_back(&primary()); }
  }
  void reset() {
    driver().reset(primary());
    active_ = false;
  }
  bool is_active() const { return active_; }

  FakeContext* current() { return stack().empty() ? nullptr : stack().back(); }
  int push(FakeContext* context) {
    ++pushes_;
    if (is_gone(context)) { driver().note("a context that is gone is made current"); }
    if (context == &green_) { driver().note("a green context is made current by Takt"); }
    stack().push_back(context);
    return 0;
  }
  int pop(FakeContext** context) {
    ++pops_;
    if (stack().empty()) { return 201; }
    *context = stack().back();
    stack().pop_back();
    return 0;
  }
  int number(FakeContext* context, unsigned long long* number) {
    if (is_gone(context)) {
      if (context != current()) { driver().note("the number of a context that is gone is asked for"); }
      return 709;
    }
    *number = context == &green_ ? 1000 : context->number.load();
    return 0;
  }
  FakeContext* green() { return &green_; }
  /// Makes the green context current; it must not be current on another thread.
  void use_green() { stack().push_back(&green_); }
  long unbalanced() const { return pushes_ - pops_; }

 private:
  /// Has no destructor because an exiting thread may still call it.
  class Stack {
   public:
    bool empty() const { return count_ == 0; }
    FakeContext* back() const { return of_.at(count_ - 1); }
    void push_back(FakeContext* context) { of_.at(count_++) = context; }
    void pop_back() { --count_; }

   private:
    std::array<FakeContext*, 16> of_{};
    std::size_t count_ = 0;
  };
  static Stack& stack() {
    static thread_local Stack stack;
    return stack;
  }
  bool is_gone(FakeContext* context) { return context == &primary() && !active_; }

  FakeContext green_;
  std::atomic<bool> active_{false};
  std::atomic<long> pushes_{0};
  std::atomic<long> pops_{0};
};

/// Returns the streams of the green context.
std::set<FakeStream*>& green_streams() {
  static auto* const streams = new std::set<FakeStream*>;
  return *streams;
}

std::atomic<int> sticky{no_device()};
std::atomic<long> calls{0};
std::atomic<long> destroyed{0};
std::atomic<long> synchronized{0};

/// Prints how many events were destroyed at exit, which is after the program's last query of the driver.
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

/// Errors that the next calls of a function return, and how often.
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

/// Counts the call. After a device error all calls fail with it.
template <class Use>
int call(Use use, const char* function = __builtin_FUNCTION()) {
  ++calls;
  const int fault = sticky.load();
  if (fault != 0) { return fault; }
  const int scripted = Script::get().next(function);
  return scripted != 0 ? scripted : use();
}

/// Makes a call on a thread that has a context.
template <class Use>
int call_in_context(Use use, const char* function = __builtin_FUNCTION()) {
  return call([&] { return Contexts::get().current() == nullptr ? 201 : use(); }, function);
}

/// Makes a call with an event. The driver records a violation if the event's context was destroyed.
template <class Use>
int call(const FakeEvent* event, Use use, const char* function = __builtin_FUNCTION()) {
  return call_in_context(
      [&] {
        const int error = answer(use());
        return event->context_number != driver().context().number ? 709 : error;
      },
      function);
}

#ifdef FAKE_CUDA_11
constexpr int kVersion = 11080;
#elif defined(FAKE_CUDA_12_4)
constexpr int kVersion = 12040;
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
  return call_in_context([&] {
    *device = 0;
    return 0;
  });
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = Contexts::get().is_active() ? 1 : 0;
  return sticky.load();
}
int cuDevicePrimaryCtxRetain(FakeContext** context, int) {
  if (!Contexts::get().is_active()) { driver().note("a context is made"); }
  *context = &Contexts::get().primary();
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }
int cuCtxGetCurrent(FakeContext** context) {
  return call([&] {
    *context = Contexts::get().current();
    return 0;
  });
}
int cuCtxPushCurrent_v2(FakeContext* context) { return Contexts::get().push(context); }
int cuCtxPopCurrent_v2(FakeContext** context) { return Contexts::get().pop(context); }
#ifndef FAKE_CUDA_11
int cuCtxGetId(FakeContext* context, unsigned long long* id) {
  return call([&] { return Contexts::get().number(context, id); });
}
#ifdef FAKE_CUDA_12_4
int cuStreamGetGreenCtx(FakeStream* stream, FakeContext** green) {
  return call([&] {
    Contexts& contexts = Contexts::get();
    const bool is_default = reinterpret_cast<std::uintptr_t>(stream) <= 2;
    const bool is_green = is_default ? contexts.current() == contexts.green() : green_streams().count(stream) != 0;
    *green = is_green ? contexts.green() : nullptr;
    return 0;
  });
}
#else
/// A green context is part of the primary one.
int cuStreamGetCtx_v2(FakeStream* stream, FakeContext** context, FakeContext** green) {
  return call([&] {
    Contexts& contexts = Contexts::get();
    const bool is_default = reinterpret_cast<std::uintptr_t>(stream) <= 2;
    if (is_default && contexts.current() == nullptr) { return 201; }
    const bool is_green = is_default ? contexts.current() == contexts.green() : green_streams().count(stream) != 0;
    *context = &contexts.primary();
    *green = is_green ? contexts.green() : nullptr;
    return 0;
  });
}
#endif
#endif
int cuStreamCreate(FakeStream** stream, unsigned) {
  Contexts::get().use();
  *stream = driver().stream();
  return sticky.load();
}
int cuStreamQuery(FakeStream* stream) {
  const int fault = sticky.load();
  return fault != 0 ? fault : driver().queued(stream) == 0 ? 0 : 600;
}
int cuStreamGetCtx(FakeStream* stream, FakeContext** context) {
  return call([&] {
    Contexts& contexts = Contexts::get();
    const bool is_default = reinterpret_cast<std::uintptr_t>(stream) <= 2;
    if (is_default && contexts.current() == nullptr) { return 201; }
    *context = is_default                           ? contexts.current()
               : green_streams().count(stream) != 0 ? contexts.green()
                                                    : &contexts.primary();
    return 0;
  });
}
int cuStreamIsCapturing(FakeStream* stream, int* status) {
  return call_in_context([&] {
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
int cuEventCreate(FakeEvent** event, unsigned flags) {
  return call_in_context([&] {
    if (flags != 1) { driver().note("an event whose waiter spins"); }
    if (Contexts::get().current() == Contexts::get().green()) { driver().note("an event of a green context"); }
    return answer(driver().create({&driver().context(), driver().context().number}, *event));
  });
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
  driver().allow_waiting();  // reported by the program's say_calls()
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
void fake_hold(int on) { driver().hold(on != 0); }
void fake_stick(int error) { sticky = error; }
void fake_reset() { Contexts::get().reset(); }
/// Does what the runtime's first call does on a thread.
void fake_use() { Contexts::get().use(); }
FakeStream* fake_green_stream() {
  FakeStream* const stream = driver().stream();
  green_streams().insert(stream);
  return stream;
}
void fake_use_green() { Contexts::get().use_green(); }
/// Returns the number of pushes without a pop.
long fake_unbalanced() { return Contexts::get().unbalanced(); }
int fake_has_context() { return Contexts::get().current() != nullptr ? 1 : 0; }
int fake_begin_capture(FakeStream* stream) {
  driver().begin_capture(stream);
  return 0;
}
/// Breaks a capture, as a call does that is not allowed during one.
void fake_break_capture(FakeStream* stream) { driver().break_capture(stream); }
void fake_answer(const char* function, int error, int times) { Script::get().set(function, error, times); }
int fake_end_capture(FakeStream* stream) {
  captured() = driver().graph(stream);
  return driver().end_capture(stream) ? 0 : 901;
}
/// Returns the number of nodes in the last capture.
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
