// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

/// Version of the library; CMake and pkg-config read it from here.
#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

/// 1: regions are timed. 0: Scope, Timer and Session of this translation unit compile to nothing.
/// Translation units with different values may be linked together: the off state has its own inline namespace.
#ifndef TAKT_ENABLED
#define TAKT_ENABLED 1
#endif

// The debug mode of libstdc++ has other containers, and the library has to be built with the same ones.
#if TAKT_ENABLED && !defined(TAKT_LIBRARY)
#if defined(_GLIBCXX_DEBUG) && !defined(TAKT_GLIBCXX_DEBUG)
#error "Takt was built without _GLIBCXX_DEBUG: leave it out here, or build Takt with it, as FetchContent does"
#elif !defined(_GLIBCXX_DEBUG) && defined(TAKT_GLIBCXX_DEBUG)
#error "Takt was built with _GLIBCXX_DEBUG: build this program with it, too"
#endif
// libstdc++ has two kinds of std::string, and the library has to be built with the program's.
#ifdef _GLIBCXX_USE_CXX11_ABI
#if !_GLIBCXX_USE_CXX11_ABI && !defined(TAKT_GLIBCXX_OLD_STRING)
#error "Takt was built without _GLIBCXX_USE_CXX11_ABI=0, as old libtorch has it: build Takt with it (docs/torch.md)"
#elif _GLIBCXX_USE_CXX11_ABI && defined(TAKT_GLIBCXX_OLD_STRING)
#error "Takt was built with _GLIBCXX_USE_CXX11_ABI=0: build this program with it, too"
#endif
#endif
#endif

// Takt's own sources have its macros everywhere; programs have none but TAKT_SCOPE and those above.
#ifdef TAKT_LIBRARY
#include <takt/detail/macros_begin.hpp>
#endif
