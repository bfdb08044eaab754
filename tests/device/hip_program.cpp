// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Times regions on HIP streams and checks HIP's last error in between. Its output must be the same with Takt and
// without (TAKT_DISABLE=1). device_test.py runs it, on a library without a device and on fake ones.
#include <takt/backends/hip.hpp>
#include <takt/graph.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "support/sanitized.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

template <class Function>
Function* runtime_function(const char* name) {
  static void* const library = ::dlopen(std::getenv("HIP_LIBRARY"), RTLD_NOW);
  auto* const function = library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) {
    std::printf("no %s\n", name);
    std::exit(3);
  }
  return function;
}

void no_device() {
  int (*const count)(int*) = runtime_function<int(int*)>("hipGetDeviceCount");
  int (*const last)() = runtime_function<int()>("hipGetLastError");
  int devices = -1;
  std::printf("count %d\n", count(&devices));
  std::printf("last %d\n", last());
  ihipStream_t* const stream = nullptr;
  for (int step = 0; step < 100; ++step) {
    takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward, stream);
  }
  std::printf("last %d\n", last());
}

/// The application does not use HIP before Takt does.
void unused() {
  ihipStream_t* const stream = nullptr;
  for (int step = 0; step < 100; ++step) { takt::Scope s(takt::Forward, stream); }
}

/// The application makes 20 000 calls, some of them errors, and checks the last error after some.
void errors() {
  int (*const last)() = runtime_function<int()>("hipGetLastError");
  int (*const peek)() = runtime_function<int()>("hipPeekAtLastError");
  int (*const fail)(int) = runtime_function<int(int)>("fake_fail");
  int (*const create)(ihipStream_t**) = runtime_function<int(ihipStream_t**)>("hipStreamCreate");
  int (*const query)(ihipStream_t*) = runtime_function<int(ihipStream_t*)>("hipStreamQuery");
  void (*const work)(ihipStream_t*, long long) = runtime_function<void(ihipStream_t*, long long)>("fake_work");
  void (*const hold)(int) = runtime_function<void(int)>("fake_hold");
  ihipStream_t* stream = nullptr;
  std::printf("create %d\n", create(&stream));
  unsigned long long state = 7;
  const auto below = [&state](unsigned limit) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<unsigned>(state >> 33U) % limit;
  };
  for (int step = 0; step < 20'000; ++step) {
    takt::Scope s(takt::Forward, stream);
    work(stream, 10);
    switch (below(12)) {
      case 0:
        std::printf("fail %d\n", fail(static_cast<int>(below(2) == 0 ? 101 : 704)));
        break;
      case 1:
      case 2:
        std::printf("last %d\n", last());
        break;
      case 3:
        std::printf("peek %d\n", peek());
        break;
      case 4:
        hold(static_cast<int>(below(2)));
        break;
      case 5: {
        takt::Scope batch(takt::Batch, stream);
        break;
      }
      case 6:
        query(stream);
        break;
      default:
        break;
    }
  }
  hold(0);
  last();
  std::printf("misuses %d\n", runtime_function<int()>("fake_misuses")());
}

/// hipStreamLegacy is stream 0, however this translation unit is compiled.
void legacy() {
  auto* const stream = reinterpret_cast<ihipStream_t*>(std::uintptr_t{1});
  for (int region = 0; region < 100; ++region) { takt::Scope s(takt::Forward, stream); }
  { takt::Scope s(takt::Backward, takt::HipBackend(stream, takt::detail::PerThreadStreams{})); }
  takt::complete(std::chrono::milliseconds(0));
}

/// The program ends with spans pending.
void pending() {
  int (*const create)(ihipStream_t**) = runtime_function<int(ihipStream_t**)>("hipStreamCreate");
  ihipStream_t* stream = nullptr;
  std::printf("create %d\n", create(&stream));
  runtime_function<void(int)>("fake_hold")(1);
  for (int region = 0; region < 1000; ++region) { takt::Scope s(takt::Forward, stream); }
  std::printf("misuses %d\n", runtime_function<int()>("fake_misuses")());
}

/// The child of a process that used HIP, which must not use it.
void child() {
  int (*const create)(ihipStream_t**) = runtime_function<int(ihipStream_t**)>("hipStreamCreate");
  long (*const calls)() = runtime_function<long()>("fake_calls");
  ihipStream_t* stream = nullptr;
  std::printf("create %d\n", create(&stream));
  { takt::Scope s(takt::Forward, stream); }
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const long before = calls();
    {
      takt::Session session("child");
      takt::Scope s(takt::Forward, stream);
    }
    std::printf("calls of the child %ld\n", calls() - before);
    std::fflush(stdout);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  std::printf("child %d\n", status);
}

/// A graph with a region inside, which HIP cannot time.
void graph() {
  int (*const create)(ihipStream_t**) = runtime_function<int(ihipStream_t**)>("hipStreamCreate");
  void (*const work)(ihipStream_t*, long long) = runtime_function<void(ihipStream_t*, long long)>("fake_work");
  void (*const begin)(ihipStream_t*) = runtime_function<void(ihipStream_t*)>("fake_begin_capture");
  int (*const end)(ihipStream_t*) = runtime_function<int(ihipStream_t*)>("fake_end_capture");
  ihipStream_t* stream = nullptr;
  std::printf("create %d\n", create(&stream));
  takt::GraphRegions regions;
  begin(stream);
  {
    takt::GraphRegion r(regions, takt::Forward, stream);
    work(stream, 1000);
  }
  std::printf("nodes %d\n", end(stream));
  for (int step = 0; step < 10; ++step) { takt::GraphReplay replay(regions, stream); }
  std::printf("misuses %d\n", runtime_function<int()>("fake_misuses")());
}

/// The application's own calls of the fake runtime.
struct Application {
  int (*create)(ihipStream_t**) = runtime_function<int(ihipStream_t**)>("hipStreamCreate");
  int (*destroy)(ihipStream_t*) = runtime_function<int(ihipStream_t*)>("hipStreamDestroy");
  void (*make_again)(ihipStream_t*) = runtime_function<void(ihipStream_t*)>("fake_make_again");
  void (*work)(ihipStream_t*, long long) = runtime_function<void(ihipStream_t*, long long)>("fake_work");
  void (*hold)(int) = runtime_function<void(int)>("fake_hold");
  void (*begin_capture)(ihipStream_t*) = runtime_function<void(ihipStream_t*)>("fake_begin_capture");
  int (*end_capture)(ihipStream_t*) = runtime_function<int(ihipStream_t*)>("fake_end_capture");
  int (*misuses)() = runtime_function<int()>("fake_misuses");

  ihipStream_t* stream() const {
    ihipStream_t* made = nullptr;
    std::printf("create %d\n", create(&made));
    return made;
  }
  void regions(ihipStream_t* on, int count) const {
    for (int region = 0; region < count; ++region) {
      takt::Scope s(takt::Forward, on);
      work(on, 1000);
    }
  }
};

/// Regions, and then a capture on their stream, while this thread and another one poll for results.
void capture_after() {
  const Application hip;
  ihipStream_t* const stream = hip.stream();
  ihipStream_t* const other = hip.stream();
  for (int round = 0; round < 50; ++round) {
    hip.hold(1);
    hip.regions(stream, 10);
    hip.hold(0);
    hip.begin_capture(stream);
    hip.work(stream, 1000);
    takt::complete(std::chrono::milliseconds(0));
    hip.regions(other, 2);
    std::thread([&] {
      takt::Scope batch(takt::Batch, other);
      hip.regions(other, 2);
    }).join();
    std::printf("nodes %d\n", hip.end_capture(stream));
  }
  takt::complete(std::chrono::seconds(10));
  std::printf("misuses %d\n", hip.misuses());
}

/// Streams destroyed with spans pending, and a new one at the same address.
void destroy() {
  const Application hip;
  ihipStream_t* const stream = hip.stream();
  ihipStream_t* const other = hip.stream();
  hip.hold(1);
  hip.regions(stream, 10);
  hip.destroy(stream);
  hip.hold(0);
  hip.regions(other, 10);
  takt::complete(std::chrono::milliseconds(0));
  hip.make_again(stream);
  hip.regions(stream, 10);
  hip.hold(1);
  hip.regions(other, 10);
  hip.destroy(other);
  std::printf("misuses %d\n", hip.misuses());
}

/// Threads with regions on their own default streams, which end with the threads.
void per_thread() {
  const Application hip;
  auto* const own = reinterpret_cast<ihipStream_t*>(std::uintptr_t{2});
  for (int thread = 0; thread < 10; ++thread) {
    std::thread([&] {
      hip.regions(own, 10);
      takt::complete(std::chrono::seconds(10));
      hip.hold(1);
      hip.regions(own, 5);
    }).join();
    hip.hold(0);
    { takt::Scope batch(takt::Batch, own); }
    takt::complete(std::chrono::milliseconds(0));
  }
  std::printf("misuses %d\n", hip.misuses());
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  // With a sanitizer, the child of a multi-threaded process may hang.
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.background = options.background && !(takt_test::kSanitized && what == "child");
  takt::Session session("device", options);
  if (what == "no_device") { no_device(); }
  if (what == "unused") { unused(); }
  if (what == "errors") { errors(); }
  if (what == "legacy") { legacy(); }
  if (what == "pending") { pending(); }
  if (what == "child") { child(); }
  if (what == "graph") { graph(); }
  if (what == "capture_after") { capture_after(); }
  if (what == "destroy") { destroy(); }
  if (what == "per_thread") { per_thread(); }
  session.close();
  if (what == "destroy" || what == "per_thread") {
    std::printf("misuses at the end %d\n", runtime_function<int()>("fake_misuses")());
  }
  return 42;
}
