// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "measure/job_trials.hpp"

#include "measure/trial_rate.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Returns the trials of the slowest rank with the items of all ranks; none if ranks have different numbers of trials.
std::vector<OneTrial> trials_of_all(const std::vector<TrialResults>& ranks, unsigned kind,
                                    std::vector<OneTrial> slowest) {
  for (std::size_t at = 0; at < slowest.size(); ++at) {
    double items = 0;
    for (const TrialResults& rank : ranks) {
      const std::vector<OneTrial>& trials = rank.kinds[kind].each;
      if (trials.size() != slowest.size()) { return {}; }
      items += static_cast<double>(trials[at].items);
    }
    slowest[at].items = static_cast<std::uint64_t>(std::min(items, 9e18));
    slowest[at].per_s = slowest[at].ns != 0 ? items * 1e9 / static_cast<double>(slowest[at].ns) : 0;
  }
  return slowest;
}

/// Combines all ranks; empty if a rank has no trials or counts other items.
TrialRate rate_of_all(const std::vector<TrialResults>& ranks, unsigned kind) {
  TrialRate all;
  double items = 0;
  for (const TrialResults& rank : ranks) {
    const TrialRate& one = rank.kinds[kind];
    if (one.trials == 0 || one.items == 0 || one.ns == 0 || rank.unit != ranks.front().unit) { return {}; }
    items += static_cast<double>(one.items);
    if (one.ns > all.ns) { all = one; }
  }
  scale(all, items / static_cast<double>(all.items));
  all.items = static_cast<std::uint64_t>(std::min(items, 9e18));
  all.each = trials_of_all(ranks, kind, std::move(all.each));
  return all;
}

double share_at_once(const std::vector<TrialResults>& ranks, unsigned kind) {
  std::int64_t first = 0;
  std::int64_t last_begin = 0;
  std::int64_t first_end = 0;
  std::int64_t last = 0;
  for (const TrialResults& rank : ranks) {
    const TrialRate& one = rank.kinds[kind];
    const bool is_first = &rank == &ranks.front();
    first = is_first ? one.begin_unix_ns : std::min(first, one.begin_unix_ns);
    last_begin = is_first ? one.begin_unix_ns : std::max(last_begin, one.begin_unix_ns);
    first_end = is_first ? one.end_unix_ns : std::min(first_end, one.end_unix_ns);
    last = is_first ? one.end_unix_ns : std::max(last, one.end_unix_ns);
  }
  const double whole = static_cast<double>(last) - static_cast<double>(first);
  const double common = static_cast<double>(first_end) - static_cast<double>(last_begin);
  return whole > 0 ? std::clamp(common / whole, 0.0, 1.0) : 1;
}

}  // namespace

JobTrials job_trials(const std::vector<TrialResults>& ranks) {
  JobTrials job;
  job.ranks = ranks.size();
  job.sum = ranks.front();
  for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
    job.sum.kinds[kind] = rate_of_all(ranks, kind);
    job.at_once[kind] = share_at_once(ranks, kind);
  }
  for (const TrialResults& rank : ranks) {
    job.sum.took_ns = std::max(job.sum.took_ns, rank.took_ns);
    job.sum.failed_waits = std::max(job.sum.failed_waits, rank.failed_waits);
    if (job.sum.cut.empty()) { job.sum.cut = rank.cut; }
  }
  if (ranks.size() > 1) { conclude_trials(job.sum); }
  return job;
}

}  // namespace detail
TAKT_END_NAMESPACE
