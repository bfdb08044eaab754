// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>

TAKT_BEGIN_NAMESPACE
namespace detail {

class SessionImpl;

/// From here on SIGTERM ends the run of `session` as killed, and then ends the process as SIGTERM always does. A
/// handler that the program has set before is still called, and decides: what was recorded is then written down, and no
/// more. A SIGTERM that the program ignores stays ignored. Takt's handler only wakes a thread. One thread at a time.
void end_on_sigterm(SessionImpl& session) noexcept;

/// The run has ended: SIGTERM does what it did before, unless another handler was set meanwhile, which stays. Does
/// nothing for any other `session` than the newest that was given above. Any thread.
void leave_sigterm(const SessionImpl& session) noexcept;

}  // namespace detail

struct Snapshot;

namespace detail {

class SessionImpl;

/// From here on an exception that nobody catches, or std::terminate() without one, is written down and ends the run of
/// `session`, within `most`; then the terminate handler that was there before is called, as without Takt. One
/// thread at a time.
void end_on_uncaught(SessionImpl& session, std::chrono::milliseconds max) noexcept;

/// Ends the run of `session` with what the thread that dies has noted. Not on that thread.
void write_down_death(SessionImpl& session) noexcept;

/// Fills in which regions of the thread that dies are open.
void name_open_regions(Snapshot& snapshot);

/// The run has ended: the handler that was there before is back, unless another one was set meanwhile, which stays.
/// Does nothing for any other `session` than the newest that was given above. Any thread.
void leave_uncaught(const SessionImpl& session) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
