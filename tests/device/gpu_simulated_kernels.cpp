// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The kernels of the checks, on gpu_simulator.cpp.
#include "device/gpu_kernels.hpp"
#include "device/gpu_simulated_device.hpp"

#include <cstdint>

namespace gpu_check {

void spin(cudaStream_t stream, std::uint64_t ns, Stamp* stamp) {
  static_assert(sizeof(Stamp) == sizeof(SimulatedStamp));
  gpu_simulator::driver().simulated_spin(gpu_simulator::simulated(stream), static_cast<long long>(ns),
                                         reinterpret_cast<SimulatedStamp*>(stamp));
}
void gate(cudaStream_t stream, const volatile int* open) {
  gpu_simulator::driver().simulated_gate(gpu_simulator::simulated(stream), open);
}
void clock_step(cudaStream_t, unsigned long long* step) { *step = 1; }
void error(cudaStream_t stream) { gpu_simulator::driver().simulated_error(gpu_simulator::simulated(stream)); }
void primary(cudaStream_t stream, std::uint64_t ns) { spin(stream, ns, nullptr); }
cudaError_t dependent(cudaStream_t stream, std::uint64_t ns) {
  spin(stream, ns, nullptr);
  return cudaSuccess;
}

}  // namespace gpu_check
