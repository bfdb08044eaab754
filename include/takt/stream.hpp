// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <type_traits>

struct CUstream_st;   // cudaStream_t points to it
struct ihipStream_t;  // hipStream_t points to it

TAKT_BEGIN_NAMESPACE

struct DeviceOps;

/// A work queue on a device, as Scope takes it; a Backend makes it from a stream (takt/backend.hpp). Not owned: device
/// and handle must outlive pending results.
struct StreamRef {
  const DeviceOps* ops = nullptr;  ///< nullptr: no device, host time only
  void* handle = nullptr;

  friend constexpr bool operator==(const StreamRef& a, const StreamRef& b) noexcept {
    return a.ops == b.ops && a.handle == b.handle;
  }
};

namespace detail {

/// The default stream of a GPU runtime in this translation unit. Functions that depend on it take this type as a
/// template argument. Translation units with different default streams then have different functions and can be linked
/// together.
struct LegacyStreams {};
struct PerThreadStreams {};
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM) || defined(HIP_API_PER_THREAD_DEFAULT_STREAM)
using DefaultStreams = PerThreadStreams;
#else
using DefaultStreams = LegacyStreams;
#endif

}  // namespace detail

/// Converts a stream type to a StreamRef: specialize it with `static StreamRef ref(const S&) noexcept`. A backend's
/// header specializes it for its streams; if 0 is a stream, with detail::DefaultStreams as second parameter. (A trait,
/// because CUDA's stream is a pointer to a type of the global namespace, so argument-dependent look-up finds no
/// function of Takt's.)
template <class S, class = void>
struct StreamTraits {};

/// Returns a StreamRef unchanged.
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

/// Not a stream, and a stream of both vendors.
struct NoStream {};
struct TwoStreams {};

/// True if S converts to the stream of an included backend. Checks convertibility before the vendor's traits: that
/// vendor's header may be included later.
template <class S, class Handle>
using Becomes = std::conjunction<std::is_convertible<const S&, Handle>, HasStreamRef<Handle>>;

/// The stream type to treat S as: S itself, or the handle of the one backend of this translation unit that S converts
/// to.
template <class S, bool Cuda = Becomes<S, CUstream_st*>::value, bool Hip = Becomes<S, ihipStream_t*>::value,
          class Both = std::conditional_t<Cuda && Hip, TwoStreams, NoStream>,
          class One = std::conditional_t<Cuda, CUstream_st*, ihipStream_t*>>
using StreamHandle = std::conditional_t<HasStreamRef<S>::value, S, std::conditional_t<Cuda != Hip, One, Both>>;

template <class S, class Handle, class Streams>
StreamRef stream_ref(const S& stream) {
  static_assert(!std::is_same_v<Handle, NoStream>,
                "takt: this type is not a known stream. For a cudaStream_t, or a type that converts to one, include "
                "<takt/backends/cuda.hpp>, for a hipStream_t <takt/backends/hip.hpp>; else specialize StreamTraits.");
  static_assert(!std::is_same_v<Handle, TwoStreams>,
                "takt: ambiguous stream, CUDA or HIP: <takt/backends/cuda.hpp> and "
                "<takt/backends/hip.hpp> are both included. Choose one: cudaStream_t{} or hipStream_t{}.");
  if constexpr (KnowsDefault<Handle, Streams>::value) {
    return StreamTraits<Handle>::ref(stream, Streams{});
  } else if constexpr (HasStreamRef<Handle>::value) {
    return StreamTraits<Handle>::ref(stream);
  }
}

/// A stream argument of a Scope: a type with StreamTraits, one that converts to the stream of an included backend, or
/// nullptr or 0 for the default stream. The handle type is a template argument, because translation units with other
/// backend headers choose other handles. An exception of a conversion reaches the caller before the region starts.
struct StreamArgument {
  template <class S, class Handle = StreamHandle<S>, class Streams = DefaultStreams,
            std::enable_if_t<!std::is_integral_v<S> && !std::is_null_pointer_v<S>, int> = 0>
  StreamArgument(const S& stream) noexcept(std::is_same_v<S, Handle>) : ref(stream_ref<S, Handle, Streams>(stream)) {}
  /// Also for a 0, which is not a null pointer if its type is a template argument.
  template <class S = decltype(nullptr), class Handle = StreamHandle<S>, class Streams = DefaultStreams>
  StreamArgument(decltype(nullptr) stream) noexcept  // NOLINT(google-explicit-constructor)
      : ref(stream_ref<S, Handle, Streams>(stream)) {}
  /// For other numbers: produces their error message.
  template <class S = NoStream>
  StreamArgument(...) noexcept  // NOLINT(google-explicit-constructor, cert-dcl50-cpp)
      : ref(stream_ref<S, S, DefaultStreams>(S{})) {}

  StreamRef ref;
};

}  // namespace detail
TAKT_END_NAMESPACE
