// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The application's side of gpu_simulator.cpp: the functions of CUDA's runtime that the checks on a GPU and the
// training step of the examples call.
#include "device/gpu_simulated_device.hpp"

#include <cuda_runtime_api.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace {

using gpu_simulator::driver;
using gpu_simulator::simulated;

SimulatedEvent* simulated(cudaEvent_t event) { return reinterpret_cast<SimulatedEvent*>(event); }
template <class Handle>
SimulatedGraph* simulated_graph(Handle graph) {
  return reinterpret_cast<SimulatedGraph*>(graph);
}

thread_local cudaError_t last_error = cudaSuccess;
cudaError_t set(int error) {
  if (error != 0 && error != cudaErrorNotReady) { last_error = static_cast<cudaError_t>(error); }
  return static_cast<cudaError_t>(error);
}

/// Returns the driver, with a context on this thread: the runtime's first call on each thread makes the primary one
/// current.
const gpu_simulator::Driver& primed() {
  driver().simulated_use_primary();
  return driver();
}

cudaStream_t per_thread(cudaStream_t stream) { return stream == nullptr ? cudaStreamPerThread : stream; }

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  static thread_local char name[32];
  std::snprintf(name, sizeof name, error == cudaSuccess ? "cudaSuccess" : "error %d", static_cast<int>(error));
  return name;
}
const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }
cudaError_t cudaGetDeviceCount(int* count) {
  return set(gpu_simulator::library() == nullptr ? cudaErrorInsufficientDriver : driver().cuDeviceGetCount(count));
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::snprintf(properties->name, sizeof properties->name, "a simulation");
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 0;
  return gpu_simulator::library() == nullptr ? cudaSuccess : set(driver().cuDriverGetVersion(version));
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return set(device == 0 ? cudaSuccess : cudaErrorInvalidDevice); }
cudaError_t cudaDeviceReset() { return set(driver().simulated_reset()); }
cudaError_t cudaDeviceSynchronize() { return set(primed().cuCtxSynchronize()); }
cudaError_t cudaMalloc(void** memory, size_t bytes) { return cudaMallocHost(memory, bytes); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  constexpr size_t kBytesInNs = 10;
  gpu_simulator::call(stream, static_cast<long long>(bytes / kBytesInNs), [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return set(driver().simulated_use_primary());
}
cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  *memory = std::malloc(bytes);
  return set(driver().simulated_use_primary());
}
cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  SimulatedStream* made = nullptr;
  const int error = primed().cuStreamCreate(&made, flags);
  *stream = reinterpret_cast<cudaStream_t>(made);
  return set(error);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return set(primed().cuStreamDestroy_v2(simulated(stream))); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { return set(primed().cuStreamQuery(simulated(stream))); }
cudaError_t cudaStreamQuery_ptsz(cudaStream_t stream) { return cudaStreamQuery(per_thread(stream)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) { return set(primed().cuStreamSynchronize(simulated(stream))); }
cudaError_t cudaStreamSynchronize_ptsz(cudaStream_t stream) { return cudaStreamSynchronize(per_thread(stream)); }
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return set(primed().cuStreamBeginCapture_v2(simulated(stream), mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  SimulatedGraph* made = nullptr;
  const int error = primed().cuStreamEndCapture(simulated(stream), &made);
  *graph = reinterpret_cast<cudaGraph_t>(made);
  return set(error);
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  SimulatedEvent* made = nullptr;
  const int error = primed().cuEventCreate(&made, flags);
  *event = reinterpret_cast<cudaEvent_t>(made);
  return set(error);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return set(primed().cuEventDestroy_v2(simulated(event))); }
cudaError_t cudaEventQuery(cudaEvent_t event) { return set(primed().cuEventQuery(simulated(event))); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return set(primed().cuEventRecord(simulated(event), simulated(stream)));
}
cudaError_t cudaEventRecord_ptsz(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecord(event, per_thread(stream));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return set(primed().cuEventRecordWithFlags(simulated(event), simulated(stream), flags));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return set(primed().cuEventSynchronize(simulated(event))); }
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return set(primed().cuStreamWaitEvent(simulated(stream), simulated(event), flags));
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return set(primed().cuEventElapsedTime(ms, simulated(begin), simulated(end)));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t*, size_t* count) {
  *count = static_cast<size_t>(driver().simulated_nodes(simulated_graph(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  *exec = reinterpret_cast<cudaGraphExec_t>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  return set(primed().cuGraphLaunch(simulated_graph(exec), simulated(stream)));
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t) { return cudaSuccess; }
}
