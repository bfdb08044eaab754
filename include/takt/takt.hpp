// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Everything a program needs: keys, scopes, timers, the Session, measurements and trials. For files that only time
/// regions, the lighter <takt/scope.hpp> suffices. Exporters and GPU backends have their own headers.

#include <takt/backends/cpu.hpp>
#include <takt/key.hpp>
#include <takt/listener.hpp>
#include <takt/measure.hpp>
#include <takt/scope.hpp>
#include <takt/session.hpp>
#include <takt/timer.hpp>
#include <takt/trials.hpp>

#include <chrono>

#if TAKT_ENABLED

TAKT_BEGIN_NAMESPACE

/// Adds a region of `key` that was timed elsewhere, inside the region that is open here; no self time. A negative
/// duration is counted as misuse. Any thread; cheap, but not as cheap as a Scope.
TAKT_EXPORT void record(const Key& key, std::chrono::nanoseconds duration) noexcept;

/// Waits, at most `timeout`, for the device results of the calling thread and of threads that have ended. Returns true
/// if all arrived. Any thread.
TAKT_EXPORT bool complete(std::chrono::milliseconds timeout) noexcept;

TAKT_END_NAMESPACE

#else

TAKT_BEGIN_OFF_NAMESPACE

inline void record(const Key&, std::chrono::nanoseconds) noexcept {}
inline bool complete(std::chrono::milliseconds) noexcept { return true; }

TAKT_END_OFF_NAMESPACE

#endif
