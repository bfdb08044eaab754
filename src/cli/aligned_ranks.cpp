// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/aligned_ranks.hpp"

#include <takt/error.hpp>

#include "base/encoding.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/run_directory.hpp"
#include "cli/run_reader.hpp"
#include "ranks/clock_alignment.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

// Limits on the collective ends kept per rank; one end takes about 64 bytes.
constexpr std::size_t kEndsOfAllRanks = 1U << 18U;
constexpr std::size_t kMinEnds = 64;
constexpr std::size_t kMaxEnds = 4096;

std::map<std::uint32_t, detail::ClockAlignment> align_by_answers(const std::vector<Rank>& ranks) {
  std::vector<detail::RankReadings> all;
  all.reserve(ranks.size());
  for (const Rank& each : ranks) {
    all.push_back({static_cast<std::uint32_t>(each.snapshot.run.rank), each.snapshot.clock_readings});
  }
  return detail::align_by_readings(all);
}

bool is_on_host_of(const Rank& rank, const Rank& first) {
  const std::string& host = rank.snapshot.run.host;
  return !host.empty() && host == first.snapshot.run.host;
}

std::string in_words(const AlignedRank& each) {
  const detail::RankAlignment& alignment = each.alignment;
  const int number = each.rank.snapshot.run.rank;
  if (each.by_answers) {
    return detail::format(
        "rank {}: clock aligned by answers to takt::mpi, within {}{}", number,
        detail::human_time(static_cast<double>(each.error_ns())),
        alignment.clock.knows_drift() ? "" : "; its drift is unknown: takt::mpi::reduce() measures it");
  }
  if (alignment.clock.is_known()) {
    return detail::format("rank {}: clock aligned by {} collectives ({}), within {}{}", number, alignment.ends,
                          detail::fit_end(detail::printable(alignment.path), 60),
                          detail::human_time(static_cast<double>(each.error_ns())),
                          alignment.all_steps ? "" : "; based on a sample of the steps");
  }
  const char* const why =
      alignment.path.empty() ? "no region of kind comm is in the steps of both" : "30 common collectives are needed";
  return detail::format("rank {}: clock not aligned with that of the first rank, times are unadjusted: {} ({} found)",
                        number, why, alignment.ends);
}

}  // namespace

std::int64_t AlignedRank::common_ns(std::int64_t ns_of_run) const noexcept {
  return alignment.clock.other_ns(detail::wrapped_sum(rank.snapshot.run.start_unix_ns, ns_of_run));
}

std::int64_t AlignedRank::error_ns() const noexcept {
  if (!alignment.clock.is_known()) { return 0; }
  const std::int64_t start = rank.snapshot.run.start_unix_ns;
  return std::max(alignment.error_ns(start), alignment.error_ns(detail::wrapped_sum(start, rank.snapshot.wall_ns)));
}

AlignedRanks read_aligned(const std::vector<RankDirectory>& directories, int rank) {
  RunReader reader(directories);
  const std::string warning = reader.keep_newest();
  if (rank >= 0) { reader.keep_rank(rank); }
  const std::size_t max =
      std::clamp(kEndsOfAllRanks / std::max<std::size_t>(directories.size(), 1), kMinEnds, kMaxEnds);
  std::vector<detail::CollectiveEnds> ends(directories.size(), detail::CollectiveEnds(max));  // by place
  std::vector<Rank> ranks;
  ReadRun read;
  for (const RunProcesses& only : reader.runs()) {
    read = reader.read(
        only,
        [&ends](const RunProcess& process) {
          return read_rank(process.directory, [&](const Snapshot& snapshot) { ends[process.place].add(snapshot); });
        },
        [&ranks](Rank&& each) { ranks.push_back(std::move(each)); });
  }
  AlignedRanks run;
  run.all = reader.report_not_read();
  if (!warning.empty()) { report_warnings({warning}); }
  if (ranks.empty()) { throw rank < 0 ? Error("no rank of this run is readable") : no_such_rank(rank); }
  report_warnings(read.warnings);
  run.missing = rank < 0 ? read.missing() : 0;
  const auto answered = align_by_answers(ranks);
  const detail::CollectiveEnds& first = ends[ranks.front().place];
  for (Rank& each : ranks) {
    AlignedRank& aligned = run.ranks.emplace_back();
    // Ranks on one host share a clock: aligning them would only add error.
    aligned.is_common = run.ranks.size() == 1 || is_on_host_of(each, run.ranks.front().rank);
    const auto known = answered.find(static_cast<std::uint32_t>(each.snapshot.run.rank));
    aligned.by_answers = !aligned.is_common && known != answered.end();
    if (aligned.by_answers) {
      aligned.alignment.clock = known->second;
    } else if (!aligned.is_common) {
      aligned.alignment = detail::align_ranks(ends[each.place], first);
    }
    aligned.rank = std::move(each);
  }
  return run;
}

void report_alignment(const AlignedRanks& run) {
  for (const AlignedRank& each : run.ranks) {
    if (!each.is_common) { detail::print(stderr, "takt: {}\n", in_words(each)); }
  }
  if (run.missing != 0) {
    detail::print(stderr, "takt: {} of {} ranks have no journal and are not included\n", run.missing,
                  run.missing + run.ranks.size());
  }
}

}  // namespace cli
TAKT_END_NAMESPACE
