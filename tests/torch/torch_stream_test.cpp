// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// takt::torch_stream() with fakes of the streams of a libtorch for CUDA or, with STAND_IN_HIP, for HIP.
#include <takt/takt.hpp>
#include <takt/torch.hpp>

#include "support/catch.hpp"

#ifdef STAND_IN_HIP
namespace gpu = c10::hip;
using Backend = takt::HipBackend;
using Handle = ihipStream_t*;
#else
namespace gpu = c10::cuda;
using Backend = takt::CudaBackend;
using Handle = CUstream_st*;
#endif

TEST_CASE("torch_stream: returns libtorch's current stream if there is a device, and otherwise none") {
  CHECK(takt::torch_stream() == takt::StreamRef());
  gpu::devices = 1;
  CHECK(takt::torch_stream() == Backend(reinterpret_cast<Handle>(0x1230)).ref());
  gpu::broken = true;
  CHECK(takt::torch_stream() == takt::StreamRef());
}

TEST_CASE("torch_stream: a Scope accepts libtorch's streams directly") {
#ifdef STAND_IN_HIP
  const auto stream = gpu::HIPStream();
#else
  const auto stream = gpu::CUDAStream();
#endif
  CHECK(takt::detail::StreamArgument(stream).ref == Backend(stream).ref());
  takt::Scope s(takt::Forward, stream);
}
