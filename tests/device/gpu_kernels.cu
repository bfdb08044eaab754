// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The only device code of the checks, so that nvcc compiles only this file.
#include "device/gpu_kernels.hpp"

namespace {

constexpr unsigned long long kLongestGate = 3'000'000'000;  // ns

__device__ unsigned long long now() {
  unsigned long long ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}
__device__ void pass(unsigned long long ns) {
  const unsigned long long begin = now();
  while (now() - begin < ns) {}
}

__global__ void spin_kernel(unsigned long long ns, gpu_check::Stamp* stamp) {
  const unsigned long long begin = now();
  unsigned long long end = begin;
  while (end - begin < ns) { end = now(); }
  if (stamp != nullptr) { *stamp = {begin, end}; }
}
__global__ void gate_kernel(const volatile int* open) {
  const unsigned long long begin = now();
  while (*open == 0 && now() - begin < kLongestGate) {}
}
__global__ void clock_step_kernel(unsigned long long* step) {
  unsigned long long min = ~0ULL;
  unsigned long long last = now();
  for (int reading = 0; reading < 1'000'000; ++reading) {
    const unsigned long long next = now();
    if (next != last && next - last < min) { min = next - last; }
    last = next;
  }
  *step = min;
}
__global__ void error_kernel(volatile int* nowhere) { *nowhere = 1; }
__global__ void primary_kernel(unsigned long long ns) {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  pass(ns);
}
__global__ void dependent_kernel(unsigned long long ns) {
  pass(ns);
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

}  // namespace

namespace gpu_check {

void spin(cudaStream_t stream, std::uint64_t ns, Stamp* stamp) { spin_kernel<<<1, 1, 0, stream>>>(ns, stamp); }
void gate(cudaStream_t stream, const volatile int* open) { gate_kernel<<<1, 1, 0, stream>>>(open); }
void clock_step(cudaStream_t stream, unsigned long long* step) { clock_step_kernel<<<1, 1, 0, stream>>>(step); }
void error(cudaStream_t stream) { error_kernel<<<1, 1, 0, stream>>>(reinterpret_cast<volatile int*>(16)); }
void primary(cudaStream_t stream, std::uint64_t ns) { primary_kernel<<<1, 1, 0, stream>>>(ns); }

cudaError_t dependent(cudaStream_t stream, std::uint64_t ns) {
  cudaLaunchAttribute overlap{};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = dim3(1);
  launch.blockDim = dim3(1);
  launch.stream = stream;
  launch.attrs = &overlap;
  launch.numAttrs = 1;
  return cudaLaunchKernelEx(&launch, dependent_kernel, static_cast<unsigned long long>(ns));
}

}  // namespace gpu_check
