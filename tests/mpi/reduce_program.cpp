// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// reduce_program <case> [number]: ranks that record and reduce; rank 0 prints the result on one line.
#include <takt/job.hpp>
#include <takt/mpi.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include "journal/journal_reader.hpp"
#include "ranks/rank_record.hpp"

#include <mpi.h>
#include <poll.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace {

using std::chrono::milliseconds;

// Ranks start one after the other on few processors: a slow rank must not count as missing.
constexpr milliseconds kTimeout(20'000);
// The timeout in cases with a missing rank.
constexpr milliseconds kShort(3'000);

/// Is busy without MPI.
void busy_for(milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// Every rank has all paths except the last, which only even ranks have.
void record(int rank, int paths) {
  const takt::Scope batch(takt::Batch);
  for (int path = 0; path < paths; ++path) {
    if (path + 1 == paths && rank % 2 != 0) { continue; }
    const takt::Key& key = takt::key(("path " + std::to_string(path)).c_str());
    for (int call = 0; call < 3; ++call) {
      takt::record(key, std::chrono::microseconds(1000 * (rank + 1) + 10 * path + call));
    }
  }
}

void report(bool done, const takt::Session& session, const takt::Job* job) {
  // Written in one call, because mpirun may interleave the ranks' output.
  std::string line = "rank " + std::to_string(session.run().rank) + (done ? " done" : " not done");
  if (job != nullptr) {
    line += ", " + std::to_string(job->wall.ranks) + " of " + std::to_string(job->world_size);
    for (const auto each : job->missing) { line += " -" + std::to_string(each); }
  }
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

/// Reads the files when all ranks have closed theirs. Their wall time is later than that at reduce().
bool is_as_in_files(const takt::Job& job, const std::string& directory) {
  takt::RankRecord files;
  for (const auto& each : std::filesystem::directory_iterator(std::filesystem::path(directory).parent_path())) {
    takt::Snapshot snapshot;
    takt::detail::JournalReader reader(each.path().string());
    while (reader.read_part(snapshot)) {}
    takt::detail::merge_into(files, takt::detail::record_of(snapshot));
  }
  const takt::RankRecord& messages = *job.record;
  const bool wall = files.wall.ranks == messages.wall.ranks && files.wall.min.ns >= messages.wall.min.ns &&
                    files.wall.max.ns >= messages.wall.max.ns;
  files.wall = messages.wall;
  return wall && takt::detail::pack(files) == takt::detail::pack(messages);
}

/// At the start and at reduce() a rank has read its parent's clock. It is the same clock, but each process counts from
/// its own start.
bool has_read_clocks(takt::Session& session) {
  constexpr std::int64_t kReckoned = 5'000'000;
  const takt::Snapshot snapshot = session.snapshot();
  const auto rank = static_cast<std::uint32_t>(snapshot.run.rank);
  if (rank == 0) { return snapshot.clock_readings.empty(); }
  if (snapshot.clock_readings.size() != 2) { return false; }
  for (const takt::ClockReading& each : snapshot.clock_readings) {
    if (each.rank != (rank & (rank - 1)) || std::llabs(each.ahead_ns) > each.error_ns + kReckoned) { return false; }
  }
  return snapshot.clock_readings[0].unix_ns < snapshot.clock_readings[1].unix_ns;
}

int reduce_all(int paths) {
  takt::Session session("reduce", takt::mpi::options());
  const int rank = rank_in(MPI_COMM_WORLD);
  record(rank, paths);
  const bool done = takt::mpi::reduce(session, kTimeout);
  const auto job = session.snapshot().job;
  if (rank == 0) { report(done, session, job.get()); }
  const bool clocks = has_read_clocks(session);
  if (!clocks) { std::fputs("a clock was not read as it should\n", stderr); }
  session.close();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) { return done && job == nullptr ? 0 : 1; }
  const bool same = job != nullptr && is_as_in_files(*job, session.run().directory);
  std::printf("%s\n", same ? "as in files" : "other than in files");
  return done && same ? 0 : 1;
}

/// Each rank has another pace.
void reduce_trials() {
  takt::Session session("reduce", takt::mpi::options());
  const int rank = rank_in(MPI_COMM_WORLD);
  takt::TrialOptions options;
  options.io = options.synthetic = options.full = true;
  options.steps = 20;
  options.items = 8;
  options.barrier = [] { MPI_Barrier(MPI_COMM_WORLD); };
  const std::vector<int> data(20);
  for (const int each : takt::trials(session, data, options)) {
    (void)each;
    const takt::Scope batch(takt::Batch);
    busy_for(milliseconds(1 + rank));
  }
  for (int time = 0; time < 2; ++time) { takt::mpi::reduce(session, kTimeout); }  // prints them once
}

/// One rank does not take part and makes no MPI calls meanwhile.
void reduce_without(int absent) {
  takt::Session session("reduce", takt::mpi::options());
  const int rank = rank_in(MPI_COMM_WORLD);
  record(rank, 3);
  MPI_Barrier(MPI_COMM_WORLD);  // all ranks are there; then one is missing
  if (rank == absent) {
    busy_for(4 * kShort);
    return;
  }
  const bool done = takt::mpi::reduce(session, kShort);
  report(done, session, session.snapshot().job.get());
}

/// One rank dies, as if it were out of memory. The others end without MPI_Finalize, which waits for all.
[[noreturn]] void reduce_after_death(int dead) {
  takt::Session session("reduce", takt::mpi::options());
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  {
    const takt::Scope batch(takt::Batch);
    const takt::Scope forward(takt::Forward);
    session.poll();
    busy_for(milliseconds(1500));  // until the journal has it
    if (rank == dead) { std::raise(SIGKILL); }
  }
  const bool done = takt::mpi::reduce(session, kShort);
  report(done, session, session.snapshot().job.get());
  session.close();
  busy_for(kShort);  // a rank that ends first takes its part of the messages with it
  std::_Exit(0);
}

/// Each half of the job reduces, with pending messages of the program on both communicators, of any tag.
bool reduce_halves() {
  constexpr int kMessages = 100;
  const int rank = rank_in(MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  takt::Session session("reduce", takt::mpi::options(half));
  record(rank, 3);
  int size = 1;
  MPI_Comm_size(half, &size);
  const int mine = rank_in(half);
  std::vector<int> received(kMessages, -1);
  std::vector<MPI_Request> requests(2 * kMessages, MPI_REQUEST_NULL);
  for (std::size_t at = 0; at < kMessages; ++at) {
    MPI_Irecv(&received[at], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, half, &requests[at]);
    if (at % 2 == 0) {
      MPI_Isend(&mine, 1, MPI_INT, (mine + 1) % size, static_cast<int>(at / 2), half, &requests[kMessages + at]);
    }
  }
  const bool done = takt::mpi::reduce(session, kTimeout);
  const auto job = session.snapshot().job;
  if (mine == 0) { report(done, session, job.get()); }
  for (std::size_t at = 1; at < kMessages; at += 2) {
    MPI_Isend(&mine, 1, MPI_INT, (mine + 1) % size, static_cast<int>(at / 2), half, &requests[kMessages + at]);
  }
  MPI_Waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE);
  for (const int each : received) {
    if (each != (mine + size - 1) % size) { return false; }
  }
  MPI_Comm_free(&half);
  return done;
}

/// Twice: the second result has more data.
bool reduce_again() {
  takt::Session session("reduce", takt::mpi::options());
  bool done = true;
  for (int round = 1; round <= 2; ++round) {
    record(rank_in(MPI_COMM_WORLD), 2);
    done = takt::mpi::reduce(session, kTimeout) && done;
    const auto job = session.snapshot().job;
    if (job != nullptr) {
      std::printf("round %d: %llu\n", round, static_cast<unsigned long long>(job->paths.at(1).host.n()));
    }
  }
  return done;
}

// Outlives MPI.
std::unique_ptr<takt::Session> kept;

/// Armed, and again with another deadline, which must not reduce at once.
void reduce_as_mpi_ends() {
  kept = std::make_unique<takt::Session>("reduce", takt::mpi::options());
  record(rank_in(MPI_COMM_WORLD), 3);
  takt::mpi::reduce_at_finalize(*kept);
  takt::mpi::reduce_at_finalize(*kept, kTimeout);
  std::printf("%s\n", kept->snapshot().job == nullptr ? "not yet" : "too early");
}

int run(const std::string& name, int number) {
  if (name == "all") { return reduce_all(number); }
  if (name == "trials") { reduce_trials(); }
  if (name == "without") { reduce_without(number); }
  if (name == "death") { reduce_after_death(number); }
  if (name == "halves") { return reduce_halves() ? 0 : 1; }
  if (name == "again") { return reduce_again() ? 0 : 1; }
  if (name == "finalize") { reduce_as_mpi_ends(); }
  if (name == "finalize-closed") {
    reduce_as_mpi_ends();
    kept->close();
  }
  if (name == "closed") {
    takt::Session session("reduce", takt::mpi::options());
    session.close();
    return takt::mpi::reduce(session) ? 1 : 0;
  }
  return 0;
}

/// Before MPI_Init, after MPI_Finalize, and without ranks from options().
void reduce_alone() {
  takt::Session session("reduce");
  std::printf("%d\n", takt::mpi::reduce(session) ? 1 : 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "all";
  if (name == "early") { reduce_alone(); }
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  const int status = run(name, argc > 2 ? std::atoi(argv[2]) : 3);
  if (name == "unnamed") { reduce_alone(); }
  MPI_Finalize();
  if (kept != nullptr && kept->run().rank == 0) {
    const auto job = kept->snapshot().job;
    report(job != nullptr, *kept, job.get());
  }
  kept.reset();
  if (name == "late") { reduce_alone(); }
  return status;
}
