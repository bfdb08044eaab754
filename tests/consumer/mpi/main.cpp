// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// The first program in docs/ranks.md; without mpirun it runs as one rank.
// [snippet: train]
#include <takt/mpi.hpp>
#include <takt/takt.hpp>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    takt::Session session("first", takt::mpi::options());  // all ranks are one run
    for (int number = 0; number < 100; ++number) {
      takt::Scope batch(takt::Batch);
      takt::Scope comm(takt::Comm);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  MPI_Finalize();
}
// [end]
