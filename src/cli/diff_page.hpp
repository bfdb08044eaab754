// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include "cli/comparison.hpp"
#include "cli/run_directory.hpp"
#include "findings/step_history.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace cli {

/// Steps of a run that the page of a comparison draws.
struct DrawnRun {
  std::string name;
  bool is_new = false;  ///< run of the new side
  StepHistory history;
};

/// Steps of the first runs of each side. A value; one thread at a time.
class DrawnRuns {
 public:
  static constexpr std::size_t kMaxOfASide = 6;

  /// Reads the steps of a run's first rank, unless the side has enough runs.
  void add(const std::string& name, const RankDirectory& first, bool is_new);
  /// Adds a run whose steps `fill` adds; otherwise the same.
  void add(const std::string& name, bool is_new, const std::function<void(StepHistory&)>& fill);
  const std::vector<DrawnRun>& runs() const noexcept { return runs_; }
  /// Number of compared runs that are not drawn.
  std::size_t left_out() const noexcept { return left_out_; }

 private:
  std::vector<DrawnRun> runs_;
  std::size_t left_out_ = 0;
};

/// Returns the page of a comparison: one self-contained HTML file. docs/compare.md.
std::string diff_page(const detail::Comparison& comparison, const std::string& reason, const DrawnRuns& drawn);

}  // namespace cli
TAKT_END_NAMESPACE
