// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/rank_findings.hpp"

#include "base/format.hpp"
#include "base/sorted_by.hpp"
#include "findings/finding_text.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kNamedRanks = 3;  // more are counted

double cost_ns(const Finding& finding) noexcept { return finding.cost ? finding.cost->ns : 0; }

bool makes_figures_wrong(const Finding& finding) { return finding.what == "never_ended" || finding.what == "lost"; }

/// What stands first.
std::pair<bool, double> weight_of(const Finding& finding) { return {!makes_figures_wrong(finding), -cost_ns(finding)}; }

using FoundOnRank = std::pair<int, const Finding*>;

/// "on all 64 ranks", "on ranks 3 and 5".
std::string on_ranks(const std::vector<FoundOnRank>& found, std::size_t of) {
  if (of > 1 && found.size() == of) { return detail::format("on all {} ranks", of); }
  if (found.size() > kNamedRanks) { return detail::format("on {} of {} ranks", found.size(), of); }
  std::vector<std::string> numbers;
  numbers.reserve(found.size());
  for (const FoundOnRank& each : found) { numbers.push_back(std::to_string(each.first)); }
  return detail::format("on rank{} {}", found.size() == 1 ? "" : "s", list_text(numbers));
}

Finding joint_finding(std::vector<FoundOnRank> found, std::size_t of) {
  const std::string where = on_ranks(found, of);
  const auto middle = found.begin() + static_cast<std::ptrdiff_t>(found.size() / 2);
  std::nth_element(found.begin(), middle, found.end(), [](const FoundOnRank& a, const FoundOnRank& b) {
    return std::make_pair(cost_ns(*a.second), a.first) < std::make_pair(cost_ns(*b.second), b.first);
  });
  Finding joint = *middle->second;
  joint.sentence = detail::format("{}: {}", where, joint.sentence);
  joint.evidence.push_back({"ranks", static_cast<double>(found.size()), "ranks"});
  joint.evidence.push_back({"rank", static_cast<double>(middle->first), ""});
  return joint;
}

}  // namespace

void sort_findings(std::vector<Finding>& findings) { findings = sorted_by(std::move(findings), weight_of); }

std::vector<Finding> findings_of_ranks(const std::vector<RankFindings>& ranks, std::size_t of) {
  std::map<std::pair<std::string, std::string>, std::vector<FoundOnRank>> groups;  // by what and where
  for (const RankFindings& rank : ranks) {
    for (const Finding& each : rank.findings) {
      std::vector<FoundOnRank>& group = groups[{each.what, each.where}];
      // A rank has its dearest one first.
      if (group.empty() || group.back().first != rank.rank) { group.emplace_back(rank.rank, &each); }
    }
  }
  std::vector<Finding> joint;
  joint.reserve(groups.size());
  for (auto& [key, found] : groups) { joint.push_back(joint_finding(std::move(found), of)); }
  sort_findings(joint);
  return joint;
}

}  // namespace detail
TAKT_END_NAMESPACE
