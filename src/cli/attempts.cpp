// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/attempts.hpp"

#include <takt/detail/counter.hpp>

#include <algorithm>
#include <limits>

TAKT_BEGIN_NAMESPACE
namespace cli {

std::int64_t end_of(const Snapshot& snapshot) noexcept {
  const std::int64_t start = snapshot.run.start_unix_ns;
  const std::int64_t wall = std::max<std::int64_t>(snapshot.wall_ns, 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return start > kMost - wall ? kMost : start + wall;  // journals may say anything
}

void Attempts::add(const Snapshot& process, int attempt) {
  const RunInfo& run = process.run;
  const auto [place, is_new] = spans_.try_emplace(attempt);
  AttemptSpan& span = place->second;
  span.attempt = attempt;
  ++span.ranks;
  span.start_unix_ns = is_new ? run.start_unix_ns : std::min(span.start_unix_ns, run.start_unix_ns);
  span.end_unix_ns = is_new ? end_of(process) : std::max(span.end_unix_ns, end_of(process));
}

std::vector<AttemptSpan> Attempts::all() const {
  std::vector<AttemptSpan> all;
  all.reserve(spans_.size());
  for (const auto& each : spans_) { all.push_back(each.second); }
  return all;
}

std::uint64_t ns_between(const std::vector<AttemptSpan>& attempts) noexcept {
  std::uint64_t between = 0;
  for (std::size_t at = 1; at < attempts.size(); ++at) {
    const std::int64_t end = attempts[at - 1].end_unix_ns;
    const std::int64_t start = attempts[at].start_unix_ns;
    if (start <= end) { continue; }
    // Unsigned, as they may lie further apart than a signed number reaches.
    between = detail::bounded_sum(between, static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(end));
  }
  return between;
}

bool follows(const Rank& later, const Rank& earlier) noexcept {
  const RunInfo& run = later.snapshot.run;
  return earlier.ending != Ending::running && run.host == earlier.snapshot.run.host &&
         run.start_unix_ns >= end_of(earlier.snapshot);
}

}  // namespace cli
TAKT_END_NAMESPACE
