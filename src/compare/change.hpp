// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one run says of a figure.
struct RunFigure {
  double value = 0;       ///< above 0
  double within = 0;      ///< standard error of the value by the steps of this run, as a share of it; 0: not known
  double resolution = 0;  ///< standard error that is left however many steps there are, as a share: of a histogram
};

/// What an interval rests on.
enum class Basis {
  runs,    ///< the scatter between runs: three on each side or more
  within,  ///< the scatter within runs alone, which does not know by how much runs differ
  none     ///< nothing: there is no interval
};

/// By how much a figure of one side lies above that of the other. All are relative: 0.02 is 2 %.
struct Change {
  double change = 0;
  double low = 0;  ///< 95 % interval, or that of the level that was asked for
  double high = 0;
  Basis basis = Basis::none;
  double between = 0;         ///< standard deviation between runs of one side, of the logarithms
  double within = 0;          ///< standard error that the steps of a run leave, on average
  double standard_error = 0;  ///< of the change, of its logarithm
  double degrees = 0;         ///< of freedom
  std::size_t runs = 0;       ///< on the side that has fewer
};

constexpr std::size_t kRunsForScatter = 3;

/// The change of means of logarithms over runs, by Student's t: of one scatter where the sides have as many runs and an
/// F test does not tell their scatters apart, else by Welch. A scatter is no less than what the steps within the runs
/// leave: three runs that lie close together by chance do not make it less. With fewer than
/// kRunsForScatter runs on a side the interval is that within runs. REQUIRES: a run on each side, values above 0. Any
/// thread.
Change change_of(const std::vector<RunFigure>& base, const std::vector<RunFigure>& now, double level = 0.95);

enum class Answer { no_regression, regression, inconclusive };

/// What a gate says of a change.
struct GateAnswer {
  Answer answer = Answer::inconclusive;
  double detectable = 0;        ///< change that runs like these show to be a regression 95 times of 100; 0: not known
  std::size_t runs_needed = 0;  ///< on each side, for an answer; 0: not known; above kMostRunsNeeded: more than that
};

constexpr std::size_t kMostRunsNeeded = 1000;

/// Whether a figure has grown by more than `threshold`. A regression: the interval lies above it. No regression: the
/// interval lies below it, and the runs are enough: with so many, and a scatter at the upper end of what they say of
/// it, twice the threshold would be found, and no change be passed, 95 times of 100 each; or the figure has clearly
/// become less, at 99.9 %.
/// \param noise two runs of one side are known to differ by no more than so much; negative: it is not known. It counts
/// where the interval is within runs, and without it there is no answer then.
/// \param level of the interval in `change`. Any thread.
GateAnswer judge(const Change& change, double threshold, double noise = -1, double level = 0.95);

}  // namespace detail
TAKT_END_NAMESPACE
