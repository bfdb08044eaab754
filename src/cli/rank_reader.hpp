// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "cli/rank.hpp"
#include "journal/journal_reader.hpp"

#include <cstdint>
#include <memory>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Reads the journal of one rank, also while it is written. One thread at a time.
class RankReader {
 public:
  explicit RankReader(const RankFolder& folder);

  /// Reads about a MiB of what was appended since the last call, and shows it to `take`. Returns whether there was any.
  bool read_part(const Taker& take = {});
  /// Behind the last part: finds out how the process stands. Of one that has ended or died it takes the rest, too.
  void look(const Taker& take = {});
  /// Nobody reads on: takes what is left, and the rows that wait for values of a device as they stand.
  void close(const Taker& take = {});

  /// As of the last look() or close().
  const Rank& rank() const noexcept { return rank_; }
  /// Of which checksums were made: what reading has cost.
  std::uint64_t checked_bytes() const noexcept { return reader_.checked_bytes(); }

 private:
  void show(const Taker& take);
  void tell();

  Rank rank_;
  std::shared_ptr<const detail::ReadableFolder> files_;
  detail::JournalReader reader_;
  std::vector<std::uint64_t> rows_;  // by series
};

}  // namespace cli
TAKT_END_NAMESPACE
