// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The default stream where it may be CUDA's or HIP's.
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
