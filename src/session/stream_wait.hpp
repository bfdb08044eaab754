// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/backend.hpp>
#include <takt/stream.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Waits until the device has done what is on `stream` by now: with its own wait, or, where it has none, by asking,
/// for ten seconds at most. False where that cannot be done. The thread that uses the stream.
bool wait_for_stream(StreamRef stream) noexcept;
/// The same until it has come to a mark.
bool wait_for_mark(StreamRef stream, Mark mark) noexcept;
/// The same for all streams that the diversion has noted, but for `done`. False also where there were some that it
/// could not note.
bool wait_for_noted_streams(StreamRef done = {}) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
