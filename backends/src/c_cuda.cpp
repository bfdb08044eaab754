// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/backends/cuda.hpp>

#include <takt.h>

extern "C" takt_region takt_begin_cuda(const takt_key* key, void* stream) {
  const takt::CudaBackend backend(static_cast<CUstream_st*>(stream), takt::detail::LegacyStreams());
  return takt_begin_stream_(key, backend.ref().ops, backend.ref().handle);
}
