// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// mpi_program <case>: a rank that prints its identity in Takt on one line.
#include <takt/mpi.hpp>
#include <takt/session.hpp>

#include <mpi.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kMessages = 200;

void report(const takt::SessionOptions& options) {
  const takt::Session session("mpi", options);
  const takt::RunInfo& run = session.run();
  std::printf("%d %d %d %s\n", run.rank, run.world_size, run.local_rank, run.id.c_str());
  std::fflush(stdout);
}

/// Uses only some of the ranks.
void report_of_halves() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  report(takt::mpi::options(half));
  MPI_Comm_free(&half);
}

/// Messages of the program are pending on the communicator that is passed to Takt.
bool report_under_traffic() {
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::vector<int> sent(kMessages, rank);
  std::vector<int> received(kMessages, -1);
  std::vector<MPI_Request> requests;
  for (int tag = 0; tag < kMessages; ++tag) {
    const auto at = static_cast<std::size_t>(tag);
    requests.emplace_back();
    MPI_Irecv(&received[at], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests.back());
  }
  report(takt::mpi::options());
  for (int tag = 0; tag < kMessages; ++tag) {
    MPI_Send(&sent[static_cast<std::size_t>(tag)], 1, MPI_INT, (rank + 1) % size, tag, MPI_COMM_WORLD);
  }
  MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
  for (const int each : received) {
    if (each != (rank + size - 1) % size) { return false; }
  }
  return true;
}

int report_refusals() {
  int refused = 0;
  const auto expect_refusal = [&refused](MPI_Comm comm) {
    try {
      takt::mpi::options(comm);
    } catch (const takt::Error& error) {
      ++refused;
      std::printf("%s\n", error.what());
    }
  };
  expect_refusal(MPI_COMM_NULL);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &both);
  expect_refusal(both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
  return refused == 2 ? 0 : 1;
}

int run(const std::string& name) {
  if (name == "halves") { report_of_halves(); }
  if (name == "traffic") { return report_under_traffic() ? 0 : 1; }
  if (name == "refusals") { return report_refusals(); }
  if (name == "all") { report(takt::mpi::options()); }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "all";
  if (name == "early") { report(takt::mpi::options()); }
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  const int status = run(name);
  MPI_Finalize();
  if (name == "late") { report(takt::mpi::options()); }
  return status;
}
