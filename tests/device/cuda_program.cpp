// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Times regions on CUDA streams with any libcuda.so.1. Prints what it observes of CUDA, which must be the same with
// Takt and without (TAKT_DISABLE=1). device_test.py runs it.
#include <takt/backends/cuda.hpp>
#include <takt/backends/profiler_window.hpp>
#include <takt/graph.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>
#include <takt/trials.hpp>

#include "support/sanitized.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr int kRegions = 100;

template <class Function>
Function* driver_function(const char* name) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
  auto* const function = library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) {
    std::printf("no %s\n", name);
    std::exit(3);
  }
  return function;
}

/// The application's own calls of the fake driver (fake_cuda.cpp).
struct Application {
  int (*create)(CUstream_st**, unsigned) = driver_function<int(CUstream_st**, unsigned)>("cuStreamCreate");
  int (*query)(CUstream_st*) = driver_function<int(CUstream_st*)>("cuStreamQuery");
  void (*work)(CUstream_st*, long long) = driver_function<void(CUstream_st*, long long)>("fake_work");
  void (*run)(CUstream_st*) = driver_function<void(CUstream_st*)>("fake_run");
  void (*hold)(int) = driver_function<void(int)>("fake_hold");
  void (*stick)(int) = driver_function<void(int)>("fake_stick");
  void (*reset)() = driver_function<void()>("fake_reset");
  CUstream_st* (*green_stream)() = driver_function<CUstream_st*()>("fake_green_stream");
  void (*use_green)() = driver_function<void()>("fake_use_green");
  int (*has_context)() = driver_function<int()>("fake_has_context");
  long (*unbalanced)() = driver_function<long()>("fake_unbalanced");
  int (*begin_capture)(CUstream_st*) = driver_function<int(CUstream_st*)>("fake_begin_capture");
  int (*end_capture)(CUstream_st*) = driver_function<int(CUstream_st*)>("fake_end_capture");
  void (*break_capture)(CUstream_st*) = driver_function<void(CUstream_st*)>("fake_break_capture");
  void (*answer)(const char*, int, int) = driver_function<void(const char*, int, int)>("fake_answer");
  int (*nodes)() = driver_function<int()>("fake_nodes");
  int (*launch)(CUstream_st*) = driver_function<int(CUstream_st*)>("fake_launch");
  long (*calls)(const char*) = driver_function<long(const char*)>("fake_calls");
  int (*misuses)() = driver_function<int()>("fake_misuses");

  CUstream_st* stream() const {
    CUstream_st* made = nullptr;
    std::printf("create %d\n", create(&made, 0));
    return made;
  }
};

void regions(const Application& cuda, CUstream_st* stream, int count) {
  for (int region = 0; region < count; ++region) {
    takt::Scope s(takt::Forward, stream);
    cuda.work(stream, 1000);
  }
}

/// Without a usable driver: only stream 0 exists.
void no_driver() {
  CUstream_st* const stream = nullptr;
  for (int step = 0; step < kRegions; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward, stream);
  }
}

/// With a driver but without a device.
void no_device() {
  auto* const init = driver_function<int(unsigned)>("cuInit");
  auto* const count = driver_function<int(int*)>("cuDeviceGetCount");
  int devices = -1;
  std::printf("init %d\n", init(0));
  std::printf("count %d\n", count(&devices));
  no_driver();
  std::printf("count %d\n", count(&devices));
  std::printf("%d devices\n", devices);
}

void times() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  for (int step = 0; step < kRegions; ++step) {
    takt::Scope batch(takt::Batch, stream);
    regions(cuda, stream, 3);
  }
  takt::Timer<takt::CudaBackend> timer(stream);
  timer.start(takt::Comm);
  cuda.work(stream, 5000);
  timer.end(takt::Comm);
  timer.complete(std::chrono::milliseconds(10));
  std::printf("timer %lld\n", std::getenv("TAKT_DISABLE") != nullptr
                                  ? 5000LL
                                  : static_cast<long long>(timer.stats(takt::Comm).total_ns));
}

/// A device error in the middle of the run.
void fault() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 50);
  cuda.stick(std::atoi(std::getenv("FAULT")));
  std::printf("query %d\n", cuda.query(stream));
  regions(cuda, stream, 50);
  std::printf("query %d\n", cuda.query(stream));
}

/// Destroys and recreates the context with spans pending.
void reset() {
  const Application cuda;
  CUstream_st* stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 50);
  cuda.reset();
  stream = cuda.stream();
  cuda.hold(0);
  regions(cuda, stream, 50);
  std::printf("query %d\n", cuda.query(stream));
}

/// Resets the device at the end of the program, as many programs do.
void last_reset() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 50);
  cuda.reset();
}

/// Resets the device, and then a thread with another context or none polls for results.
void reset_elsewhere(const char* when) {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  std::thread([&] {
    cuda.stream();
    regions(cuda, stream, 50);
  }).join();
  cuda.reset();
  if (std::string(when) == "used") { cuda.stream(); }
  cuda.hold(0);
  std::thread([] { takt::Scope batch(takt::Batch); }).join();  // a thread without a context
  takt::complete(std::chrono::milliseconds(0));
}

/// Threads without a context that pass an existing stream, and threads that pass stream 0.
void no_context() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  for (int thread = 0; thread < 10; ++thread) {
    std::thread([&] {
      regions(cuda, stream, 10);
      { takt::Scope s(takt::Comm, static_cast<CUstream_st*>(nullptr)); }
      if (cuda.has_context() != 0) { std::printf("a thread was given a context\n"); }
    }).join();
  }
}

/// A communication beside computation, on a stream of a green context, and stream 0 on threads that have a green
/// context.
void green() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  CUstream_st* const part = cuda.green_stream();
  for (int step = 0; step < 20; ++step) {
    takt::Scope batch(takt::Batch, stream);
    takt::Scope s(takt::Forward, stream);
    {
      takt::Scope comm(takt::Comm, part);
      cuda.work(part, 80'000);
    }
    cuda.work(part, 20'000);
    cuda.work(stream, 100'000);
  }
  std::thread([&] {
    cuda.use_green();
    CUstream_st* const legacy = nullptr;
    { takt::Scope s(takt::IO, legacy); }
    takt::complete(std::chrono::seconds(10));
  }).join();
}

/// Counts the driver calls of 100 starts and ends, without polls.
void cost_on(const Application& cuda, CUstream_st* stream, const char* name, long expected) {
  cuda.hold(1);
  regions(cuda, stream, 200);  // creates enough events
  cuda.hold(0);
  takt::complete(std::chrono::seconds(10));
  cuda.hold(1);
  const long before = cuda.calls("all");
  regions(cuda, stream, 100);
  const long calls = cuda.calls("all") - before;
  const long looks = 4L * (100 / 16 + 1);  // polls at one end in 16; nothing is pending
  if (std::getenv("TAKT_DISABLE") != nullptr) { expected = 0; }
  const bool is_right = calls >= expected && calls <= expected + (expected == 0 ? 0 : looks);
  std::printf("calls of 100 regions on %s as expected %d\n", name, is_right ? 1 : 0);
  if (!is_right) { std::printf("%ld calls\n", calls); }
  cuda.hold(0);
}

void cost() {
  const Application cuda;
  cost_on(cuda, cuda.stream(), "a stream", 600);
  cost_on(cuda, nullptr, "stream 0", 800);
}

void capture() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  regions(cuda, stream, 10);
  std::printf("begin %d\n", cuda.begin_capture(stream));
  regions(cuda, stream, 10);
  CUstream_st* const legacy = nullptr;
  { takt::Scope s(takt::Comm, legacy); }
  std::thread([&] {
    CUstream_st* const other = cuda.stream();
    regions(cuda, other, 10);
  }).join();
  std::printf("end %d\n", cuda.end_capture(stream));
  regions(cuda, stream, 10);
}

/// Driver errors about captures, wherever Takt may first see them.
void capture_errors() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  for (const int error : {901, 905, 906, 907}) {
    for (const char* function : {"cuStreamIsCapturing", "cuEventRecord", "cuEventQuery", "cuEventElapsedTime"}) {
      cuda.answer(function, error, 1);
      regions(cuda, stream, 10);
      takt::complete(std::chrono::seconds(10));
      cuda.answer(function, 0, 0);
      std::printf("query %d\n", cuda.query(stream));
    }
  }
}

/// A capture that the application itself breaks.
void broken_capture() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  takt::GraphRegions of_graph;
  std::printf("begin %d\n", cuda.begin_capture(stream));
  regions(cuda, stream, 10);
  cuda.break_capture(stream);
  regions(cuda, stream, 10);
  { takt::GraphRegion r(of_graph, takt::Backward, stream); }
  std::printf("end %d\n", cuda.end_capture(stream));
  regions(cuda, stream, 10);
}

/// A program that captures at every step, like one that captures for each shape of its input.
void capture_always() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  CUstream_st* const captured = cuda.stream();
  int refused = 0;
  for (int step = 0; step < 3000; ++step) {
    refused += cuda.begin_capture(captured);
    regions(cuda, captured, 1);
    refused += cuda.end_capture(captured);
    regions(cuda, stream, 1);
  }
  std::printf("refused %d\n", refused);
}

/// A graph whose launch fails before it ever ran; Takt is not notified.
void graph_never_launched() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  takt::GraphRegions of_graph;
  cuda.begin_capture(stream);
  {
    takt::GraphRegion r(of_graph, takt::Backward, stream);
    cuda.work(stream, 1000);
  }
  std::printf("end %d\n", cuda.end_capture(stream));
  { const takt::GraphReplay replay(of_graph, stream); }
  takt::complete(std::chrono::seconds(10));
  regions(cuda, stream, 1000);
}

/// Replays a graph with regions inside: waits for each replay, or launches faster than the replays finish.
void graph(bool in_flight) {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  takt::GraphRegions regions;
  cuda.begin_capture(stream);
  {
    takt::GraphRegion r(regions, takt::Forward, stream);
    cuda.work(stream, 1000);
  }
  {
    takt::GraphRegion r(regions, takt::Backward, stream);
    cuda.work(stream, 2000);
  }
  std::printf("end %d\n", cuda.end_capture(stream));
  const int expected = std::getenv("TAKT_DISABLE") != nullptr ? 2 : 6;
  std::printf("nodes as expected %d\n", cuda.nodes() == expected ? 1 : 0);
  cuda.hold(in_flight ? 1 : 0);
  for (int step = 0; step < kRegions; ++step) {
    takt::Scope batch(takt::Batch, stream);
    takt::GraphReplay replay(regions, stream);
    std::printf("launch %d\n", cuda.launch(stream));
  }
  cuda.hold(0);
}

/// Calls to the profiler, and the steps between which they are made.
void window() {
  takt::ProfilerWindow three(2, 5);
  for (int step = 0; step < 8; ++step) {
    three.step(step);
    std::printf("step %d\n", step);
  }
  for (int step = 0; step < 8; ++step) { three.step(step); }  // a second epoch: the window opens only once
  takt::ProfilerWindow unended(1, 100);
  unended.step(1);
}

/// A window for ranks that the program chooses itself, whatever the environment says.
void window_of_rank() {
  for (const int rank : {0, 3, takt::ProfilerWindow::kAllRanks}) {
    std::printf("window of rank %d\n", rank);
    takt::ProfilerWindow one(0, 1, rank);
    one.step(0);
  }
}

/// A loop with a stream and a window, with trials set by TAKT_TRIALS.
void trials(takt::Session& session) {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  std::vector<std::vector<int>> batches(3, std::vector<int>(4));
  takt::ProfilerWindow window(6, 9);
  std::int64_t step = 100;
  std::printf("loop\n");
  for (auto&& batch : takt::trials(session, batches)) {
    window.step(step++);
    if (window.is_open()) { std::printf("step in the window\n"); }
    takt::Scope scope(takt::Batch, stream);
    scope.items(static_cast<std::int64_t>(batch.size()));
    cuda.work(stream, 1000);
  }
  const auto results = session.snapshot().trials;
  if (results == nullptr) { return; }
  std::printf("%llu streams, %llu failed\n", static_cast<unsigned long long>(results->streams),
              static_cast<unsigned long long>(results->failed_waits));
  std::printf("waited %ld times\n", cuda.calls("synchronize"));
}

void pending() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 1000);
}

/// A device that is 3000 regions behind.
void behind() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 3000);
  cuda.hold(0);
}

/// The child of a process that used CUDA, which must not use it.
void child() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  regions(cuda, stream, 10);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const long before = cuda.calls("all");
    {
      takt::Session session("child");
      takt::Scope s(takt::Forward, stream);
    }
    std::printf("calls of the child %ld\n", cuda.calls("all") - before);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::printf("child %d\n", status);
}

/// The driver shuts down in an exit handler that was registered after the Session was made. Spans are pending at exit;
/// Takt must collect them first, because it registers again at the first stream region.
[[noreturn]] void exit_with_spans() {
  static const Application cuda;
  CUstream_st* const stream = cuda.stream();
  std::atexit([] {
    for (const char* function : {"cuStreamIsCapturing", "cuCtxGetCurrent", "cuCtxGetId", "cuEventQuery"}) {
      cuda.answer(function, 4, 1'000'000);
    }
  });
  cuda.hold(1);
  regions(cuda, stream, 10);
  cuda.hold(0);
  std::exit(42);
}

/// The application's view of the driver, whatever else was done.
void say_calls() {
  const Application cuda;
  std::printf("misuses %d, destroyed %ld, synchronised %ld\n", cuda.misuses(), cuda.calls("cuEventDestroy"),
              cuda.calls("synchronize"));
  if (cuda.unbalanced() != 0) { std::printf("%ld contexts pushed and not popped\n", cuda.unbalanced()); }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  {
    // With a sanitizer, the child of a multi-threaded process may hang.
    takt::SessionOptions options = takt::SessionOptions::from_env();
    options.background = options.background && !(takt_test::kSanitized && what == "child");
    takt::Session session("device", options);
    if (what == "no_driver") { no_driver(); }
    if (what == "no_device") { no_device(); }
    if (what == "times") { times(); }
    if (what == "exit") { exit_with_spans(); }
    if (what == "fault") { fault(); }
    if (what == "reset") { reset(); }
    if (what == "last_reset") { last_reset(); }
    if (what == "reset_elsewhere") { reset_elsewhere("not used"); }
    if (what == "reset_used") { reset_elsewhere("used"); }
    if (what == "no_context") { no_context(); }
    if (what == "green") { green(); }
    if (what == "cost") { cost(); }
    if (what == "capture") { capture(); }
    if (what == "capture_errors") { capture_errors(); }
    if (what == "broken_capture") { broken_capture(); }
    if (what == "capture_always") { capture_always(); }
    if (what == "graph") { graph(false); }
    if (what == "graph_in_flight") { graph(true); }
    if (what == "graph_never_launched") { graph_never_launched(); }
    if (what == "window") { window(); }
    if (what == "window_of_rank") { window_of_rank(); }
    if (what == "trials") { trials(session); }
    if (what == "pending") { pending(); }
    if (what == "behind") { behind(); }
    if (what == "child") { child(); }
  }
  if (what != "no_driver" && what != "no_device" && what.find("window") == std::string::npos) { say_calls(); }
  return 42;
}
