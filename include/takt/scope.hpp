// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>
#include <takt/detail/hot.hpp>
#include <takt/key.hpp>
#include <takt/stream.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE

/// Times every n-th region of a key on each thread, starting with the first. The others are only counted.
struct Every {
  std::uint32_t n;
};
/// \param n 1 or more; 0 counts as 1.
constexpr Every every(std::uint32_t n) noexcept { return Every{n}; }

namespace detail {

template <class...>
inline constexpr bool kNever = false;

template <class... Rest>
constexpr void name_is_no_key() noexcept {
  static_assert(kNever<Rest...>,
                "a Scope takes a takt::Key: write TAKT_SCOPE(\"name\"), or make a key: inline constexpr takt::Key "
                "Name{\"name\"}, or takt::key(text) outside of the loop");
}

/// The name in the source text of TAKT_SCOPE's arguments, if the first one is a literal without escapes.
template <std::size_t kSize>
struct LiteralName {
  constexpr explicit LiteralName(const char (&arguments)[kSize]) noexcept {
    std::size_t at = 1;
    for (; at < kSize && arguments[0] == '"' && arguments[at] != '"' && arguments[at] != '\\'; ++at) {
      text[at - 1] = arguments[at];
    }
    is_literal = arguments[0] == '"' && arguments[at] == '"' && (arguments[at + 1] == '\0' || arguments[at + 1] == ',');
  }
  char text[kSize] = {};
  bool is_literal = false;
};

template <std::size_t kSize>
constexpr LiteralName<kSize> literal_name(const char (&arguments)[kSize]) noexcept {
  return LiteralName<kSize>(arguments);
}

/// Converts the first argument of TAKT_SCOPE to a key. Make is called only for a literal; it holds the literal's key in
/// static storage, so that it costs nothing at run time.
template <class Make>
class FirstArgument {
 public:
  constexpr explicit FirstArgument(Make make) noexcept : make_(make) {}
  TAKT_ALWAYS_INLINE const Key& operator=(const Key& key) const noexcept { return key; }  // NOLINT
  template <std::size_t kSize>
  TAKT_ALWAYS_INLINE const Key& operator=(const char (&)[kSize]) const noexcept {  // NOLINT
    return make_(IsUsed{});
  }

 private:
  struct IsUsed {
    static constexpr bool kValue = true;
  };
  Make make_;
};

template <class Make>
TAKT_ALWAYS_INLINE constexpr FirstArgument<Make> first_argument(Make make) noexcept {
  return FirstArgument<Make>(make);
}

}  // namespace detail

TAKT_END_NAMESPACE

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// Times a region from here to the end of the block, on the recorder of the process:
///
///     { takt::Scope s(takt::Forward);  net.forward(); }
///
/// Never throws or waits. Takes a lock only at a thread's first region, at the first use of a key, at the first end of
/// a Batch path, and when a region ends on another thread. Allocates in these cases, for new places, and for new powers
/// of two in durations. Scopes nest; they may also end in another order, or on another thread (a coroutine that resumed
/// elsewhere). One thread at a time per Scope; not in signal handlers. Leaving a Scope by longjmp is undefined in C++
/// and not supported.
class [[nodiscard]] Scope {
 public:
  /// Times the host.
  [[nodiscard]] TAKT_ALWAYS_INLINE explicit Scope(const Key& key) noexcept : region_(detail::begin_region(key)) {}
  /// Times the host, and the span between two events on `stream`, which resolves later. `stream` is any type with
  /// StreamTraits, or one that converts to cudaStream_t or hipStream_t if takt/backends/cuda.hpp or hip.hpp is
  /// included, or nullptr or 0.
  [[nodiscard]] Scope(const Key& key, detail::StreamArgument stream) noexcept
      : region_(detail::begin_on(key, stream.ref)) {}
  /// Times the host in every n-th region.
  [[nodiscard]] Scope(const Key& key, Every sampling) noexcept
      : region_(detail::begin_sampled(key, sampling.n, StreamRef{})) {}
  /// Times the host and `stream` in every n-th region.
  [[nodiscard]] Scope(const Key& key, detail::StreamArgument stream, Every sampling) noexcept
      : region_(detail::begin_sampled(key, sampling.n, stream.ref)) {}
  /// Does not compile: a bare name needs a look-up at each call.
  template <class... Rest>
  explicit Scope(const char*, const Rest&...) noexcept {
    detail::name_is_no_key<Rest...>();
  }

  TAKT_ALWAYS_INLINE ~Scope() noexcept { detail::end_region(region_); }

  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;

  /// Ends this region and starts one of `key` with the same clock read; the Scope then is the new region. With a
  /// stream, both share one event.
  TAKT_ALWAYS_INLINE void lap(const Key& key) noexcept { region_ = detail::lap_region(region_, key); }
  /// Ends the region now. The Scope then does nothing, unless lap() starts another one.
  TAKT_ALWAYS_INLINE void end() noexcept {
    detail::end_region(region_);
    region_ = 0;
  }
  /// Adds `n` items (samples, tokens; >= 1) to this region. Those of a Batch make throughput; Session::unit() names
  /// them. Other values of `n` are counted as misuse.
  void items(std::int64_t n) noexcept { detail::note_amount(region_, detail::Amount::items, n); }
  /// Adds `n` bytes moved (>= 1); the report shows GB/s.
  void bytes(std::int64_t n) noexcept { detail::note_amount(region_, detail::Amount::bytes, n); }

 private:
  detail::Region region_;
};

/// Names the calling thread in reports and on the time line. Takes a lock. Any thread.
TAKT_EXPORT void name_thread(const char* name) noexcept;

/// Switches recording off and on for the whole process. Regions that start while it is off are not timed; they cost one
/// flag check. Regions that are already open are still recorded. Any thread.
TAKT_EXPORT void set_enabled(bool on) noexcept;
/// Returns true if recording is on. Any thread.
TAKT_EXPORT bool enabled() noexcept;

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

/// Compiled out: does nothing.
class [[nodiscard]] Scope {
 public:
  [[nodiscard]] explicit Scope(const Key&) noexcept {}
  template <class S>
  [[nodiscard]] Scope(const Key&, const S&) noexcept {}
  [[nodiscard]] Scope(const Key&, Every) noexcept {}
  template <class S>
  [[nodiscard]] Scope(const Key&, const S&, Every) noexcept {}
  template <class... Rest>
  explicit Scope(const char*, const Rest&...) noexcept {
    detail::name_is_no_key<Rest...>();
  }
  ~Scope() noexcept {}  // not trivial, so that an unused one draws no warning here either
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  static void* operator new(std::size_t) = delete;
  static void* operator new[](std::size_t) = delete;
  void lap(const Key&) noexcept {}
  void end() noexcept {}
  void items(std::int64_t) noexcept {}
  void bytes(std::int64_t) noexcept {}
};

inline void name_thread(const char*) noexcept {}
inline void set_enabled(bool) noexcept {}
inline bool enabled() noexcept { return false; }

TAKT_END_OFF_NAMESPACE

#endif

#define TAKT_CONCAT_(a, b) a##b
#define TAKT_CONCAT(a, b) TAKT_CONCAT_(a, b)
#define TAKT_TEXT_(...) #__VA_ARGS__
#define TAKT_TEXT(...) TAKT_TEXT_(__VA_ARGS__)
/// Times a block without naming the Scope: TAKT_SCOPE(takt::Backward) or TAKT_SCOPE("decode"). Takes the arguments of
/// Scope's constructors. A name is one literal without escapes and costs nothing at run time. Its key has Kind::other;
/// use the key itself if it has one.
#define TAKT_SCOPE(...)                                                                             \
  ::takt::Scope TAKT_CONCAT(takt_scope_, __LINE__) {                                                \
    ::takt::detail::first_argument([](auto takt_used) noexcept -> const ::takt::Key& {              \
      static constexpr auto takt_name = ::takt::detail::literal_name(TAKT_TEXT(__VA_ARGS__));       \
      static_assert(decltype(takt_used)::kValue && takt_name.is_literal,                            \
                    "TAKT_SCOPE takes a takt::Key, or a name that is one literal without escapes"); \
      static constexpr ::takt::Key takt_its_key(takt_name.text);                                    \
      return takt_its_key;                                                                          \
    }) = __VA_ARGS__                                                                                \
  }
