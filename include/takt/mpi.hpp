// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Compiled by the program with its own MPI, so that libtakt is tied to none. Link takt::mpi and that MPI.
#include <takt/detail/mpi_identity.hpp>
#include <takt/session.hpp>

#include <mpi.h>

#include <array>
#include <string>
#include <utility>

#include <takt/detail/macros_begin.hpp>

TAKT_BEGIN_NAMESPACE

namespace mpi {
namespace detail {

namespace core = takt::detail;

/// A communicator of Takt's own, so that its messages never meet the program's. It is freed with this.
class Communicator {
 public:
  explicit Communicator(MPI_Comm handle) : handle_(handle) {}
  ~Communicator() { MPI_Comm_free(&handle_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  static MPI_Comm copy_of(MPI_Comm other) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(other, &copy);
    return copy;
  }
  /// The ranks that share memory with this one, which are those of its node.
  static MPI_Comm node_of(const Communicator& all) {
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(all.handle_, MPI_COMM_TYPE_SHARED, all.rank(), MPI_INFO_NULL, &node);
    return node;
  }

  MPI_Comm handle() const { return handle_; }
  int rank() const { return number(MPI_Comm_rank); }
  int size() const { return number(MPI_Comm_size); }

 private:
  int number(int (*ask)(MPI_Comm, int*)) const {
    int value = 0;
    ask(handle_, &value);
    return value;
  }

  MPI_Comm handle_;
};

inline bool is_usable() {
  int begun = 0;
  int ended = 0;
  MPI_Initialized(&begun);
  MPI_Finalized(&ended);
  if (begun == 0 || ended != 0) { core::report_without_mpi(ended != 0); }
  return begun != 0 && ended == 0;
}

/// \throws takt::Error for what has no ranks of its own.
inline void check(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) {
    throw Error("takt::mpi: MPI_COMM_NULL has no ranks; give the communicator of the ranks that train");
  }
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  if (inter != 0) {
    throw Error("takt::mpi: an inter-communicator has two groups; give the one of the ranks that train");
  }
}

/// Whether all that mpirun started are in it.
inline bool is_whole_world(const Communicator& comm) {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size == comm.size();
}

/// What rank 0 calls the run, on all ranks.
inline std::string agreed_run_id(const Communicator& comm, const SessionOptions& options) {
  std::array<char, core::kLongestProposedRunId + 1> id{};
  if (comm.rank() == 0) {
    int world_rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    // Parts of a job may train apart, under one name and one launcher.
    const std::string proposed = core::proposed_run_id(options, is_whole_world(comm) ? -1 : world_rank);
    proposed.copy(id.data(), core::kLongestProposedRunId);
  }
  MPI_Bcast(id.data(), static_cast<int>(id.size()), MPI_CHAR, 0, comm.handle());
  return id.data();
}

}  // namespace detail

/// `options` with rank, world size, rank on the node and run id as the ranks of `comm` are: whatever launched them,
/// they are one run. Collective over `comm`, between MPI_Init and MPI_Finalize; it waits for all ranks. The
/// communicator is duplicated for the call, so that messages of the program's are not met. A variable (TAKT_RANK,
/// TAKT_WORLD_SIZE, TAKT_RUN_ID) that says otherwise is reported once and passed over; TAKT_RUN_ID of rank 0 names the
/// run. Before MPI_Init and after MPI_Finalize it reports that, and returns `options` as they are: the launcher's
/// variables count. Any thread that may call MPI.
/// \throws takt::Error for MPI_COMM_NULL and for an inter-communicator.
inline SessionOptions options(MPI_Comm comm = MPI_COMM_WORLD, SessionOptions options = SessionOptions::from_env()) {
  if (!detail::is_usable()) { return options; }
  detail::check(comm);
  const detail::Communicator all(detail::Communicator::copy_of(comm));
  const detail::Communicator node(detail::Communicator::node_of(all));
  takt::detail::MpiIdentity identity;
  identity.rank = all.rank();
  identity.world_size = all.size();
  identity.local_rank = node.rank();
  identity.run_id = detail::agreed_run_id(all, options);
  takt::detail::apply(identity, options);
  return options;
}

}  // namespace mpi

TAKT_END_NAMESPACE

#include <takt/detail/macros_end.hpp>
