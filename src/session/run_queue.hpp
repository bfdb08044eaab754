// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// For how long, in ns, a thread of this process has been ready to run and had no processor; -1: the system does not
/// tell, or the thread has ended. \param thread its number in the system. Any thread; reads a file.
std::int64_t run_queue_ns(std::int64_t thread) noexcept;

/// The number of the calling thread in the system.
std::int64_t this_thread_number() noexcept;

/// That the calling thread may use, of those that are there; 0: not known.
std::int64_t usable_processors() noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
