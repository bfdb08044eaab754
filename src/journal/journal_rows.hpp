// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "journal/journal_format.hpp"

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// How rows go into a journal: one whose device values are in as it stands; another one early, and what comes later as
/// an amendment to that. Knows which early rows the journal has, in whichever segment. One thread at a time.
class JournalRows {
 public:
  /// Rows of `snapshot` that only lack their amendment.
  std::size_t owed(const Snapshot& snapshot) const;
  /// Appends rows. \param thin only amendments of what the journal has.
  void add(FrameBuffer& out, const Snapshot& snapshot, bool thin);
  /// What was added last is in the journal. Without that it is added again. Needs no memory.
  void written() noexcept;

 private:
  void add_early(FrameBuffer& out, const Snapshot& snapshot, bool thin);
  bool has(const Row& row) const { return early_.count(row.early) != 0; }

  std::unordered_set<std::uint64_t> early_;  // numbers of those that wait
  std::unordered_set<std::uint64_t> begun_;  // by the last add()
  std::vector<std::uint64_t> settled_;
};

}  // namespace detail
TAKT_END_NAMESPACE
