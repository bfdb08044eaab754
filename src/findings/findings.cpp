// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "findings/findings.hpp"

#include "base/format.hpp"
#include "base/sorted_by.hpp"
#include "base/text.hpp"
#include "findings/rules.hpp"
#include "findings/run_view.hpp"
#include "findings/step_history.hpp"

#include <takt/trial_results.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

/// Order matters: later rules skip what earlier ones have reported.
constexpr void (*kRules[])(const RunView&, Conclusions&) = {
    add_never_ended,     add_losses,         add_bounds,        add_slow_steps,    add_changes,
    add_warm_up,         leave_to_scheduler, add_start_and_end, add_between_steps, add_stops,
    add_busy_processors, add_own_cost,       add_uncovered,
};

/// Adds the reason if no rule about steps can run.
void add_missing_steps(const RunView& view, Conclusions& said) {
  if (view.run.history == nullptr) {
    said.skipped_rules.push_back({"steps", "no step history is available"});
  } else if (view.steps == nullptr) {
    said.skipped_rules.push_back({"steps", "no Batch has ended"});
  } else if (view.usual_steps < kMinSteps) {
    said.skipped_rules.push_back(
        {"steps", detail::format("{} steps after warm-up have a period, {} are needed", view.usual_steps, kMinSteps)});
  }
  if (view.run.history != nullptr && view.run.history->rows_left_out() != 0) {
    said.skipped_rules.push_back(
        {"steps", detail::format("only the first {} series of steps are checked", StepHistory::kMaxSeries)});
  }
}

}  // namespace

Conclusions conclusions_of(const Snapshot& run) {
  const RunView view(run);
  Conclusions said;
  add_missing_steps(view, said);
  for (const auto rule : kRules) { rule(view, said); }
  sort_findings(said.findings);
  return said;
}

void conclude(Snapshot& run, std::shared_ptr<const StepHistory> history) {
  run.history = std::move(history);
  Conclusions said = conclusions_of(run);
  run.findings = std::move(said.findings);
  if (run.trials != nullptr && run.trials->finding) { run.findings.insert(run.findings.begin(), *run.trials->finding); }
  run.skipped_rules = std::move(said.skipped_rules);
}

namespace {

/// Formats with at least two digits.
std::string two_digits(double value) {
  return std::fabs(value) < 9.95 ? detail::format("{:.1f}", value) : detail::format("{:.0f}", value);
}

}  // namespace

std::string share_text(double share) { return two_digits(100 * share) + " %"; }

std::string change_text(double share) { return (share < 0 ? "" : "+") + share_text(share); }

std::string times_text(double ratio) { return two_digits(ratio) + " \u00d7"; }

std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number % 10;
  const bool teen = number / 10 % 10 == 1;
  const char* const end = teen || last == 0 || last > 3 ? "th" : last == 1 ? "st" : last == 2 ? "nd" : "rd";
  return human_count(number) + end;
}

std::string step_text(std::int64_t step) {
  return step < 0 ? detail::format("{}", step) : grouped(static_cast<std::uint64_t>(step));
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t kMaxNames = 3;
  const std::size_t named = names.size() > kMaxNames ? kMaxNames - 1 : names.size();
  std::string text;
  for (std::size_t at = 0; at < named; ++at) {
    text += (at == 0 ? "" : at + 1 == names.size() ? " and " : ", ") + names[at];
  }
  return named == names.size() ? text : detail::format("{} and {} more", text, names.size() - named);
}

JsonText finding_json(const Finding& finding) {
  JsonText evidence = JsonText::array();
  for (const Evidence& each : finding.evidence) {
    evidence.push_back(
        {{"name", each.name}, {"value", each.value}, {"unit", each.unit.empty() ? JsonText() : JsonText(each.unit)}});
  }
  JsonText cost;
  if (finding.cost) {
    cost = {{"ns", finding.cost->ns},
            {"low_ns", finding.cost->low_ns},
            {"high_ns", finding.cost->high_ns},
            {"share", finding.cost->share}};
  }
  return {{"what", finding.what},
          {"sentence", finding.sentence},
          {"evidence", evidence},
          {"cost", cost},
          {"where", finding.where.empty() ? JsonText() : JsonText(finding.where)}};
}

JsonText skipped_rule_json(const SkippedRule& skipped_rule) {
  return {{"what", skipped_rule.what}, {"why", skipped_rule.why}};
}

namespace {

constexpr std::size_t kNamedRanks = 3;  // more are only counted

double cost_ns(const Finding& finding) noexcept { return finding.cost ? finding.cost->ns : 0; }

bool makes_figures_wrong(const Finding& finding) { return finding.what == "never_ended" || finding.what == "lost"; }

/// Sort key: smallest first.
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
      // Each rank's findings are sorted by cost, so its first one is the most expensive.
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
