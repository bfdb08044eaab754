// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Regions for gpu_torch.py, which loads this library into a process with torch; each thread has one open region.
#include <takt/backends/cuda.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace {

constexpr takt::Key InTorch{"InTorch", takt::Kind::compute};
thread_local std::optional<takt::Scope> open;

}  // namespace

extern "C" {

void regions_begin(void* stream) { open.emplace(InTorch, static_cast<CUstream_st*>(stream)); }
void regions_end() { open.reset(); }
/// Returns the number of regions with a stream span so far.
long regions_timed() {
  takt::complete(std::chrono::seconds(10));
  std::uint64_t timed = 0;
  for (const takt::PathStats& path : takt::snapshot().paths) {
    if (path.name == InTorch.name()) { timed += path.device.n(); }
  }
  return static_cast<long>(timed);
}
/// Returns the total of their spans, in us.
double regions_us() {
  std::uint64_t total = 0;
  for (const takt::PathStats& path : takt::snapshot().paths) {
    if (path.name == InTorch.name()) { total += path.device.stats().total_ns; }
  }
  return static_cast<double>(total) / 1e3;
}
}
