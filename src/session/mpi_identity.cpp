// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include <takt/detail/mpi_identity.hpp>

#include "base/fault.hpp"
#include "ranks/rank_steps.hpp"
#include "session/run_identity.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

TAKT_BEGIN_NAMESPACE
namespace detail {
namespace {

void report_other(const char* option, const std::string& said, const std::string& found) {
  report_fault_once(option, std::string(option) + " is " + said + ", and MPI says " + found + "; using what MPI says");
}

void set(const char* option, int& value, int found) {
  if (value != -1 && value != found) { report_other(option, std::to_string(value), std::to_string(found)); }
  value = found;
}

}  // namespace

std::string proposed_run_id(const SessionOptions& options, int world_rank) {
  const std::string part = world_rank < 0 ? "" : ".w" + std::to_string(world_rank);
  const std::string id = options.run_id.empty() ? new_run_id() : options.run_id;
  return id.substr(0, kLongestProposedRunId - part.size()) + part;
}

void apply(const MpiIdentity& identity, SessionOptions& options) {
  set("TAKT_RANK or SessionOptions::rank", options.rank, identity.rank);
  set("TAKT_WORLD_SIZE or SessionOptions::world_size", options.world_size, identity.world_size);
  options.local_rank = identity.local_rank;
  const auto size = static_cast<std::size_t>(std::max(identity.world_size, 1));
  options.compared_values = size == 1 ? 0 : values_of_a_rank(size);
  const std::string& agreed = identity.run_id;
  // Of a part of the job rank 0 has added which one.
  if (!options.run_id.empty() && agreed.compare(0, options.run_id.size(), options.run_id) != 0) {
    report_other("TAKT_RUN_ID or SessionOptions::run_id", options.run_id, agreed + " (of rank 0)");
  }
  options.run_id = agreed;
}

void report_without_mpi(bool finalized) noexcept {
  report_fault_once("mpi.state", finalized
                                     ? "takt::mpi: MPI has been finalised; ranks are as the launcher's variables say"
                                     : "takt::mpi: MPI is not initialised; ranks are as the launcher's variables say; "
                                       "call MPI_Init first");
}

}  // namespace detail
TAKT_END_NAMESPACE
