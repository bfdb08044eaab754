// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "ranks/job_part.hpp"

#include <takt/error.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// What tells the entries of a part apart.
std::pair<std::uint32_t, std::uint32_t> place_of(const JobPartRank& rank) { return {rank.who.number, rank.attempt}; }

bool is_before(const JobPartRank& a, const JobPartRank& b) { return place_of(a) < place_of(b); }

/// \throws takt::Error
void must_fit(const JobPart& part, const JobPart& from) {
  if (part.run_id != from.run_id) {
    throw Error("run " + printable(from.run_id) + " is another one than run " + printable(part.run_id) +
                "; give the ranks of one run alone");
  }
  for (const JobPartRank& each : from.ranks) {
    const auto found = std::lower_bound(part.ranks.begin(), part.ranks.end(), each, is_before);
    if (found == part.ranks.end() || is_before(each, *found)) { continue; }
    // The same text, whichever of the two was there first.
    const auto [one, other] = std::minmax(found->who.host, each.who.host);
    throw Error("rank " + std::to_string(each.who.number) + " comes twice in attempt " + std::to_string(each.attempt) +
                ", from host " + printable(one) + " and from host " + printable(other) + "; leave one of them out");
  }
}

/// Of an attempt that another one follows only who ran, and when, stays.
void forget_steps(JobPart& part) {
  for (JobPartRank& each : part.ranks) { each.steps = RankSteps(); }
}

}  // namespace

std::uint32_t JobPart::attempt() const noexcept {
  std::uint32_t newest = 0;
  for (const JobPartRank& each : ranks) { newest = std::max(newest, each.attempt); }
  return newest;
}

JobPart part_of(std::string run_id, std::string run_name, RankRecord record, JobPartRank rank) {
  JobPart part{std::move(run_id), std::move(run_name), std::move(record), {}};
  part.ranks.push_back(std::move(rank));
  return part;
}

void merge_into(JobPart& part, JobPart from) {
  if (from.ranks.empty()) { return; }
  if (part.ranks.empty()) {
    part = std::move(from);
    return;
  }
  must_fit(part, from);
  const std::uint32_t here = part.attempt();
  const std::uint32_t there = from.attempt();
  if (there > here) {
    forget_steps(part);
    part.record = std::move(from.record);
  } else if (there < here) {
    forget_steps(from);
  } else {
    merge_into(part.record, from.record);
  }
  part.run_name = std::min(part.run_name, from.run_name);
  const auto middle = static_cast<std::ptrdiff_t>(part.ranks.size());
  std::move(from.ranks.begin(), from.ranks.end(), std::back_inserter(part.ranks));
  std::inplace_merge(part.ranks.begin(), part.ranks.begin() + middle, part.ranks.end(), is_before);
}

}  // namespace detail
TAKT_END_NAMESPACE
