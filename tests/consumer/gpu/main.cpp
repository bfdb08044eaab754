// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Builds without CUDA or HIP, and runs without a driver.
#include <takt/backends/cuda.hpp>
#include <takt/backends/hip.hpp>
#include <takt/exporters/roctx.hpp>
#include <takt/takt.hpp>

#include <cstdio>

int main() {
  const takt::RoctxRanges ranges;
  CUstream_st* const cuda = nullptr;
  ihipStream_t* const hip = nullptr;
  for (int step = 0; step < 10; ++step) {
    takt::Scope on_cuda(takt::Forward, cuda);
    takt::Scope on_hip(takt::Backward, hip);
  }
  takt::Timer<takt::CudaBackend> timer(cuda);
  timer.start(takt::Comm);
  timer.end(takt::Comm);
  const takt::Snapshot snapshot = takt::snapshot();
  std::uint64_t timed = 0;
  for (const takt::PathStats& path : snapshot.paths) { timed += path.host.n(); }
  for (const takt::DeviceInfo& device : snapshot.devices) {
    std::printf("%s: %s\n", device.name.c_str(), device.unavailable.c_str());
  }
  return timed == 20 && snapshot.devices.size() == 2 ? 0 : 1;
}
