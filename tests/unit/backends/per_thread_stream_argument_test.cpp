// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
// The default stream if CUDA is the only backend and each thread has its own.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1
#include <takt/backends/cuda.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"

namespace {

takt::StreamRef per_thread_stream_argument_taken(takt::detail::StreamArgument argument) { return argument.ref; }

}  // namespace

TEST_CASE("StreamArgument: nullptr and 0 are the per-thread stream, even alongside units that use the legacy one") {
  const takt::StreamRef own = takt::CudaBackend(nullptr).ref();
  CHECK(own.handle == reinterpret_cast<void*>(std::uintptr_t{2}));
  CHECK(per_thread_stream_argument_taken(nullptr) == own);
  CHECK(per_thread_stream_argument_taken(0) == own);
}
