// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/stream.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Waits until the device has done what is on `stream` by now: with its own wait, or, where it has none, by asking,
/// for ten seconds at most. False where that cannot be done. The thread that uses the stream.
bool wait_for_stream(StreamRef stream) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE
