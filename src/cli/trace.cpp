// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/error.hpp>
#include <takt/exporters/trace.hpp>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/aligned_ranks.hpp"
#include "cli/commands.hpp"
#include "cli/job_trace.hpp"
#include "cli/last_ranks.hpp"
#include "cli/rank.hpp"
#include "cli/run_folder.hpp"
#include "cli/trace_file.hpp"

#include <cstdint>
#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

/// Makes spans of what a journal has: steps, and regions that were open at its end.
class TimeLine {
 public:
  explicit TimeLine(const std::string& file) : exporter_(file, std::numeric_limits<std::uint64_t>::max()) {}

  void add_steps(Snapshot snapshot) {
    for (const Row& row : snapshot.rows) {
      if (row.series >= snapshot.series.size()) { continue; }
      const Series& series = snapshot.series[row.series];
      const PathStats& path = snapshot.paths[series.path];
      add(snapshot, {next_++, series.thread, row.begin_ns, row.host_ns,
                     name(detail::format("{} {}", path.name, row.step)), path.kind});
    }
    write(snapshot, false);
  }

  void end(Snapshot snapshot) {
    for (const OpenRegion& open : snapshot.open) {
      const PathStats& path = snapshot.paths[open.path];
      add(snapshot, {next_++, open.thread, snapshot.wall_ns - open.open_ns, open.open_ns, name(path.name + " (open)"),
                     path.kind});
    }
    write(snapshot, true);
  }

  std::uint64_t spans() const noexcept { return next_; }

 private:
  static void add(Snapshot& snapshot, const Span& span) { snapshot.spans.push_back(span); }
  /// A span's name has to outlive it.
  const char* name(const std::string& text) { return names_.insert(text).first->c_str(); }
  void write(Snapshot& snapshot, bool finished) {
    snapshot.finished = finished;
    snapshot.time_lines.clear();  // the journal has none of their spans
    if (exporter_.export_snapshot(snapshot) != ExportResult::ok) {
      throw Error("the time line was not written; name another file with -o");
    }
    names_.clear();
  }

  TraceExporter exporter_;
  std::set<std::string> names_;
  std::uint64_t next_ = 0;
};

int trace_of_one(const RankFolder& folder, const std::string& file) {
  TimeLine line(file);
  const Rank rank = read_rank(folder, [&](const Snapshot& snapshot) { line.add_steps(snapshot); });
  if (!rank.readable()) { throw Error(why_unreadable(rank)); }
  line.end(rank.snapshot);
  detail::print(stdout, "{}: {} slices, steps and what was open at the end\n", detail::printable(file), line.spans());
  return are_whole({folder}) ? 0 : kBroken;
}

int trace_of_all(const std::vector<RankFolder>& folders, const std::string& file) {
  const AlignedRanks run = read_aligned(folders);
  JobTrace line(file);
  line.write(run);
  tell_alignment(run);
  for (const std::string& each : line.remarks()) { detail::print(stderr, "takt: {}\n", each); }
  const std::string recorded = line.recorded_ranks() == 0 ? ""
                                                          : detail::format(" {} regions that {} of them recorded,",
                                                                           line.regions(), line.recorded_ranks());
  detail::print(stdout, "{}: {} slices of {} ranks{}{} steps and what was open at the end\n", detail::printable(file),
                line.slices(), run.ranks.size(), recorded.empty() ? "," : ":", recorded);
  return run.all && line.all() ? 0 : kBroken;
}

/// Of the newest attempt that has it, the folder of this rank.
RankFolder folder_of_rank(const std::vector<RankFolder>& folders, int number) {
  std::vector<Rank> found;
  for (const RankFolder& folder : folders) {
    Rank rank = read_rank(folder);
    if (rank.readable() && rank.snapshot.run.rank == number) { found.push_back(std::move(rank)); }
  }
  if (found.empty()) { throw Error(detail::format("there is no rank {} in this run", number)); }
  const PickedRanks last = pick_last(std::move(found));
  tell_left_out(last.remarks);
  return last.ranks.front().folder;
}

}  // namespace

int trace(const std::string& run, const std::string& file, int rank) {
  std::vector<std::string> remarks;
  const std::vector<RankFolder> folders =
      rank_folders(run.empty() ? std::vector<std::string>() : std::vector<std::string>{run}, remarks);
  for (const std::string& each : remarks) { std::fprintf(stderr, "takt: %s\n", each.c_str()); }
  const std::string target = trace_file(file, folders.front(), rank);
  if (rank >= 0) { return trace_of_one(folder_of_rank(folders, rank), target); }
  return folders.size() == 1 ? trace_of_one(folders.front(), target) : trace_of_all(folders, target);
}

}  // namespace cli
TAKT_END_NAMESPACE
