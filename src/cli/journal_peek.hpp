// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/directory_files.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Owner of the journal in a directory, from a few of its bytes.
struct JournalPeek {
  bool has_run = false;       ///< `run` is set from the journal, except for its groups
  RunInfo run;                ///< as of the last segment
  std::uint64_t journal = 0;  ///< random, equal in all segments of one journal; 0: unreadable header
  bool ended = false;         ///< the journal records the end of the run
};

/// Reads the start of as few segments as needed, and the end of the last one. Reads at most a few MiB, whatever the
/// files contain. One thread at a time per directory.
JournalPeek peek_journal(const ReadableDirectory& files);

}  // namespace detail
TAKT_END_NAMESPACE
