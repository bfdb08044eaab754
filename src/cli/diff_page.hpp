// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/comparison.hpp"
#include "cli/ls.hpp"
#include "findings/step_history.hpp"

#include <cstddef>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// The steps of a run that the page of a comparison draws.
struct DrawnRun {
  std::string name;
  bool is_new = false;  ///< of the new side
  detail::StepHistory history;
};

/// The steps of the first runs of each side, taken while these are read. A value; one thread at a time.
class DrawnRuns {
 public:
  static constexpr std::size_t kMostOfASide = 6;

  /// What takes the steps of the run's first rank; nothing where the side has enough runs.
  RunTaker taker(const RunFolder& run, bool is_new);
  /// The run of the last call is not compared after all.
  void drop_last();
  const std::vector<DrawnRun>& runs() const noexcept { return runs_; }
  /// Runs that are compared, and not drawn.
  std::size_t left_out() const noexcept { return left_out_; }

 private:
  std::vector<DrawnRun> runs_;
  std::size_t left_out_ = 0;
  bool last_is_drawn_ = false;
};

/// The page of a comparison as HTML: one file that needs nothing else. docs/compare.md.
std::string diff_page(const detail::Comparison& comparison, const std::string& reason, const DrawnRuns& drawn);

}  // namespace cli
TAKT_END_NAMESPACE
