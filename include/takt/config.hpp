// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Version of the library; CMake and pkg-config read it from here.
#define TAKT_VERSION_MAJOR 0
#define TAKT_VERSION_MINOR 1
#define TAKT_VERSION_PATCH 0

/// 1: regions are timed. 0: Scope, Timer and Session of this translation unit compile to nothing.
/// Translation units with different values may be linked together: the off state has its own inline namespace.
#ifndef TAKT_ENABLED
#define TAKT_ENABLED 1
#endif

// Takt's own sources have its macros everywhere; programs have none but TAKT_SCOPE and those above.
#ifdef TAKT_LIBRARY
#include <takt/detail/macros_begin.hpp>
#endif
