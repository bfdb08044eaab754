// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Contexts of gpu_simulator.cpp: a primary one, which cudaDeviceReset() recreates at the same address, others, and
// green ones. A context is current to a thread, and threads start without one.
#include "device/gpu_simulator.hpp"

#include <cstddef>
#include <cstdlib>

namespace {

using gpu_simulation::Device;

unsigned long long last_number = 1;
SimulatedContext primary{1, nullptr};

/// A thread's contexts. Has no destructor because an exiting thread may still call it.
struct ContextStack {
  static constexpr std::size_t kMax = 16;
  SimulatedContext* contexts[kMax];
  std::size_t count;

  SimulatedContext* top() const { return count == 0 ? nullptr : contexts[count - 1]; }
  int push(SimulatedContext* context) {
    if (count == kMax) { std::abort(); }  // a pop is missing
    contexts[count++] = context;
    return 0;
  }
  SimulatedContext* pop() { return count == 0 ? nullptr : contexts[--count]; }
};
thread_local ContextStack stack;

void replace_current(SimulatedContext* context) {
  stack.pop();
  if (context != nullptr) { stack.push(context); }
}

}  // namespace

namespace gpu_simulation {

Device& Device::get() {
  static auto* const device = new Device;  // threads may outlive static objects
  return *device;
}
SimulatedContext* current_context() { return stack.top(); }

}  // namespace gpu_simulation

extern "C" {

int cuInit(unsigned) {
  return Device::get().call([] { return 0; });
}
int cuDeviceGetCount(int* count) {
  return Device::get().call([&] { return *count = 1, 0; });
}
int cuDeviceGet(int* device, int) { return cuDeviceGetCount(device) != 0 ? 3 : (*device = 0, 0); }
int cuDevicePrimaryCtxRetain(SimulatedContext** context, int) {
  return Device::get().call([&] {
    if (primary.number == 0) { primary.number = ++last_number; }
    return *context = &primary, 0;
  });
}
int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  return Device::get().call([&] { return *flags = 0, *active = primary.number != 0 ? 1 : 0, 0; });
}
int cuDevicePrimaryCtxRelease_v2(int) { return 0; }  // the program retains it until it ends
int cuDevicePrimaryCtxReset_v2(int) {
  return Device::get().call([] { return primary.number = 0, 0; });
}
/// Does what the first call of CUDA's runtime does on a thread.
int simulated_use_primary() {
  SimulatedContext* context = gpu_simulation::current_context();
  if (context != nullptr && context->number != 0) { return 0; }
  if (const int error = cuDevicePrimaryCtxRetain(&context, 0); error != 0) { return error; }
  replace_current(context);
  return 0;
}
/// cudaDeviceReset(): the context is destroyed; the next call recreates it.
int simulated_reset() { return cuDevicePrimaryCtxReset_v2(0); }

int cuCtxCreate_v2(SimulatedContext** context, unsigned, int) {
  return Device::get().call([&] {
    *context = new SimulatedContext{++last_number, nullptr};
    return stack.push(*context);
  });
}
int cuCtxDestroy_v2(SimulatedContext* context) {  // its memory stays because handles refer to it
  return Device::get().call([&] {
    context->number = 0;
    if (gpu_simulation::current_context() == context) { stack.pop(); }
    return 0;
  });
}
int cuCtxGetDevice(int* device) {
  return Device::get().call([&] {
    if (gpu_simulation::current_context() == nullptr) { return gpu_simulation::kNoContext; }
    return *device = 0, 0;
  });
}
int cuCtxGetCurrent(SimulatedContext** context) {
  return Device::get().call([&] { return *context = gpu_simulation::current_context(), 0; });
}
int cuCtxSetCurrent(SimulatedContext* context) {
  return Device::get().call([&] { return replace_current(context), 0; });
}
int cuCtxPushCurrent_v2(SimulatedContext* context) {
  return Device::get().call([&] {
    if (context == nullptr || context->number == 0) { return gpu_simulation::kNoContext; }
    return stack.push(context);
  });
}
int cuCtxPopCurrent_v2(SimulatedContext** context) {
  return Device::get().call([&] {
    SimulatedContext* const popped = stack.pop();
    if (context != nullptr) { *context = popped; }
    return popped == nullptr ? gpu_simulation::kNoContext : 0;
  });
}
int cuCtxGetId(SimulatedContext* context, unsigned long long* id) {
  return Device::get().call([&] {
    if (context == nullptr) { context = gpu_simulation::current_context(); }
    if (context == nullptr || context->number == 0) { return gpu_simulation::kNoContext; }
    return *id = context->number, 0;
  });
}

// Green contexts. Their resources are ignored here.
int cuDeviceGetDevResource(int, void*, int) { return 0; }
int cuDevSmResourceSplitByCount(void*, unsigned*, const void*, void*, unsigned, unsigned) { return 0; }
int cuDevResourceGenerateDesc(void** description, void*, unsigned) {
  *description = &primary;
  return 0;
}
int cuGreenCtxCreate(SimulatedContext** context, void*, int, unsigned) {
  return Device::get().call([&] { return *context = new SimulatedContext{++last_number, &primary}, 0; });
}
}
