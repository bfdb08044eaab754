// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/rank_reader.hpp"

#include "base/format.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Of each series what its totals count beyond what `earlier` Sessions had counted, and what its rows do.
std::vector<SeriesSteps> compare_steps(const Snapshot& snapshot, std::vector<std::uint64_t> earlier,
                                       std::vector<std::uint64_t> rows) {
  std::vector<SeriesSteps> all;
  earlier.resize(std::max(earlier.size(), snapshot.series.size()));
  rows.resize(std::max(rows.size(), snapshot.series.size()));
  for (std::size_t at = 0; at < snapshot.series.size(); ++at) {
    const Series& series = snapshot.series[at];
    const std::string where = detail::fit_end(detail::printable(snapshot.path_name(series.path)), 120);
    const std::uint64_t steps = series.steps - std::min(series.steps, earlier[at]);
    // The rows of a period may be of later steps than its totals; and those of steps between two Sessions are here,
    // too.
    all.push_back({where, std::max(steps, rows[at]), rows[at], series.path});
  }
  return all;
}

void refuse_odd_number(Rank& rank) {
  const int number = rank.snapshot.run.rank;
  if (rank.frames == 0 || can_be_rank(number)) { return; }
  rank.frames = 0;
  rank.error =
      detail::format("the journal in {} says that it is of rank {}, which cannot be", rank.folder.path(), number);
}

}  // namespace

RankReader::RankReader(const RankFolder& folder) : files_(folder.open()), reader_(files_) { rank_.folder = folder; }

bool RankReader::read_part(const Taker& take) {
  const bool any = reader_.read_part(rank_.snapshot);
  if (any) { show(take); }
  return any;
}

void RankReader::look(const Taker& take) {
  rank_.ending = ending_of(*files_, reader_, rank_.snapshot);
  if (rank_.ending != Ending::running && rank_.ending != Ending::silent) { return close(take); }
  tell();
}

void RankReader::close(const Taker& take) {
  if (rank_.ending != Ending::running) {
    // It may have written its last between the reading and the look at it.
    if (reader_.finish(rank_.snapshot)) { show(take); }
    if (reader_.ended()) { rank_.ending = ending_of(*files_, reader_, rank_.snapshot); }
  }
  if (reader_.release_early(rank_.snapshot)) { show(take); }
  tell();
}

void RankReader::show(const Taker& take) {
  Snapshot& snapshot = rank_.snapshot;
  for (const Row& row : snapshot.rows) {
    if (row.series >= rows_.size()) { rows_.resize(row.series + std::size_t{1}); }
    ++rows_[row.series];
  }
  rank_.rows += snapshot.rows.size();
  rank_.metrics += snapshot.metrics.size();
  if (take) { take(snapshot); }
  snapshot.rows.clear();
  snapshot.metrics.clear();
  snapshot.samples.clear();
}

void RankReader::tell() {
  rank_.steps = compare_steps(rank_.snapshot, reader_.earlier_steps(), rows_);
  rank_.damage = reader_.damage();
  rank_.error = reader_.error();
  rank_.frames = reader_.frames();
  rank_.states = reader_.states();
  refuse_odd_number(rank_);
  look_at_files(*files_, rank_);
}

Rank read_rank(const RankFolder& folder, const Taker& take) {
  RankReader reader(folder);
  while (reader.read_part(take)) {}
  reader.look(take);
  reader.close(take);
  return reader.rank();
}

}  // namespace cli
TAKT_END_NAMESPACE
