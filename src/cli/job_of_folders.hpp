// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/job.hpp>
#include <takt/snapshot.hpp>

#include <cstdint>
#include <memory>
#include <string>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The figures over ranks as the folders of a run tell them.
struct JobOfFolders {
  std::shared_ptr<const Job> job;  ///< null: there are none to tell, or not yet
  bool waits = false;              ///< there will be: a rank has not ended
  std::string remark;              ///< who is missing, or waited for; empty: nobody
};

/// Reads the journals of the ranks that stand beside that of rank 0, one after the other: memory is that of one rank,
/// of the paths, and of the steps by which ranks are compared, which are bounded.
/// \param folder of rank 0.
/// \param run as its journal tells it.
/// \param told of so many ranks the figures were delivered: there are none to tell but those of more.
JobOfFolders job_of_folders(const std::string& folder, const RunInfo& run, std::uint64_t told);

}  // namespace cli
TAKT_END_NAMESPACE
