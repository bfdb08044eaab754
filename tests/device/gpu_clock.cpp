// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G15: records when the GPU's clock says that some kernels ran, when the host released each kernel and when it saw its
// end. gpu_clock.py compares Takt's time line with that.
#include "device/gpu_check.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace gpu_check {
namespace {

constexpr std::uint64_t kPause = 10'000'000;  // ns between two kernels
constexpr std::uint64_t kKernel = 10'000;
constexpr takt::Key Tick{"Tick", takt::Kind::compute};

/// Runs one kernel behind a gate, so that a late host does not delay the event at its end.
void tick(std::FILE* file, const Stream& stream, Stamp& stamp, int& open) {
  const auto* const end = static_cast<volatile unsigned long long*>(&stamp.end);
  stamp = {};
  open = 0;
  gate(stream, &open);
  const std::uint64_t region = host_ns();
  {
    takt::Scope batch(takt::Batch);
    takt::Scope s(Tick, static_cast<cudaStream_t>(stream));
    spin(stream, kKernel, &stamp);
  }
  const std::uint64_t opened = host_ns();
  *static_cast<volatile int*>(&open) = 1;
  // Polls the memory itself, which changes before the stream's state. The stream is queried too because a driver may
  // postpone a launch.
  while (*end == 0 && cudaStreamQuery(stream) == cudaErrorNotReady) {}
  const std::uint64_t seen = host_ns();
  stream.poll();
  std::fprintf(file, "%llu\t%llu\t%llu\t%llu\t%llu\n", static_cast<unsigned long long>(region),
               static_cast<unsigned long long>(opened), static_cast<unsigned long long>(seen), stamp.begin, stamp.end);
}

}  // namespace

void clock(int seconds) {
  const char* directory = std::getenv("TAKT_DIR");
  std::FILE* const file = std::fopen((std::string(directory == nullptr ? "." : directory) + "/clock.tsv").c_str(), "w");
  if (file == nullptr) { return say("G15", "a file for the clock's readings", "yes", "no", false); }
  takt::SessionOptions options = takt::SessionOptions::from_env();
  options.trace = true;
  takt::Session session("clock", options);
  const Stream stream;
  const Pinned<Stamp> stamp(1);
  const Pinned<int> open(1);
  spin(stream, kKernel);  // loads the kernel
  stream.finish();
  long ticks = 0;
  for (const std::uint64_t begin = host_ns();
       host_ns() - begin < static_cast<std::uint64_t>(seconds) * 1'000'000'000;) {
    tick(file, stream, stamp[0], open[0]);
    ++ticks;
    idle_ns(kPause);
  }
  std::fclose(file);
  takt::complete(std::chrono::seconds(10));
  session.close();
  const Spans spans = spans_of(Tick);
  say("G15", takt::detail::format("kernels with a span, in {} s", seconds), takt::detail::format("{}", ticks),
      takt::detail::format("{}", spans.timed), spans.timed == static_cast<std::uint64_t>(ticks));
}

}  // namespace gpu_check
