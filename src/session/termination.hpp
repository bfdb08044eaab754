// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

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
TAKT_END_NAMESPACE
