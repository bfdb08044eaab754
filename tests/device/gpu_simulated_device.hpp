// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "device/gpu_simulator.hpp"

#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <dlfcn.h>

/// Replaces what a CUDA compiler provides, for programs on gpu_simulator.cpp.
namespace gpu_simulator {

/// A function of the simulated driver, convertible to any function type.
struct Found {
  void* function;
  template <class Function>
  operator Function*() const {  // NOLINT(google-explicit-constructor)
    return reinterpret_cast<Function*>(function);
  }
};
inline void* library() {
  static void* const loaded = ::dlopen("libcuda.so.1", RTLD_NOW);
  return loaded;
}
inline Found find(const char* name) {
  void* const function = library() == nullptr ? nullptr : ::dlsym(library(), name);
  if (function == nullptr) {
    std::fprintf(stderr, "the simulated driver has no %s\n", name);
    std::abort();
  }
  return {function};
}
struct Driver {
  int (*cuDeviceGetCount)(int*) = find("cuDeviceGetCount");
  int (*cuDriverGetVersion)(int*) = find("cuDriverGetVersion");
  int (*simulated_reset)() = find("simulated_reset");
  int (*cuCtxSynchronize)() = find("cuCtxSynchronize");
  int (*simulated_use_primary)() = find("simulated_use_primary");
  int (*cuStreamCreate)(SimulatedStream**, unsigned) = find("cuStreamCreate");
  int (*cuStreamDestroy_v2)(SimulatedStream*) = find("cuStreamDestroy_v2");
  int (*cuStreamQuery)(SimulatedStream*) = find("cuStreamQuery");
  int (*cuStreamSynchronize)(SimulatedStream*) = find("cuStreamSynchronize");
  int (*cuStreamBeginCapture_v2)(SimulatedStream*, int) = find("cuStreamBeginCapture_v2");
  int (*cuStreamEndCapture)(SimulatedStream*, SimulatedGraph**) = find("cuStreamEndCapture");
  int (*cuEventCreate)(SimulatedEvent**, unsigned) = find("cuEventCreate");
  int (*cuEventDestroy_v2)(SimulatedEvent*) = find("cuEventDestroy_v2");
  int (*cuEventQuery)(SimulatedEvent*) = find("cuEventQuery");
  int (*cuEventRecord)(SimulatedEvent*, SimulatedStream*) = find("cuEventRecord");
  int (*cuEventRecordWithFlags)(SimulatedEvent*, SimulatedStream*, unsigned) = find("cuEventRecordWithFlags");
  int (*cuEventElapsedTime)(float*, SimulatedEvent*, SimulatedEvent*) = find("cuEventElapsedTime");
  long (*simulated_nodes)(SimulatedGraph*) = find("simulated_nodes");
  int (*cuGraphLaunch)(SimulatedGraph*, SimulatedStream*) = find("cuGraphLaunch");
  void (*simulated_spin)(SimulatedStream*, long long, SimulatedStamp*) = find("simulated_spin");
  int (*cuEventSynchronize)(SimulatedEvent*) = find("cuEventSynchronize");
  int (*cuStreamWaitEvent)(SimulatedStream*, SimulatedEvent*, unsigned) = find("cuStreamWaitEvent");
  void (*simulated_call)(SimulatedStream*, long long, void (*)(void*), void*) = find("simulated_call");
  void (*simulated_gate)(SimulatedStream*, const volatile int*) = find("simulated_gate");
  void (*simulated_error)(SimulatedStream*) = find("simulated_error");
};
inline const Driver& driver() {
  static const Driver found;
  return found;
}

inline SimulatedStream* simulated(cudaStream_t stream) { return reinterpret_cast<SimulatedStream*>(stream); }

/// Queues an action on the stream that takes `ns`.
template <class Action>
void call(cudaStream_t stream, long long ns, Action action) {
  const auto run = [](void* given) {
    const std::unique_ptr<Action> taken(static_cast<Action*>(given));
    (*taken)();
  };
  driver().simulated_call(simulated(stream), ns, run, std::make_unique<Action>(std::move(action)).release());
}

}  // namespace gpu_simulator

// The position of a thread of a kernel.
inline thread_local dim3 blockIdx;
inline thread_local dim3 threadIdx;
inline thread_local dim3 blockDim;

namespace gpu_simulator {

/// Runs a kernel, one thread after the other.
template <class Kernel, class... Arguments>
void launch(Kernel kernel, dim3 blocks, dim3 threads, cudaStream_t stream, Arguments... arguments) {
  constexpr long long kLength = 20'000;
  call(stream, kLength, [=] {
    blockDim = threads;
    for (unsigned row = 0; row < blocks.y; ++row) {
      for (unsigned column = 0; column < blocks.x * threads.x; ++column) {
        blockIdx = dim3(column / threads.x, row);
        threadIdx = dim3(column % threads.x);
        kernel(arguments...);
      }
    }
  });
}

}  // namespace gpu_simulator
