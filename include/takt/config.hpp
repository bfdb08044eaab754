// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

/// Version of the library; CMake and pkg-config read it from here.
#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

/// 1: regions are timed. 0: Scope, Timer and Session of this translation unit compile to nothing. Translation units
/// with different values can be linked together: the off state has its own inline namespace.
#ifndef TAKT_ENABLED
#define TAKT_ENABLED 1
#endif

// Debug mode of libstdc++ changes its containers, so program and library must agree on it.
#if TAKT_ENABLED
#if defined(_GLIBCXX_DEBUG) && !defined(TAKT_GLIBCXX_DEBUG)
#error "Takt was built without _GLIBCXX_DEBUG: leave it out here, or build Takt with it, as FetchContent does"
#elif !defined(_GLIBCXX_DEBUG) && defined(TAKT_GLIBCXX_DEBUG)
#error "Takt was built with _GLIBCXX_DEBUG: build this program with it, too"
#endif
// libstdc++ has two kinds of std::string; program and library must use the same one.
#ifdef _GLIBCXX_USE_CXX11_ABI
#if !_GLIBCXX_USE_CXX11_ABI && !defined(TAKT_GLIBCXX_OLD_STRING)
#error "Takt was built without _GLIBCXX_USE_CXX11_ABI=0, as old libtorch has it: build Takt with it (docs/torch.md)"
#elif _GLIBCXX_USE_CXX11_ABI && defined(TAKT_GLIBCXX_OLD_STRING)
#error "Takt was built with _GLIBCXX_USE_CXX11_ABI=0: build this program with it, too"
#endif
#endif
#endif

// Internal: the rest is for Takt's own headers and sources.

// For -Weverything: padding and the placement of vtables are not defects here.
#if defined(__clang__)
#define TAKT_BEGIN_QUIET                                                            \
  _Pragma("clang diagnostic push") _Pragma("clang diagnostic ignored \"-Wpadded\"") \
      _Pragma("clang diagnostic ignored \"-Wweak-vtables\"")
#define TAKT_END_QUIET _Pragma("clang diagnostic pop")
#else
#define TAKT_BEGIN_QUIET
#define TAKT_END_QUIET
#endif

#define TAKT_BEGIN_NAMESPACE \
  TAKT_BEGIN_QUIET           \
  namespace takt {           \
  inline namespace v0 {
#define TAKT_END_NAMESPACE \
  }                        \
  }                        \
  TAKT_END_QUIET
#define TAKT_BEGIN_OFF_NAMESPACE \
  TAKT_BEGIN_QUIET               \
  namespace takt {               \
  inline namespace v0_off {
#define TAKT_END_OFF_NAMESPACE \
  }                            \
  }                            \
  TAKT_END_QUIET

#if defined(_WIN32)
#define TAKT_EXPORT
#define TAKT_INITIAL_EXEC
#else
#define TAKT_EXPORT __attribute__((visibility("default")))
// Initial-exec avoids a call of __tls_get_addr, a quarter of a clock read; eight bytes fit the loader's static reserve.
#define TAKT_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
#endif

#if defined(__GNUC__)
#define TAKT_LIKELY(x) __builtin_expect(!!(x), 1)
#define TAKT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TAKT_NOINLINE __attribute__((noinline))
#define TAKT_COLD __attribute__((noinline, cold))
#define TAKT_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define TAKT_LIKELY(x) (x)
#define TAKT_UNLIKELY(x) (x)
#define TAKT_NOINLINE
#define TAKT_COLD
#define TAKT_ALWAYS_INLINE inline
#endif
