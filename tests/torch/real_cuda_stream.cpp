// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// libtorch's own header of CUDA streams, as far as it compiles without a libtorch for CUDA.
#include <takt/takt.hpp>
#include <takt/torch.hpp>

void forward() {
  takt::Scope a(takt::Forward, c10::cuda::getCurrentCUDAStream());
  takt::Scope b(takt::Forward, takt::torch_stream());
  takt::Scope c(takt::Forward, nullptr);
}
