// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// G7: stream 0 is the one that the translation unit selects, and Takt does not change which streams wait for each
// other.
#include "device/gpu_default_stream.hpp"

namespace gpu_check {
namespace {

constexpr takt::Key Legacy{"Legacy", takt::Kind::compute};
constexpr takt::Key PerThread{"PerThread", takt::Kind::compute};

std::string waiting(const DefaultStream& seen) { return seen.waited ? "waits" : "does not wait"; }

void compare(const char* name, bool waits, const DefaultStream& without, const DefaultStream& with_takt) {
  say("G7", takt::detail::format("{} stream 0 behind a blocking stream, without Takt and with", name),
      waits ? "waits, waits" : "does not wait, does not wait",
      takt::detail::format("{}, {}", waiting(without), waiting(with_takt)),
      without.waited == waits && with_takt.waited == waits);
  say("G7", takt::detail::format("{} stream 0: span of 2 ms of work on it", name), "2 to 3 ms",
      takt::detail::format("{:.3f} ms in {} span(s)", static_cast<double>(with_takt.span_ns) / 1e6, with_takt.spans),
      with_takt.spans == 1 && with_takt.span_ns >= 1'990'000 && with_takt.span_ns <= 3'000'000);
  say("G7", takt::detail::format("{} stream 0: last error", name), "cudaSuccess", cudaGetErrorName(with_takt.error),
      with_takt.error == cudaSuccess);
}

}  // namespace

void default_streams() {
  const DefaultStream legacy = use_default_stream(Legacy, cudaStreamLegacy, false);
  compare("legacy", true, legacy, use_default_stream(Legacy, cudaStreamLegacy, true));
  const DefaultStream per_thread = use_per_thread_stream(PerThread, false);
  compare("per-thread", false, per_thread, use_per_thread_stream(PerThread, true));
}

}  // namespace gpu_check
