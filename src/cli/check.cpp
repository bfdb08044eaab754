// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/rank.hpp"
#include "cli/run_directory.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Adds lines for steps that are in the totals but have no row. Not for an active run: its latest rows come later.
void add_missing_steps(const Rank& rank, std::vector<std::string>& lines) {
  if (rank.ending == Ending::running) { return; }
  std::uint64_t missing = 0;
  std::uint64_t all = 0;
  for (const SeriesSteps& each : rank.steps) {
    missing += each.steps - each.rows;
    all += each.steps;
  }
  if (missing == 0) { return; }
  lines.push_back(detail::format("{} of {} steps, which are only in the totals", detail::human_count(missing),
                                 detail::human_count(all)));
  if (rank.steps.size() < 2) { return; }
  for (const SeriesSteps& each : rank.steps) {
    if (each.steps == each.rows) { continue; }
    lines.push_back(detail::format("  of these, {} of {} of {}", detail::human_count(each.steps - each.rows),
                                   detail::human_count(each.steps), each.path));
  }
}

/// Returns true if the journal, at its last write, was written only once a minute or not at all.
bool was_short_of_space(const Rank& rank) {
  return std::any_of(rank.snapshot.losses.begin(), rank.snapshot.losses.end(),
                     [](const Loss& loss) { return loss.what == "not_in_journal"; });
}

/// Returns the lost data, as lines.
std::vector<std::string> losses(const Rank& rank) {
  std::vector<std::string> lines = damages(rank);
  if (rank.ending == Ending::died || rank.ending == Ending::silent) {
    lines.emplace_back(was_short_of_space(rank)
                           ? "data recorded after the last write, up to a minute, as disk space or the budget was "
                             "short: the process did not end normally"
                           : "data recorded after the last write, at most one period if the disk was available: the "
                             "process did not end normally");
  }
  add_missing_steps(rank, lines);
  for (const Loss& loss : rank.snapshot.losses) {
    lines.push_back(detail::format("declared: {} x {}{}", detail::human_count(loss.count), detail::printable(loss.what),
                                   loss.where.empty() ? "" : " (" + detail::printable(loss.where) + ")"));
  }
  return lines;
}

bool check_one(const RankDirectory& directory) {
  const Rank rank = read_rank(directory);
  if (!rank.readable()) {
    detail::print(stdout, "{}\n  {}\n", detail::printable(directory.path()), why_unreadable(rank));
    return false;
  }
  const std::vector<std::string> lines = losses(rank);
  detail::print(stdout, "{}: {}\n", detail::printable(directory.path()),
                lines.empty() ? "complete, nothing lost" : "incomplete");
  detail::print(stdout, "  segments: {}, {}; records: {}, of these steps: {}, metrics: {}\n", rank.segments,
                detail::human_bytes(static_cast<double>(rank.bytes)), detail::human_count(rank.frames),
                detail::human_count(rank.rows), detail::human_count(rank.metrics));
  detail::print(stdout, "  {}\n", describe(rank));
  for (const std::string& each : lines) { detail::print(stdout, "  lost: {}\n", each); }
  return lines.empty();
}

}  // namespace

int check(const std::vector<std::string>& runs) {
  std::vector<std::string> warnings;
  const std::vector<RankDirectory> directories = rank_directories(runs, warnings);
  for (const std::string& each : warnings) { detail::print(stdout, "{}\n", each); }
  bool good = are_whole(directories);
  for (const RankDirectory& each : directories) { good = check_one(each) && good; }
  return good ? 0 : kBroken;
}

}  // namespace cli
TAKT_END_NAMESPACE
