// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// MPI ranks whose metrics are reduced on rank 0, which sends them to an MLflow server: the higher a rank's number, the
// longer its Backward.
#include <takt/exporters/mlflow.hpp>
#include <takt/mpi.hpp>
#include <takt/session.hpp>
#include <takt/takt.hpp>

#include <mpi.h>

#include <chrono>

namespace {

constexpr takt::Key kOdd{"ns::f<int>", takt::Kind::compute};

bool train() {
  takt::Session session("mlflow-ranks", takt::mpi::options());
  session.add(takt::MlflowExporter::from_env());
  for (int step = 0; step < 20; ++step) {
    const takt::Scope batch(takt::Batch);
    takt::record(takt::IO, std::chrono::microseconds(100 + step));
    takt::record(takt::Backward, std::chrono::milliseconds(10 + session.run().rank));
    takt::record(kOdd, std::chrono::microseconds(10));
  }
  // On few processors, ranks start one after the other.
  const bool reduced = takt::mpi::reduce(session, std::chrono::seconds(60));
  return session.close() && reduced;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool good = train();
  MPI_Finalize();
  return good ? 0 : 1;
}
