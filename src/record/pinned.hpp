// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Prevents unloading of the library or plug-in that contains Takt: threads that recorded call into it when they end,
/// and Takt's own threads run in it. Done at load time; here again if memory was short then. Does nothing for a
/// program.
void pin_library() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
