// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "page/html_table.hpp"
#include "page/run_sections.hpp"

#include <algorithm>
#include <cmath>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

constexpr std::size_t kMostRankRows = 64;
constexpr std::size_t kFewRanks = 16;  // whose table is open

void add_spread(HtmlTable& table, const std::string& name, std::size_t depth, const RankSpread& spread,
                const std::string& share) {
  table.add({name, human_time(spread.mean_ns()), human_time(static_cast<double>(spread.least.ns)),
             human_time(static_cast<double>(spread.most.ns)), detail::format("{}", spread.most.rank),
             percent(spread.imbalance(), 1), share, detail::format("{}", spread.ranks)},
            depth);
}

std::string spreads_html(const JobReport& job) {
  HtmlTable table("spread-table", "How the totals of regions lie over ranks",
                  {{"region"},
                   {"mean", true},
                   {"min", true},
                   {"max", true},
                   {"rank of max", true},
                   {"imbalance", true},
                   {"share", true},
                   {"ranks", true}});
  add_spread(table, "run", 0, job.record.wall, "");
  std::size_t rows = 0;
  for (const std::uint32_t path : paths_by_name(job.sum)) {
    const RankPath* const over = find_path(job.record, job.sum, path);
    if (over == nullptr || over->host_totals.ranks == 0 || ++rows > PagePaths::kMost) { continue; }
    add_spread(table, fit(printable(job.sum.paths[path].name), PagePaths::kLongestName), job.sum.paths[path].depth,
               over->host_totals, percent(share_of_job(job.record, *over), 1));
  }
  return table.html();
}

/// Those that are busy longest come first.
std::string busy_html(const RankHeat& heat) {
  HtmlTable table("busy-table", "How busy the ranks are in a step, beside the median of their group",
                  {{"rank"}, {"host"}, {"group"}, {"busy a step", true}, {"beside the median", true}});
  std::vector<const BusyRank*> ranks;
  for (const BusyRank& each : heat.ranks) { ranks.push_back(&each); }
  std::stable_sort(ranks.begin(), ranks.end(), [](const auto* a, const auto* b) { return a->excess > b->excess; });
  for (std::size_t at = 0; at < std::min(ranks.size(), kMostRankRows); ++at) {
    const BusyRank& rank = *ranks[at];
    table.add({detail::format("{}", rank.who.number), fit(printable(rank.who.host), 40), printable(rank.who.group),
               human_time(rank.busy_ns), detail::format("{:+.1f} %", std::round(1000 * rank.excess) / 10 + 0.0)});
  }
  const std::string what = ranks.size() <= kMostRankRows
                               ? std::string("Ranks in numbers")
                               : detail::format("The {} busiest of {} ranks", kMostRankRows, human_count(ranks.size()));
  return detail::format("<details{}><summary>{}</summary>{}</details>\n", ranks.size() <= kFewRanks ? " open" : "",
                        what, table.html());
}

}  // namespace

std::string ranks_html(const JobReport& job) {
  std::string html;
  if (!job.heat.ranks.empty()) { html += "<div id=\"heat\" class=\"chart\"></div>\n" + busy_html(job.heat); }
  return html + lines_html(job_lines(job)) + spreads_html(job);
}

}  // namespace detail
TAKT_END_NAMESPACE
