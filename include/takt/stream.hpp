// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <type_traits>

#include <takt/detail/macros_begin.hpp>

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

template <class S, class Streams>
StreamRef stream_ref(const S& stream) noexcept {
  static_assert(HasStreamRef<S>::value,
                "takt: this type is not a known stream. Include the backend's header (for example "
                "<takt/backends/manual.hpp>) or specialise takt::StreamTraits for it.");
  if constexpr (KnowsDefault<S, Streams>::value) {
    return StreamTraits<S>::ref(stream, Streams{});
  } else if constexpr (HasStreamRef<S>::value) {
    return StreamTraits<S>::ref(stream);
  } else {
    return {};
  }
}

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
