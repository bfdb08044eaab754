// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

class SessionImpl;

/// From here on SIGTERM ends the run of `session` as killed, and then the process, with the status it has ever had. A handler
/// that the program had set before is called as ever, and decides: then what was recorded is only written down. A SIGTERM that the
/// program ignores stays ignored. The handler of Takt's does nothing but ring for a thread. One thread at a time.
void end_on_sigterm(SessionImpl& session) noexcept;

/// The run has ended: SIGTERM does what it did before, unless another handler was set meanwhile, which stays. Does nothing for
/// any other `session` than the newest that was given above. Any thread.
void leave_sigterm(const SessionImpl& session) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
