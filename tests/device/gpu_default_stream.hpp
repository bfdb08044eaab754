// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "device/gpu_check.hpp"

/// Included by two files that are compiled with different default streams.
namespace gpu_check {

/// Result of 2 ms of work on the default stream, queued after 50 ms on a stream that the legacy one waits for.
struct DefaultStream {
  bool waited = false;  ///< the 50 ms had ended when the 2 ms ended
  std::uint64_t spans = 0;
  std::uint64_t span_ns = 0;
  cudaError_t error = cudaSuccess;
};

namespace {

/// \param own the default stream of this file by its explicit handle, for the kernel, which another file launches.
DefaultStream use_default_stream(const takt::Key& key, cudaStream_t own, bool with_takt) {
  const Stream blocking(cudaStreamDefault);
  cudaEvent_t done = nullptr;
  REQUIRE_CUDA(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  takt::set_enabled(with_takt);
  const Spans before = spans_of(key);
  const cudaStream_t none = nullptr;
  spin(blocking, 50'000'000);
  {
    takt::Scope s(key, none);
    spin(own, 2'000'000);
  }
  REQUIRE_CUDA(cudaEventRecord(done, none));
  while (cudaEventQuery(done) == cudaErrorNotReady) {}
  DefaultStream seen;
  seen.waited = cudaStreamQuery(blocking) == cudaSuccess;
  blocking.finish();
  takt::complete(std::chrono::seconds(10));
  takt::set_enabled(true);
  const Spans after = spans_of(key);
  seen.spans = after.timed - before.timed;
  seen.span_ns = after.total_ns - before.total_ns;
  REQUIRE_CUDA(cudaEventDestroy(done));
  seen.error = cudaGetLastError();
  return seen;
}

}  // namespace

DefaultStream use_per_thread_stream(const takt::Key& key, bool with_takt);

}  // namespace gpu_check
