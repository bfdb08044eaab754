// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <type_traits>

struct CUstream_st;   // cudaStream_t points to it
struct ihipStream_t;  // hipStream_t points to it

TAKT_BEGIN_NAMESPACE

struct DeviceOps;

/// A queue of work on a device, as Scope takes it: what a Backend makes of a stream (takt/backend.hpp). Not owned:
/// device and handle must outlive the results that are pending.
struct StreamRef {
  const DeviceOps* ops = nullptr;  ///< nullptr: no device, host time only
  void* handle = nullptr;

  friend constexpr bool operator==(const StreamRef& a, const StreamRef& b) noexcept {
    return a.ops == b.ops && a.handle == b.handle;
  }
};

namespace detail {

/// What the default stream of a GPU's runtime is in this translation unit. A type, which functions that depend on it
/// take as a template argument: translation units with different answers then have different functions, and can be
/// linked together.
struct LegacyStreams {};
struct PerThreadStreams {};
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(HIP_API_PER_THREAD_DEFAULT_STREAM)
using DefaultStreams = PerThreadStreams;
#else
using DefaultStreams = LegacyStreams;
#endif

}  // namespace detail

/// How a type of stream becomes a StreamRef: specialise it with `static StreamRef ref(const S&) noexcept`. A backend's
/// header does so for its streams; where 0 is a stream, with a second parameter for detail::DefaultStreams. (A trait
/// and not an overloaded function: the stream of CUDA is a pointer to a type of the global namespace, where
/// argument-dependent look-up finds nothing of Takt's.)
template <class S, class = void>
struct StreamTraits {};

/// A StreamRef is its own.
template <>
struct StreamTraits<StreamRef> {
  static StreamRef ref(const StreamRef& stream) noexcept { return stream; }
};

namespace detail {

template <class S, class = void>
struct HasStreamRef : std::false_type {};
template <class S>
struct HasStreamRef<S, std::void_t<decltype(StreamTraits<S>::ref(std::declval<const S&>()))>> : std::true_type {};

template <class S, class Streams, class = void>
struct KnowsDefault : std::false_type {};
template <class S, class Streams>
struct KnowsDefault<S, Streams, std::void_t<decltype(StreamTraits<S>::ref(std::declval<const S&>(), Streams{}))>>
    : std::true_type {};

/// What is no stream, and what is one of either vendor.
struct NoStream {};
struct TwoStreams {};

/// Whether S converts to the stream of a backend that is there. Does not ask for the traits of a vendor to whose stream
/// it does not convert: that header may come later.
template <class S, class Handle>
using Becomes = std::conjunction<std::is_convertible<const S&, Handle>, HasStreamRef<Handle>>;

/// As what S is a stream: as itself, or as the handle of the one backend of this translation unit to which it converts.
template <class S, bool Cuda = Becomes<S, CUstream_st*>::value, bool Hip = Becomes<S, ihipStream_t*>::value,
          class Both = std::conditional_t<Cuda && Hip, TwoStreams, NoStream>,
          class One = std::conditional_t<Cuda, CUstream_st*, ihipStream_t*>>
using StreamHandle = std::conditional_t<HasStreamRef<S>::value, S, std::conditional_t<Cuda != Hip, One, Both>>;

template <class S, class Handle, class Streams>
StreamRef stream_ref(const S& stream) {
  static_assert(!std::is_same_v<Handle, NoStream>,
                "takt: this type is not a known stream. For what is a cudaStream_t or converts to one include "
                "<takt/backends/cuda.hpp>, for a hipStream_t <takt/backends/hip.hpp>; else specialise StreamTraits.");
  static_assert(!std::is_same_v<Handle, TwoStreams>,
                "takt: this is a stream of CUDA and one of HIP, as <takt/backends/cuda.hpp> and "
                "<takt/backends/hip.hpp> are both included. Say which: cudaStream_t{} or hipStream_t{}.");
  if constexpr (KnowsDefault<Handle, Streams>::value) {
    return StreamTraits<Handle>::ref(stream, Streams{});
  } else if constexpr (HasStreamRef<Handle>::value) {
    return StreamTraits<Handle>::ref(stream);
  }
}

/// A stream as a Scope takes it: a type with StreamTraits; what converts to the stream of a backend whose header is
/// there; nullptr and 0, which are the default stream. What it is taken for is a template argument, as translation
/// units with headers of other backends have other answers. An exception of a conversion goes to the caller: nothing
/// has begun yet.
struct StreamArgument {
  template <class S, class Handle = StreamHandle<S>, class Streams = DefaultStreams,
            std::enable_if_t<!std::is_integral_v<S> && !std::is_null_pointer_v<S>, int> = 0>
  StreamArgument(const S& stream) noexcept(std::is_same_v<S, Handle>) : ref(stream_ref<S, Handle, Streams>(stream)) {}
  /// Also of a 0, which is no null pointer any more where it has the type of a template argument.
  template <class S = decltype(nullptr), class Handle = StreamHandle<S>, class Streams = DefaultStreams>
  StreamArgument(decltype(nullptr) stream) noexcept  // NOLINT(google-explicit-constructor)
      : ref(stream_ref<S, Handle, Streams>(stream)) {}
  /// Of other numbers, for their message.
  template <class S = NoStream>
  StreamArgument(...) noexcept  // NOLINT(google-explicit-constructor, cert-dcl50-cpp)
      : ref(stream_ref<S, S, DefaultStreams>(S{})) {}

  StreamRef ref;
};

}  // namespace detail
TAKT_END_NAMESPACE
