// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/rank.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// What the processes of one attempt of a run say together, by the wall clocks of their hosts.
struct AttemptSpan {
  int attempt = 0;
  std::size_t ranks = 0;
  std::int64_t start_unix_ns = 0;  ///< of the rank that began first
  std::int64_t end_unix_ns = 0;    ///< as far as the journal of the rank that ended last goes
};

/// When the process ended, as far as its journal goes, by the wall clock of its host.
std::int64_t end_of(const Snapshot& snapshot) noexcept;

/// The attempts of a run, from its processes. One thread at a time.
class Attempts {
 public:
  /// \param attempt that it is of (LastRanks::attempt_of).
  void add(const Snapshot& process, int attempt);
  /// Those that left a journal, the earliest first.
  std::vector<AttemptSpan> all() const;

 private:
  std::map<int, AttemptSpan> spans_;  // by number
};

/// How long no rank ran from one attempt to the next, over all of them. Where clocks say that one began before the last
/// had ended, nothing.
std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept;

/// Whether the second one, of the same rank and attempt, follows the first: on the same host, after its end. Else both
/// ran beside each other, or nobody knows.
bool follows(const Rank& later, const Rank& earlier) noexcept;

}  // namespace cli
TAKT_END_NAMESPACE
