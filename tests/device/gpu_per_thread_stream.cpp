// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// As with --default-stream per-thread.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include "device/gpu_default_stream.hpp"

namespace gpu_check {

DefaultStream use_per_thread_stream(const takt::Key& key, bool with_takt) {
  return use_default_stream(key, cudaStreamPerThread, with_takt);
}

}  // namespace gpu_check
