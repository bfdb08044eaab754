// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Calls `work` with `argument` on a detached thread that receives no signals and, where this thread may run on several
/// cores, stays off the one it runs on now. \param name at most 15 characters. \param work must not throw. Returns
/// false where no thread can be had. Needs no memory of its own.
bool start_background(const char* name, void (*work)(void*), void* argument) noexcept;

/// Whether the main thread has ended by pthread_exit(), and every other thread that is left is one of these: without
/// Takt the process would have ended. Reads /proc once.
bool alone_in_process() noexcept;

/// Processor time that these threads have used so far, in ns; those beyond 64 at a time only once they have ended. Any
/// thread.
std::int64_t background_cpu_ns() noexcept;

/// For the child after a fork, which has none of these threads.
void background_after_fork() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
