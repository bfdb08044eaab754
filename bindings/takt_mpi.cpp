// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause

// takt_mpi_options() and takt_mpi_reduce() of takt.h. The program compiles this file with its own MPI.
#include <takt/mpi.hpp>

#include <takt.h>

#include <chrono>
#include <cstdio>
#include <exception>

extern "C" int takt_mpi_options(takt_options* options, int comm) {
  if (options == nullptr) {
    std::fprintf(stderr, "takt: takt_mpi_options(): the options are NULL; takt_options_new() makes some.\n");
    return TAKT_MISUSE;
  }
  try {
    auto& all = *reinterpret_cast<takt::SessionOptions*>(options);
    all = takt::mpi::options(MPI_Comm_f2c(static_cast<MPI_Fint>(comm)), all);
    return TAKT_OK;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "takt: takt_mpi_options(): %s\n", error.what());
    return TAKT_MISUSE;
  }
}

extern "C" int takt_mpi_reduce(int milliseconds) {
  try {
    return takt::mpi::detail::reduce_job(std::chrono::milliseconds(milliseconds)) ? TAKT_OK : TAKT_INCOMPLETE;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "takt: takt_mpi_reduce(): %s\n", error.what());
    return TAKT_NO_MEMORY;
  }
}
