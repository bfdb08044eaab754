// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cuda_runtime_api.h>
#include <cstdint>

namespace gpu_check {

/// When a kernel ran, by the device's own clock, in ns.
struct Stamp {
  unsigned long long begin;
  unsigned long long end;
};

/// One thread that runs for `ns` on the stream, and stamps (if not nullptr) what the device can reach.
void spin(cudaStream_t stream, std::uint64_t ns, Stamp* stamp = nullptr);
/// Holds the stream until the host writes to `open`, at most 3 s.
void gate(cudaStream_t stream, const volatile int* open);
/// The smallest step of the device's clock, in ns, to `step`.
void clock_step(cudaStream_t stream, unsigned long long* step);
/// Writes where nothing is.
void error(cudaStream_t stream);
/// A kernel that lets a dependent one begin at once, and goes on for `ns`; and one that may begin so, waits `ns`, and
/// then for the
/// first (programmatic dependent launch, from compute capability 9 on).
void primary(cudaStream_t stream, std::uint64_t ns);
cudaError_t dependent(cudaStream_t stream, std::uint64_t ns);

}  // namespace gpu_check
