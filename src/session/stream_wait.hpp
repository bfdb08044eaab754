// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Waits until the device has finished the current work of `stream`: with the stream's own wait or, if it has none, by
/// polling for at most ten seconds. Returns false on failure. Call it on the thread that uses the stream.
bool wait_for_stream(StreamRef stream) noexcept;
/// Waits until the stream has reached a mark; otherwise the same.
bool wait_for_mark(StreamRef stream, Mark mark) noexcept;
/// Waits for all streams noted by the diversion except `done`; otherwise the same. Also returns false if some streams
/// could not be noted.
bool wait_for_noted_streams(StreamRef done = {}) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
