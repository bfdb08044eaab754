// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
// Types that count as a stream if CUDA is the only backend; takt/backends/hip.hpp must not be included here.
#include <takt/backends/cuda.hpp>
#include <takt/graph.hpp>
#include <takt/takt.hpp>

#include "support/catch.hpp"

#include <stdexcept>
#include <type_traits>

namespace {

void* stream(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

/// Shaped like c10::cuda::CUDAStream.
class TorchStream {
 public:
  explicit TorchStream(std::uintptr_t number) noexcept : number_(number) {}
  CUstream_st* stream() const { return static_cast<CUstream_st*>(::stream(number_)); }
  operator CUstream_st*() const {
    if (number_ == 0) { throw std::runtime_error("no device"); }
    return stream();
  }

 private:
  std::uintptr_t number_;
};

struct QuietStream {
  operator CUstream_st*() const noexcept { return static_cast<CUstream_st*>(stream(0x40)); }
};

/// Converts, but its traits select another stream.
struct OwnStream : TorchStream {
  using TorchStream::TorchStream;
};

takt::StreamRef taken(takt::detail::StreamArgument argument) { return argument.ref; }

}  // namespace

template <>
struct takt::StreamTraits<OwnStream> {
  static takt::StreamRef ref(const OwnStream& own) noexcept { return StreamTraits<CUstream_st*>::ref(own.stream()); }
};

TEST_CASE("StreamArgument: nullptr and 0 are the default stream of the only backend") {
  const takt::StreamRef cuda = takt::CudaBackend(nullptr).ref();
  CHECK(cuda.handle == stream(1));
  CHECK(taken(nullptr) == cuda);
  CHECK(taken(0) == cuda);
  CHECK(taken(0L) == cuda);
  CHECK(taken(NULL) == cuda);
}

TEST_CASE("StreamArgument: accepts types that convert to cudaStream_t") {
  const takt::StreamRef cuda = takt::CudaBackend(static_cast<CUstream_st*>(stream(0x1230))).ref();
  CHECK(taken(TorchStream(0x1230)) == cuda);
  CHECK(taken(cuda) == cuda);
  CHECK(taken(static_cast<CUstream_st*>(cuda.handle)) == cuda);
  CHECK(taken(QuietStream{}).handle == stream(0x40));
  STATIC_REQUIRE(std::is_nothrow_constructible_v<takt::detail::StreamArgument, CUstream_st*>);
  STATIC_REQUIRE_FALSE(std::is_nothrow_constructible_v<takt::detail::StreamArgument, TorchStream>);
}

TEST_CASE("StreamArgument: traits take precedence over a conversion") {
  CHECK(taken(OwnStream(0)).handle == stream(1));  // the conversion would throw
}

TEST_CASE("StreamArgument: an exception in a conversion reaches the caller before a region starts") {
  CHECK_THROWS_AS(takt::Scope(takt::Forward, TorchStream(0)), std::runtime_error);
  takt::GraphRegions regions;
  CHECK_THROWS_AS(takt::GraphReplay(regions, TorchStream(0)), std::runtime_error);
}

TEST_CASE("StreamArgument: every function that takes a stream accepts all stream types") {
  const TorchStream torch(0x1230);
  takt::GraphRegions regions;
  {
    takt::Scope a(takt::Forward, torch);
    takt::Scope b(takt::Forward, nullptr);
    takt::Scope c(takt::Forward, 0);
    takt::Scope d(takt::Forward, torch, takt::every(2));
    takt::Scope e(takt::Forward, 0, takt::every(2));
    TAKT_SCOPE(takt::Forward, nullptr, takt::every(2));
    takt::GraphRegion f(regions, takt::Forward, torch);
    takt::GraphRegion g(regions, takt::Forward, 0);
    takt::GraphReplay h(regions, torch);
    h.failed();
    takt::GraphReplay i(regions, nullptr);
    i.failed();
  }
  const takt::CudaBackend backend(torch);
  CHECK(backend.ref().handle == stream(0x1230));
}
