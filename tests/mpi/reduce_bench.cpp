// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// reduce_bench [paths] [rounds]: measures takt::mpi::reduce() on rank 0, a bare MPI_Reduce of the same number of bytes,
// gathering alone, and gathering without data.
#include <takt/job.hpp>
#include <takt/mpi.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "ranks/gathered_ranks.hpp"
#include "ranks/packed_record.hpp"
#include "session/job.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

void record(int rank, int paths) {
  const takt::Scope batch(takt::Batch);
  for (int path = 0; path < paths; ++path) {
    const takt::Key& key = takt::key(("path " + std::to_string(path)).c_str());
    for (int call = 0; call < 100; ++call) { takt::record(key, std::chrono::microseconds(1000 + 17 * call + rank)); }
  }
}

/// Returns ms on this rank, sorted; all ranks start together.
template <class Work>
std::vector<double> times_of(int rounds, Work work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const auto begin = Clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

double median(const std::vector<double>& times) { return times[times.size() / 2]; }

void print(const char* what, const std::vector<double>& times, const std::vector<double>& bare) {
  std::printf("%-40s %8.3f ms (%.3f to %.3f), %.1f times\n", what, median(times), times.front(), times.back(),
              median(times) / median(bare));
}

takt::detail::GatheredRanks part_of(const takt::Snapshot& snapshot, int rank) {
  const auto number = static_cast<std::uint32_t>(rank);
  return {{{number, takt::detail::pack_rank(snapshot, takt::detail::pack(takt::detail::RankSteps()))}},
          takt::detail::pack_record(snapshot, number)};
}

/// The messages and their handling, without building a part and using it.
std::vector<double> gather(const takt::detail::GatheredRanks& part, int rounds) {
  const auto clock = [] { return std::int64_t{Clock::now().time_since_epoch().count()}; };
  return times_of(rounds, [&] {
    takt::mpi::detail::Messages messages(*takt::mpi::detail::channel_of_job());
    takt::detail::RankGathering(messages, part, std::chrono::seconds(2), clock).run();
  });
}

void compare(int paths, int rounds) {
  takt::SessionOptions options = takt::mpi::options();
  options.table = false;
  options.files = false;
  takt::Session session("bench", options);
  const int rank = session.run().rank;
  record(rank, paths);
  const std::vector<double> ours = times_of(rounds, [&] { takt::mpi::reduce(session); });
  const takt::detail::GatheredRanks part = part_of(session.snapshot(), rank);
  const std::vector<double> gathered = gather(part, rounds);
  const std::vector<double> nothing = gather(part_of(takt::Snapshot(), rank), rounds);
  const std::vector<double> frozen = times_of(rounds, [&] { (void)session.snapshot(); });
  const std::vector<double> packed = times_of(rounds, [&] { (void)part_of(session.snapshot(), rank); });
  const auto job = session.snapshot().job;
  unsigned long long bytes = job == nullptr ? 0 : takt::detail::pack(*job->record).size();
  MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
  const std::vector<char> from(static_cast<std::size_t>(bytes));
  std::vector<char> to(from.size());
  const std::vector<double> bare = times_of(rounds, [&] {
    MPI_Reduce(from.data(), to.data(), static_cast<int>(bytes), MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD);
  });
  if (rank != 0) { return; }
  std::printf("%d ranks, %d paths, %llu bytes; median of %d rounds on rank 0 (least to most)\n",
              session.run().world_size, paths, bytes, rounds);
  print("bare MPI_Reduce of as many bytes", bare, bare);
  print("takt::mpi::reduce()", ours, bare);
  print("  of this, a Snapshot", frozen, bare);
  print("  a Snapshot and its bytes", packed, bare);
  print("  gathering", gathered, bare);
  print("  gathering nothing, by as many messages", nothing, bare);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  compare(argc > 1 ? std::atoi(argv[1]) : 100, argc > 2 ? std::atoi(argv[2]) : 50);
  MPI_Finalize();
}
