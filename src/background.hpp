// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <functional>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Starts `work` on a detached thread that receives no signals and, where this thread may run on several cores, stays off
/// the one it runs on now. \param name at most 15 characters. Returns false where no thread can be had.
bool start_background(const char* name, std::function<void()> work) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
