// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "support/default_streams.hpp"

#include "support/catch.hpp"

using takt_test::DefaultStreams;

takt_test::DefaultStreams takt_test::legacy_default_streams() { return default_streams_here(); }

namespace {

void* default_streams_stream(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

struct CudaStream {
  operator CUstream_st*() const noexcept { return static_cast<CUstream_st*>(default_streams_stream(0x10)); }
};
struct HipStream {
  operator ihipStream_t*() const noexcept { return static_cast<ihipStream_t*>(default_streams_stream(0x10)); }
};

}  // namespace

TEST_CASE("stream 0 follows the mode of its translation unit, even if both modes are linked together") {
  for (int time = 0; time < 2; ++time) {
    const DefaultStreams legacy = takt_test::legacy_default_streams();
    CHECK(legacy.cuda_scope == default_streams_stream(1));
    CHECK(legacy.cuda_backend == default_streams_stream(1));
    CHECK(legacy.hip_scope == default_streams_stream(0));
    CHECK(legacy.hip_backend == default_streams_stream(0));
    CHECK_FALSE(legacy.scope_is_per_thread);
    const DefaultStreams per_thread = takt_test::per_thread_default_streams();
    CHECK(per_thread.cuda_scope == default_streams_stream(2));
    CHECK(per_thread.cuda_backend == default_streams_stream(2));
    CHECK(per_thread.hip_scope == default_streams_stream(2));
    CHECK(per_thread.hip_backend == default_streams_stream(2));
    CHECK(per_thread.scope_is_per_thread);
  }
}

TEST_CASE("streams other than 0 are passed unchanged") {
  auto* const cuda = static_cast<CUstream_st*>(default_streams_stream(0x1230));
  CHECK(takt::CudaBackend(cuda).ref().handle == default_streams_stream(0x1230));
  CHECK(takt::CudaBackend(cuda).ref().ops != takt::HipBackend(nullptr).ref().ops);
}

TEST_CASE("with both backends a conversion selects the backend") {
  const takt::detail::StreamArgument cuda = CudaStream{};
  const takt::detail::StreamArgument hip = HipStream{};
  CHECK(cuda.ref == takt::CudaBackend(CudaStream{}).ref());
  CHECK(hip.ref == takt::HipBackend(HipStream{}).ref());
}
