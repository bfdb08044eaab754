// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The default stream is ambiguous if both CUDA and HIP are included.
// expect: takt: ambiguous stream, CUDA or HIP
// expect: takt/backends/cuda\.hpp
// expect: takt/backends/hip\.hpp
#include <takt/backends/cuda.hpp>
#include <takt/backends/hip.hpp>
#include <takt/takt.hpp>

using cudaStream_t = CUstream_st*;

void forward() {
#ifdef MISTAKE
  takt::Scope scope(takt::Forward, nullptr);
#else
  takt::Scope scope(takt::Forward, cudaStream_t{});
#endif
}
