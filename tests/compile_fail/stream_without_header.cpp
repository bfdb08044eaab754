// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// A CUDA stream without the backend's header.
// expect: takt: this type is not a known stream
// expect: include <takt/backends/cuda\.hpp>
#ifndef MISTAKE
#include <takt/backends/cuda.hpp>
#endif
#include <takt/takt.hpp>

struct TorchStream {
  operator CUstream_st*() const { return nullptr; }
};

void forward() { takt::Scope scope(takt::Forward, TorchStream{}); }
