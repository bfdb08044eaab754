// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A program that times regions on CUDA streams, by whatever libcuda.so.1 it finds. What it prints is what it sees of CUDA: it
// has to be the same with Takt and without (TAKT_DISABLE=1). device_test.py runs it.
#include <takt/backends/cuda.hpp>
#include <takt/backends/profiler_window.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

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

/// The application's own use of the fake driver (fake_cuda.cpp).
struct Application {
  int (*create)(CUstream_st**, unsigned) = driver_function<int(CUstream_st**, unsigned)>("cuStreamCreate");
  int (*query)(CUstream_st*) = driver_function<int(CUstream_st*)>("cuStreamQuery");
  void (*work)(CUstream_st*, long long) = driver_function<void(CUstream_st*, long long)>("fake_work");
  void (*run)(CUstream_st*) = driver_function<void(CUstream_st*)>("fake_run");
  void (*hold)(int) = driver_function<void(int)>("fake_hold");
  void (*stick)(int) = driver_function<void(int)>("fake_stick");
  void (*reset)() = driver_function<void()>("fake_reset");
  int (*begin_capture)(CUstream_st*) = driver_function<int(CUstream_st*)>("fake_begin_capture");
  int (*end_capture)(CUstream_st*) = driver_function<int(CUstream_st*)>("fake_end_capture");
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

/// Without any driver of use: stream 0 is all that there is.
void no_driver() {
  CUstream_st* const stream = nullptr;
  for (int step = 0; step < kRegions; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward, stream);
  }
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

/// A fault of the device in the middle of the run.
void fault() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 50);
  cuda.stick(700);
  std::printf("query %d\n", cuda.query(stream));
  regions(cuda, stream, 50);
  std::printf("query %d\n", cuda.query(stream));
}

/// The context is destroyed, and made anew, with spans pending.
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

/// What the profiler is told, and between which steps.
void window() {
  takt::ProfilerWindow three(2, 5);
  for (int step = 0; step < 8; ++step) {
    three.step(step);
    std::printf("step %d\n", step);
  }
  for (int step = 0; step < 8; ++step) { three.step(step); }  // another epoch: once is enough
  takt::ProfilerWindow unended(1, 100);
  unended.step(1);
}

void pending() {
  const Application cuda;
  CUstream_st* const stream = cuda.stream();
  cuda.hold(1);
  regions(cuda, stream, 1000);
}

/// A child of a process that used CUDA must not.
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

/// Whatever was done, the application's view of the driver.
void say_calls() {
  const Application cuda;
  std::printf("misuses %d, destroyed %ld, synchronised %ld\n", cuda.misuses(), cuda.calls("cuEventDestroy"),
              cuda.calls("synchronize"));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  {
    takt::Session session("device");
    if (what == "no_driver") { no_driver(); }
    if (what == "times") { times(); }
    if (what == "fault") { fault(); }
    if (what == "reset") { reset(); }
    if (what == "capture") { capture(); }
    if (what == "window") { window(); }
    if (what == "pending") { pending(); }
    if (what == "child") { child(); }
  }
  if (what != "no_driver" && what != "window") { say_calls(); }
  return 42;
}
