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

// The parts of a run's page as HTML that reads without its script. Any thread.

/// At most so many of a kind of lines, such as findings.
inline constexpr std::size_t kMaxPageLines = 100;

/// Lines as a list; of too many the first ones, and how many there are besides. Empty where there are none.
std::string lines_html(const std::vector<std::string>& lines);

/// What stands out, with what it costs and the figures behind it.
std::string findings_html(const std::vector<Finding>& findings);

/// How the run stands, and the figures that people look for first.
std::string state_html(const Snapshot& snapshot);
std::string figures_html(const RunPage& page);

/// The steps in numbers: tenths of the run, and the longest steps.
std::string steps_html(const PageSeries& series, const Snapshot& snapshot);
/// What a step consists of, in numbers.
/// \param batch the path of the series.
std::string phases_html(const PageSeries& series, const Snapshot& snapshot, std::uint32_t batch);

/// A line for each place of the call tree.
std::string tree_html(const Snapshot& snapshot, const PagePaths& paths);

/// How the totals of paths lie over ranks, and how busy the ranks are.
std::string ranks_html(const JobReport& job);

/// Parameters, tags, and what the run ran on.
std::string facts_html(const Snapshot& snapshot);

}  // namespace detail
TAKT_END_NAMESPACE
