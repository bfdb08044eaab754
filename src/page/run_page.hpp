// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "page/page_data.hpp"
#include "report/job_report.hpp"

#include <takt/snapshot.hpp>

#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// Input of a run page. The pointers must outlive it.
struct RunPage {
  /// Figures of one process, or the sum of several ranks.
  const Snapshot* figures = nullptr;
  /// Snapshot whose steps are drawn, with a history if available. For several ranks, one of them.
  const Snapshot* steps = nullptr;
  const JobReport* job = nullptr;  ///< for several ranks
  /// Ranks to choose from, with their histories: `steps` first. Empty: only the totals over ranks are known.
  std::vector<const Snapshot*> ranks;
  std::vector<std::string> endings;  ///< noteworthy states of ranks
};

/// Returns the page as a single HTML file. docs/page.md has its parts and limits. Any thread.
std::string run_page(const RunPage& page);

/// Returns the page of a snapshot, or of the whole job after takt::mpi::reduce(). Any thread.
std::string page_of(const Snapshot& snapshot);

// Parts of a run page as HTML that is readable without the script. Any thread.

/// Maximum number of lines of a kind, such as findings.
inline constexpr std::size_t kMaxPageLines = 100;

/// Returns lines as a list; if there are too many, the first ones and the number of the others. Empty if there are
/// none.
std::string lines_html(const std::vector<std::string>& lines);

/// Returns the findings with cost and evidence.
std::string findings_html(const std::vector<Finding>& findings);

/// Returns the state of the run, and its key figures.
std::string state_html(const Snapshot& snapshot);
std::string figures_html(const RunPage& page);

/// Returns the steps as tables: tenths of the run, and the longest steps.
std::string steps_html(const PageSeries& series, const Snapshot& snapshot);
/// Returns the phases of a step as tables.
/// \param batch the path of the series.
std::string phases_html(const PageSeries& series, const Snapshot& snapshot, std::uint32_t batch);

/// Returns the figures of each Epoch as a table; empty if there are none.
std::string epochs_html(const Snapshot& snapshot);

/// Returns a row for each path of the call tree.
/// \param ranks of which the snapshot is the sum: times and calls are the mean of a rank.
std::string tree_html(const Snapshot& snapshot, const PagePaths& paths, std::uint64_t ranks);

/// Returns the totals of paths over ranks, and the ranks' busy times.
std::string ranks_html(const JobReport& job);

/// Returns parameters, tags and machine.
std::string facts_html(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
