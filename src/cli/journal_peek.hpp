// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "base/directory_files.hpp"

#include <cstdint>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Whose journal lies in a directory, told by a few of its bytes.
struct JournalPeek {
  bool has_run = false;       ///< `run` is what the journal says, but for its groups
  RunInfo run;                ///< as of its last segment
  std::uint64_t journal = 0;  ///< random, the same in all segments of one journal; 0: its header cannot be read
  bool ended = false;         ///< the run has said that it ended
};

/// Reads the beginnings of as few segments as it takes, and the end of the last one. Whatever is in the files, it reads
/// a few MiB at most. One thread at a time per directory.
JournalPeek peek_journal(const ReadableDirectory& files);

}  // namespace detail
TAKT_END_NAMESPACE
