// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Times regions on HIP streams with a libamdhip64 on top of CUDA (hip_on_cuda.cpp), whose driver is the fake one. Its
// output must be the same with Takt and without (TAKT_DISABLE=1). device_test.py runs it.
#include <takt/backends/hip.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <dlfcn.h>

namespace {

constexpr int kNothingThere = 3;

template <class Function>
Function* function(const char* library, const char* name) {
  void* const handle = ::dlopen(library, RTLD_NOW);
  auto* const found = handle == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(handle, name));
  if (found == nullptr) {
    std::printf("no %s in %s\n", name, library);
    std::exit(kNothingThere);
  }
  return found;
}
template <class Function>
Function* of_cuda(const char* name) {
  return function<Function>("libcuda.so.1", name);
}
template <class Function>
Function* of_hip(const char* name) {
  return function<Function>("libamdhip64.so.7", name);
}

struct Application {
  int (*create)(ihipStream_t**, unsigned) = of_cuda<int(ihipStream_t**, unsigned)>("cuStreamCreate");
  void (*work)(ihipStream_t*, long long) = of_cuda<void(ihipStream_t*, long long)>("fake_work");
  void (*hold)(int) = of_cuda<void(int)>("fake_hold");
  void (*stick)(int) = of_cuda<void(int)>("fake_stick");
  int (*begin_capture)(ihipStream_t*) = of_cuda<int(ihipStream_t*)>("fake_begin_capture");
  int (*end_capture)(ihipStream_t*) = of_cuda<int(ihipStream_t*)>("fake_end_capture");
  int (*misuses)() = of_cuda<int()>("fake_misuses");
  int (*device)(int*) = of_hip<int(int*)>("hipGetDevice");
  int (*last)() = of_hip<int()>("hipGetLastError");
  int (*peek)() = of_hip<int()>("hipPeekAtLastError");

  ihipStream_t* stream() const {
    ihipStream_t* made = nullptr;
    create(&made, 0);
    return made;
  }
};

void regions(const Application& hip, ihipStream_t* stream, int count) {
  for (int region = 0; region < count; ++region) {
    takt::Scope s(takt::Forward, stream);
    hip.work(stream, 1000);
  }
}

void times(const Application& hip) {
  ihipStream_t* const stream = hip.stream();
  for (int step = 0; step < 100; ++step) {
    takt::Scope batch(takt::Batch, stream);
    regions(hip, stream, 3);
  }
  ihipStream_t* const null_stream = nullptr;
  takt::Scope s(takt::Comm, null_stream);
  hip.work(null_stream, 7000);
}

/// The application's own errors, between regions whose spans are polled and not ready.
void errors(const Application& hip) {
  ihipStream_t* const stream = hip.stream();
  for (int step = 0; step < 3000; ++step) {
    hip.hold(step % 3);
    regions(hip, stream, 2);
    if (step % 7 == 0) { std::printf("device %d\n", hip.device(nullptr)); }
    { takt::Scope batch(takt::Batch, stream); }
    if (step % 5 == 0) { std::printf("peek %d\n", hip.peek()); }
    if (step % 4 == 0) { std::printf("last %d\n", hip.last()); }
  }
  hip.hold(0);
  hip.last();
}

void error(const Application& hip) {
  ihipStream_t* const stream = hip.stream();
  int device = 0;
  hip.hold(1);
  regions(hip, stream, 50);
  hip.stick(700);
  regions(hip, stream, 50);
  std::printf("device %d\n", hip.device(&device));
  std::printf("last %d\n", hip.last());
}

void capture(const Application& hip) {
  ihipStream_t* const stream = hip.stream();
  regions(hip, stream, 10);
  hip.begin_capture(stream);
  regions(hip, stream, 10);
  std::printf("end %d\n", hip.end_capture(stream));
  regions(hip, stream, 10);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  const Application hip;
  {
    takt::Session session("device");
    if (what == "times") { times(hip); }
    if (what == "errors") { errors(hip); }
    if (what == "fault") { error(hip); }
    if (what == "capture") { capture(hip); }
  }
  std::printf("misuses %d\n", hip.misuses());
  return 42;
}
