// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A libcuda.so.1 that simulates a device in real time: streams are queues of work with known durations, and events get
// the time at which earlier work would end. It tests the GPU checks themselves without a GPU, and implements only what
// they need. The application's side is gpu_simulated_runtime.cpp.
#include "device/gpu_simulator.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr std::int64_t kLaunch = 3000;  // ns from a call to the start of its work
constexpr std::int64_t kRecord = 1000;  // duration of an event on its stream, in ns
constexpr std::int64_t kLongestGate = 3'000'000'000;
constexpr std::size_t kDepth = 1024;  // maximum entries of a stream's queue; then the host blocks
constexpr int kNotReady = 600;

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

struct SimulatedEvent {
  std::int64_t at = 0;
  bool queued = false;
  SimulatedContext* context = nullptr;
  unsigned long long number = 0;  // ID of the context

  bool is_of(SimulatedContext* other) const { return other != nullptr && &other->root() == context && is_alive(); }
  bool is_alive() const { return context->number == number; }
};
struct SimulatedStream {
  enum class Kind { work, gate, event, wait, fault };
  struct Item {
    Kind kind;
    std::int64_t submitted;
    std::int64_t length = 0;
    SimulatedStamp* stamp = nullptr;
    const volatile int* open = nullptr;
    SimulatedEvent* event = nullptr;
    void (*function)(void*) = nullptr;  // runs at the item's turn
    void* argument = nullptr;
  };
  bool waits_for_others = false;  // the legacy stream
  bool is_waited_for = false;     // the legacy stream waits for it
  std::deque<Item> queue;
  std::int64_t end = 0;           // end of the work that left the queue; may be in the future
  std::deque<std::int64_t> ends;  // ends of earlier work
  SimulatedContext* context = nullptr;
  SimulatedGraph* capture = nullptr;
  bool capture_valid = true;
  std::thread::id capturer;
};
struct SimulatedGraph {
  std::vector<SimulatedStream::Item> nodes;
};

namespace {

using gpu_simulation::Device;

std::set<SimulatedStream*> streams;
std::atomic<long> holds{0};  // number of times that the host found a queue full
thread_local int capture_mode = 0;

template <class Use>
int call(Use use) {
  return Device::get().call(use);
}
/// A call that needs a context on the thread.
template <class Use>
int call_in_context(Use use) {
  return call([&] {
    SimulatedContext* const context = gpu_simulation::current_context();
    return context == nullptr || context->root().number == 0 ? gpu_simulation::kNoContext : use(context->root());
  });
}

SimulatedStream& known(SimulatedStream* stream) {
  static SimulatedStream legacy = [] {
    SimulatedStream made;
    made.waits_for_others = true;
    return made;
  }();
  static thread_local SimulatedStream per_thread;
  switch (reinterpret_cast<std::uintptr_t>(stream)) {
    case 0:
    case 1:
      return legacy;
    case 2:
      return per_thread;
    default:
      return *stream;
  }
}

void advance(SimulatedStream& stream);

/// Returns the start of the first item in the queue, or -1 if it is not known yet.
std::int64_t begin_of(SimulatedStream& stream) {
  const SimulatedStream::Item& first = stream.queue.front();
  std::int64_t begin = std::max(stream.end, first.submitted + kLaunch);
  if (first.kind == SimulatedStream::Kind::wait) {
    for (SimulatedStream* other : streams) {
      if (other != &stream && first.event->queued) { advance(*other); }
    }
    if (first.event->queued) { return -1; }
    begin = std::max(begin, first.event->at);
  }
  if (!stream.waits_for_others) { return begin; }
  for (SimulatedStream* other : streams) {
    if (!other->is_waited_for) { continue; }
    advance(*other);
    if (!other->queue.empty()) { return -1; }
    begin = std::max(begin, other->end);
  }
  return begin;
}

/// Removes all items with a known end from the queue.
void advance(SimulatedStream& stream) {
  using Kind = SimulatedStream::Kind;
  while (!stream.queue.empty()) {
    const std::int64_t begin = begin_of(stream);
    if (begin < 0) { return; }
    const SimulatedStream::Item item = stream.queue.front();
    std::int64_t end = begin + item.length;
    if (item.kind == Kind::gate) {
      const std::int64_t now = now_ns();
      if (now < begin || (*item.open == 0 && now - begin < kLongestGate)) { return; }
      end = now;
    }
    if (item.kind == Kind::event) {
      end = begin + kRecord;
      item.event->at = end;
      item.event->queued = false;
    }
    if (item.kind == Kind::fault) { Device::get().fail(700); }
    if (item.function != nullptr) { item.function(item.argument); }
    if (item.stamp != nullptr) {
      *item.stamp = {static_cast<unsigned long long>(begin), static_cast<unsigned long long>(end)};
    }
    stream.end = end;
    stream.ends.push_back(end);
    stream.queue.pop_front();
  }
}
bool is_done(SimulatedStream& stream) {
  advance(stream);
  return stream.queue.empty() && stream.end <= now_ns();
}

/// Returns true if the stream is full for now.
bool is_full(SimulatedStream& stream) {
  advance(stream);
  while (!stream.ends.empty() && stream.ends.front() <= now_ns()) { stream.ends.pop_front(); }
  return stream.queue.size() + stream.ends.size() >= kDepth;
}

/// While the stream is full, the host blocks, and so do all other threads that call the driver.
void submit(SimulatedStream* stream, SimulatedStream::Item item) {
  const std::lock_guard<std::mutex> lock(Device::get().mutex());
  SimulatedStream& real = known(stream);
  item.submitted = now_ns();
  if (real.capture != nullptr) {
    real.capture->nodes.push_back(item);
    return;
  }
  if (real.queue.size() + real.ends.size() >= kDepth && is_full(real)) {
    holds.fetch_add(1, std::memory_order_relaxed);
    while (is_full(real)) { std::this_thread::yield(); }
  }
  if (item.event != nullptr && item.kind == SimulatedStream::Kind::event) { item.event->queued = true; }
  real.queue.push_back(item);
  if (real.queue.front().function == nullptr) { advance(real); }  // work with a function runs only when it is polled
}

/// Makes a call that is not allowed during a capture: it breaks this thread's captures and, because all captures are
/// global here, those of other threads.
int harm_captures() {
  if (capture_mode == 2) { return 0; }
  int error = 0;
  for (SimulatedStream* stream : streams) {
    if (stream->capture == nullptr) { continue; }
    stream->capture_valid = false;
    error = 900;
  }
  return error;
}

/// Writes how often the host was blocked to the file SIMULATED_HOLDS when the process ends.
struct Report {
  ~Report() {
    const char* path = std::getenv("SIMULATED_HOLDS");
    std::FILE* file = path == nullptr ? nullptr : std::fopen(path, "w");
    if (file == nullptr) { return; }
    std::fprintf(file, "%ld\n", holds.load());
    std::fclose(file);
  }
};
Report report;

template <class Done>
int wait(Done done) {
  for (;;) {
    const int error = call([&] { return done() ? 0 : kNotReady; });
    if (error != kNotReady) { return error; }
    std::this_thread::yield();
  }
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
int cuCtxSynchronize() {
  return wait(
      [] { return std::all_of(streams.begin(), streams.end(), [](SimulatedStream* each) { return is_done(*each); }); });
}

int cuGreenCtxStreamCreate(SimulatedStream** stream, SimulatedContext* context, unsigned flags, int) {
  return call([&] {
    *stream = *streams.insert(new SimulatedStream).first;
    (*stream)->is_waited_for = flags == 0;
    (*stream)->context = context;
    return 0;
  });
}
int cuStreamCreate(SimulatedStream** stream, unsigned flags) {
  return cuGreenCtxStreamCreate(stream, gpu_simulation::current_context(), flags, 0);
}
int cuStreamDestroy_v2(SimulatedStream* stream) {
  return call([&] { return streams.erase(stream), 0; });  // its memory stays because events refer to it
}
int cuStreamGetCtx(SimulatedStream* stream, SimulatedContext** context) {
  return call([&] {
    SimulatedContext* const of = known(stream).context;
    *context = of != nullptr ? of : gpu_simulation::current_context();
    return *context == nullptr ? gpu_simulation::kNoContext : 0;
  });
}
/// For a green context, returns the primary one and also the green one.
int cuStreamGetCtx_v2(SimulatedStream* stream, SimulatedContext** context, SimulatedContext** green) {
  if (const int error = cuStreamGetCtx(stream, context); error != 0) { return error; }
  *green = (*context)->primary == nullptr ? nullptr : *context;
  if (*green != nullptr) { *context = (*green)->primary; }
  return 0;
}
int cuStreamIsCapturing(SimulatedStream* stream, int* status) {
  return call([&] { return *status = known(stream).capture != nullptr ? 1 : 0, 0; });
}
int cuStreamQuery(SimulatedStream* stream) {
  return call([&] { return is_done(known(stream)) ? 0 : kNotReady; });
}
int cuStreamSynchronize(SimulatedStream* stream) {
  return wait([&] { return is_done(known(stream)); });
}
int cuStreamBeginCapture_v2(SimulatedStream* stream, int) {
  return call([&] {
    stream->capture = new SimulatedGraph;
    stream->capture_valid = true;
    stream->capturer = std::this_thread::get_id();
    return 0;
  });
}
int cuStreamEndCapture(SimulatedStream* stream, SimulatedGraph** graph) {
  return call([&] {
    *graph = std::exchange(stream->capture, nullptr);
    if (stream->capture_valid) { return 0; }
    *graph = nullptr;
    return 901;
  });
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return 0;
}

int cuEventCreate(SimulatedEvent** event, unsigned) {
  return call_in_context([&](SimulatedContext& context) {
    if (const int error = harm_captures(); error != 0) { return error; }
    *event = new SimulatedEvent;
    (*event)->context = &context;
    (*event)->number = context.number;
    return 0;
  });
}
int cuEventDestroy_v2(SimulatedEvent*) { return 0; }  // may still be in a queue
int cuEventRecord(SimulatedEvent* event, SimulatedStream* stream) {
  const int error = call_in_context([&](SimulatedContext& context) {
    SimulatedContext* const of = known(stream).context;
    return event->is_of(of != nullptr ? of : &context) ? 0 : 400;
  });
  if (error == 0) { submit(stream, {SimulatedStream::Kind::event, 0, 0, nullptr, nullptr, event}); }
  return error;
}
/// A node of the graph that is being captured.
int cuEventRecordWithFlags(SimulatedEvent* event, SimulatedStream* stream, unsigned flags) {
  if (flags != 1 || stream->capture == nullptr) { return 1; }
  submit(stream, {SimulatedStream::Kind::event, 0, 0, nullptr, nullptr, event});
  return 0;
}
int cuEventQuery(SimulatedEvent* event) {
  return call_in_context([&](SimulatedContext&) {
    if (!event->is_alive()) { return 709; }
    if (const int error = harm_captures(); error != 0) { return error; }
    for (SimulatedStream* stream : streams) { advance(*stream); }
    advance(known(nullptr));
    return event->queued || event->at > now_ns() ? kNotReady : 0;
  });
}
int cuEventSynchronize(SimulatedEvent* event) {
  return wait([&] {
    for (SimulatedStream* stream : streams) { advance(*stream); }
    return !event->queued && event->at <= now_ns();
  });
}
int cuStreamWaitEvent(SimulatedStream* stream, SimulatedEvent* event, unsigned) {
  submit(stream, {SimulatedStream::Kind::wait, 0, 0, nullptr, nullptr, event});
  return 0;
}
int cuEventElapsedTime(float* ms, SimulatedEvent* begin, SimulatedEvent* end) {
  return call_in_context([&](SimulatedContext&) {
    if (!begin->is_alive() || !end->is_alive()) { return 709; }
    for (const SimulatedEvent* event : {begin, end}) {
      if (event->at == 0 && !event->queued) { return 400; }  // never recorded
    }
    if (begin->queued || end->queued || std::max(begin->at, end->at) > now_ns()) { return kNotReady; }
    *ms = static_cast<float>(static_cast<double>(end->at - begin->at) * 1e-6);
    return 0;
  });
}

int cuEventElapsedTime_v2(float* ms, SimulatedEvent* begin, SimulatedEvent* end) {
  return cuEventElapsedTime(ms, begin, end);
}

int cuGraphLaunch(SimulatedGraph* graph, SimulatedStream* stream) {
  for (const SimulatedStream::Item& node : graph->nodes) { submit(stream, node); }
  return 0;
}
long simulated_nodes(SimulatedGraph* graph) { return static_cast<long>(graph->nodes.size()); }

void simulated_spin(SimulatedStream* stream, long long ns, SimulatedStamp* stamp) {
  submit(stream, {SimulatedStream::Kind::work, 0, ns, stamp, nullptr, nullptr});
}
/// A kernel that runs real code, as late as possible, so that a missing wait shows.
void simulated_call(SimulatedStream* stream, long long ns, void (*function)(void*), void* argument) {
  submit(stream, {SimulatedStream::Kind::work, 0, ns, nullptr, nullptr, nullptr, function, argument});
}
void simulated_gate(SimulatedStream* stream, const volatile int* open) {
  submit(stream, {SimulatedStream::Kind::gate, 0, 0, nullptr, open, nullptr});
}
void simulated_error(SimulatedStream* stream) {
  submit(stream, {SimulatedStream::Kind::fault, 0, 0, nullptr, nullptr, nullptr});
}
/// Blocks without a kernel, until the host has written the value there.
int cuStreamWaitValue32_v2(SimulatedStream* stream, unsigned long long address, unsigned, unsigned) {
  simulated_gate(stream, reinterpret_cast<const volatile int*>(address));
  return 0;
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::calloc(1, bytes);
  return 0;
}
int cuMemHostGetDevicePointer_v2(unsigned long long* address, void* memory, unsigned) {
  *address = reinterpret_cast<std::uintptr_t>(memory);
  return 0;
}
}
