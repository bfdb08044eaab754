// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <chrono>

TAKT_BEGIN_NAMESPACE
namespace detail {

class SessionImpl;

/// From now on SIGTERM ends the run of `session` as killed and then ends the process as usual. If the program had set a
/// handler, that handler is still called and decides; Takt then only writes the recorded data. An ignored SIGTERM stays
/// ignored. Takt's handler only wakes a thread. One thread at a time.
void end_on_sigterm(SessionImpl& session) noexcept;

/// Restores the action of SIGTERM when the run has ended, unless another handler was set meanwhile. Does nothing
/// unless `session` is the latest one passed to end_on_sigterm(). Any thread.
void leave_sigterm(const SessionImpl& session) noexcept;

}  // namespace detail

struct Snapshot;

namespace detail {

class SessionImpl;

/// From now on an uncaught exception, or std::terminate() without one, is recorded and ends the run of `session` within
/// `max`. Then the previous terminate handler is called. One thread at a time.
void end_on_uncaught(SessionImpl& session, std::chrono::milliseconds max) noexcept;

/// Ends the run of `session` with the data noted by the dying thread. Must run on another thread.
void write_down_death(SessionImpl& session) noexcept;

/// Fills in the open regions of the dying thread.
void name_open_regions(Snapshot& snapshot);

/// Restores the previous terminate handler when the run has ended, unless another one was set meanwhile. Does nothing
/// unless `session` is the latest one passed to end_on_uncaught(). Any thread.
void leave_uncaught(const SessionImpl& session) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
