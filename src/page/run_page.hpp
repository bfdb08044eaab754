// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/snapshot.hpp>

#include "report/job_report.hpp"

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What the page of a run is made of. What it points to has to outlive it.
struct RunPage {
  /// The figures: of one process, or the sum of several ranks.
  const Snapshot* figures = nullptr;
  /// Of whom the steps are drawn: with a history, where there is one. Of several ranks it is one of them.
  const Snapshot* steps = nullptr;
  const JobReport* job = nullptr;    ///< of several ranks
  std::vector<std::string> endings;  ///< how ranks stand, as far as that is worth a line
};

/// The page as HTML: one file that needs nothing else. docs/page.md has its parts and its limits. Any thread.
std::string run_page(const RunPage& page);

/// The page of a snapshot by itself, or, after takt::mpi::reduce(), of the job that it speaks for. Any thread.
std::string page_of(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
