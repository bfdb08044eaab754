// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
// Types that count as a stream if HIP is the only backend; takt/backends/cuda.hpp must not be included here.
#include <takt/backends/hip.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"

namespace {

void* hip_stream_argument_stream(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

/// Shaped like c10::hip::HIPStream.
struct HipStreamArgumentTorchStream {
  operator ihipStream_t*() const { return static_cast<ihipStream_t*>(hip_stream_argument_stream(0x1230)); }
};

/// A stream of either vendor, from a library built for one of them, here HIP.
struct EitherStream {
  operator ihipStream_t*() const noexcept { return static_cast<ihipStream_t*>(hip_stream_argument_stream(0x20)); }
  operator CUstream_st*() const noexcept { return static_cast<CUstream_st*>(hip_stream_argument_stream(0x30)); }
};

takt::StreamRef hip_stream_argument_taken(takt::detail::StreamArgument argument) { return argument.ref; }

}  // namespace

TEST_CASE("StreamArgument: nullptr and 0 are HIP's default stream, even alongside units that use CUDA's") {
  const takt::StreamRef hip = takt::HipBackend(nullptr).ref();
  CHECK(hip.handle == nullptr);
  CHECK(hip_stream_argument_taken(nullptr) == hip);
  CHECK(hip_stream_argument_taken(0) == hip);
  takt::Scope a(takt::Forward, nullptr);
  takt::Scope b(takt::Forward, 0, takt::every(2));
}

TEST_CASE("StreamArgument: accepts types that convert to hipStream_t") {
  const takt::StreamRef hip = takt::HipBackend(static_cast<ihipStream_t*>(hip_stream_argument_stream(0x1230))).ref();
  CHECK(hip_stream_argument_taken(HipStreamArgumentTorchStream{}) == hip);
  CHECK(hip_stream_argument_taken(EitherStream{}).handle == hip_stream_argument_stream(0x20));
  takt::Scope a(takt::Forward, HipStreamArgumentTorchStream{});
}
