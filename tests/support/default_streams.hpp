// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backends/cuda.hpp>
#include <takt/backends/hip.hpp>
#include <takt/takt.hpp>

#include <type_traits>

namespace takt_test {

/// A stream type that records the default streams of a Scope's translation unit.
struct NotingStream {
  static inline bool per_thread = false;
};

/// The stream that 0 stands for in a translation unit, for each way to pass it.
struct DefaultStreams {
  void* cuda_scope = nullptr;
  void* cuda_backend = nullptr;
  void* hip_scope = nullptr;
  void* hip_backend = nullptr;
  bool scope_is_per_thread = false;
};

DefaultStreams legacy_default_streams();
DefaultStreams per_thread_default_streams();

}  // namespace takt_test

template <>
struct takt::StreamTraits<takt_test::NotingStream> {
  template <class Streams = takt::detail::DefaultStreams>
  static takt::StreamRef ref(const takt_test::NotingStream&, Streams = {}) noexcept {
    takt_test::NotingStream::per_thread = std::is_same_v<Streams, takt::detail::PerThreadStreams>;
    return {};
  }
};

namespace {

/// Each translation unit gets its own function.
[[maybe_unused]] takt_test::DefaultStreams default_streams_here() {
  takt_test::DefaultStreams here;
  CUstream_st* const cuda = nullptr;
  ihipStream_t* const hip = nullptr;
  here.cuda_scope = takt::detail::StreamArgument(cuda).ref.handle;
  here.cuda_backend = takt::CudaBackend(cuda).ref().handle;
  here.hip_scope = takt::detail::StreamArgument(hip).ref.handle;
  here.hip_backend = takt::HipBackend(hip).ref().handle;
  takt::Scope s(takt::Forward, takt_test::NotingStream{});
  here.scope_is_per_thread = takt_test::NotingStream::per_thread;
  return here;
}

}  // namespace
