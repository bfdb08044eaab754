// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <takt/config.hpp>

#include <cstddef>
#include <utility>
#include <vector>

TAKT_BEGIN_NAMESPACE
namespace detail {

/// What one run says of a figure.
struct RunFigure {
  double value = 0;       ///< above 0
  double resolution = 0;  ///< standard error that is left however many steps there are, as a share: of a histogram
};

/// Places of a base run and of a new run that ran one right after the other.
using RunPairs = std::vector<std::pair<std::size_t, std::size_t>>;

/// What an interval rests on.
enum class Basis {
  pairs,  ///< the scatter of the ratios of neighbours, which had the same machine
  runs,   ///< the scatter between the runs of each side
  none    ///< nothing: there is no interval
};

/// By how much a figure of one side lies above that of the other. All are relative: 0.02 is 2 %.
struct Change {
  double change = 0;
  double low = 0;  ///< 95 % interval, or that of the level that was asked for
  double high = 0;
  Basis basis = Basis::none;
  double scatter = 0;  ///< standard deviation, of logarithms: of the ratios of pairs, or between runs of one side
  double standard_error = 0;  ///< of the change, of its logarithm
  double level = 0;           ///< of this interval alone; with pairs it is the shorter one of two
  double degrees = 0;         ///< of freedom
  std::size_t runs = 0;       ///< on the side that has fewer
};

constexpr std::size_t kRunsForScatter = 3;

/// The change of means of logarithms over runs, by Student's t: of both scatters together where the sides have as many
/// runs, else by Welch. With `pairs` also of the scatter of their ratios, which is
/// less where neighbours share the machine's speed, and has half the degrees of freedom: each interval is of
/// (1 + level) / 2, so that both together hold what they say (Bonferroni), and the shorter one counts. With fewer than
/// kRunsForScatter runs on a side there is no interval: steps of one run do not tell by how much runs differ.
/// REQUIRES: a run on each side, values above 0; pairs that hold each run once, or none. Any thread.
Change change_of(const std::vector<RunFigure>& base, const std::vector<RunFigure>& now, const RunPairs& pairs = {},
                 double level = 0.95);

enum class Answer { no_regression, regression, inconclusive };

/// What a gate says of a change.
struct GateAnswer {
  Answer answer = Answer::inconclusive;
  double detectable = 0;        ///< change that runs like these show to be a regression 95 times of 100; 0: not known
  std::size_t runs_needed = 0;  ///< on each side, for an answer; 0: not known; above kMaxRunsNeeded: more than that
};

constexpr std::size_t kMaxRunsNeeded = 1000;

/// What a gate is asked.
struct Gate {
  double threshold = 0;  ///< as a share: what a figure may grow by
  double noise = -1;     ///< two runs without a change are known to differ by no more; negative: it is not known
  bool in_turn = true;   ///< false: one side ran first, so that a change of the machine looks like one of the program
};

/// Whether a figure has grown by more than the threshold. A regression: the interval lies above it. No regression: the
/// interval lies below it, and the runs are enough: with so many, and a scatter at the upper end of what they say of
/// it, twice the threshold would be found, and no change be passed, 95 times of 100 each; or the figure has clearly
/// become less, at 99.9 %. Without an interval, or where the sides did not run in turn, there is an answer only with a
/// noise, and beyond it. Any thread.
GateAnswer judge(const Change& change, const Gate& gate);

}  // namespace detail
TAKT_END_NAMESPACE
