// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "report/rank_trials.hpp"

#include "base/format.hpp"
#include "base/text.hpp"
#include "report/text_table.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kMaxRanksWithTrials = 32;

double rate_to_compare(const RankTrials& rank) {
  for (const TrialKind kind : {TrialKind::full, TrialKind::synthetic}) {
    if (rank.results.of(kind).trials != 0) { return rank.results.of(kind).per_s; }
  }
  return rank.results.of(TrialKind::io).per_s;
}

std::vector<const RankTrials*> shown_ranks(const std::vector<RankTrials>& ranks) {
  std::vector<const RankTrials*> shown;
  shown.reserve(ranks.size());
  for (const RankTrials& each : ranks) { shown.push_back(&each); }
  if (shown.size() <= kMaxRanksWithTrials) { return shown; }
  std::stable_sort(shown.begin(), shown.end(),
                   [](const RankTrials* a, const RankTrials* b) { return rate_to_compare(*a) < rate_to_compare(*b); });
  shown.resize(kMaxRanksWithTrials);
  return shown;
}

}  // namespace

std::string format_rank_trials(const std::vector<RankTrials>& ranks, int width, bool color) {
  std::vector<TextTable::Line> lines;
  std::array<bool, kTrialKinds> ran = {};
  for (const RankTrials* rank : shown_ranks(ranks)) {
    TextTable::Line line = {std::to_string(rank->rank), 0, {}};
    for (unsigned kind = 0; kind < kTrialKinds; ++kind) {
      const TrialRate& rate = rank->results.kinds[kind];
      ran[kind] = ran[kind] || rate.trials != 0;
      line.cells.push_back(rate.trials != 0 ? human_rate(rate.per_s) : "-");
    }
    line.cells.push_back(rank->results.unit + "/s");
    line.cells.push_back(printable(rank->host));
    lines.push_back(std::move(line));
  }
  Page page(width, color);
  const TextTable table({{"SYNTHETIC", 0, ran[0]},
                         {"IO", 0, ran[1]},
                         {"FULL", 0, ran[2]},
                         {"unit", 1, true, true},
                         {"host", 2, true, true}},
                        std::move(lines), page.width(), "rank");
  page.add({table.head()}, Page::Style::bold);
  page.add(table.body(), Page::Style::plain);
  if (ranks.size() > kMaxRanksWithTrials) {
    page.add({format("the slowest of {} ranks; takt report --json has all", ranks.size())}, Page::Style::dim);
  }
  return page.text();
}

}  // namespace detail
TAKT_END_NAMESPACE
