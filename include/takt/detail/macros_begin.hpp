// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The macros of Takt's own headers, for one of them; macros_end.hpp takes them back. No `#pragma once`: each header has
// them again.

#ifndef TAKT_BEGIN_NAMESPACE

// For those who compile with -Weverything: neither padding nor where a vtable lands is anything to mend here.
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
// Initial-exec spares the call of __tls_get_addr, a quarter of a clock read; eight bytes fit the loader's static
// reserve.
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

#endif
