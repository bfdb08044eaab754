// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// Shows regions on a profiler's time line, and limits the profiler to steps 10 to 19:
//     nsys profile -c cudaProfilerApi -t cuda,nvtx ./example_17_profiler_ranges
// Without a profiler, both do nothing. For rocprof use <takt/exporters/roctx.hpp> and takt::RoctxRanges.
#include <takt/backends/profiler_window.hpp>
#include <takt/exporters/nvtx.hpp>
#include <takt/scope.hpp>

#include <cstdint>
#include <cstdio>

namespace {

// A real program works here.
void forward() {}
void backward() {}

}  // namespace

int main() {
  // [snippet: profiler-ranges]
  const takt::NvtxRanges ranges;
  takt::ProfilerWindow window(10, 20);
  for (std::int64_t step = 0; step < 100; ++step) {
    window.step(step);
    takt::Scope batch(takt::Batch);
    takt::Scope s(takt::Forward);
    forward();
    s.lap(takt::Backward);
    backward();
  }
  // [end]
  std::puts(ranges.active() ? "a profiler is attached" : "no profiler is attached");
  return 0;
}
