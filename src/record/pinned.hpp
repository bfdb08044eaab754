// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Keeps the library or plug-in that Takt's code is in from being unloaded: threads that have recorded call into it
/// when they end, and Takt's own run in it. Happens when it is loaded; here once more, if there was no memory then.
/// Nothing for a program.
void pin_library() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
