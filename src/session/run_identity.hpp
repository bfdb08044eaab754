// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/session.hpp>

#include <string>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Rank, world size and local rank with the variable they came from; conflicts between launchers are reported once.
/// Order: options (set in code or by TAKT_RANK, TAKT_WORLD_SIZE) > torchrun > Open MPI > PMIx > PMI > MVAPICH2 > PALS >
/// Flux > Slurm > 0 of 1. The run id begins with the name and is one path component of at most 120 bytes. The rules are
/// in docs/environment.md.
/// Fills every field of RunInfo but `directory` and `start_unix_ns`.
RunInfo identify_run(const std::string& name, const SessionOptions& options);

/// A run's id as its launcher names it; without one, and where it names a job alone, with 64 random bits.
std::string new_run_id();

/// The rank alone, by the same rules; without the reports about a run id.
int identify_rank(const SessionOptions& options);

}  // namespace detail
TAKT_END_NAMESPACE
