// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/detail/rank_messages.hpp>
#include <takt/session.hpp>

#include <chrono>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Hands what the running Session has recorded so far to rank 0, whose Session speaks for the job from then on. Each
/// wait ends after `patience`. Returns on rank 0 whether all ranks are in, elsewhere whether this rank's part was
/// taken; what is missing is told. Throws nothing. The thread that may call MPI.
TAKT_EXPORT bool reduce_job(RankMessages& messages, std::chrono::milliseconds patience) noexcept;

/// Compares the clock of this rank with that of its parent in the tree by which ranks reduce. All ranks call it. What
/// was found goes into the options. Throws nothing. The thread that may call MPI.
TAKT_EXPORT void read_clocks(RankMessages& messages, SessionOptions& options) noexcept;

/// That nothing was reduced on this rank, and why.
TAKT_EXPORT void report_not_reduced(const char* why) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
