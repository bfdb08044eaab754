// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/session.hpp>

#include <cstddef>
#include <string>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE
namespace detail {

constexpr std::size_t kLongestProposedRunId = 120;

/// What the ranks of a communicator have agreed on.
struct MpiIdentity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string run_id;
};

/// What rank 0 calls the run: as its options do, else as the launcher does, else by the time. `world_rank` keeps apart
/// the communicators of one job; -1: there is one. At most kLongestProposedRunId bytes.
TAKT_EXPORT std::string proposed_run_id(const SessionOptions& options, int world_rank);

/// Writes it into `options`. What they said otherwise is reported once.
TAKT_EXPORT void apply(const MpiIdentity& identity, SessionOptions& options);

/// That there is no MPI to ask: not yet, or not any more.
TAKT_EXPORT void report_without_mpi(bool finalized) noexcept;

}  // namespace detail
TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
