// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>

namespace gpu_check {

/// Start and end of a kernel by the device's own clock, in ns.
struct Stamp {
  unsigned long long begin;
  unsigned long long end;
};

/// Runs one thread for `ns` on the stream and writes `stamp` (if not nullptr) in memory that the device can access.
void spin(cudaStream_t stream, std::uint64_t ns, Stamp* stamp = nullptr);
/// Blocks the stream until the host writes to `open`, for at most 3 s.
void gate(cudaStream_t stream, const volatile int* open);
/// Writes the resolution of the device's clock, in ns, to `step`.
void clock_step(cudaStream_t stream, unsigned long long* step);
/// Writes to an invalid address.
void error(cudaStream_t stream);
/// Two kernels for programmatic dependent launch (compute capability 9 or later): the first lets the dependent one
/// start at once and runs for `ns`; the second starts early, runs for `ns` and then waits for the first.
void primary(cudaStream_t stream, std::uint64_t ns);
cudaError_t dependent(cudaStream_t stream, std::uint64_t ns);

}  // namespace gpu_check
